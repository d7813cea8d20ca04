"""The line search of Moré and Thuente, one trial at a time (ACM Transactions on Mathematical Software 20, 1994, 286-307).

It looks along a direction of descent for a step after which the function is lower by a share of what the slope promised, and the slope
much flatter. Values and slopes come from outside: the state of the search is kept in a record, of type :data:`SEARCH`, and every trial
moves it on. MINPACK-2 and L-BFGS-B have the same search.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from harmonium.numerics.compilation import compiled

__all__ = ["ENDED", "SEARCH", "begin_search", "judge"]

ENDED, GOES_ON = 1, 0

_LOWER, _FLATTER, _NARROW = 1e-3, 0.9, 0.1  # share of the promised decrease, share of the slope, relative width of what is left
_LEAST_STRETCH, _MOST_STRETCH = 1.1, 4.0  # how far beyond the last trial the next one may go
_SHRINK = 0.66  # an interval must shrink by this factor within two trials

SEARCH = np.dtype(
    [
        ("step", "f8"),  # where to look next
        ("longest", "f8"),  # no step may be longer
        ("bracketed", "i8"),  # whether a minimum lies between best and other
        ("lowered", "i8"),  # whether some trial was low enough, with a slope that does not fall
        ("value", "f8"),  # at the beginning
        ("slope", "f8"),
        ("width", "f8"),  # of the interval between best and other, and its width before
        ("width_before", "f8"),
        ("best", "f8"),  # the best step so far, the other end of the interval; values and slopes there
        ("best_value", "f8"),
        ("best_slope", "f8"),
        ("other", "f8"),
        ("other_value", "f8"),
        ("other_slope", "f8"),
        ("low", "f8"),  # where the next trial may be
        ("high", "f8"),
    ]
)
"""The state of a search."""


@compiled()
def begin_search(at: Any, value: float, slope: float, step: float, longest: float) -> None:
    """Begin at a point with this value and (negative) slope; the first trial is at ``step``."""
    at.step, at.longest = step, longest
    at.bracketed, at.lowered = 0, 0
    at.value, at.slope = value, slope
    at.width, at.width_before = longest, 2.0 * longest
    at.best, at.best_value, at.best_slope = 0.0, value, slope
    at.other, at.other_value, at.other_slope = 0.0, value, slope
    at.low, at.high = 0.0, step + _MOST_STRETCH * step


@compiled()
def judge(at: Any, value: float, slope: float) -> int:
    """Hear of value and slope at the trial step: the search has ended there, or goes on with another step."""
    promised = _LOWER * at.slope
    low_enough = value <= at.value + at.step * promised
    if low_enough and slope >= 0.0:
        at.lowered = 1
    if _has_ended(at, low_enough, slope, promised):
        return ENDED
    tilt = promised if not at.lowered and value <= at.best_value and not low_enough else 0.0  # until one was low enough
    at.best_value, at.best_slope = at.best_value - at.best * tilt, at.best_slope - tilt
    at.other_value, at.other_slope = at.other_value - at.other * tilt, at.other_slope - tilt
    _choose_step(at, value - at.step * tilt, slope - tilt)
    at.best_value, at.best_slope = at.best_value + at.best * tilt, at.best_slope + tilt
    at.other_value, at.other_slope = at.other_value + at.other * tilt, at.other_slope + tilt
    _narrow(at)
    return GOES_ON


@compiled()
def _has_ended(at: Any, low_enough: bool, slope: float, promised: float) -> bool:
    """Whether the trial step will do, or there is no better one to be had."""
    if at.bracketed and (at.step <= at.low or at.step >= at.high or at.high - at.low <= _NARROW * at.high):
        return True
    if at.step == at.longest and low_enough and slope <= promised:
        return True
    if at.step == 0.0 and (not low_enough or slope >= promised):
        return True
    return low_enough and abs(slope) <= -_FLATTER * at.slope


@compiled()
def _narrow(at: Any) -> None:
    """Bisect if the interval shrinks too slowly, and say where the next trial may be."""
    if at.bracketed:
        width = abs(at.other - at.best)
        if width >= _SHRINK * at.width_before:
            at.step = at.best + 0.5 * (at.other - at.best)
        at.width_before, at.width = at.width, width
        at.low, at.high = min(at.best, at.other), max(at.best, at.other)
    else:
        at.low = at.step + _LEAST_STRETCH * (at.step - at.best)
        at.high = at.step + _MOST_STRETCH * (at.step - at.best)
    at.step = min(max(at.step, 0.0), at.longest)
    if at.bracketed and (at.step <= at.low or at.step >= at.high or at.high - at.low <= _NARROW * at.high):
        at.step = at.best


@compiled()
def _cubic_root(theta: float, first: float, second: float) -> float:
    """The root that all cubic interpolations need, without overflow."""
    size = max(abs(theta), abs(first), abs(second))
    return size * sqrt(max(0.0, (theta / size) ** 2 - (first / size) * (second / size))) if size > 0.0 else 0.0


@compiled()
def _choose_step(at: Any, value: float, slope: float) -> None:
    """The next trial step from cubic and quadratic interpolation, and the interval that now holds a minimum."""
    best, step, opposite = at.best, at.step, slope * at.best_slope < 0.0
    forward, back = step - best, best - step
    theta = 3.0 * (at.best_value - value) / forward + at.best_slope + slope
    root = _cubic_root(theta, at.best_slope, slope)
    if value > at.best_value:  # higher: the minimum is in between
        root = -root if forward < 0.0 else root
        cubic = best + forward * ((root - at.best_slope) + theta) / (((root - at.best_slope) + root) + slope)
        quadratic = best + 0.5 * forward * at.best_slope / ((at.best_value - value) / forward + at.best_slope)
        chosen = cubic if abs(cubic - best) < abs(quadratic - best) else cubic + 0.5 * (quadratic - cubic)
        at.bracketed = 1
    elif opposite:  # lower, and the slope has changed its sign
        root = -root if forward > 0.0 else root
        cubic = step + back * ((root - slope) + theta) / (((root - slope) + root) + at.best_slope)
        secant = step + back * slope / (slope - at.best_slope)
        chosen = cubic if abs(cubic - step) > abs(secant - step) else secant
        at.bracketed = 1
    elif abs(slope) < abs(at.best_slope):  # lower, and flatter
        chosen = _beyond(at, slope, theta, root)
    elif at.bracketed:  # lower, and no flatter: interpolate with the other end
        theta = 3.0 * (value - at.other_value) / (at.other - step) + at.other_slope + slope
        root = _cubic_root(theta, at.other_slope, slope)
        root = -root if step > at.other else root
        chosen = step + (at.other - step) * ((root - slope) + theta) / (((root - slope) + root) + at.other_slope)
    else:
        chosen = at.high if forward > 0.0 else at.low
    if value > at.best_value:
        at.other, at.other_value, at.other_slope = step, value, slope
    else:
        if opposite:
            at.other, at.other_value, at.other_slope = at.best, at.best_value, at.best_slope
        at.best, at.best_value, at.best_slope = step, value, slope
    at.step = chosen


@compiled()
def _beyond(at: Any, slope: float, theta: float, root: float) -> float:
    """The next step where the trial was lower and flatter: the cubic may have no minimum beyond it."""
    step, back = at.step, at.best - at.step
    forward = back < 0.0
    root = -root if forward else root
    ratio = ((root - slope) + theta) / ((root + (at.best_slope - slope)) + root)
    farthest = at.high if forward else at.low
    cubic = step + ratio * back if ratio < 0.0 and root != 0.0 else farthest
    secant = step + back * slope / (slope - at.best_slope)
    nearer = abs(cubic - step) < abs(secant - step)
    if not at.bracketed:
        return float(min(max(secant if nearer else cubic, at.low), at.high))
    chosen, limit = cubic if nearer else secant, step + _SHRINK * (at.other - step)
    return float(min(limit, chosen) if forward else max(limit, chosen))
