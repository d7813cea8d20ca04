"""Bounds of an endpoint's times, from the columns that define it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError, collecting_problems
from harmonium.table.causes import bounds_by_cause
from harmonium.table.dated_endpoints import refuse_dates, with_durations
from harmonium.table.event_free import Silence, with_last_time
from harmonium.table.frames import also, as_typed, columns_of, did_you_mean, distinct_values, rows_of
from harmonium.table.status import warn_if_inverted
from harmonium.table.status_words import probable_event, refuse_unknown, refuse_variants, warn_of_others
from harmonium.table.time_columns import finite_times, from_the_start, refuse_row, times_of
from harmonium.typing import Array

__all__ = ["bounds_by_name", "refuse_variants"]


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
