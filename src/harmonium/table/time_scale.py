r"""Time scales: smooth increasing maps of time to the unit interval, on which the truncated gamma lives.

* ``linear``: t / horizon, the paper's;
* ``log``: logarithmic in t, with the median observed time as its unit;
* ``kaplan-meier``: a smooth version of the fraction of subjects that have had the event, :math:`1 - S_{KM}(t)`, exponential beyond the
  last event. The marginal distribution is then nearly uniform, and there is no horizon to choose. Without any event it is linear until the
  last observed time, which is half of it.

A time beyond the horizon is at position 1, and has no density.

Densities in the user's unit need the logarithm of the slope, :meth:`TimeScale.log_slope` (eq. 9).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.product_limit import product_limit
from harmonium.typing import Array, Integers

__all__ = ["TIME_SCALES", "TimeScale", "fit_time_scale", "time_scale_of"]

TIME_SCALES = ("kaplan-meier", "linear", "log")

_BEYOND = 1.001  # the horizon, relative to the last observed time, if none is given
_N_PANELS, _N_NODES = 32, 8  # of an integral over time
_MOST_KNOTS = 12  # of the Kaplan-Meier scale: enough for its shape, too few for its noise


@dataclass(frozen=True)
class TimeScale:
    """An increasing map of time to (0, 1], with a continuous slope that is positive up to the horizon.

    Piecewise cubic through knots, in time or in its logarithm, then exponential towards 1 with the slope of the last knot; divided by
    what is reached at the horizon.

    Attributes
    ----------
    name : str
    unit : float
        With a positive unit the knots are in ln(1 + t / unit) rather than in t.
    knots, values : tuple of float
        Ascending; the first pair is (0, 0).
    horizon : float
        The time at which 1 is reached; may be infinite if the last value is below 1.
    """

    name: str
    unit: float
    knots: tuple[float, ...]
    values: tuple[float, ...]
    horizon: float

    def to_unit(self, time: Array) -> Array:
        """Position on (0, 1]; times beyond the horizon are at 1."""
        return self._share(np.minimum(self._abscissa(time), self._end)) / self._top

    def from_unit(self, position: Array) -> Array:
        """The time at a position; the inverse of :meth:`to_unit`."""
        share = np.asarray(position, dtype=np.float64) * self._top
        low, high = np.zeros(share.shape), np.full(share.shape, self.knots[-1])
        for _ in range(60):  # bisection: the spline is monotone, and this cannot fail
            middle = 0.5 * (low + high)
            below = self._spline(middle) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        z = 0.5 * (low + high)
        z = np.maximum(z - (self._spline(z) - share) / self._slope(z), 0.0)  # for full precision near 0
        if self.rate > 0.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                tail = self.knots[-1] - np.log((1.0 - share) / (1.0 - self.values[-1])) / self.rate
            z = np.where(share > self.values[-1], tail, z)
        return self._time(np.minimum(z, self._end))

    def log_slope(self, time: Array) -> Array:
        """Ln of the derivative of the position by time (eq. 9); -inf beyond the horizon."""
        time = np.asarray(time, dtype=np.float64)
        z = self._abscissa(time)
        last = self.knots[-1]
        inside = np.log(self._slope(np.clip(z, 0.0, last)))
        log_slope = np.where(z <= last, inside, np.log(self._slope(last)) - self.rate * (np.clip(z, last, self._end) - last))
        if self.unit > 0.0:
            log_slope = log_slope - np.log(self.unit + time)
        return np.where(time <= self.horizon, log_slope - np.log(self._top), -np.inf)

    def integration_nodes(self, start: float, end: float) -> tuple[Array, Array]:
        """Positions and weights with which a function of position is integrated over time from ``start`` to ``end``.

        Up to the last knot the nodes are spread over the time between knots. The exponential tail, which may be endless in time, has a
        finite length on the unit interval and is integrated there.
        """
        first, last = (float(self._abscissa(min(time, self.horizon))) for time in (start, end))
        border = min(max(self.knots[-1], first), last)
        positions, weights = [], []
        if border > first:
            inner = [knot for knot in self.knots if first < knot < border]
            z, dz = panel_nodes(_divided([first, *inner, border]), _N_NODES)
            positions.append(self._share(z) / self._top)
            weights.append(dz * (self.unit * np.exp(z) if self.unit > 0.0 else 1.0))
        if last > border:
            share = [float(self._share(np.array(z))) for z in (border, last)]
            shares, step = panel_nodes(_divided(share), _N_NODES)
            positions.append(shares / self._top)
            weights.append(step / (self.rate * (1.0 - shares)))
        return (np.concatenate(positions), np.concatenate(weights)) if positions else (np.empty(0), np.empty(0))

    @cached_property
    def rate(self) -> float:
        """Of the exponential beyond the last knot; 0 if 1 is reached there."""
        rest = 1.0 - self.values[-1]
        return float(self._slope(self.knots[-1])) / rest if rest > 0.0 else 0.0

    def _share(self, z: Array) -> Array:
        """The map before its division by what is reached at the horizon."""
        last = self.knots[-1]
        tail = 1.0 - (1.0 - self.values[-1]) * np.exp(-self.rate * (np.maximum(z, last) - last))
        return np.where(z <= last, self._spline(np.clip(z, 0.0, last)), tail)

    def _abscissa(self, time: Any) -> Array:
        time = np.asarray(time, dtype=np.float64)
        return np.asarray(np.log1p(time / self.unit)) if self.unit > 0.0 else time

    def _time(self, z: Array) -> Array:
        return np.asarray(self.unit * np.expm1(z)) if self.unit > 0.0 else z

    @cached_property
    def _end(self) -> float:
        return float(self._abscissa(self.horizon))

    @cached_property
    def _top(self) -> float:
        return float(self._share(np.array(self._end)))

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415 - takes long to import, and summaries do without

        return CubicHermiteSpline(self.knots, self.values, _slopes(np.array(self.knots), np.array(self.values)))

    @cached_property
    def _slope(self) -> Any:
        return self._spline.derivative()

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {**asdict(self), "knots": list(self.knots), "values": list(self.values)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> TimeScale:
        """From a model file."""
        return cls(**{**stored, "knots": tuple(stored["knots"]), "values": tuple(stored["values"])})


def _divided(edges: list[float]) -> Array:
    """Edges of panels: every piece between given edges is cut into equal parts, more of them where there are few pieces."""
    parts = max(2, _N_PANELS // (len(edges) - 1))
    return np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in pairwise(edges)]))


def _slopes(knots: Array, values: Array) -> Array:
    """Slopes of a monotone cubic at its knots, those of PCHIP but positive everywhere.

    PCHIP may be level at its ends, or touch zero inside a piece if a slope is near three times that of the chord.
    """
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415 - as above

    chord = np.diff(values) / np.diff(knots)
    gentlest = np.minimum(np.concatenate([chord[:1], chord]), np.concatenate([chord, chord[-1:]]))
    slopes: Array = PchipInterpolator(knots, values).derivative()(knots)
    least = 0.1 * values[-1] / knots[-1]
    slopes[[0, -1]] = np.maximum(slopes[[0, -1]], np.maximum(0.1 * gentlest[[0, -1]], least))
    return np.asarray(np.minimum(slopes, 2.0 * gentlest))


def fit_time_scale(name: str, lower: Array, upper: Array, horizon: float | None = None) -> TimeScale:
    """Fit a time scale to the observed times of one endpoint.

    Parameters
    ----------
    name : str
        One of :data:`TIME_SCALES`.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of the event time, as in a table of endpoints.
    horizon : float, optional
        Where the scale ends; by default just beyond the last observed time, and nowhere for ``kaplan-meier``.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([1.0, 2.0, 4.0])
    >>> fit_time_scale("linear", t, t, horizon=8.0).to_unit(t)
    array([0.125, 0.25 , 0.5  ])
    """
    return time_scale_of(EndpointSummary.of("", lower, upper), name, horizon)


def time_scale_of(times: EndpointSummary, name: str, horizon: float | None = None) -> TimeScale:
    """As :func:`fit_time_scale`, for what is known of an endpoint in summary."""
    if name not in TIME_SCALES:
        raise ValueError(f"time_scale must be one of {', '.join(TIME_SCALES)}; found {name!r}")
    last = times.last_time
    if horizon is not None and not (isinstance(horizon, Real) and 0.0 < horizon < np.inf):
        raise ValueError(f"the horizon must be a positive number; found {horizon!r}")
    if horizon is not None and horizon < last:
        raise ValueError(f"the horizon must not lie before the last observed time, {last:g}; found {horizon:g}")
    end = _BEYOND * last if horizon is None else float(horizon)
    if name == "log":
        unit = times.median_time()
        return TimeScale(name, unit, (0.0, float(np.log1p(end / unit))), (0.0, 1.0), end)
    if name == "linear":
        return TimeScale(name, 0.0, (0.0, end), (0.0, 1.0), end)
    knots, values = _kaplan_meier_knots(times, last)
    return TimeScale(name, 0.0, knots, values, horizon=np.inf if horizon is None else end)


def _kaplan_meier_knots(times: EndpointSummary, last: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Knots at quantiles of the event distribution, and their values. Without events, half of the scale lies beyond follow-up.

    Intervals count as events at their middle. If follow-up goes on so long after the last event that the exponential would be through
    before the last observed time, one more knot there leaves half of those without event for later.
    """
    ends = ~times.censored
    middle = np.where(ends, 0.5 * (times.lower + np.where(ends, times.upper, 0.0)), times.lower)
    time, share = _event_share(middle, ends & (middle > 0.0), times.count)
    if time.size == 0:
        return (0.0, last), (0.0, 0.5)
    n_knots = int(np.clip(np.sqrt(time.size), 2, _MOST_KNOTS))
    values = np.linspace(0.0, share[-1], n_knots + 1)
    knots = np.interp(values, np.concatenate([[0.0], share]), np.concatenate([[0.0], time]))
    keep = np.concatenate([[True], np.diff(knots) > 1e-9 * knots[-1]])
    knots, values = knots[keep], values[keep]
    hazard = _slopes(knots, values)[-1] / (1.0 - values[-1])
    if hazard * (last - knots[-1]) > 1.0:
        knots, values = np.append(knots, last), np.append(values, 0.5 * (1.0 + values[-1]))
    return tuple(map(float, knots)), tuple(map(float, values))


def _event_share(time: Array, event: Any, count: Integers) -> tuple[Array, Array]:
    """1 - Kaplan-Meier just after each distinct event time, drawn in a little so that it stays below 1."""
    distinct, n_rows = np.unique(time[event]), int(count.sum())
    return distinct, (1.0 - product_limit(time, event, distinct, count=count)) * (n_rows / (n_rows + 1.0))
