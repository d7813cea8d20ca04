"""Step functions: curves that can be called, with the face that scikit-survival's tools expect of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.typing import Array

__all__ = ["StepFunction", "as_step_functions"]

Domain = tuple[float | None, float | None]


class StepFunction:
    """A function that is constant between given points, and takes its new value at each of them.

    Between the lower end of the domain and the first point it has the first value.

    Parameters
    ----------
    x : array_like of shape (n_points,)
        Points, ascending.
    y : array_like of shape (n_points,)
        Values from each point on.
    a, b : float
        A factor of all values, and a number that is added to them.
    domain : tuple (lower, upper)
        Where the function may be evaluated. None stands for the first or the last point.

    Examples
    --------
    >>> alive = StepFunction([1.0, 2.0, 4.0], [0.9, 0.5, 0.3])
    >>> float(alive(3.0))
    0.5
    >>> alive([0.0, 2.0])
    array([0.9, 0.5])
    >>> alive.domain
    (0.0, 4.0)
    >>> alive(5.0)
    Traceback (most recent call last):
    ValueError: x must be between 0 and 4, where the step function is defined; found 5
    """

    def __init__(self, x: Any, y: Any, *, a: float = 1.0, b: float = 0.0, domain: Domain = (0.0, None)) -> None:
        self.x, self.y = np.asarray(x), np.asarray(y)
        if self.x.ndim != 1 or self.x.size == 0 or len(self.y) != self.x.size:
            raise ValueError(f"x and y must have the same number of points, at least one; found {self.x.shape} and {self.y.shape}")
        self.a, self.b = a, b
        lower, upper = domain
        self._domain = (float(self.x[0] if lower is None else lower), float(self.x[-1] if upper is None else upper))

    @property
    def domain(self) -> tuple[float, float]:
        """Where the function may be evaluated."""
        return self._domain

    def __call__(self, x: Any) -> Any:
        """Values at some points: a scalar for one of them, otherwise an array.

        Raises
        ------
        ValueError
            If a point is missing, infinite or outside the domain.
        """
        points = np.atleast_1d(np.asarray(x, dtype=np.float64))
        lower, upper = self._domain
        outside = ~np.isfinite(points) | (points < lower) | (points > upper)
        if outside.any():
            found = f"found {points[outside][0]:g}"
            raise ValueError(f"x must be between {lower:g} and {upper:g}, where the step function is defined; {found}")
        last_step = np.searchsorted(self.x, points, side="right") - 1
        values = self.a * self.y[np.maximum(last_step, 0)] + self.b
        return values[0] if len(values) == 1 else values

    def __repr__(self) -> str:
        return f"StepFunction(x={self.x!r}, y={self.y!r}, a={self.a!r}, b={self.b!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepFunction):
            return NotImplemented
        same = np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)
        return same and (self.a, self.b, self.domain) == (other.a, other.b, other.domain)

    __hash__ = None  # type: ignore[assignment]


def as_step_functions(times: Any, curves: Array, *, domain: Domain = (0.0, None)) -> Any:
    """Curves (rows, times) as an array of one step function per row.

    Parameters
    ----------
    times : array_like of shape (n_times,)
        In any order.
    curves : ndarray of shape (n_rows, n_times)
    domain : tuple (lower, upper)
        See :class:`StepFunction`.

    Returns
    -------
    ndarray of shape (n_rows,), of objects

    Examples
    --------
    >>> import numpy as np
    >>> first, second = as_step_functions([6.0, 12.0], np.array([[0.9, 0.8], [0.5, 0.2]]))
    >>> float(second(7.0))
    0.5
    """
    times, curves = np.asarray(times, dtype=np.float64), np.asarray(curves)
    order = np.argsort(times, kind="stable")
    points, values = times[order], curves[:, order]
    out = np.empty(len(values), dtype=object)
    for i, row in enumerate(values):
        out[i] = StepFunction(points, row, domain=domain)
    return out
