"""Subjects without an event and without a time: many tables hold a date of recurrence only where there was one.

Until when the others were free of it stands in another column, ``until``. Without it nothing is known of them, and if all others had the
event, incidences would be far too high.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, TableError, warn
from harmonium.table.frames import row_of
from harmonium.table.time_columns import finite_times
from harmonium.typing import Array, Booleans

__all__ = ["Silence", "with_last_time"]


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
