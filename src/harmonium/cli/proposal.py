"""Which columns of a table may be endpoints: a status, and the time or date that belongs to it by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.table.dates import dates_of, looks_like_dates
from harmonium.table.frames import distinct_values
from harmonium.table.status_words import probable_event
from harmonium.typing import Booleans

__all__ = ["proposed"]

_STATUS = re.compile(r"(?i)(event|status|dead|death|died|deceased|cens|relap|recur|progres|metasta|fail|defect)")
_TIME = re.compile(r"(?i)(time|month|mth|day|week|year|hour|surv|follow|durat|cycles)")
_DEATH = re.compile(r"(?i)(dead|death|died|deceased|exitus|mortal)")
_LAST = re.compile(r"(?i)(last|follow|(^|_)fu(_|$)|seen|visit|contact|(^|_)os(_|$)|surv|cens)")
_BIRTH = re.compile(r"(?i)(birth|born|(^|_)dob(_|$))")
_WORD = re.compile(r"[^\W\d_]+")
_GENERAL = {"event", "events", "status", "stat", "date", "day", "days", "dat", "time", "times", "month", "months", "mth", "mths"} | {
    "week", "weeks", "year", "years", "hour", "hours", "of", "at", "to", "cens", "censor", "censored", "indicator", "yn", "flag"
}  # fmt: skip
_DEAD_OR_ALIVE = {"dead", "died", "deceased", "alive", "living"}
_FEWEST_LETTERS = 3  # that two words must share, to mean the same


@dataclass(frozen=True, eq=False)
class _Status:
    """A column that says whether an event was seen."""

    column: str
    value: Any
    """What means an event; None if that is 1."""
    is_death: bool
    no_event: Booleans
    """The rows that say so."""

    @property
    def written(self) -> str:
        """As the command line takes it."""
        return self.column if self.value is None else f"{self.column}:{self.value}"

    @property
    def name(self) -> str:
        """What to call the endpoint."""
        own = _words(self.column)
        return "death" if self.is_death else "_".join(own) if own else self.column


def proposed(frame: pd.DataFrame) -> str | None:
    """Endpoints as they are written after a command; None if none is recognised.

    Examples
    --------
    >>> proposed(pd.DataFrame({"os_mth": [3.0, 5.0, 7.5], "dead": [0, 1, 0], "age": [60, 70, 80]}))
    '-e death=os_mth,dead'
    """
    status = _status_columns(frame)
    dates = _dates(frame)
    numbers = [name for name in frame.columns if _TIME.search(name) and frame[name].dtype.kind in "if"]
    times = [*dates[1:], *(name for name in numbers if name not in (*dates, *(own.column for own in status)))]
    found = {own: time for own in status if (time := _time_of(own, times)) is not None}
    if not found and status and times:
        found = {status[0]: times[len(dates) - 2] if len(dates) > 1 else times[0]}
    names = _names(list(found))
    texts = [f"-e {names[own]}={_definition(frame, own, time, dates, times)}" for own, time in found.items()]
    deaths = [names[own] for own in found if own.is_death]
    return " ".join([*texts, *(f"--terminal {name}" for name in deaths[:1] if len(texts) > 1)]) or None


def _definition(frame: pd.DataFrame, own: _Status, time: str, dates: Sequence[str], times: Sequence[str]) -> str:
    """The columns of an endpoint."""
    dated = time in dates
    parts = [time, own.written, *([f"from={dates[0]}"] if dated else [])]
    if (frame[time].isna().to_numpy() & own.no_event).any():
        others = [name for name in times if name != time and (name in dates) == dated and frame[name].notna().all()]
        last = [name for name in others if _LAST.search(name)] or others
        parts += [f"until={last[-1]}"] if last else []
    return ",".join([*parts, *(["unit=months"] if dated else [])])


def _names(status: Sequence[_Status]) -> dict[_Status, str]:
    """What to call each endpoint: no two alike."""
    out: dict[_Status, str] = {}
    for own in status:
        out[own] = own.column if own.name in out.values() else own.name
    return out


def _time_of(own: _Status, times: Sequence[str]) -> str | None:
    """The time that belongs to a status by its name; the last one seen is that of death, if it has none of its own."""
    alike = [name for name in times if any(_alike(a, b) for a in _words(own.column) for b in _words(name))]
    if own.is_death:
        alike += [name for name in times if _DEATH.search(name)] + [name for name in reversed(times) if _LAST.search(name)]
    return alike[0] if alike else None


def _words(name: str) -> list[str]:
    """Of a column's name, those that tell it from others."""
    return [word for word in map(str.casefold, _WORD.findall(name)) if word not in _GENERAL]


def _alike(a: str, b: str) -> bool:
    """Whether two words have the same beginning: rec and recurrence, recurred and recurrence.

    Examples
    --------
    >>> _alike("rec", "recurrence"), _alike("recurred", "recurrence"), _alike("progression", "pain")
    (True, True, False)
    """
    n = min(len(a), len(b), _FEWEST_LETTERS + 1)
    return a == b or (n >= _FEWEST_LETTERS and a[:n] == b[:n])


def _status_columns(frame: pd.DataFrame) -> list[_Status]:
    """Columns with a few values that look like a status, by their name or by words such as dead and alive."""
    found = (_status(frame[name]) for name in frame.columns)
    return [own for own in found if own is not None]


def _status(series: pd.Series) -> _Status | None:
    places, distinct = distinct_values(series)
    values, name = list(distinct), str(series.name)
    if not 1 < len(values) < 8:
        return None
    says_dead = any(str(value).strip().casefold() in _DEAD_OR_ALIVE for value in values)
    if not says_dead and not _STATUS.search(name):
        return None
    plain = all(value in (0, 1) for value in values)
    event = 1 if plain else probable_event(values)
    if event is None:
        return None
    no_event = (places >= 0) & (places != values.index(event))
    return _Status(name, None if plain else event, says_dead or _DEATH.search(name) is not None, no_event)


def _dates(frame: pd.DataFrame) -> list[str]:
    """Columns that hold dates, but for those of birth, the earliest first."""
    names = [name for name in frame.columns if looks_like_dates(frame[name].dropna().unique()) and not _BIRTH.search(name)]
    try:
        found = dates_of([frame[name] for name in names], None)
    except ValueError:
        return names
    known = [own[~np.isnat(own)] for own in found]
    return [name for _, name in sorted(zip((np.sort(own)[own.size // 2] for own in known), names, strict=True))]
