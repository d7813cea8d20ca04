"""Minimisation within bounds when a value and gradient are dear, but an approximate Hessian is to be had for less.

A trust-region method with a dense matrix. The curvature comes from outside: from a sample of rows, say, while value and gradient are those
of all rows. Between two looks at it, BFGS updates correct the matrix by what the gradients say. The subproblem, a convex quadratic within
bounds, is solved by an active set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import OptimizeResult

from harmonium.typing import Array, Booleans

__all__ = ["minimise", "quadratic_step"]

_FLATTEST = 1e-8  # least curvature, relative to the largest
_STIFFNESS_RANGE = 1e-8  # of the square roots of coordinates' own curvatures
_FIRST_RADIUS, _WIDEST = 1.0, 100.0  # of the trust region, in the coordinates' own unit
_POOR, _GOOD = 0.25, 0.75  # what is gained relative to what the quadratic model promised
_LONG = 8  # iterations after which the curvature is looked at again, if steps are refused or the search is about to end
_STIFFEST = 1e12  # damping relative to the mean curvature, beyond which a step is as short as it will be
_MOST_CHANGES = 50  # of the active set, in one step
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
    note : callable, optional
        Hears of every iterate, as a callback of :func:`scipy.optimize.minimize` does.

    Returns
    -------
    OptimizeResult
        With the fields that L-BFGS-B returns.

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
    return OptimizeResult(
        x=search.z, fun=search.value, jac=search.gradient, nit=n_iter, nfev=n_iter + 1, message=message, status=status, success=status == 0
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
        self._matrix = _convex(self._curvature(self.z))
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
        damping, unit, hoped = 0.0, float(np.median(np.diag(self._matrix))), 0.0
        self._restricted = False
        while True:
            step = self._step(damping)
            promised = -float(self.gradient @ step + 0.5 * step @ self._matrix @ step)
            hoped = max(hoped, promised)
            if np.linalg.norm(step) <= self._radius or damping > _STIFFEST * unit:
                return step, promised, hoped
            damping = max(4.0 * damping, _FLATTEST * unit)
            self._restricted = True

    def _step(self, damping: float) -> Array:
        low, high = (bound - self.z for bound in self._bounds)
        try:
            return quadratic_step(self._matrix + damping * np.eye(self.z.size), self.gradient, low, high)
        except np.linalg.LinAlgError:  # updates are positive definite but for rounding
            self._matrix = _convex(self._matrix)
            return quadratic_step(self._matrix + damping * np.eye(self.z.size), self.gradient, low, high)

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

    def _learn(self, step: Array, change: Array) -> None:
        """Powell's damped BFGS update, which keeps the matrix positive definite."""
        product = self._matrix @ step
        length, found = float(step @ product), float(step @ change)
        if length <= 0.0:
            return
        if found < 0.2 * length:
            share = 0.8 * length / (length - found)
            change = share * change + (1.0 - share) * product
            found = float(step @ change)
        self._matrix = self._matrix - np.outer(product, product) / length + np.outer(change, change) / found


def quadratic_step(matrix: Array, gradient: Array, low: Array, high: Array) -> Array:
    """The d between bounds that minimises ``gradient @ d + d @ matrix @ d / 2``, the matrix being positive definite.

    Coordinates that a step would carry beyond a bound are held there, and let go again if the gradient at the end pulls them inside.
    """
    step = np.zeros(gradient.size)
    held: Booleans = ((low >= 0.0) & (gradient > 0.0)) | ((high <= 0.0) & (gradient < 0.0))
    for _ in range(_MOST_CHANGES):
        free = np.flatnonzero(~held)
        pull = gradient[free] + matrix[np.ix_(free, np.flatnonzero(held))] @ step[held]
        wanted = -cho_solve(cho_factor(matrix[np.ix_(free, free)]), pull) if free.size else pull
        beyond = (wanted < low[free]) | (wanted > high[free])
        step[free] = np.clip(wanted, low[free], high[free])
        if beyond.any():
            held[free[beyond]] = True
            continue
        slope = gradient + matrix @ step
        inwards: Booleans = held & (((step <= low) & (slope < 0.0)) | ((step >= high) & (slope > 0.0)))
        if not inwards.any():
            break
        held[inwards] = False
    return step


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
