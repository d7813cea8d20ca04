"""Where a quadratic model leads within bounds: a step of L-BFGS-B.

The model's matrix is that of :mod:`harmonium.numerics.curvature_pairs`. The path of steepest descent, bent at the bounds, is followed to
the first minimum of the model, the generalised Cauchy point. Coordinates that are at a bound there are held. In the others the model's
minimum is sought, and cut to the bounds (Byrd, Lu, Nocedal and Zhu, SIAM Journal on Scientific Computing 16, 1995, 1190-1208; Morales and
Nocedal, ACM Transactions on Mathematical Software 38, 2011, 7).
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.numerics.curvature_pairs import Pairs, copy, dot, solve_free, times_middle, w_product, w_row
from harmonium.typing import Array, Booleans

__all__ = ["model_minimum"]

_SMALLEST = 2.0**-52


class _Path(NamedTuple):
    """The path of steepest descent: how it goes on, and where each coordinate meets a bound. And W' times direction and way so far."""

    direction: Array
    meets: Array
    by_direction: Array
    by_way: Array


@compiled()
def model_minimum(pairs: Pairs, point: Array, gradient: Array, low: Array, high: Array, out: Array) -> bool:
    """Write where the model leads from a point within the bounds; False if rounding has spoilt the model's matrix."""
    n_pairs = pairs.size[0]
    path = _Path(np.empty(point.size), np.empty(point.size), np.empty(2 * n_pairs), np.zeros(2 * n_pairs))
    held = np.zeros(point.size, np.bool_)
    _begin_path(pairs, point, gradient, low, high, path, held)
    copy(point, out)
    _follow_path(pairs, point, low, high, path, held, out)
    if n_pairs == 0 or held.all():
        return True
    way = np.empty(point.size)
    _free_residual(pairs, point, gradient, path.by_way, held, out, way)
    if not solve_free(pairs, np.flatnonzero(held), way):
        return False
    _go_within(point, gradient, low, high, way, out)
    return True


@compiled()
def _begin_path(pairs: Pairs, point: Array, gradient: Array, low: Array, high: Array, path: _Path, held: Booleans) -> None:
    """Steepest descent; coordinates at a bound that it would cross are held, and so are those without a slope at a bound."""
    for i in range(point.size):
        slope = gradient[i]
        at_low, at_high = point[i] <= low[i], point[i] >= high[i]
        held[i] = (at_low and slope >= 0.0) or (at_high and slope <= 0.0)
        path.direction[i] = 0.0 if held[i] else -slope
        room = point[i] - low[i] if slope > 0.0 else high[i] - point[i]
        path.meets[i] = inf if held[i] or slope == 0.0 else room / abs(slope)
    w_product(pairs, path.direction, path.by_direction)


@compiled()
def _follow_path(pairs: Pairs, point: Array, low: Array, high: Array, path: _Path, held: Booleans, out: Array) -> None:
    """From one bound to the next, as long as the model falls. ``slope`` and ``bend`` are its derivatives along the path."""
    direction, meets, by_direction, by_way = path
    theta, middle, row = pairs.theta[0], np.empty(by_way.size), np.empty(by_way.size)
    slope = -dot(direction, direction)
    if slope == 0.0:
        return
    times_middle(pairs, by_direction, middle)
    bend = -theta * slope - dot(by_direction, middle)
    least, gone = -_SMALLEST * theta * slope, 0.0
    while True:
        i = int(np.argmin(meets))
        ahead = meets[i] - gone
        if not -slope / bend >= ahead:  # the minimum comes before the next bound; or there are no numbers
            break
        gone = meets[i]
        speed, meets[i], held[i], direction[i] = direction[i], inf, True, 0.0
        out[i] = high[i] if speed > 0.0 else low[i]
        w_row(pairs, i, row)
        times_middle(pairs, row, middle)
        for k in range(by_way.size):
            by_way[k] += ahead * by_direction[k]
        slope += ahead * bend + speed * (speed - theta * (out[i] - point[i]) + dot(by_way, middle))
        bend += speed * (2.0 * dot(by_direction, middle) - speed * (theta + dot(row, middle)))
        for k in range(by_way.size):
            by_direction[k] -= speed * row[k]
        bend = max(least, bend)
        if not direction.any():
            return
    rest = max(-slope / bend, 0.0)
    for k in range(by_way.size):
        by_way[k] += rest * by_direction[k]
    for i in range(out.size):
        if not held[i]:
            out[i] += (gone + rest) * direction[i]


@compiled()
def _free_residual(pairs: Pairs, point: Array, gradient: Array, by_way: Array, held: Booleans, cauchy: Array, out: Array) -> None:
    """Write minus the model's gradient at the Cauchy point, 0 where coordinates are held."""
    n, theta, middle = pairs.size[0], pairs.theta[0], np.empty(by_way.size)
    times_middle(pairs, by_way, middle)
    for i in range(out.size):
        out[i] = -gradient[i] - theta * (cauchy[i] - point[i])
    for k in range(n):
        a, b, change, step = middle[k], theta * middle[n + k], pairs.changes[k], pairs.steps[k]
        for i in range(out.size):
            out[i] += a * change[i] + b * step[i]
    for i in range(out.size):
        out[i] = 0.0 if held[i] else out[i]


@compiled()
def _go_within(point: Array, gradient: Array, low: Array, high: Array, way: Array, out: Array) -> None:
    """Go from the Cauchy point on to the model's minimum, cut to the bounds; if that leads uphill, only to the first bound."""
    projected, uphill = np.empty(out.size), 0.0
    for i in range(out.size):
        projected[i] = min(max(out[i] + way[i], low[i]), high[i])
        uphill += (projected[i] - point[i]) * gradient[i]
    if uphill <= 0.0:
        copy(projected, out)
        return
    share = 1.0
    for i in range(out.size):
        if way[i] != 0.0:
            room = (high[i] if way[i] > 0.0 else low[i]) - out[i]
            share = min(share, room / way[i])
    share = max(share, 0.0)
    for i in range(out.size):
        out[i] = min(max(out[i] + share * way[i], low[i]), high[i])
