"""What to write for an endpoint, guessed from the columns of a file, for someone who has not named one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harmonium.cli.line_numbers import data_files

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["no_endpoint"]

_STATUS = re.compile(r"(?i)(event|status|dead|death|died|cens|relap|recur|progres|fail|defect)")
_TIME = re.compile(r"(?i)(time|month|mth|day|week|year|hour|surv|follow|durat|cycles)")
_MOST_NAMES = 12


def no_endpoint(arguments: Sequence[str]) -> str:
    """What is said if a command has no --endpoint: the columns there are, and which of them may be one."""
    said = "there is no --endpoint; say which column holds the time, and which says whether the event was seen: -e NAME=TIME,EVENT"
    files = data_files(arguments)
    if not files:
        return said
    from harmonium.errors import silenced
    from harmonium.table.files.opening import open_table

    try:
        with silenced(UserWarning):
            table = open_table(files[0])
            frame = table.read(table.columns)
    except (ValueError, OSError, ImportError):
        return said
    names = ", ".join(map(repr, table.columns[:_MOST_NAMES])) + (", ..." if len(table.columns) > _MOST_NAMES else "")
    guess = _guess(frame)
    return f"{said}. {files[0].name} has {names}" + (f"; perhaps -e {guess}" if guess else "")


def _guess(frame: pd.DataFrame) -> str | None:
    """An endpoint made of a column that looks like a status, and of dates or times."""
    events = {name: text for name in frame.columns if (text := _event(frame[name])) is not None}
    named = [name for name in events if _STATUS.search(name)]
    if not named:
        return None
    event, dates = events[named[0]], _dates(frame)
    if len(dates) > 1:
        return f"{named[0]}={dates[-1]},{event},from={dates[0]},unit=months"
    times = [name for name in frame.columns if name not in events and _TIME.search(name) and frame[name].dtype.kind in "if"]
    return f"{named[0]}={times[0]},{event}" if times else None


def _event(series: pd.Series) -> str | None:
    """The column, with the value that means an event unless that is 1; None if it does not look like a status."""
    from harmonium.table.frames import distinct_values
    from harmonium.table.status_words import probable_event

    _, distinct = distinct_values(series)
    values = list(distinct)
    if not 1 < len(values) < 8:
        return None
    if all(value in (0, 1) for value in values):
        return str(series.name)
    guess = probable_event(values)
    return None if guess is None else f"{series.name}:{guess}"


def _dates(frame: pd.DataFrame) -> list[str]:
    """Columns that hold dates, the earliest first."""
    from harmonium.table.dates import dates_of, looks_like_dates

    names = [name for name in frame.columns if looks_like_dates(frame[name].dropna().unique())]
    try:
        found = dates_of([frame[name] for name in names], None)
    except ValueError:
        return names
    import numpy as np

    known = [own[~np.isnat(own)] for own in found]
    return [name for _, name in sorted(zip((np.sort(own)[own.size // 2] for own in known), names, strict=True))]
