"""Columns of any table that users hold: pandas, polars or a plain array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

__all__ = ["columns_of", "to_pandas"]


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
    else:
        array = np.asarray(table)
        if array.ndim != 2:
            raise ValueError(f"a table must have two dimensions, rows and columns; found an array of shape {array.shape}")
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
    from difflib import get_close_matches  # noqa: PLC0415 - only for the message

    for name in names:
        if name not in frame.columns:
            near = get_close_matches(str(name), [str(column) for column in frame.columns], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(map(repr, frame.columns[:8]))}"
            raise ValueError(f"column {name!r} is missing{hint}")
    return [frame[name] for name in names]
