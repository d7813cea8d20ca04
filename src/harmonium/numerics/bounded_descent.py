"""Minimisation within bounds by L-BFGS-B, asked for one point at a time.

The method is that of SciPy's L-BFGS-B, step for step: the model and its minimum within the bounds are in
:mod:`harmonium.numerics.cauchy_point`, the line search in :mod:`harmonium.numerics.line_search`. Here it is compiled code that a compiled
objective can call: with few rows a value and gradient take a tenth of a millisecond, and SciPy's calls from Python half of that again.

A :class:`Descent` says at which point it wants value and gradient; :func:`hear` takes them, and moves on.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from harmonium.numerics.cauchy_point import model_minimum
from harmonium.numerics.compilation import compiled
from harmonium.numerics.curvature_pairs import Pairs, copy, dot, empty_pairs, forget, remember
from harmonium.numerics.line_search import ENDED, SEARCH, begin_search, judge
from harmonium.typing import Array

__all__ = ["FLAT", "LEVEL", "MOVED", "SEARCHING", "STUCK", "Descent", "begin_descent", "descend", "hear", "result_of"]

SEARCHING, MOVED, LEVEL, FLAT, STUCK = 0, 1, 2, 3, 4
"""The next point belongs to the same line search; there is a new iterate; the method has ended, there being little more to gain, no slope,
or nothing better to be found."""

_TURNING, _MOVING = -1, -2  # a new direction is wanted, after a new iterate or without one
_MOST_PAIRS = 20
_MOST_TRIALS = 20  # of a line search
_LONGEST = 1e10  # step, in lengths of the direction
_ROUNDING = 2.0**-52

_MESSAGES = {
    MOVED: "the limit of iterations was reached",
    LEVEL: "the relative change of the objective is no more than tol",
    FLAT: "the projected gradient is flat",
    STUCK: "the line search finds nothing better",
}

_PROGRESS = np.dtype(
    [
        ("begun", "i8"),  # whether the value at the beginning is known
        ("boxed", "i8"),  # whether all coordinates have two bounds
        ("n_iterations", "i8"),
        ("n_trials", "i8"),  # of this line search
        ("value", "f8"),  # at the iterate
        ("tol", "f8"),  # relative change of the value at which the method ends
        ("flat", "f8"),  # projected gradient at which it does
    ]
)


class Descent(NamedTuple):
    """Where a descent is.

    Attributes
    ----------
    point : ndarray of shape (n,)
        Where value and gradient are wanted.
    iterate, gradient : ndarray of shape (n,)
        The best point so far, and the gradient there.
    direction : ndarray of shape (n,)
        Of the line search.
    target : ndarray of shape (n,)
        The model's minimum, which a step of one leads to.
    low, high : ndarray of shape (n,)
    pairs : Pairs
        What is known of the curvature.
    search, progress : ndarray of shape (1,)
        Records.
    """

    point: Array
    iterate: Array
    gradient: Array
    direction: Array
    target: Array
    low: Array
    high: Array
    pairs: Pairs
    search: NDArray[Any]
    progress: NDArray[Any]


def begin_descent(start: Array, bounds: tuple[Array, Array], tol: float, flat: float) -> Descent:
    """A descent that wants to know of its start, cut to the bounds."""
    low, high = (np.ascontiguousarray(bound, dtype=np.float64) for bound in bounds)
    point = np.clip(np.asarray(start, dtype=np.float64), low, high)
    rows, progress = np.zeros((4, point.size)), np.zeros(1, _PROGRESS)
    progress["tol"], progress["flat"] = tol, flat
    progress["boxed"] = bool(np.isfinite(low).all() and np.isfinite(high).all())
    pairs = empty_pairs(_MOST_PAIRS, point.size)
    return Descent(point, rows[0], rows[1], rows[2], rows[3], low, high, pairs, np.zeros(1, SEARCH), progress)


@compiled()
def hear(at: Descent, value: float, gradient: Array) -> int:
    """Take value and gradient at the point that was wanted; returns what has come of it."""
    code = _begun(at, value, gradient) if not at.progress[0].begun else _searched(at, value, gradient)
    while code in (_TURNING, _MOVING):
        if _turn(at):
            return MOVED if code == _MOVING else SEARCHING
        if at.pairs.size[0] == 0:
            return STUCK
        forget(at.pairs)
    return code


@compiled()
def _begun(at: Descent, value: float, gradient: Array) -> int:
    """The value at the beginning has become known."""
    at.progress[0].begun, at.progress[0].value = 1, value
    copy(at.point, at.iterate)
    copy(gradient, at.gradient)
    return FLAT if _projected(at) <= at.progress[0].flat else _TURNING


@compiled()
def _searched(at: Descent, value: float, gradient: Array) -> int:
    """A trial of the line search; the last of these is the next iterate, unless there were too many."""
    progress, slope = at.progress[0], dot(gradient, at.direction)
    if judge(at.search[0], value, slope) != ENDED:
        progress.n_trials += 1
        if progress.n_trials < _MOST_TRIALS:
            _try(at)
            return SEARCHING
        if at.pairs.size[0] == 0:
            return STUCK
        forget(at.pairs)
        return _TURNING
    before = progress.value
    _learn(at, value, gradient, slope)
    progress.n_iterations += 1
    if _projected(at) <= progress.flat:
        return FLAT
    return LEVEL if before - value <= progress.tol * max(abs(before), abs(value), 1.0) else _MOVING


@compiled()
def _projected(at: Descent) -> float:
    """The largest slope in a direction in which the bounds leave room; infinite if it is no number."""
    largest = 0.0
    for i in range(at.iterate.size):
        aim = min(max(at.iterate[i] - at.gradient[i], at.low[i]), at.high[i])
        largest = max(largest, abs(aim - at.iterate[i]))
        if isnan(at.gradient[i]):
            return inf
    return largest


@compiled()
def _learn(at: Descent, value: float, gradient: Array, slope: float) -> None:
    """The point becomes the iterate. The step and the change of the gradient are remembered, if the curvature along it is positive."""
    length, first, change = at.search[0].step, at.search[0].slope, np.empty(gradient.size)
    for i in range(change.size):
        at.direction[i] *= length
        change[i] = gradient[i] - at.gradient[i]
    at.progress[0].value = value
    copy(at.point, at.iterate)
    copy(gradient, at.gradient)
    if length * (slope - first) > -_ROUNDING * length * first and not remember(at.pairs, at.direction, change):
        forget(at.pairs)


@compiled()
def _turn(at: Descent) -> bool:
    """Aim for the model's minimum, and begin a line search; False if that does not lead downhill."""
    if not model_minimum(at.pairs, at.iterate, at.gradient, at.low, at.high, at.target):
        return False
    for i in range(at.direction.size):
        at.direction[i] = at.target[i] - at.iterate[i]
    slope = dot(at.gradient, at.direction)
    if not slope < 0.0:
        return False
    first, longest = _first_step(at), _longest_step(at)
    begin_search(at.search[0], at.progress[0].value, slope, min(first, longest), longest)
    at.progress[0].n_trials = 0
    _try(at)
    return True


