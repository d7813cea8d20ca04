"""Minimisation within bounds when a value and gradient are dear, but an approximate Hessian is to be had for less.

A trust-region method with a dense matrix. The curvature comes from outside: from a sample of rows, say, while value and gradient are those
of all rows. Between two looks at it, BFGS updates correct the matrix by what the gradients say. The subproblem, a convex quadratic within
bounds, is solved by an active set. Where values no longer differ beyond rounding, gradients still do, and a few last steps can
be judged by them: two searches that came another way then end in the same place, not only at the same height.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["minimise", "quadratic_step"]

_FLATTEST = 1e-8  # least curvature, relative to the largest
_STIFFNESS_RANGE = 1e-8  # of the square roots of coordinates' own curvatures
_FIRST_RADIUS, _WIDEST = 1.0, 100.0  # of the trust region, in the coordinates' own unit
_POOR, _GOOD = 0.25, 0.75  # what is gained relative to what the quadratic model promised
_LONG = 8  # iterations after which the curvature is looked at again, if steps are refused or the search is about to end
_MOST_DAMPED = 34  # powers of four from the least damping on, after which a step is as short as it will be
_MOST_CHANGES = 50  # of the active set, in one step
_LAST_STEPS, _NOTHING = 6, 1e-24  # beyond what values can tell: most of them, and what a promise is worth none for
_ROUNDING = 1e-13  # relative error of a value


def minimise(
    loss: Callable[[Array], tuple[float, Array]],
    z: Array,
    bounds: tuple[Array, Array],
    curvature: Callable[[Array], Array],
    *,
    tol: float,
    max_iter: int,
    target: float = np.inf,
    to_the_point: bool = False,
    note: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a function whose values and gradients are dear.

    Parameters
    ----------
    loss : callable
        Value and gradient.
    z : ndarray
        Where to begin, within the bounds.
    bounds : tuple of ndarray
        Lowest and highest.
    curvature : callable
        An approximate Hessian, which need not be positive definite.
    tol : float
        The method stops where the quadratic model promises less than this.
    max_iter : int
        Most iterations, each of which takes one value and gradient.
    target : float
        The method gives up where even twice what the quadratic model promises, however long the way, would not lead below this.
    to_the_point : bool
        Whether a few last steps follow that values cannot judge. They change nothing but the last digits of z, and take a gradient each.
    note : callable, optional
        Hears of every iterate, as a callback of :func:`scipy.optimize.minimize` does.

    Returns
    -------
    OptimizeResult
        With the fields that L-BFGS-B returns, and ``hess``, what is known of the Hessian at the end, which is positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> def loss(z):
    ...     return float(np.sum((z - 3.0) ** 2)), 2.0 * (z - 3.0)
    >>> found = minimise(loss, np.zeros(2), (np.zeros(2), np.array([1.0, np.inf])), lambda z: 2.0 * np.eye(2), tol=1e-9, max_iter=20)
    >>> found.x, found.success
    (array([1., 3.]), True)
    """
    search = _Search(z, *loss(z), bounds, curvature)
    message, status = "the limit of iterations was reached", 1
    n_iter = 0
    while n_iter < max_iter:
        step, promised, hoped = search.proposed()
        if promised <= max(tol, search.rounding) and search.has_gone_far():
            search.look()
            continue
        if promised <= max(tol, search.rounding):
            message, status = "the quadratic model promises no more than tol", 0
            break
        if search.value - 2.0 * hoped > target:
            message, status = "the target is out of reach", 3
            break
        n_iter += 1
        search.go(step, promised, *loss(search.z + step))
        if note is not None:
            note(OptimizeResult(x=search.z, fun=search.value))
        if search.is_stuck():
            message, status = "no step improves the objective beyond rounding", 2
            break
    n_last = search.settle(loss) if to_the_point and status == 0 else 0
    return OptimizeResult(
        x=search.z,
        fun=search.value,
        jac=search.gradient,
        hess=search.matrix,
        nit=n_iter,
        nfev=n_iter + n_last + 1,
        message=message,
        status=status,
        success=status == 0,
    )


