"""Columns of any table that users hold: pandas, polars or a plain array."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from harmonium.errors import Problem, TableError, first_offender
from harmonium.typing import Array, Integers

__all__ = [
    "also",
    "as_typed",
    "columns_of",
    "did_you_mean",
    "distinct_values",
    "numbers_of",
    "reads_as_number",
    "row_of",
    "rows_of",
    "to_pandas",
]

_MOST_ROWS = 5  # that are named


def to_pandas(table: Any) -> pd.DataFrame:
    """A pandas or polars DataFrame, or a two-dimensional array, as a pandas DataFrame.

    Columns of an array are called x0, x1 and so on. Duplicated names are refused.

    Examples
    --------
    >>> import numpy as np
    >>> to_pandas(np.zeros((1, 2))).columns.tolist()
    ['x0', 'x1']
    """
    frame = table if isinstance(table, pd.DataFrame) else _from_other(table)
    names = pd.Index(frame.columns)
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise TableError(f"column names must be unique; found {twice!r} more than once", column=twice)
    return frame


def _from_other(table: Any) -> pd.DataFrame:
    if callable(getattr(table, "collect", None)):
        raise TableError(f"a {type(table).__name__} holds no rows yet; call .collect() first, and pass what it returns")
    if hasattr(table, "toarray"):
        raise TypeError("sparse tables are not supported; pass X.toarray()")
    if hasattr(table, "columns"):
        import narwhals.stable.v1 as nw  # noqa: PLC0415 - most tables are pandas', and need not wait for it

        if nw.dependencies.is_into_dataframe(table):
            native = nw.from_native(table, eager_only=True)
            return pd.DataFrame({name: _as_array(native[name]) for name in native.columns})
    array = np.asarray(table, dtype=object if isinstance(table, list | tuple) else None)  # a list may mix numbers and text
    if array.ndim != 2:
        found = f"{type(table).__name__} of shape {array.shape}"
        raise TableError(f"a table must be a DataFrame or have two dimensions, rows and columns; found {found}. Reshape your data")
    if array.dtype.kind == "c":
        raise TableError("Complex data not supported: a table must hold real numbers, text or booleans")
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])


def _as_array(series: Any) -> Any:
    """Nulls become NaN in numbers and None in everything else."""
    if series.dtype.is_numeric():
        return series.to_numpy()
    values = series.to_list()
    out = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):  # one by one: NumPy would make a table of a column of lists
        out[row] = value
    return out


def columns_of(frame: pd.DataFrame, names: Sequence[Any]) -> list[pd.Series]:
    """Columns by name; all missing ones are named, each with the nearest name there is."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise TableError(Problem(f"column {name!r} is missing; {_hint(frame, name, names)}", name) for name in missing)
    return [frame[name] for name in names]


def _hint(frame: pd.DataFrame, name: Any, names: Sequence[Any]) -> str:
    """The nearest name; one that is asked for itself must be very near to have been meant."""
    asked_for = set(map(str, names))
    near = [
        *get_close_matches(str(name), [str(column) for column in frame.columns if str(column) not in asked_for], n=1),
        *get_close_matches(str(name), [str(column) for column in frame.columns], n=1, cutoff=0.8),
    ]
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, frame.columns[:8])) or 'no columns'}"


def did_you_mean(name: str, known: Any) -> str:
    """The nearest name there is, in parentheses, to continue an error message.

    Examples
    --------
    >>> did_you_mean("os_month", ["os_mth", "age"])
    " (did you mean 'os_mth'?)"
    """
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def numbers_of(series: pd.Series, what: str = "numbers") -> Array:
    """Numbers, with NaN where missing. Text that reads as a number is one; other text, and dates, are refused with their row.

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
        # dates would turn into nanoseconds
        raise TableError(f"column {series.name!r} must hold {what}; found the type {dtype}", column=series.name)
    try:
        numbers: Array = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        row, *others = rows = _rows_without_number(series)
        raise TableError(
            f"column {series.name!r} must hold {what}; found {as_typed(series.iloc[row])} in row {row}{also(rows)}",
            column=series.name,
            row=row,
            others=others,
        ) from None
    return numbers


_MAY_HOLD_NUMBERS = (types.is_numeric_dtype, types.is_object_dtype, types.is_string_dtype)


def _rows_without_number(series: pd.Series) -> list[int]:
    """Those that hold something else."""
    out = []
    for row, value in enumerate(series):
        if not isinstance(value, list | tuple | dict | set | np.ndarray) and pd.isna(value):
            continue
        try:
            pd.to_numeric(value)
        except (TypeError, ValueError):
            out.append(row)
    return out or [0]


def reads_as_number(text: Any) -> bool:
    """Whether a text is a number.

    Examples
    --------
    >>> reads_as_number(" 1.5"), reads_as_number("1,5"), reads_as_number("<5")
    (True, False, False)
    """
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def distinct_values(series: pd.Series) -> tuple[Integers, Any]:
    """As :func:`pandas.factorize`: the place of each row's value among the distinct ones, -1 where missing; lists are refused."""
    try:
        places, distinct = pd.factorize(series)
    except TypeError:
        row = next(row for row, value in enumerate(series) if not isinstance(value, Hashable))
        raise TableError(
            f"column {series.name!r} must hold numbers, text or booleans; found {series.iloc[row]!r} in row {row}",
            column=series.name,
            row=row,
        ) from None
    return np.asarray(places, dtype=np.int64), distinct


def row_of(wrong: Any) -> int | None:
    """The first row in which something is wrong."""
    where = first_offender(np.asarray(wrong, dtype=bool))
    return None if where is None else where[0]


def rows_of(wrong: Any) -> list[int]:
    """All rows in which something is wrong."""
    return [int(row) for row in np.flatnonzero(np.asarray(wrong, dtype=bool))]


def also(rows: Sequence[int]) -> str:
    """Rows in which the same is wrong as in the first of them, to continue an error message.

    Examples
    --------
    >>> also([3]), also([3, 8, 12])
    ('', ' (also row 8 and row 12)')
    """
    others = [f"row {row}" for row in rows[1:]]
    if len(others) > _MOST_ROWS:
        others = [*others[: _MOST_ROWS - 1], f"{len(others) - _MOST_ROWS + 1} more"]
    *most, last = others or [""]
    return f" (also {', '.join(most)} and {last})" if most else f" (also {last})" if last else ""


def as_typed(value: Any) -> str:
    """A value as a user would type it: 1 rather than np.int64(1)."""
    return repr(value.item() if isinstance(value, np.generic) else value)
