"""L-BFGS-B on a penalised log-likelihood: in compiled code as far as that goes, several iterations at a time, else step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.numerics.bounded_descent import MOVED, Descent, begin_descent, hear, result_of
from harmonium.training.penalised import PenalisedLikelihood
from harmonium.training.strip_loss import StripProblem, Trace, descend_on_strip
from harmonium.typing import Array

__all__ = ["descended"]

_FLAT = 1e-7  # projected gradient at which there is nothing left to gain
_AT_ONCE = 20  # iterations between two looks at what the history says, and at Ctrl-C

Note = Callable[[OptimizeResult], None]


def descended(
    problem: PenalisedLikelihood, z: Array, max_iter: int, tol: float, note: Note | None = None, *, flat: float = _FLAT
) -> OptimizeResult:
    """Minimise the loss, from z on, until its relative change is no more than ``tol``.

    Iterates and evaluations are the same in compiled code and step by step. ``note`` hears of every iterate.
    """
    at, code = begin_descent(z, problem.coordinates.bounds(), tol, flat), MOVED
    before = problem.n_evaluations
    while code <= MOVED and _n_iterations(at) < max_iter and problem.n_evaluations - before < 10 * max_iter:
        strip = problem.strip()
        if strip is None:
            code = _one_step(problem, at, note)
        else:
            n_at_most = min(_AT_ONCE, max_iter - _n_iterations(at))
            code, complete = _several_steps(problem, strip, at, n_at_most, note)
            if not complete:
                code = _one_step(problem, at, note)
    return result_of(at, code, problem.n_evaluations - before)


def _n_iterations(at: Descent) -> int:
    return int(at.progress["n_iterations"][0])


def _one_step(problem: PenalisedLikelihood, at: Descent, note: Note | None) -> int:
    """One evaluation by any means."""
    n_before = _n_iterations(at)
    code = hear(at, *problem.loss(at.point))
    if note is not None and _n_iterations(at) > n_before:
        note(OptimizeResult(x=at.iterate.copy(), fun=float(at.progress["value"][0])))
    return code


def _several_steps(problem: PenalisedLikelihood, strip: StripProblem, at: Descent, n_at_most: int, note: Note | None) -> tuple[int, bool]:
    """So many iterations, unless some row cannot be summed with the strip's tables; whether all could be."""
    trace = Trace(np.empty((n_at_most, at.point.size)), np.empty(n_at_most), np.empty(n_at_most, np.int64))
    code, n_moved, n_evaluations, complete = descend_on_strip(strip, at, trace)
    before = problem.n_evaluations
    problem.count_uses(n_evaluations)
    if note is not None:
        after = problem.n_evaluations
        for k in range(n_moved):
            problem.n_evaluations = before + int(trace.evaluations[k])
            note(OptimizeResult(x=trace.points[k], fun=float(trace.values[k])))
        problem.n_evaluations = after
    return code, complete