class _Search:
    """Where the search is, and what it knows of the curvature there."""

    def __init__(self, z: Array, value: float, gradient: Array, bounds: tuple[Array, Array], curvature: Callable[[Array], Array]) -> None:
        self.z, self.value, self.gradient = z, value, gradient
        self._bounds, self._curvature = bounds, curvature
        self._radius, self._restricted = _FIRST_RADIUS, False
        self.look()

    def look(self) -> None:
        """At the curvature here."""
        self.matrix = _convex(self._curvature(self.z))
        self._n_steps = 0

    @property
    def rounding(self) -> float:
        """The error of a value."""
        return _ROUNDING * max(1.0, abs(self.value))

    def has_gone_far(self) -> bool:
        """Whether the curvature was looked at long ago."""
        return self._n_steps >= _LONG

    def is_stuck(self) -> bool:
        """Whether the region has shrunk to nothing."""
        return self._radius < 1e-10

    def proposed(self) -> tuple[Array, float, float]:
        """The best step of the quadratic model within the region and the bounds, what it promises, and what one of any length would."""
        found = self._within_region()
        if found is None:  # updates are positive definite but for rounding
            self.matrix = _convex(self.matrix)
            found = self._within_region()
        if found is None:
            raise np.linalg.LinAlgError("the quadratic model is not convex")
        return found

    def _within_region(self) -> tuple[Array, float, float] | None:
        low, high = (bound - self.z for bound in self._bounds)
        step = np.empty(self.z.size)
        promised, hoped, done = _damped_step(self.matrix, self.gradient, low, high, self._radius, step)
        self._restricted = promised < hoped
        return (step, promised, hoped) if done else None

    def go(self, step: Array, promised: float, value: float, gradient: Array) -> None:
        """Take a step, or refuse it; learn from its gradient either way."""
        gained = self.value - value
        ratio = (gained + self.rounding) / (promised + self.rounding) if np.isfinite(value) else -np.inf
        length = float(np.linalg.norm(step))
        if np.isfinite(value):
            self._learn(step, gradient - self.gradient)
        if ratio < _POOR:
            self._radius = 0.25 * length
        elif ratio > _GOOD and self._restricted:
            self._radius = min(max(self._radius, 3.0 * length), _WIDEST)
        self._n_steps += 1
        if ratio > 1e-4:
            self.z, self.value, self.gradient = np.clip(self.z + step, *self._bounds), value, gradient
        if ratio < _POOR and self.has_gone_far():
            self.look()

    def settle(self, loss: Callable[[Array], tuple[float, Array]]) -> int:
        """Some last steps, judged by what is still promised rather than by values, which no longer differ beyond rounding; their number."""
        step, promised, _ = self.proposed()
        n_steps = 0
        while n_steps < _LAST_STEPS and promised > _NOTHING:
            n_steps += 1
            before, here = promised, (self.z, self.value, self.gradient)
            value, gradient = loss(self.z + step)
            if not np.isfinite(value):
                break
            self._learn(step, gradient - self.gradient)
            self.z, self.value, self.gradient = np.clip(self.z + step, *self._bounds), value, gradient
            step, promised, _ = self.proposed()
            if promised >= before:
                self.z, self.value, self.gradient = here
                break
        return n_steps

    def _learn(self, step: Array, change: Array) -> None:
        """Powell's damped BFGS update, which keeps the matrix positive definite."""
        product = self.matrix @ step
        length, found = float(step @ product), float(step @ change)
        if length <= 0.0:
            return
        if found < 0.2 * length:
            share = 0.8 * length / (length - found)
            change = share * change + (1.0 - share) * product
            found = float(step @ change)
        self.matrix = self.matrix - np.outer(product, product) / length + np.outer(change, change) / found


def quadratic_step(matrix: Array, gradient: Array, low: Array, high: Array) -> Array:
    """The d between bounds that minimises ``gradient @ d + d @ matrix @ d / 2``, the matrix being positive definite.

    Coordinates that a step would carry beyond a bound are held there, and let go again if the gradient at the end pulls them inside.
    """
    step = np.empty(gradient.size)
    if not _bounded_step(matrix, 0.0, gradient, low, high, step):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return step


@compiled(sums=True)
def _products(a: Array, i: int, b: Array, j: int, n: int) -> float:
    """The product of the first n elements of two rows."""
    total = 0.0
    for k in range(n):
        total += a[i, k] * b[j, k]
    return total


