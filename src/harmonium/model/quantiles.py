"""Quantiles of an endpoint, by inverting its survival curve.

Between neighbours of a fine grid the curve is the cubic that has its values and slopes at both; on a thousand intervals that is exact
to about eight digits. A coarse grid tells first which part of the fine one a row needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.curves import KnownRows
from harmonium.typing import Array

__all__ = ["quantile"]

_N_INTERVALS = 1024
_N_INTERVALS_SAMPLED = 128  # sampling is coarser than that anyway
_STEP = 64  # fine intervals in a coarse one


def quantile(
    parameters: Parameters, cells: Cells, column: int, share: float, rng: np.random.Generator, n_threads: int | None = None
) -> Array:
    """The position until which the event has happened with probability ``share``, given all cells, for every row (eq. 24)."""
    exact = parameters.n_hidden <= EXACT_LIMIT
    grid = np.linspace(0.0, 1.0, (_N_INTERVALS if exact else _N_INTERVALS_SAMPLED) + 1)
    lower, upper = cells.column(column)
    out = np.where(lower == upper, lower, np.nan)
    left = np.isnan(out)
    if left.any():
        known = KnownRows.of(parameters, cells.part(np.flatnonzero(left)), rng, n_threads)
        out[left] = np.concatenate([_quantile(rows, column, grid, 1.0 - share) for rows in known])
    return out


def _quantile(rows: KnownRows, column: int, grid: Array, level: float) -> Array:
    """Where survival falls to a level."""
    coarse = _crossing(rows.survival(column, grid[::_STEP]).mean, level)
    out = np.empty(coarse.size)
    for interval in np.unique(coarse):
        own = coarse == interval
        part, fine = rows.part(own), grid[interval * _STEP : (interval + 1) * _STEP + 1]
        out[own] = _invert(fine, part.survival(column, fine).mean, part.density(column, fine).mean, level)
    return out


def _crossing(alive: Array, level: float) -> NDArray[np.int64]:
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
