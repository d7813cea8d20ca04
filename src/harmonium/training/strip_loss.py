"""The penalised log-likelihood of a small table, from the optimiser's coordinates to the gradient by them, in one compiled call.

With few rows the steps in between, each a call from Python, would take a quarter of the time; and so would the calls themselves, which is
why compiled code also makes several in a row: the gradients of a Hessian, and the iterations of a descent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.one_strip import Strip, add_up_strip
from harmonium.numerics.bounded_descent import MOVED, Descent, hear
from harmonium.numerics.compilation import compiled
from harmonium.training.coordinates import Coordinates, Places, write_gradient, write_natural
from harmonium.typing import Array, Integers

__all__ = ["StripProblem", "Trace", "descend_on_strip", "strip_losses", "strip_problem"]


class StripProblem(NamedTuple):
    """A penalised log-likelihood for compiled code."""

    strip: Strip
    at: Places
    mean: Array
    fixed_bias: Array
    n_hidden: int
    precisions: Array
    n_rows: float


class Trace(NamedTuple):
    """Iterates of a descent, one for each row, their values, and the number of evaluations up to each."""

    points: Array
    values: Array
    evaluations: Integers


def strip_problem(strip: Strip, coordinates: Coordinates, precisions: Array, n_rows: float) -> StripProblem:
    """Everything that the loss depends on but z."""
    at = coordinates
    return StripProblem(strip, at.places, at.mean, at.fixed_bias, at.n_hidden, precisions, float(n_rows))


@compiled()
def _loss(problem: StripProblem, z: Array, gradient: Array) -> tuple[float, bool]:
    """Fill in the gradient; returns the value, and whether all rows were summed."""
    strip, at, mean, fixed_bias, n_hidden, precisions, n_rows = problem
    n_statistics = mean.size
    bias, coupling, hidden = fixed_bias.copy(), np.zeros((n_statistics, n_hidden)), np.empty(n_hidden)
    write_natural(z, at, mean, bias, coupling, hidden)
    by_bias, by_coupling, by_hidden = np.empty(n_statistics), np.empty((n_statistics, n_hidden)), np.empty(n_hidden)
    value, complete = add_up_strip(strip, (bias, coupling, hidden, 0.0), by_bias, by_coupling, by_hidden)
    penalty = 0.0
    if complete:
        write_gradient(by_bias, by_coupling, by_hidden, at, mean, gradient)
        for i in range(z.size):
            penalty += precisions[i] * z[i] * z[i]
            gradient[i] = (precisions[i] * z[i] - gradient[i]) / n_rows
    return (0.5 * penalty - value) / n_rows, complete


@compiled()
def strip_losses(problem: StripProblem, points: Array, values: Array, gradients: Array) -> int:
    """Write value and gradient at each of some points; returns how many there were before some row could not be summed."""
    for k in range(len(points)):
        values[k], complete = _loss(problem, points[k], gradients[k])
        if not complete:
            return k
    return len(points)


@compiled()
def descend_on_strip(problem: StripProblem, at: Descent, trace: Trace) -> tuple[int, int, int, bool]:
    """Go on with a descent until the trace is full, the descent has ended, or some row cannot be summed with the strip's tables.

    Returns what came of the last point (:func:`harmonium.numerics.bounded_descent.hear`), how many iterates and how many evaluations there
    were, and whether all rows were summed to the end.
    """
    n_moved, n_evaluations, code = 0, 0, MOVED
    gradient, progress = np.empty(at.point.size), at.progress[0]
    while code <= MOVED and n_moved < trace.values.size:
        value, complete = _loss(problem, at.point, gradient)
        if not complete:
            return code, n_moved, n_evaluations, False
        n_evaluations += 1
        before = progress.n_iterations
        code = hear(at, value, gradient)
        if progress.n_iterations > before:
            trace.points[n_moved] = at.iterate
            trace.values[n_moved] = progress.value
            trace.evaluations[n_moved] = n_evaluations
            n_moved += 1
    return code, n_moved, n_evaluations, True