@compiled()
def _first_step(at: Descent) -> float:
    """To the model's minimum; the first one, of whose scale nothing is known, is no longer than one."""
    if at.progress[0].n_iterations > 0 or at.progress[0].boxed:
        return 1.0
    return min(1.0 / sqrt(dot(at.direction, at.direction)), 1.0)


@compiled()
def _longest_step(at: Descent) -> float:
    """To the first bound along the direction; one at first."""
    if at.progress[0].n_iterations == 0:
        return 1.0
    longest = _LONGEST
    for i in range(at.direction.size):
        way = at.direction[i]
        if way != 0.0:
            room = (at.high[i] if way > 0.0 else at.low[i]) - at.iterate[i]
            longest = min(longest, room / way)
    return max(longest, 0.0)


@compiled()
def _try(at: Descent) -> None:
    """The point at the step that the line search wants."""
    step = at.search[0].step
    for i in range(at.point.size):
        moved = at.target[i] if step == 1.0 else at.iterate[i] + step * at.direction[i]
        at.point[i] = min(max(moved, at.low[i]), at.high[i])


def descend(
    loss: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: tuple[Array, Array],
    *,
    tol: float,
    flat: float,
    max_iter: int,
    note: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a function within bounds.

    Parameters
    ----------
    loss : callable
        Value and gradient.
    start : ndarray
    bounds : tuple of ndarray
        Lowest and highest.
    tol : float
        Relative change of the value at which the method ends.
    flat : float
        Largest element of the projected gradient at which it does.
    max_iter : int
        Most iterations, and a tenth of the most evaluations.
    note : callable, optional
        Hears of every iterate, as a callback of :func:`scipy.optimize.minimize` does.

    Returns
    -------
    OptimizeResult
        With the fields that SciPy's L-BFGS-B returns.

    Examples
    --------
    >>> def loss(z):
    ...     return float(np.sum((z - 3.0) ** 2)), 2.0 * (z - 3.0)
    >>> found = descend(loss, np.zeros(2), (np.zeros(2), np.array([1.0, np.inf])), tol=1e-12, flat=1e-9, max_iter=20)
    >>> found.x.round(6), found.success
    (array([1., 3.]), True)
    """
    at, code = begin_descent(start, bounds, tol, flat), SEARCHING
    n_evaluations, n_noted = 0, 0
    while code <= MOVED and n_noted < max_iter and n_evaluations < 10 * max_iter:
        value, gradient = loss(at.point)
        code = hear(at, value, gradient)
        n_evaluations += 1
        if at.progress["n_iterations"][0] > n_noted:
            n_noted += 1
            if note is not None:
                note(OptimizeResult(x=at.iterate.copy(), fun=float(at.progress["value"][0])))
    return result_of(at, code, n_evaluations)


def result_of(at: Descent, code: int, n_evaluations: int) -> OptimizeResult:
    """What a descent has come to, as SciPy's L-BFGS-B says it: status 0 is success, 1 a limit that was reached, 2 a failed line search."""
    status = 0 if code in (LEVEL, FLAT) else 2 if code == STUCK else 1
    return OptimizeResult(
        x=at.iterate.copy(),
        fun=float(at.progress["value"][0]),
        jac=at.gradient.copy(),
        nit=int(at.progress["n_iterations"][0]),
        nfev=n_evaluations,
        message=_MESSAGES[max(code, MOVED)],
        status=status,
        success=status == 0,
    )
