r"""A positive, smooth hazard until the end of follow-up, its integral, and the inverse of that.

The hazard is a cubic B-spline with positive coefficients, twice continuously differentiable; so the share :math:`1 - e^{-\Lambda(t)}` of
those who have had the event is three times. Its integral is a piece of a quartic between any two knots, and is inverted by
Newton's method inside a bracket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.typing import Array, Integers

__all__ = ["DEGREE", "HazardSpline", "spline_basis"]

DEGREE = 3
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class HazardSpline:
    """The integral of a hazard, a piece of a polynomial between any two knots.

    Attributes
    ----------
    knots : ndarray
        From 0 to the end, ascending.
    cumulative : ndarray
        Cumulative hazard at the knots.
    pieces : ndarray of shape (n_pieces, 4)
        What the cumulative hazard has grown since the last knot, a polynomial in the part of the way to the next; from x to x**4.
    """

    knots: Array
    cumulative: Array
    pieces: Array

    @classmethod
    def of(cls, knots: Array, coefficients: Array) -> HazardSpline:
        """With so many B-spline coefficients as there are knots, and two more."""
        from scipy.interpolate import BSpline, PPoly  # noqa: PLC0415 - takes long to import, and summaries do without

        spline = PPoly.from_spline(BSpline(_full(knots), coefficients, DEGREE))
        start = int(np.searchsorted(spline.x, knots[0], side="right")) - 1
        falling = spline.c[:, start : start + knots.size - 1]
        width = np.diff(knots)
        power = np.arange(1, DEGREE + 2)
        pieces = (falling[::-1].T * width[:, None] ** power) / power
        return cls(knots, np.concatenate([[0.0], np.cumsum(pieces.sum(axis=1))]), pieces)

    def integral(self, time: Array) -> Array:
        """Cumulative hazard."""
        place, x = self._piece(time)
        return np.asarray(self.cumulative[place] + _value(self.pieces[place], x))

    def log_hazard(self, time: Array) -> Array:
        """Ln of the hazard."""
        place, x = self._piece(time)
        return np.log(_slope(self.pieces[place], x) / (self.knots[place + 1] - self.knots[place]))

    def inverse(self, integral: Array) -> Array:
        """The time at which the cumulative hazard reaches a value between 0 and the total."""
        place = np.clip(np.searchsorted(self.cumulative, integral, side="right") - 1, 0, self.knots.size - 2)
        pieces, wanted = self.pieces[place], integral - self.cumulative[place]
        rise = self.cumulative[place + 1] - self.cumulative[place]
        low, high = np.zeros(wanted.shape), np.ones(wanted.shape)
        x = np.clip(wanted / rise, 0.0, 1.0)
        for _ in range(_MOST_STEPS):
            excess = _value(pieces, x) - wanted
            low, high = np.where(excess < 0.0, x, low), np.where(excess > 0.0, x, high)
            newton = x - excess / _slope(pieces, x)
            following = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
            settled = bool((np.abs(following - x) <= 2.0**-51 * x).all())
            x = following
            if settled:
                break
        return np.asarray(self.knots[place] + x * (self.knots[place + 1] - self.knots[place]))

    def _piece(self, time: Array) -> tuple[Integers, Array]:
        place = np.clip(np.searchsorted(self.knots, time, side="right") - 1, 0, self.knots.size - 2).astype(np.int64)
        return place, np.clip((time - self.knots[place]) / (self.knots[place + 1] - self.knots[place]), 0.0, 1.0)


def spline_basis(knots: Array) -> tuple[Any, Any]:
    """All B-splines on some knots, and their integrals from the first knot, as functions of time that return (times, splines)."""
    from scipy.interpolate import BSpline  # noqa: PLC0415 - as above

    basis = BSpline(_full(knots), np.eye(knots.size + DEGREE - 1), DEGREE)
    return basis, basis.antiderivative()


def _full(knots: Array) -> Array:
    """Knots with the ends repeated, as a B-spline has them."""
    return np.concatenate([[knots[0]] * DEGREE, knots, [knots[-1]] * DEGREE])


def _value(pieces: Array, x: Array) -> Array:
    """A polynomial without constant term, from x on; in the shape of x."""
    out = pieces[..., -1] * x
    for k in range(DEGREE - 1, -1, -1):
        out = (out + pieces[..., k]) * x
    return np.asarray(out)


def _slope(pieces: Array, x: Array) -> Array:
    out = (DEGREE + 1.0) * pieces[..., -1]
    for k in range(DEGREE - 1, -1, -1):
        out = out * x + (k + 1.0) * pieces[..., k]
    return np.asarray(out)
