"""What follows from curves, whatever gives them: areas under them, times at which they reach a level, values at times of each row's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harmonium.model.intervals import groups_of_intervals
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["areas", "at_own_times", "first_times", "time_grid"]

_N_PANELS, _N_NODES = 16, 8  # of an integral, even in time and once more even in events: 1e-9 where curves are smooth
_N_COARSE, _N_FINE = 64, 32  # intervals of a search; between two thousand times a smooth curve is a cubic to ten digits
_N_BISECTIONS = 50
_ROWS_AT_ONCE = 500  # with times of their own, each of which is found for all of them

Curves = Callable[[Integers, Array], Array]
"""Maps numbers of rows, and times, to values (rows, ..., times)."""


def time_grid(scale: TimeScale, n: int) -> Array:
    """Times from 0 to the end of a scale, even in events."""
    out: Array = scale.from_unit(np.linspace(0.0, scale.reach, n + 1))
    out[0], out[-1] = 0.0, scale.end
    return out


def areas(curves: Curves, breaks: Array, scale: TimeScale, until: float) -> Array:
    """Areas under curves until a time, (rows, ...).

    Parameters
    ----------
    curves : callable
    breaks : ndarray of shape (n_rows, n_breaks)
        Times at which the curves of each row have steps or bends; 0 where there is none.
    scale : TimeScale
        On which the curves are smooth.
    until : float
    """
    knots = scale.end * np.array(scale.knots)
    smooth = np.concatenate([np.linspace(0.0, until, _N_PANELS + 1), time_grid(scale, _N_PANELS), knots])
    groups, out = groups_of_intervals(*breaks.T), np.empty(0)
    for group, first in enumerate(np.unique(groups, return_index=True)[1]):
        rows = np.flatnonzero(groups == group)
        edges = np.concatenate([smooth, breaks[first]])
        nodes, weights = panel_nodes(np.unique(edges[edges <= until]), _N_NODES)
        found = curves(rows, nodes)
        out = np.empty((len(breaks), *found.shape[1:-1])) if not out.size else out
        out[rows] = np.sum(found * weights, axis=-1)  # a row's sum by itself
    return out


def at_own_times(curves: Curves, times: Array) -> Array:
    """Values at a time of each row's own, (rows,)."""
    out = np.empty(times.size)
    for begin in range(0, times.size, _ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + _ROWS_AT_ONCE, times.size))
        distinct, place = np.unique(times[rows], return_inverse=True)
        out[rows] = curves(rows, distinct)[np.arange(rows.size), place]
    return out


def first_times(curves: Curves, n_rows: int, scale: TimeScale, level: float) -> Array:
    """When each row's rising curve reaches a level; infinite if it does not until the end.

    Examples
    --------
    >>> from harmonium.table.time_scale import fit_time_scale
    >>> scale = fit_time_scale("linear", np.array([10.0]), np.array([10.0]), horizon=10.0)
    >>> first_times(lambda rows, times: np.tile((times / 8.0) ** 2, (rows.size, 1)), 2, scale, 0.25).round(9)
    array([4., 4.])
    """
    everybody, grid = np.arange(n_rows), np.linspace(0.0, scale.reach, _N_COARSE * _N_FINE + 1)
    out, times = np.full(n_rows, np.inf), time_grid(scale, _N_COARSE * _N_FINE)
    coarse = curves(everybody, times[::_N_FINE])
    place = np.argmax(coarse >= level, axis=1)
    out[coarse[:, 0] >= level] = 0.0
    for interval in np.unique(place[place > 0]):
        rows, part = np.flatnonzero(place == interval), slice((interval - 1) * _N_FINE, interval * _N_FINE + 1)
        out[rows] = scale.from_unit(_crossing(grid[part], curves(rows, times[part]), level))
    return out


def _crossing(grid: Array, values: Array, level: float) -> Array:
    """Where curves (rows, grid) first reach a level: by bisection on the cubic through the four nearest points."""
    row, end = np.arange(len(values)), np.argmax(values >= level, axis=1)
    first = np.clip(end - 2, 0, grid.size - 4)
    nodes = np.arange(4.0)
    low, high = end - 1.0 - first, np.asarray(end - first, dtype=np.float64)
    for _ in range(_N_BISECTIONS):
        x = 0.5 * (low + high)
        value = np.zeros(row.size)
        for k in range(4):
            others = nodes[nodes != k]
            value += values[row, first + k] * np.prod((x[:, None] - others) / (k - others), axis=1)
        low, high = np.where(value < level, x, low), np.where(value < level, high, x)
    return np.asarray(grid[first] + high * (grid[1] - grid[0]))
