"""Columns of any table that users hold: pandas, polars or a plain array."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from pandas.api import types
from scipy.sparse import issparse

from harmonium.errors import first_offender
from harmonium.typing import Array

__all__ = ["as_typed", "columns_of", "numbers_of", "to_pandas"]


def to_pandas(table: Any) -> pd.DataFrame:
    """A pandas or polars DataFrame, or a two-dimensional array, as a pandas DataFrame.

    Columns of an array are called x0, x1 and so on. Duplicated names are refused.

    Examples
    --------
    >>> import numpy as np
    >>> to_pandas(np.zeros((1, 2))).columns.tolist()
    ['x0', 'x1']
    """
    if isinstance(table, pd.DataFrame):
        frame = table
    elif nw.dependencies.is_into_dataframe(table):
        native = nw.from_native(table, eager_only=True)
        frame = pd.DataFrame({name: _as_array(native[name]) for name in native.columns})
    elif issparse(table):
        raise TypeError("sparse tables are not supported; pass X.toarray()")
    else:
        array = np.asarray(table, dtype=object if isinstance(table, list | tuple) else None)  # a list may mix numbers and text
        if array.ndim != 2:
            found = f"{type(table).__name__} of shape {array.shape}"
            raise ValueError(f"a table must be a DataFrame or have two dimensions, rows and columns; found {found}. Reshape your data")
        if array.dtype.kind == "c":
            raise ValueError("Complex data not supported: a table must hold real numbers, text or booleans")
        frame = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])
    names = pd.Index(frame.columns)
    if names.has_duplicates:
        raise ValueError(f"column names must be unique; found {names[names.duplicated()][0]!r} more than once")
    return frame


def _as_array(series: nw.Series[Any]) -> Any:
    """Nulls become NaN in numbers and None in everything else."""
    return series.to_numpy() if series.dtype.is_numeric() else np.array(series.to_list(), dtype=object)


def columns_of(frame: pd.DataFrame, names: Sequence[Any]) -> list[pd.Series]:
    """Columns by name; a missing one is named, with the nearest name there is."""
    for name in names:
        if name not in frame.columns:
            asked_for = set(map(str, names))  # somebody else's name: it must be very near to have been meant
            near = [
                *get_close_matches(str(name), [str(column) for column in frame.columns if str(column) not in asked_for], n=1),
                *get_close_matches(str(name), [str(column) for column in frame.columns], n=1, cutoff=0.8),
            ]
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, frame.columns[:8])) or 'no columns'}"
            raise ValueError(f"column {name!r} is missing; {hint}")
    return [frame[name] for name in names]


def numbers_of(series: pd.Series, what: str = "numbers") -> Array:
    """Numbers, with NaN for gaps. Text that reads as a number is one; other text, and dates, are refused with their row.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_of(pd.Series(["1.5", None, "2"]))
    array([1.5, nan, 2. ])
    """
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        series = series.astype(object)
    elif types.is_complex_dtype(dtype) or not any(holds(dtype) for holds in _MAY_HOLD_NUMBERS):
        raise ValueError(f"column {series.name!r} must hold {what}; found the type {dtype}")  # dates would turn into nanoseconds
    try:
        numbers: Array = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        row = first_offender((pd.to_numeric(series, errors="coerce").isna() & series.notna()).to_numpy()) or (0,)
        raise ValueError(f"column {series.name!r} must hold {what}; found {series.iloc[row[0]]!r} in row {row[0]}") from None
    return numbers


_MAY_HOLD_NUMBERS = (types.is_numeric_dtype, types.is_object_dtype, types.is_string_dtype)


def as_typed(value: Any) -> str:
    """A value as a user would type it: 1 rather than np.int64(1)."""
    return repr(value.item() if isinstance(value, np.generic) else value)
