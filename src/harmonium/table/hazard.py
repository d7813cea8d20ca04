r"""A positive, smooth hazard until the end of follow-up, its integral, and the inverse of that.

The hazard is a cubic B-spline with positive coefficients, twice continuously differentiable; so the share :math:`1 - e^{-\Lambda(t)}` of
those who have had the event is three times. Its integral is a piece of a quartic between any two knots, and is inverted by
Newton's method inside a bracket.

A smooth hazard fitted to the times of one endpoint, by penalised maximum likelihood.

.. math:: \sum_{\text{events}} \ln \lambda(t_i) - \sum_i \Lambda(t_i) - \tfrac{\tau}{2} \sum_k (\theta_{k+1} - \theta_k)^2,
   \qquad \lambda = \sum_k e^{\theta_k} B_k

Knots lie at quantiles of the events, few of them, and where the next is far, measured by the logarithm of time, others between: a hazard
that falls a hundredfold within a year needs them. The penalty holds neighbouring coefficients together where there are few events, and
decides where there are none. It weighs as much as one event does, whatever the unit of time. A hazard that is to
follow the data closely has more knots and less of a penalty, and its knots lie where survival falls, by equal steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.product_limit import product_limit
from harmonium.table.tied_times import TiedTimes
from harmonium.typing import Array, Booleans, Integers

__all__ = ["DEGREE", "HazardSpline", "fit_hazard", "spaced_knots", "spline_basis"]

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


_MOST_KNOTS, _PENALTY = 8, 1.0  # knots at quantiles: enough for the shape of a hazard, too few for its noise
_CLOSE_KNOTS, _CLOSE_PENALTY = 12, 0.02
_FAR_APART, _BETWEEN = 2.0, 3.0  # a knot is put before one that is so many times as late, if so many events lie between
_NEAREST = 0.02  # distance of knots, relative to the later one
_MOST_NEWTON_STEPS = 200
_LATE = 0.9  # of the end: if follow-up or events stop before, there is a knot
_FLAT = 1e-6
_NEARLY, _SETTLED = 1e-5, 1e-13  # steps below which Newton's method needs no control, and is through
_WITHOUT = 0.5  # of a subject more has no event until mid-time: intervals that all begin at 0 set no upper limit
_FAR = 700.0  # an integral of the hazard beyond which nobody is left
_LATER, _WAITING = 10.0, 4.0  # events between follow-up and a horizon, and who waits for them: nothing is known, and time is spread evenly


def fit_hazard(times: EndpointSummary, end: float, *, closely: bool = False) -> tuple[Array, Array]:
    """Knots from 0 to the end, in its unit, and coefficients of the B-splines between them.

    Tied times are the intervals that they stand for. Without an event, half of all are without one at the end.
    """
    ends = ~times.censored
    lower, upper = times.lower.copy(), np.where(ends, times.upper, times.lower)
    ties = TiedTimes.of(times)
    rows, place = ties.places(times.lower, times.event)
    lower[rows], upper[rows] = ties.lower[place], ties.last[place]
    lower, upper, count = lower / end, np.minimum(upper / end, 1.0), times.count.astype(np.float64)
    middle = np.where(ends, 0.5 * (lower + upper), lower)
    seen = ends & (middle > 0.0)
    if not seen.any():
        return np.array([0.0, 1.0]), np.full(4, np.log(2.0))
    last = min(times.last_time / end, 1.0)
    most, penalty = (_CLOSE_KNOTS, _CLOSE_PENALTY) if closely else (_MOST_KNOTS, _PENALTY)
    mass = _falls(middle, ends, count) if closely else count
    knots = _knots(middle[seen], count[seen], mass[seen], last, most)
    basis, integral = spline_basis(knots)
    exposure = count @ integral(lower) + _WITHOUT * count @ integral(middle) / count.sum()
    wide = (upper > lower)[seen]
    at = basis(middle[seen])
    at[wide] = integral(upper[seen][wide]) - integral(lower[seen][wide])
    beyond = integral(1.0) - integral(last)
    events, number = at, count[seen]
    if last < _LATE:
        events, number, wide = np.vstack([at, beyond / (1.0 - last)]), np.append(number, _LATER), np.append(wide, False)
        exposure = exposure + _WAITING * beyond
    return knots, _coefficients(events, number, wide, exposure, penalty)


def _falls(time: Array, ended: Booleans, count: Array) -> Array:
    """By how much Kaplan and Meier's estimate falls with each pair of bounds."""
    distinct, place = np.unique(time[ended], return_inverse=True)
    fall = -np.diff(product_limit(time, ended, distinct, count=count), prepend=1.0)
    out = np.zeros(time.size)
    out[ended] = fall[place] * count[ended] / np.bincount(place, count[ended])[place]
    return out


