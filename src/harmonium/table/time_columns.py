"""Columns that hold times: read, checked, and refused with the row in which something is wrong."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import also, columns_of, numbers_of, rows_of
from harmonium.typing import Array

__all__ = ["LATEST", "finite_times", "from_the_start", "refuse_row", "times_of"]

LATEST = 1e300
"""A time beyond this cannot be computed with."""


def times_of(frame: pd.DataFrame, column: Hashable) -> Array:
    """Times that are not negative, NaN where missing."""
    (series,) = columns_of(frame, [column])
    if pd.api.types.is_bool_dtype(series.dtype):
        raise TableError(f"column {column!r} must hold times; found booleans. The time comes first, then the event", column=column)
    times = numbers_of(series, "times")
    refuse_row(times < 0.0, times, column, "must not hold negative times")
    refuse_row(np.isfinite(times) & (times > LATEST), times, column, f"must not hold times beyond {LATEST:g}")
    return times


def finite_times(frame: pd.DataFrame, column: Hashable) -> Array:
    """As :func:`times_of`, of something that has been observed."""
    times = times_of(frame, column)
    refuse_row(np.isinf(times), times, column, "must hold finite times")
    return times


def refuse_row(wrong: Any, times: Array, column: Hashable, rule: str) -> None:
    """Refuse the first row in which something is wrong with a time."""
    rows = rows_of(wrong)
    if rows:
        row, *others = rows
        raise TableError(f"column {column!r} {rule}; found {times[row]:g} in row {row}{also(rows)}", column=column, row=row, others=others)


def from_the_start(times: Array) -> Array:
    """Times with 0 where there is none."""
    return np.where(np.isnan(times), 0.0, times)