@compiled()
def _solve(matrix: Array, damping: float, free: Integers, pull: Array, factor: Array) -> bool:
    """Solve for the free coordinates, ``pull`` (one row) becoming the solution, by Cholesky's method; False if there is none."""
    n = free.size
    for i in range(n):
        for j in range(i):
            factor[i, j] = (matrix[free[i], free[j]] - _products(factor, i, factor, j, j)) / factor[j, j]
        square = matrix[free[i], free[i]] + damping - _products(factor, i, factor, i, i)
        if not square > 0.0:
            return False
        factor[i, i] = np.sqrt(square)
        pull[0, i] = (pull[0, i] - _products(factor, i, pull, 0, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        pull[0, i] /= factor[i, i]
        for j in range(i):
            pull[0, j] -= factor[i, j] * pull[0, i]
    return True


@compiled()
def _bounded_step(matrix: Array, damping: float, gradient: Array, low: Array, high: Array, step: Array) -> bool:
    """:func:`quadratic_step` with a multiple of the identity added to the matrix; False if it is not positive definite."""
    n = gradient.size
    held, factor, end = np.empty(n, np.bool_), np.empty((n, n)), step.reshape(1, n)
    for i in range(n):
        held[i] = (low[i] >= 0.0 and gradient[i] > 0.0) or (high[i] <= 0.0 and gradient[i] < 0.0)
        step[i] = 0.0
    for _ in range(_MOST_CHANGES):
        free = np.flatnonzero(~held)
        wanted = np.empty((1, free.size))
        for k in range(free.size):
            step[free[k]] = 0.0
        for k in range(free.size):
            wanted[0, k] = -gradient[free[k]] - _products(matrix, free[k], end, 0, n)
        if not _solve(matrix, damping, free, wanted, factor):
            return False
        beyond = False
        for k in range(free.size):
            i = free[k]
            held[i] = wanted[0, k] < low[i] or wanted[0, k] > high[i]
            beyond |= held[i]
            step[i] = min(max(wanted[0, k], low[i]), high[i])
        if beyond:
            continue
        inwards = False
        for i in range(n):
            if held[i]:
                slope = gradient[i] + damping * step[i] + _products(matrix, i, end, 0, n)
                held[i] = not ((step[i] <= low[i] and slope < 0.0) or (step[i] >= high[i] and slope > 0.0))
                inwards |= not held[i]
        if not inwards:
            break
    return True


@compiled()
def _damped_step(matrix: Array, gradient: Array, low: Array, high: Array, radius: float, step: Array) -> tuple[float, float, bool]:
    """The least damped step within the region: what it promises, what the undamped one does, and whether the matrix is positive definite.

    Dampings are powers of four times the least one; steps get shorter from one to the next.
    """
    n = gradient.size
    unit, end = np.median(np.diag(matrix)), step.reshape(1, n)
    promised = hoped = 0.0
    lowest, highest, power = 0, _MOST_DAMPED, 0  # no damping at all, and powers of four beyond
    while True:
        damping = _FLATTEST * unit * 4.0 ** (power - 1) if power > 0 else 0.0
        if not _bounded_step(matrix, damping, gradient, low, high, step):
            return 0.0, 0.0, False
        promised = 0.0
        for i in range(n):
            promised -= step[i] * (gradient[i] + 0.5 * _products(matrix, i, end, 0, n))
        hoped = max(hoped, promised)
        within = np.sqrt(_products(end, 0, end, 0, n)) <= radius
        if within and power == lowest:
            return promised, hoped, True
        if within:
            highest = power
        else:
            lowest = power + 1
        if lowest >= highest and (within or power == highest):
            return promised, hoped, True
        power = (lowest + highest) // 2 if lowest < highest else highest


def _convex(matrix: Array) -> Array:
    """The same curvature upwards wherever it was downwards, and nowhere quite flat.

    Flat and downwards as seen in coordinates of curvature one: where some are stiffer than others by orders of magnitude, what is flat to
    within rounding next to the stiffest may still be what decides.
    """
    size = np.sqrt(np.abs(np.diag(matrix)))
    unit = np.maximum(size, _STIFFNESS_RANGE * max(float(size.max(initial=0.0)), 1e-300))
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T) / np.outer(unit, unit))
    found = np.abs(values)
    scaled = (vectors * np.maximum(found, _FLATTEST * max(float(found.max(initial=0.0)), 1e-300))) @ vectors.T
    convex: Array = scaled * np.outer(unit, unit)
    return convex
