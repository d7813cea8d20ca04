"""Endpoints whose times are two dates: they become durations in a unit of time, and are then endpoints like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError, collecting_problems
from harmonium.table.dates import dates_of, looks_like_dates, refuse_open_order
from harmonium.table.frames import also, columns_of, rows_of
from harmonium.table.time_units import days_per

__all__ = ["refuse_dates", "require_day_first", "with_durations"]

_PARTS = ("time", "lower", "upper", "entry", "until")
_EARLIEST = 18000101  # a date that is a number


def with_durations(frame: pd.DataFrame, form: Mapping[str, Any]) -> pd.DataFrame:
    """The table, in which the columns of an endpoint with times hold the time since the date ``from``, in its unit.

    Examples
    --------
    >>> frame = pd.DataFrame({"surgery": ["2019-03-01"], "seen": ["2020-03-01"], "dead": [0]})
    >>> with_durations(frame, {"from": "surgery", "time": "seen", "event": "dead", "unit": "days"})["seen"].tolist()
    [366.0]
    """
    origin, names = form["from"], [form[part] for part in _PARTS if part in form]
    start, *ends = dates_of(columns_of(frame, [origin, *names]), form.get("dayfirst"))
    out = frame.copy()
    for name, end in zip(names, ends, strict=True):
        days = (end - start) / np.timedelta64(1, "D")
        if name != form.get("entry"):
            _refuse_earlier(name, origin, start, end)
        out[name] = (np.maximum(days, 0.0) if name == form.get("entry") else days) / days_per(form["unit"])
    return out


def require_day_first(frame: pd.DataFrame, definitions: Mapping[str, Any]) -> None:
    """In a part of a table: refuse dates such as 13/04/2019 in definitions that do not state ``dayfirst``."""
    with collecting_problems() as problems:
        for definition in definitions.values():
            if isinstance(definition, Mapping) and "from" in definition and "dayfirst" not in definition:
                names = [definition[part] for part in ("from", "to", *_PARTS) if part in definition]
                with problems.catching():
                    refuse_open_order(columns_of(frame, list(dict.fromkeys(names))))


def _refuse_earlier(name: Any, origin: Any, start: Any, end: Any) -> None:
    """Refuse an end before the start."""
    rows = rows_of(end < start)
    if rows:
        row, *others = rows
        raise TableError(
            f"column {name!r} holds {_day(end[row])} in row {row}, which is before {origin!r}, {_day(start[row])}; correct one of them"
            f"{also(rows)}",
            column=name,
            row=row,
            others=others,
        )


def _day(value: Any) -> str:
    return str(value.astype("datetime64[D]"))


def _may_hold_dates(series: pd.Series) -> bool:
    """Text, or numbers that are large enough for 18000101."""
    return bool(series.dtype.kind == "O" or (series.dtype.kind in "iuf" and series.min() >= _EARLIEST))


def refuse_dates(frame: pd.DataFrame, form: Mapping[str, Any]) -> None:
    """Refuse dates in the place of times, and say how to write them."""
    for part in _PARTS:
        if part not in form:
            continue
        (series,) = columns_of(frame, [form[part]])
        if pd.api.types.is_datetime64_any_dtype(series.dtype) or (_may_hold_dates(series) and looks_like_dates(series.dropna().unique())):
            shown = str(series.dropna().iloc[0])[:10] if series.notna().any() else "all of them missing"
            raise TableError(
                f"column {series.name!r} holds dates ({shown}), and must hold times; name the column with the date from which time counts: "
                f'{{"from": ..., "to": {series.name!r}, "event": ..., "unit": "months"}} '
                f"(NAME={series.name},EVENT,from=COLUMN,unit=months on the command line)",
                column=series.name,
            )
