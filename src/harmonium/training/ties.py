"""Tied event times are intervals.

Times that were recorded to the day or month repeat. Taken as exact, each repetition rewards a density that is ever higher at
that time; taken as what they are, a time known to within half the distance to its neighbours, they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["TiedTimes", "ties_as_intervals"]


@dataclass(frozen=True)
class TiedTimes:
    """Event times of one endpoint that occur more than once, ascending, and the intervals that they stand for."""

    times: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, known: EndpointSummary) -> TiedTimes:
        """From the middle of the distance to the recording before to that of the distance to the one after.

        Times that are not known to the last digit are not taken for ties.
        """
        tied = known.event & (known.lower > 0.0) & (known.count > 1)
        times = known.lower[tied] if not known.is_cut else np.empty(0)
        return cls(times, *_midpoints(times, known.lower))


def ties_as_intervals(y: Endpoints, tied: Sequence[TiedTimes] | None = None) -> Endpoints:
    """Widen every event time that occurs more than once to the middle of the distances to the neighbouring recordings.

    ``tied`` has the ties of a whole table of which these are some rows; by default this is the whole.
    """
    found = [TiedTimes.of(known) for known in summarise_endpoints(y)] if tied is None else tied
    lower, upper = y.lower.copy(), y.upper.copy()
    for e, ties in enumerate(found):
        if not ties.times.size:
            continue
        place = np.minimum(np.searchsorted(ties.times, y.lower[:, e]), ties.times.size - 1)
        rows = np.flatnonzero(y.event[:, e] & (ties.times[place] == y.lower[:, e]))
        lower[rows, e], upper[rows, e] = ties.lower[place[rows]], ties.upper[place[rows]]
        lower[rows, e] = np.maximum(lower[rows, e], y.entry[rows, e])
    return Endpoints(y.names, lower, upper, y.entry)


def _midpoints(times: Array, recordings: Array) -> tuple[Array, Array]:
    """Half way to the recording before and after each time."""
    known = np.unique(np.concatenate([recordings[recordings > 0.0], times]))
    place = np.searchsorted(known, times)
    before = np.where(place > 0, known[np.maximum(place - 1, 0)], 0.0)
    after = known[np.minimum(place + 1, known.size - 1)]
    after = np.where(place + 1 < known.size, after, 2.0 * times - before)
    return 0.5 * (before + times), 0.5 * (times + after)
