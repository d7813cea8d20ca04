"""Times at which cumulative incidences reach a level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harmonium.typing import Array, Integers

__all__ = ["first_times"]

_N_COARSE, _N_FINE = 64, 32
_N_BISECTIONS = 3  # each of which divides an interval into _N_FINE; the rest is a straight line

Incidence = Callable[[Integers, Array], Array]
"""Maps numbers of rows, and times, to incidences (rows, times)."""


def first_times(incidence: Incidence, n_rows: int, end: float, level: float) -> Array:
    """When each row's incidence reaches a level; infinite if it does not until the end.

    Examples
    --------
    >>> first_times(lambda rows, times: np.tile(times / 8.0, (rows.size, 1)), 2, 10.0, 0.5).round(9)
    array([4., 4.])
    """
    out = np.full(n_rows, np.inf)
    if n_rows:
        _search(incidence, np.arange(n_rows), np.linspace(0.0, end, _N_COARSE + 1), level, _N_BISECTIONS, out)
    return out


def _search(incidence: Incidence, rows: Integers, grid: Array, level: float, further: int, out: Array) -> None:
    found = incidence(rows, grid)
    reached = found >= level
    left = reached.any(axis=1)
    place = np.argmax(reached, axis=1)
    out[rows[left & (place == 0)]] = grid[0]
    for interval in np.unique(place[left & (place > 0)]):
        own = left & (place == interval)
        if further:
            _search(incidence, rows[own], np.linspace(grid[interval - 1], grid[interval], _N_FINE + 1), level, further - 1, out)
            continue
        low, high = found[own, interval - 1], found[own, interval]
        share = (level - low) / np.maximum(high - low, 1e-300)
        jump = high - low > 0.5 * np.maximum(high, level)  # a step, not a slope
        out[rows[own]] = np.where(jump, grid[interval], grid[interval - 1] + share * (grid[interval] - grid[interval - 1]))
