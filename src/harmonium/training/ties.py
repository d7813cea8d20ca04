"""Tied event times are intervals.

Times that were recorded to the day or month repeat. Taken as exact, each repetition rewards a density that is ever higher at
that time; taken as what they are, a time known to within half the distance to its neighbours, they do not.
"""

from __future__ import annotations

import numpy as np

from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["ties_as_intervals"]


def ties_as_intervals(y: Endpoints) -> Endpoints:
    """Widen every event time that occurs more than once to the middle of the distances to the neighbouring recordings."""
    lower, upper = y.lower.copy(), y.upper.copy()
    for e in range(len(y.names)):
        event = y.event[:, e] & (y.lower[:, e] > 0.0)
        times, place, counts = np.unique(y.lower[event, e], return_inverse=True, return_counts=True)
        low, high = _midpoints(times, y.lower[:, e])
        tied = counts[place] > 1
        rows = np.flatnonzero(event)[tied]
        lower[rows, e], upper[rows, e] = low[place[tied]], high[place[tied]]
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
