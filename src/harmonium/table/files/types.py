"""Types of columns from files, the same whatever the file: most formats do not tell 2 from 2.0, or text that is empty from none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

__all__ = ["MISSING", "labelled", "usual_types"]

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", ".")
"""What is written for a missing value in CSV and Excel, by R, people, Excel, Python, databases, SAS and Stata. "None" is a word."""

_TEXT = ("string", "mixed", "mixed-integer")  # possibly with numbers, as pandas calls it
_LARGEST = 2.0**53  # beyond, not every whole number has a float of its own


def usual_types(frame: pd.DataFrame) -> pd.DataFrame:
    """NumPy's types, but for whole numbers and booleans with missing values; numbers that are all whole are whole numbers."""
    return pd.DataFrame({name: _usual(series) for name, series in frame.items()}, index=frame.index)


def _usual(series: pd.Series) -> pd.Series:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype) or types.is_datetime64_any_dtype(dtype):
        return series
    if types.is_float_dtype(dtype):
        return _whole(series.astype(np.float64))
    if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        series = series.astype(object)
        if types.infer_dtype(series, skipna=True) in _TEXT:
            written = {value: _written(value) for value in series.dropna().unique()}
            series = series.map(written)
        return series.where(series.notna() & (series != ""), None)
    if not hasattr(dtype, "numpy_dtype"):
        return series
    return series if series.isna().any() else series.astype(dtype.numpy_dtype)


def _written(value: Any) -> Any:
    """Text without blanks around it; a number that stands among text as text, as it does in a CSV."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole(series: pd.Series) -> pd.Series:
    """Numbers as whole ones, if all of them are."""
    numbers = series.to_numpy()
    missing = np.isnan(numbers)
    known = numbers[~missing]
    if not known.size or (np.abs(known) > _LARGEST).any() or (known != np.floor(known)).any():
        return series
    return series.astype("Int64" if missing.any() else "int64")


def labelled(series: pd.Series, labels: Mapping[Any, str]) -> pd.Series:
    """Codes as the words that a file has for them, if it has one for each that occurs.

    Examples
    --------
    >>> labelled(pd.Series([1.0, 2.0, None]), {1.0: "male", 2.0: "female"}).tolist()
    ['male', 'female', None]
    """
    codes = series.dropna().unique()
    if not len(codes) or not all(code in labels for code in codes) or len({labels[code] for code in codes}) < len(codes):
        return series
    words = {code: str(labels[code]) for code in codes}
    return pd.Series([words.get(code) for code in series], index=series.index, name=series.name, dtype=object)
