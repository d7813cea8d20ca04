"""Dates, as columns of dates or as text in the usual forms.

====================================  =================================================
``2019-03-01``, ``2019/3/1``          year, month, day; a time of day may follow
``20190301``                          the same; also as a whole number
``01.03.2019``                        day, month, year
``01/03/2019``, ``01-03-2019``        day first or month first, as some row of the table shows
``1 Mar 2019``, ``01MAR2019``         with the English name of the month
``March 1, 2019``
====================================  =================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from harmonium.errors import Problem, TableError
from harmonium.table.frames import also, as_typed, distinct_values, rows_of

__all__ = ["dates_of", "looks_like_dates", "of_dates", "refuse_open_order"]

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_TIME = r"(?:[T :]\s*(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d*)?)?Z?)?"
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign)(?P<day>\d{{1,2}}){_TIME}")
_COMPACT = re.compile(rf"(?P<year>(?:18|19|20|21)\d\d)(?P<month>\d\d)(?P<day>\d\d){_TIME}")
_YEAR_LAST = re.compile(rf"(?P<first>\d{{1,2}})(?P<sign>[-/.])(?P<second_part>\d{{1,2}})(?P=sign)(?P<year>\d{{4}}){_TIME}")
_NAMED = re.compile(rf"(?P<day>\d{{1,2}})[ .-]*(?P<name>[A-Za-z]{{3,9}})[ .,-]*(?P<year>\d{{4}}){_TIME}")
_NAME_FIRST = re.compile(rf"(?P<name>[A-Za-z]{{3,9}})\.? +(?P<day>\d{{1,2}}),? +(?P<year>\d{{4}}){_TIME}")
_ENOUGH = 50  # values that are looked at, to find out whether they are dates

_Parts = dict[str, Any]


def dates_of(columns: Sequence[pd.Series], day_first: bool | None = None) -> list[Any]:
    """Columns as arrays of ``datetime64[us]``, NaT where missing; what is no date is refused with its row.

    Whether the day or the month comes first is found out from all columns together, unless it is stated; if it cannot be, they are refused.

    Examples
    --------
    >>> start, end = pd.Series(["03/04/2019", None], name="start"), pd.Series(["21/04/2019", "01/05/2019"], name="end")
    >>> dates_of([start, end])[0].astype("datetime64[D]")
    array(['2019-04-03',        'NaT'], dtype='datetime64[D]')
    """
    texts = [series for series in columns if not _holds_dates(series)]
    found = {id(series): _read(series) for series in texts}
    if day_first is None:
        day_first = _day_first([(series, found[id(series)]) for series in texts])
    return [_assembled(series, *found[id(series)], day_first) if id(series) in found else _as_dates(series) for series in columns]


def refuse_open_order(columns: Sequence[pd.Series]) -> None:
    """Refuse dates such as 13/04/2019 in a part of a table: what they show about the day and the month, other parts may not."""
    for series in columns:
        places, distinct = (None, ()) if _holds_dates(series) else distinct_values(series)
        for number, value in enumerate(distinct):
            parts = _value(value)
            if isinstance(parts, dict) and parts.get("first") != parts.get("second_part"):
                row = int(np.flatnonzero(places == number)[0])
                raise TableError(
                    f"column {series.name!r} holds {as_typed(value)} in row {row}, and a part of a table does not show whether the day or "
                    'the month comes first in all of it; write "dayfirst": True or "dayfirst": False',
                    column=series.name,
                    row=row,
                )


def looks_like_dates(values: Any) -> bool:
    """Whether some values, such as the levels of a column, are all dates.

    Examples
    --------
    >>> looks_like_dates(["2019-03-01", "2020-11-30"]), looks_like_dates([20190301]), looks_like_dates(["IIa", "IIb"])
    (True, True, False)
    """
    some = [value for value in list(values)[:_ENOUGH] if value is not None]
    return bool(some) and all(_value(value) is not None for value in some)


def of_dates(column: Any, example: Any) -> str:
    """What to say of a covariate that holds dates."""
    return (
        f"column {column!r} holds dates ({str(example)[:10]}), which are no covariates; if time counts from or to it, let an endpoint name "
        "it as from or to; otherwise leave it out, or turn it into a number, such as an age or a year"
    )


def _holds_dates(series: pd.Series) -> bool:
    return bool(types.is_datetime64_any_dtype(series.dtype))


def _as_dates(series: pd.Series) -> Any:
    """Without a time zone: what counts is the date on the calendar."""
    plain = series.dt.tz_localize(None) if getattr(series.dt, "tz", None) is not None else series
    return plain.to_numpy(dtype="datetime64[us]")


def _read(series: pd.Series) -> tuple[Any, list[_Parts | datetime]]:
    """Places of values among the distinct ones, and what these are."""
    places, distinct = distinct_values(series)
    found = [_value(value) for value in distinct]
    rows = rows_of(np.array([*(parts is None for parts in found), False], dtype=bool)[places])
    if rows:
        row, *others = rows
        raise TableError(
            f"column {series.name!r} must hold dates, such as 2019-03-01; found {as_typed(series.iloc[row])} in row {row}{also(rows)}",
            column=series.name,
            row=row,
            others=others,
        )
    return places, [parts for parts in found if parts is not None]


def _value(value: Any) -> _Parts | datetime | None:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, int | float | np.integer | np.floating):
        text = f"{value:.0f}"
        return _parts(text) if value == np.floor(value) and _COMPACT.fullmatch(text) else None
    return _parts(value) if isinstance(value, str) else None


def _parts(text: str) -> _Parts | None:
    """Year, month and day of a text, or ``first`` and ``second_part`` where it is open which of them is the day."""
    text = text.strip()
    for form in (_YEAR_FIRST, _COMPACT, _YEAR_LAST, _NAMED, _NAME_FIRST):
        match = form.fullmatch(text)
        if match is None:
            continue
        parts: _Parts = match.groupdict()
        if "name" in parts:
            month = [number for number, name in enumerate(_MONTHS, start=1) if name.startswith(parts["name"].lower())]
            if len(month) != 1:
                return None
            parts["month"] = month[0]
        if "first" in parts and parts["sign"] == ".":
            parts |= {"day": parts.pop("first"), "month": parts.pop("second_part")}
        parts = {name: int(part) for name, part in parts.items() if part is not None and name not in ("sign", "name")}
        return parts if _exists(parts) else None
    return None


def _exists(parts: _Parts) -> bool:
    """Whether there is such a day, whichever of two numbers it is."""
    if "first" not in parts:
        return _datetime(parts, True) is not None
    return any(_datetime(parts, day_first) is not None for day_first in (True, False))


def _datetime(parts: _Parts, day_first: bool) -> datetime | None:
    day, month = (parts["first"], parts["second_part"]) if "first" in parts else (parts["day"], parts["month"])
    if "first" in parts and not day_first:
        day, month = month, day
    try:
        return datetime(parts["year"], month, day, parts.get("hour", 0), parts.get("minute", 0), parts.get("second", 0))
    except ValueError:
        return None


def _day_first(columns: Sequence[tuple[pd.Series, tuple[Any, list[_Parts | datetime]]]]) -> bool:
    """Whether the day comes first in dates such as 01/03/2019, as those show in which a number is no month."""
    shows: dict[bool, tuple[Any, int, str]] = {}
    unclear: tuple[Any, int, str] | None = None
    for series, (places, found) in columns:
        for number, parts in enumerate(found):
            if not isinstance(parts, dict) or "first" not in parts:
                continue
            possible = [day_first for day_first in (True, False) if _datetime(parts, day_first) is not None]
            row = int(np.flatnonzero(places == number)[0])
            if len(possible) == 1:
                shows.setdefault(possible[0], (series.name, row, str(series.iloc[row])))
            elif parts["first"] != parts["second_part"]:
                unclear = unclear or (series.name, row, str(series.iloc[row]))
    if len(shows) == 2:
        first, second = shows[True], shows[False]
        raise TableError(
            f"dates must have the day first, or the month first; found {first[2]!r} (column {first[0]!r}, row {first[1]}) and "
            f"{second[2]!r} (column {second[0]!r}, row {second[1]})",
            column=second[0],
            row=second[1],
        )
    if not shows and unclear is not None:
        raise TableError(
            [
                Problem(
                    f"column {unclear[0]!r} holds {unclear[2]!r} in row {unclear[1]}, and nothing shows whether the day or the month comes "
                    'first; write "dayfirst": True or "dayfirst": False (dayfirst=yes or dayfirst=no on the command line)',
                    unclear[0],
                    unclear[1],
                )
            ]
        )
    return next(iter(shows), True)


def _assembled(series: pd.Series, places: Any, found: Sequence[_Parts | datetime], day_first: bool) -> Any:
    values = [parts if isinstance(parts, datetime) else _datetime(parts, day_first) for parts in found]
    if None in values:
        number = values.index(None)
        row = int(np.flatnonzero(places == number)[0])
        what = "day" if day_first else "month"
        raise TableError(
            f"column {series.name!r} must hold dates with the {what} first; found {as_typed(series.iloc[row])} in row {row}",
            column=series.name,
            row=row,
        )
    return np.array([*values, None], dtype="datetime64[us]")[places]
