r"""A monotone rational quadratic spline (Gregory and Delbourgo 1982) whose tails grow like ln(1 + ln(1 + x)).

Between two knots with chord :math:`\delta` and slopes :math:`d_0, d_1`, at the part :math:`\xi` of the way,

.. math:: y = y_0 + (y_1 - y_0) \frac{\delta \xi^2 + d_0 \xi (1 - \xi)}{\delta + (d_0 + d_1 - 2 \delta) \xi (1 - \xi)},

which increases for all positive slopes, and whose inverse is the root of a quadratic equation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.typing import Array, Integers

__all__ = ["RationalSpline"]

_TAIL = 0.5  # how far a tail has risen where it has clearly bent
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class RationalSpline:
    """A strictly increasing map of all numbers, with a continuous slope.

    Attributes
    ----------
    x, y, slopes : ndarray
        At the knots; x in units of ``size``.
    size : float
        A power of two, so that numbers of any magnitude lose nothing.
    """

    x: Array
    y: Array
    slopes: Array
    size: float

    @classmethod
    def through(cls, x: Array, y: Array) -> RationalSpline:
        """Through knots, both ascending. Slopes are weighted harmonic means of the chords on both sides (Fritsch and Butland 1984)."""
        size = float(2.0 ** np.clip(np.floor(np.log2(max(float(np.abs(x).max()), 1e-300))), -1020.0, 1020.0))
        u = x / size
        width = np.diff(u)
        chord = np.diff(y) / width
        slopes = np.empty(u.size)
        slopes[[0, -1]] = chord[[0, -1]]
        if u.size > 2:
            first, second = 2.0 * width[1:] + width[:-1], width[1:] + 2.0 * width[:-1]
            slopes[1:-1] = (first + second) / (first / chord[:-1] + second / chord[1:])
            for end, inner, nearest in ((0, 1, 0), (-1, -2, -1)):
                slopes[end] = np.clip(2.0 * chord[nearest] - slopes[inner], 0.3 * chord[nearest], 3.0 * chord[nearest])
        return cls(u, y, slopes, size)

    def at(self, values: Array) -> Array:
        """The map."""
        with np.errstate(over="ignore"):
            u = np.clip(values / self.size, -_LARGEST, _LARGEST)
        place, xi = self._piece(u)
        rise, left, right = self._shape(place)
        between = xi * (1.0 - xi)
        out = self.y[place] + rise * (xi**2 + left * between) / (1.0 + (left + right - 2.0) * between)
        low, high = self.x[0] - u, u - self.x[-1]
        out = np.where(low > 0.0, self.y[0] - _tail(low, self.slopes[0]), out)
        return np.asarray(np.where(high > 0.0, self.y[-1] + _tail(high, self.slopes[-1]), out))

    def inverse(self, scores: Array) -> Array:
        """The inverse of the map."""
        place = np.clip(np.searchsorted(self.y, scores, side="right") - 1, 0, self.y.size - 2).astype(np.int64)
        rise, left, right = self._shape(place)
        t = np.clip(scores - self.y[place], 0.0, rise) / rise
        bend = t * (left + right - 2.0)
        a, b, c = 1.0 - left + bend, left - bend, -t
        xi = np.clip(2.0 * c / (-b - np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))), 0.0, 1.0)
        u = np.where(xi < 0.5, self.x[place] + xi * (self.x[place + 1] - self.x[place]), 0.0)
        u = np.where(xi >= 0.5, self.x[place + 1] - (1.0 - xi) * (self.x[place + 1] - self.x[place]), u)
        low, high = self.y[0] - scores, scores - self.y[-1]
        u = np.where(low > 0.0, self.x[0] - _tail_inverse(low, self.slopes[0]), u)
        u = np.where(high > 0.0, self.x[-1] + _tail_inverse(high, self.slopes[-1]), u)
        with np.errstate(over="ignore"):
            return np.asarray(np.where(np.isnan(scores), np.nan, np.clip(u * self.size, -_LARGEST, _LARGEST)))

    def _piece(self, u: Array) -> tuple[Integers, Array]:
        """The piece in which each number lies, and how far along."""
        place = np.clip(np.searchsorted(self.x, u, side="right") - 1, 0, self.x.size - 2).astype(np.int64)
        inside = np.clip(u, self.x[0], self.x[-1])
        return place, np.clip((inside - self.x[place]) / (self.x[place + 1] - self.x[place]), 0.0, 1.0)

    def _shape(self, place: Integers) -> tuple[Array, Array, Array]:
        """Rise of pieces, and slopes at both their ends relative to the chord."""
        rise = self.y[place + 1] - self.y[place]
        chord = rise / (self.x[place + 1] - self.x[place])
        return rise, self.slopes[place] / chord, self.slopes[place + 1] / chord


def _tail(distance: Array, slope: float) -> Array:
    with np.errstate(over="ignore"):
        z = np.minimum(np.maximum(distance, 0.0) * (slope / _TAIL), _LARGEST)
    return np.asarray(_TAIL * np.log1p(np.log1p(z)))


def _tail_inverse(height: Array, slope: float) -> Array:
    with np.errstate(over="ignore"):
        return np.minimum(np.expm1(np.expm1(np.maximum(height, 0.0) / _TAIL)) * (_TAIL / slope), _LARGEST)
