"""Bounds of an endpoint's times, from the columns that define it.

Columns that hold times: read, checked, and refused with the row in which something is wrong.

Competing risks written as one time and a cause: an endpoint for each cause, and the first of them ends everything.

Subjects without an event and without a time: many tables hold a date of recurrence only where there was one.

Until when the others were free of it stands in another column, ``until``. Without it nothing is known of them, and if all others had the
event, incidences would be far too high.

What may be written for an endpoint, brought to one form.

Endpoints whose times are two dates: they become durations in a unit of time, and are then endpoints like any other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, TableError, collecting_problems, warn
from harmonium.table.dates import dates_of, looks_like_dates, refuse_open_order
from harmonium.table.frames import also, as_typed, columns_of, did_you_mean, distinct_values, numbers_of, row_of, rows_of
from harmonium.table.status_words import probable_event, refuse_unknown, refuse_variants, warn_if_inverted, warn_of_others
from harmonium.table.time_units import check_unit, days_per
from harmonium.typing import Array, Booleans

__all__ = [
    "FORMS",
    "LATEST",
    "Silence",
    "bounds_by_cause",
    "bounds_by_name",
    "finite_times",
    "form_of",
    "from_the_start",
    "refuse_dates",
    "refuse_row",
    "refuse_variants",
    "require_day_first",
    "times_of",
    "with_durations",
    "with_last_time",
]

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


def bounds_by_cause(frame: pd.DataFrame, form: Mapping[str, Any], whole: bool) -> dict[str, tuple[Array, Array]]:
    """Lower and upper bound of each cause's time, by the cause's name; ``whole`` says whether these are all rows of a table.

    Examples
    --------
    >>> frame = pd.DataFrame({"years": [2.0, 3.0, 5.0], "why": [1, 0, 2]})
    >>> found = bounds_by_cause(frame, {"time": "years", "cause": "why", "causes": {"relapse": 1, "death": 2}}, True)
    >>> found["relapse"]
    (array([2., 3., 5.]), array([ 2., inf, inf]))
    """
    time = finite_times(frame, form["time"])
    (series,) = columns_of(frame, [form["cause"]])
    places, distinct = distinct_values(series)
    row = row_of((places < 0) & ~np.isnan(time))
    if row is not None:
        raise TableError(
            f"column {series.name!r} must say for every time which event ended it, or that none did; row {row} is missing",
            column=series.name,
            row=row,
        )
    codes = dict(form["causes"])
    for code in codes.values():
        refuse_variants(series, places, distinct, code, others=(*codes.values(), form.get("censored")), typed=False)
    _check_codes(series, places, distinct, codes, form, whole)
    lower = from_the_start(time)
    out = {}
    for name, code in codes.items():
        seen = np.array([*(value == code for value in distinct), False], dtype=bool)[places] & ~np.isnan(time)
        out[str(name)] = lower, np.where(seen, lower, np.inf)
    return out


def _check_codes(series: pd.Series, places: Any, distinct: Any, codes: Mapping[str, Any], form: Mapping[str, Any], whole: bool) -> None:
    """Refuse causes that do not occur, and values that may be causes or may mean censored."""
    shown = ", ".join(map(as_typed, distinct[:6]))
    absent = [name for name, code in codes.items() if not any(value == code for value in distinct)]
    if absent and whole:
        raise TableError(
            f"column {series.name!r} never holds {as_typed(codes[absent[0]])}, the code of cause {absent[0]!r}; it holds {shown}. "
            'Write the codes as they stand there: "causes": {"relapse": 1, "death": 2}',
            column=series.name,
        )
    if "censored" in form:
        censored = [form["censored"]]
        others = [value for value in distinct if value not in codes.values() and value not in censored]
        rule = f"is neither a cause nor {as_typed(form['censored'])}, which means censored"
    else:
        others = [value for value in distinct if value not in codes.values()]
        others = others if len(others) > 1 else []
        rule = "is one of several values that are no cause, of which only one can mean censored"
    if others:
        row = int(np.flatnonzero(places == list(distinct).index(others[0]))[0])
        raise TableError(
            f"column {series.name!r} holds {as_typed(others[0])} in row {row}, which {rule}; name every cause under causes, "
            'and say what means censored: "censored": 0',
            column=series.name,
            row=row,
        )


def with_last_time(frame: pd.DataFrame, form: Mapping[str, Any], time: Array, no_event: Booleans) -> Array:
    """Times, with those of the column ``until`` where there is none and the status says that there was no event.

    Examples
    --------
    >>> frame = pd.DataFrame({"last": [5.0, 7.0, 9.0]})
    >>> with_last_time(frame, {"until": "last"}, np.array([3.0, np.nan, np.nan]), np.array([False, True, False]))
    array([ 3.,  7., nan])
    """
    if "until" not in form:
        return time
    return np.where(np.isnan(time) & no_event, finite_times(frame, form["until"]), time)


@dataclass(frozen=True)
class Silence:
    """Rows that say that there was no event, and not until when; and what is known of all others.

    Attributes
    ----------
    rows : int
        How many there are.
    first : int or None
        The first of them.
    events, censored : int
        Rows with a time.
    read : int
        All rows.
    """

    rows: int = 0
    first: int | None = None
    events: int = 0
    censored: int = 0
    read: int = 0

    @classmethod
    def of(cls, timed: Booleans, event: Booleans, no_event: Booleans) -> Silence:
        """Of a table: which rows have a time, and of which a status says that there was an event, or none."""
        silent = ~timed & no_event
        return cls(int(silent.sum()), row_of(silent), int((timed & event).sum()), int((timed & no_event).sum()), len(timed))

    def followed_by(self, other: Silence) -> Silence:
        """Of both parts of a table.

        Examples
        --------
        >>> Silence(read=10).followed_by(Silence(1, 2, read=5)).first
        12
        """
        first = self.first if self.first is not None or other.first is None else self.read + other.first
        counts = (self.rows + other.rows, first, self.events + other.events, self.censored + other.censored)
        return Silence(*counts, self.read + other.read)

    def say(self, time: Any, event: Any, until: Any = None, *, to_fit: bool = True) -> None:
        """Refuse events without a single censored time, of a table ``to_fit``; warn of all else."""
        if not self.rows:
            return
        empty = f"columns {time!r} and {until!r} are" if until is not None else f"column {time!r} is"
        some = f"row {self.first}" if self.rows == 1 else f"{self.rows} rows (the first is row {self.first})"
        found = f"{empty} empty in {some}, where {event!r} says that there was no event"
        advice = (
            'name the column that says until when there was none: "until": COLUMN (,until=COLUMN on the command line)'
            if until is None
            else "write there until when there was none"
        )
        if to_fit and self.events and not self.censored:
            raise TableError(
                f"{found}, so that only those with an event would count, and it would seem to happen to all; {advice}",
                column=time,
                row=self.first,
            )
        warn(f"{found}; nothing is known of the endpoint there. If they were followed up, {advice}", EndpointWarning)


FORMS = (
    "(time, event), or a mapping with time and event, with time, cause and causes, or with lower and upper; each may have entry and unit, "
    "time and event may have event_value, until and including, and causes may have censored; until may replace event; where columns hold "
    "dates, write from, and to instead of time"
)
"""What may be written, for messages."""


def form_of(name: str, definition: Any, unit: str | None) -> dict[str, Any]:
    """Bring a definition to a mapping of known keys; ``unit`` is that of the whole table."""
    if isinstance(definition, tuple | list) and len(definition) == 2:
        return {"time": definition[0], "event": definition[1], **({} if unit is None else {"unit": unit})}
    if isinstance(definition, Mapping):
        form = {("time" if key == "to" and "from" in definition else key): value for key, value in definition.items()}
        keys = set(form) - {"unit", *(("from", "dayfirst") if "from" in form else ())}
        for needed, allowed in (
            ({"time", "event"}, {"event_value", "entry", "including", "until"}),
            ({"time", "until"}, {"entry", "including"}),
            ({"time", "cause", "causes"}, {"entry", "censored"}),
            ({"lower", "upper"}, {"entry"}),
        ):
            if needed <= keys <= needed | allowed and len(form) == len(definition):
                _check_causes(name, form)
                _check_day_first(name, form)
                return _with_unit(name, form, unit)
    raise ValueError(f"endpoint {name!r} must be {FORMS}; found {definition!r}")


def _with_unit(name: str, form: dict[str, Any], unit: str | None) -> dict[str, Any]:
    if "unit" in form:
        form["unit"] = check_unit(form["unit"])
    elif unit is not None:
        form["unit"] = unit
    elif "from" in form:
        raise ValueError(f'endpoint {name!r} is defined by dates; say in which unit its times are wanted: "unit": "months"')
    return form


def _check_day_first(name: str, form: Mapping[str, Any]) -> None:
    if not isinstance(form.get("dayfirst", True), bool):
        raise ValueError(f"endpoint {name!r}: dayfirst must be True or False; found {form['dayfirst']!r}")


def _check_causes(name: str, definition: Mapping[str, Any]) -> None:
    causes = definition.get("causes", {"": None})
    if not isinstance(causes, Mapping) or not causes:
        raise ValueError(
            f'endpoint {name!r}: causes must map names to what the column holds: {{"relapse": 1, "death": 2}}; found {causes!r}'
        )


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


def bounds_by_name(frame: pd.DataFrame, name: str, form: Mapping[str, Any], whole: bool) -> dict[str, dict[str, Array]]:
    """Bounds of an endpoint, or of every cause, and entry if there is one; by name."""
    columns_of(frame, [form[part] for part in ("from", "time", "event", "cause", "lower", "upper", "entry", "until") if part in form])
    frame = _without_dates(frame, form, whole)
    if "causes" in form:
        pairs = bounds_by_cause(frame, form, whole)
    else:
        pairs = {name: _from_time_and_event(frame, form, whole) if "time" in form else _from_bounds(frame, form)}
    out: dict[str, dict[str, Array]] = {own: {"lower": lower, "upper": upper} for own, (lower, upper) in pairs.items()}
    if "entry" in form:
        entry = from_the_start(times_of(frame, form["entry"]))
        refuse_row(np.isinf(entry), entry, form["entry"], "must hold finite times")
        for bounds in out.values():
            lower = bounds["lower"]
            if "time" in form:
                refuse_row((lower > 0.0) & (lower < entry), lower, form["time"], "must not hold times before entry")
            bounds["entry"] = entry
    return out


def _without_dates(frame: pd.DataFrame, form: Mapping[str, Any], whole: bool) -> pd.DataFrame:
    """Times in the place of dates; if that cannot be, what is wrong with the events is said in the same run."""
    with collecting_problems() as problems:
        with problems.catching():
            if "from" in form:
                return with_durations(frame, form)
            refuse_dates(frame, form)
        if problems and "event" in form:
            known = frame[[form[part] for part in ("time", "from") if part in form]].notna().all(axis=1).to_numpy()
            with problems.catching():
                _events(frame[form["event"]], form.get("event_value"), known, whole)
    return frame


def _from_time_and_event(frame: pd.DataFrame, form: Mapping[str, Any], whole: bool) -> tuple[Array, Array]:
    if "event" not in form:
        return _from_time_of_events(frame, form)
    (recorded,) = columns_of(frame, [form["event"]])
    if "event_value" not in form:
        _refuse_exchanged(frame, form["time"], recorded)
    with collecting_problems() as problems:
        with problems.catching():
            time = finite_times(frame, form["time"])
        with problems.catching():
            event = _events(recorded, form.get("event_value"), frame[form["time"]].notna().to_numpy(), whole)
    no_event = recorded.notna().to_numpy() & ~event
    time = with_last_time(frame, form, time, no_event)
    if whole:
        begun = frame[form["from"]].notna().to_numpy() if "from" in form else np.True_
        Silence.of(~np.isnan(time), event, no_event & begun).say(form["time"], form["event"], form.get("until"))
    if whole and "event_value" not in form:
        warn_if_inverted(form["event"], time, event)
    lower = from_the_start(time)
    return lower, np.where(event & ~np.isnan(time), lower, np.inf)


def _from_time_of_events(frame: pd.DataFrame, form: Mapping[str, Any]) -> tuple[Array, Array]:
    """Where there is a time only if there was an event."""
    event_time = finite_times(frame, form["time"])
    event = ~np.isnan(event_time)
    lower = from_the_start(with_last_time(frame, form, event_time, ~event))
    return lower, np.where(event, lower, np.inf)


def _refuse_exchanged(frame: pd.DataFrame, time: Any, recorded: pd.Series) -> None:
    """Refuse events in the place of times, and times in the place of events."""
    numbers = pd.api.types.is_numeric_dtype
    if not (numbers(frame[time].dtype) and numbers(recorded.dtype)):
        return
    if recorded.nunique() > 2 >= frame[time].nunique() and frame[time].dropna().isin((0, 1)).all():
        raise TableError(
            f"time and event are exchanged: column {time!r} holds only 0 and 1, and {recorded.name!r} does not; write "
            f"({recorded.name!r}, {time!r})",
            column=time,
        )


def _events(series: pd.Series, event_value: Any, known: Any, whole: bool) -> Any:
    """Which rows saw the event; ``known`` tells which have a time, ``whole`` whether these are all rows."""
    places, distinct = distinct_values(series)
    shown = ", ".join(map(as_typed, distinct[:5]))
    rows = rows_of((places < 0) & known)
    if rows:
        raise TableError(
            f"column {series.name!r} must say for every time whether the event was seen; row {rows[0]} is missing{also(rows)}",
            column=series.name,
            row=rows[0],
            others=rows[1:],
        )
    if event_value is None:
        strange = np.array([*(value not in (0, 1) for value in distinct), False], dtype=bool)
        rows = rows_of(strange[places])
        if rows:
            row, *others = rows
            raise TableError(
                f"column {series.name!r} must hold 0/1 or booleans; found {as_typed(distinct[places[row]])} in row {row}. "
                f'State which of {shown} means an event: {{"time": ..., "event": {series.name!r}, "event_value": {_guess(distinct)}}}',
                column=series.name,
                row=row,
                others=others,
            )
        return np.array([*(value == 1 for value in distinct), False], dtype=bool)[places]
    with collecting_problems() as problems:
        with problems.catching():
            refuse_variants(series, places, distinct, event_value, typed=False)
        with problems.catching():
            refuse_unknown(series, places, distinct, event_value)
    is_event = np.array([*(value == event_value for value in distinct), False], dtype=bool)
    if whole and not is_event.any() and len(set(places[known])) > 1:
        meant = did_you_mean(str(event_value), [str(value) for value in distinct])
        raise TableError(f"column {series.name!r} never holds the event value {event_value!r}{meant}; found {shown}", column=series.name)
    if whole and is_event.any():
        warn_of_others(series.name, distinct, event_value)
    return is_event[places]


def _guess(distinct: Any) -> str:
    """What probably means an event, as it is written."""
    guess = probable_event(list(distinct))
    return "..." if guess is None else as_typed(guess)


def _from_bounds(frame: pd.DataFrame, form: Mapping[str, Any]) -> tuple[Array, Array]:
    lower, upper = from_the_start(times_of(frame, form["lower"])), times_of(frame, form["upper"])
    return lower, np.where(np.isnan(upper), np.inf, upper)
