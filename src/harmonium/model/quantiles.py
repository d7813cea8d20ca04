"""Quantiles of an endpoint, by inverting its survival curve.

Between neighbours of a fine grid the curve is the cubic that has its values and slopes at both; on a thousand intervals that is exact
to about eight digits. A coarse grid says first which part of the fine one a row needs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harmonium.typing import Array, Booleans, Integers

__all__ = ["Curves", "first_times", "invert_survival"]

_N_INTERVALS = 1024
_N_INTERVALS_SAMPLED = 128  # sampling is coarser than that anyway
_STEP = 64  # fine intervals in a coarse one

Curves = Callable[[Booleans, Array], tuple[Array, Array]]
"""Maps chosen rows and positions on the unit interval to survival and density, each (chosen rows, positions)."""


def invert_survival(curves: Curves, n_rows: int, level: float, *, exact: bool) -> Array:
    """The position at which every row's survival falls to a level (eq. 24)."""
    grid = np.linspace(0.0, 1.0, (_N_INTERVALS if exact else _N_INTERVALS_SAMPLED) + 1)
    everybody = np.ones(n_rows, dtype=bool)
    coarse = _crossing(curves(everybody, grid[::_STEP])[0], level)
    out = np.empty(n_rows)
    for interval in np.unique(coarse):
        own = coarse == interval
        fine = grid[interval * _STEP : (interval + 1) * _STEP + 1]
        out[own] = _invert(fine, *curves(own, fine), level)
    return out


def _crossing(alive: Array, level: float) -> Integers:
    """The interval in which each of some falling curves (rows, positions) reaches a level."""
    return np.asarray(np.clip(np.sum(alive > level, axis=1) - 1, 0, alive.shape[1] - 2))


def _invert(grid: Array, alive: Array, density: Array, level: float) -> Array:
    """Where falling curves (rows, grid) reach a level: by bisection on the cubic of the interval in which they do."""
    place = _crossing(alive, level)
    row = np.arange(len(alive))
    width = grid[place + 1] - grid[place]
    y0, y1 = alive[row, place], alive[row, place + 1]
    m0, m1 = -width * density[row, place], -width * density[row, place + 1]
    low, high = np.zeros(len(alive)), np.ones(len(alive))
    for _ in range(50):
        x = 0.5 * (low + high)
        y = (2 * x**3 - 3 * x**2 + 1) * y0 + (x**3 - 2 * x**2 + x) * m0 + (3 * x**2 - 2 * x**3) * y1 + (x**3 - x**2) * m1
        above = y > level
        low, high = np.where(above, x, low), np.where(above, high, x)
    return np.asarray(grid[place] + width * 0.5 * (low + high))


# --- of cumulative incidences ---

_N_COARSE, _N_FINE = 64, 32  # intervals of the search for a level of cumulative incidences
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
