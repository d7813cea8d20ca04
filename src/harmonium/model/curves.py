"""What follows from curves, whatever gives them: areas under them, times at which they reach a level, values at times of each row's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harmonium.model.known_rows import groups_of_intervals
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["areas", "at_own_times", "first_times", "time_grid"]

_N_PANELS, _N_NODES = 16, 8  # of an integral, even in time: curves of event histories are quicker at even steps
_N_COARSE, _N_FINE = 64, 32  # intervals of a search; between two thousand times a smooth curve is a cubic to ten digits
_N_NEAR, _N_BISECTIONS = 4, 50  # points through which a cubic goes, and steps to where it reaches a level
_ROWS_AT_ONCE = 500  # with times of their own, each of which is found for all of them

Curves = Callable[[Integers, Array], Array]
"""Maps numbers of rows, and times, to values (rows, ..., times)."""


def time_grid(scale: TimeScale, n: int) -> Array:
    """Times from 0 to the end of a scale, even in events."""
    out: Array = scale.from_unit(np.linspace(0.0, scale.reach, n + 1))
    out[0], out[-1] = 0.0, scale.end
    return out


def areas(curves: Curves, breaks: Array, until: float) -> Array:
    """Areas under curves until a time, (rows, ...).

    Parameters
    ----------
    curves : callable
    breaks : ndarray of shape (n_rows, n_breaks)
        Times at which the curves of each row have steps or bends; 0 where there is none.
    until : float
    """
    even = np.linspace(0.0, until, _N_PANELS + 1)
    if not len(breaks):
        return curves(np.arange(0), even)[..., 0]
    groups, found, order = groups_of_intervals(*breaks.T), list[Array](), list[Integers]()
    for group, first in enumerate(np.unique(groups, return_index=True)[1]):
        order.append(np.flatnonzero(groups == group))
        nodes, weights = panel_nodes(np.unique(np.concatenate([even, breaks[first]])), _N_NODES)
        found.append(np.sum(curves(order[-1], nodes) * weights, axis=-1))  # a row's sum by itself
    return np.asarray(np.concatenate(found)[np.argsort(np.concatenate(order))])


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
    n = _N_COARSE * _N_FINE
    times, first, near = time_grid(scale, n), np.zeros(n_rows, dtype=np.int64), np.zeros((n_rows, _N_NEAR))
    coarse = curves(np.arange(n_rows), times[::_N_FINE])
    place = np.argmax(coarse >= level, axis=1)
    for interval in np.unique(place[place > 0]):
        rows, start = np.flatnonzero(place == interval), (interval - 1) * _N_FINE
        values = curves(rows, times[start : start + _N_FINE + 1])
        own = np.clip(np.argmax(values >= level, axis=1) - _N_NEAR // 2, 0, _N_FINE + 1 - _N_NEAR)
        near[rows], first[rows] = values[np.arange(rows.size)[:, None], own[:, None] + np.arange(_N_NEAR)], start + own
    found = scale.from_unit((first + _crossing(near, level)) * (scale.reach / n))
    return np.where(coarse[:, 0] >= level, 0.0, np.where(place > 0, found, np.inf))


def _crossing(values: Array, level: float) -> Array:
    """Where curves (rows, points) first reach a level, in steps from the first point: by bisection on the cubic through the points."""
    coefficients = values @ np.linalg.inv(np.vander(np.arange(_N_NEAR))).T
    high = np.argmax(values >= level, axis=1).astype(np.float64)
    low = high - 1.0
    for _ in range(_N_BISECTIONS):
        x, value = 0.5 * (low + high), np.zeros(len(values))
        for own in coefficients.T:
            value = value * x + own
        low, high = np.where(value < level, x, low), np.where(value < level, high, x)
    return np.asarray(high)