def _knots(events: Array, count: Array, mass: Array, last: float, most: int) -> Array:
    """0, some quantiles of the events' mass, the last one if follow-up goes on for long, the last time, and 1."""
    distinct, place = np.unique(events, return_inverse=True)
    n_inner = int(np.clip(distinct.size**0.5, 0, most))
    number = np.bincount(place, mass)
    share = (np.cumsum(number) - 0.5 * number) / mass.sum()
    inner = np.interp(np.arange(1, n_inner + 1) / (n_inner + 1.0), share, distinct)
    late = [time for time in (float(events.max()), *np.linspace(last, 1.0, 4 if last < _LATE else 1, endpoint=False)) if time < _LATE]
    return _with_more_between(np.array(spaced_knots({*inner.tolist(), *late})), events, count)


def spaced_knots(candidates: set[float]) -> list[float]:
    """From 0 to 1, without those that are too close to the one before."""
    out = [0.0]
    for knot in sorted(candidates):
        if knot - out[-1] > _NEAREST * knot and 1.0 - knot > _NEAREST:
            out.append(knot)
    return [*out, 1.0]


def _with_more_between(knots: Array, events: Array, count: Array) -> Array:
    """Further knots where two are far apart, as long as there are events between."""
    out = knots[:1].tolist()
    for knot in knots[1:].tolist():
        while out[-1] > 0.0 and knot > _FAR_APART * out[-1]:
            last = out[-1]
            steps = np.ceil(np.log(knot / last) / np.log(_FAR_APART))
            following = float(last * (knot / last) ** (1.0 / steps))
            if count[(events > last) & (events <= following)].sum() < _BETWEEN:
                break
            out.append(following)
        out.append(knot)
    return np.array(out)


def _coefficients(basis: Array, count: Array, wide: Booleans, exposure: Array, weight: float) -> Array:
    """Positive coefficients of the best hazard.

    An event adds the logarithm of the hazard, of which it has a row of ``basis`` (events, splines); one within a wide interval that of the
    probability to fall into it, 1 - e^-D, D being the hazard's integral over the interval, of which it has a row. ``exposure`` (splines,)
    is the time without an event.
    """
    n = exposure.size
    step = np.diff(np.eye(n), axis=0)
    penalty = weight * step.T @ step
    theta = np.full(n, np.log(count.sum() / max(float(exposure.sum()), 1e-6 * count.sum())))

    def loss(theta: Array) -> float:
        coefficients = np.exp(theta)
        hazard = basis @ coefficients
        likelihood = np.log(np.where(wide, -np.expm1(-hazard), hazard))
        return float(coefficients @ exposure - count @ likelihood + 0.5 * theta @ penalty @ theta)

    for _ in range(_MOST_NEWTON_STEPS):
        coefficients = np.exp(theta)
        parts = basis * coefficients
        hazard = parts.sum(axis=1)
        slope = 1.0 / np.where(wide, np.expm1(np.minimum(hazard, _FAR)), hazard)
        bend = np.where(wide, slope * (1.0 + slope), slope**2)
        expected, found = coefficients * exposure, (count * slope) @ parts
        gradient = expected - found + penalty @ theta
        curvature = (parts * (count * bend)[:, None]).T @ parts + penalty + np.diag(expected - found)
        if not _is_convex(curvature):  # far from the optimum
            curvature += np.diag(np.maximum(found - expected, 0.0) + _FLAT)
        direction = -np.linalg.solve(curvature, gradient)
        direction /= max(1.0, float(np.abs(direction).max()) / 2.0)
        largest, size = float(np.abs(direction).max()), 1.0
        if largest > _NEARLY:
            here, falls = loss(theta), 1e-4 * float(gradient @ direction)
            while size > _NEARLY and loss(theta + size * direction) > here + size * falls:
                size *= 0.5
        theta = theta + size * direction
        if largest < _SETTLED:
            break
    return np.asarray(np.exp(theta))


def _is_convex(curvature: Array) -> bool:
    """Whether a symmetric matrix has no eigenvalue below a small one."""
    try:
        np.linalg.cholesky(curvature - _FLAT * np.eye(len(curvature)))
    except np.linalg.LinAlgError:
        return False
    return True
