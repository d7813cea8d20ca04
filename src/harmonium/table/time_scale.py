r"""Time scales: smooth increasing maps of time to the unit interval, on which the truncated gamma lives.

* ``linear``: t / horizon, the paper's;
* ``log``: logarithmic in t, with the median recording as its unit;
* ``kaplan-meier``: a smooth version of the share of subjects that have had the event, :math:`1 - S_{KM}(t)`, exponential beyond the
  last event. The marginal distribution is then nearly uniform, and there is no horizon to choose.

Densities in the user's unit need the logarithm of the slope, :meth:`TimeScale.log_slope`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from harmonium.units.contract import Array

__all__ = ["TIME_SCALES", "TimeScale", "fit_time_scale"]

TIME_SCALES = ("kaplan-meier", "linear", "log")

_BEYOND = 1.001  # the horizon, relative to the last recording, if none is given
_MOST_KNOTS = 12  # of the Kaplan-Meier scale: enough for its shape, too few for its noise


@dataclass(frozen=True)
class TimeScale:
    """An increasing map of time to (0, 1].

    Piecewise cubic through knots, in time or in its logarithm, and exponential beyond the last knot if ``rate`` is positive.

    Attributes
    ----------
    name : str
    unit : float
        With a positive unit the knots are in ln(1 + t / unit) rather than in t.
    knots, values : tuple of float
        Ascending; the first pair is (0, 0).
    rate : float
        Of the exponential that approaches 1 beyond the last knot.
    """

    name: str
    unit: float
    knots: tuple[float, ...]
    values: tuple[float, ...]
    rate: float

    @property
    def horizon(self) -> float:
        """The time at which 1 is reached."""
        return np.inf if self.rate > 0.0 else float(self._time(np.array(self.knots[-1])))

    def to_unit(self, time: Array) -> Array:
        """Position on (0, 1]; times beyond the horizon are at 1."""
        time = np.asarray(time, dtype=np.float64)
        z = np.log1p(time / self.unit) if self.unit > 0.0 else time
        inside = self._spline(np.clip(z, 0.0, self.knots[-1]))
        with np.errstate(over="ignore", invalid="ignore"):
            tail = 1.0 - (1.0 - self.values[-1]) * np.exp(-self.rate * (z - self.knots[-1]))
        return np.where(z <= self.knots[-1], inside, tail if self.rate > 0.0 else 1.0)

    def from_unit(self, position: Array) -> Array:
        """The time at a position; the inverse of :meth:`to_unit`."""
        position = np.asarray(position, dtype=np.float64)
        low, high = np.zeros(position.shape), np.full(position.shape, self.knots[-1])
        for _ in range(60):  # bisection: the spline is monotone, and this cannot fail
            middle = 0.5 * (low + high)
            below = self._spline(middle) < position
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        z = 0.5 * (low + high)
        if self.rate > 0.0:
            with np.errstate(divide="ignore"):
                tail = self.knots[-1] - np.log((1.0 - position) / (1.0 - self.values[-1])) / self.rate
            z = np.where(position > self.values[-1], tail, z)
        return self._time(z)

    def log_slope(self, time: Array) -> Array:
        """Ln of the derivative of the position by time."""
        time = np.asarray(time, dtype=np.float64)
        z = np.log1p(time / self.unit) if self.unit > 0.0 else time
        inside = self._spline.derivative()(np.clip(z, 0.0, self.knots[-1]))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tail = self.rate * (1.0 - self.values[-1]) * np.exp(-self.rate * (z - self.knots[-1]))
            slope = np.log(np.where(z <= self.knots[-1], inside, tail))
            return slope - np.log(self.unit + time) if self.unit > 0.0 else slope

    def _time(self, z: Array) -> Array:
        return self.unit * np.expm1(z) if self.unit > 0.0 else z

    @property
    def _spline(self) -> Any:
        return PchipInterpolator(self.knots, self.values)

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {"name": self.name, "unit": self.unit, "knots": list(self.knots), "values": list(self.values), "rate": self.rate}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> TimeScale:
        """From a model file."""
        return cls(**{**stored, "knots": tuple(stored["knots"]), "values": tuple(stored["values"])})


def fit_time_scale(name: str, lower: Array, upper: Array, horizon: float | None = None) -> TimeScale:
    """Fit a time scale to the recordings of one endpoint.

    Parameters
    ----------
    name : str
        One of :data:`TIME_SCALES`.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of the event time, as in a table of endpoints.
    horizon : float, optional
        Where the scale ends; by default just beyond the last recording, and nowhere for ``kaplan-meier``.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([1.0, 2.0, 4.0])
    >>> fit_time_scale("linear", t, t, horizon=8.0).to_unit(t)
    array([0.125, 0.25 , 0.5  ])
    """
    if name not in TIME_SCALES:
        raise ValueError(f"time_scale must be one of {', '.join(TIME_SCALES)}; found {name!r}")
    known = np.concatenate([lower[lower > 0.0], upper[np.isfinite(upper) & (upper > 0.0)]])
    last = float(known.max()) if known.size else 1.0
    if horizon is not None and not horizon >= last:
        raise ValueError(f"the horizon must not lie before the last recording, {last:g}; found {horizon:g}")
    end = _BEYOND * last if horizon is None else float(horizon)
    if name == "linear":
        return TimeScale(name, 0.0, (0.0, end), (0.0, 1.0), 0.0)
    if name == "log":
        unit = float(np.median(known)) if known.size else 1.0
        return TimeScale(name, unit, (0.0, float(np.log1p(end / unit))), (0.0, 1.0), 0.0)
    return _fit_kaplan_meier(lower, upper, None if horizon is None else end)


def _fit_kaplan_meier(lower: Array, upper: Array, horizon: float | None) -> TimeScale:
    """Knots at quantiles of the event distribution; intervals count as events at their middle."""
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(upper), 0.5 * (lower + upper), lower)
    event = np.isfinite(upper) & (middle > 0.0)
    time, share = _event_share(middle, event)
    if time.size == 0:
        last = float(middle.max()) if middle.size and middle.max() > 0.0 else 1.0
        return TimeScale("linear", 0.0, (0.0, horizon or _BEYOND * last), (0.0, 1.0), 0.0)
    n_knots = int(np.clip(np.sqrt(time.size), 2, _MOST_KNOTS))
    wanted = np.linspace(0.0, share[-1], n_knots + 1)[1:]
    knots = np.interp(wanted, np.concatenate([[0.0], share]), np.concatenate([[0.0], time]))
    keep = np.concatenate([[True], np.diff(knots) > 1e-9 * knots[-1]])
    knots, values = np.concatenate([[0.0], knots[keep]]), np.concatenate([[0.0], wanted[keep]])
    if horizon is not None and horizon <= knots[-1]:
        return TimeScale("kaplan-meier", 0.0, tuple(knots), tuple(values / values[-1]), 0.0)
    slope = float(PchipInterpolator(knots, values).derivative()(knots[-1]))
    average = values[-1] / knots[-1]
    rate = max(slope, 0.1 * average) / (1.0 - values[-1])
    scale = TimeScale("kaplan-meier", 0.0, tuple(map(float, knots)), tuple(map(float, values)), float(rate))
    return scale if horizon is None else _ending_at(scale, horizon)


def _ending_at(scale: TimeScale, horizon: float) -> TimeScale:
    """The same shape, reaching 1 at the horizon: the tail becomes one more piece."""
    tail = np.linspace(scale.knots[-1], horizon, 5)[1:]
    top = float(scale.to_unit(np.array(horizon)))
    knots = (*scale.knots, *map(float, tail))
    values = (*scale.values, *map(float, scale.to_unit(tail)))
    return TimeScale(scale.name, 0.0, knots, tuple(value / top for value in values), 0.0)


def _event_share(time: Array, event: Any) -> tuple[Array, Array]:
    """1 - Kaplan-Meier just after each distinct event time, drawn in a little so that it stays below 1."""
    distinct = np.unique(time[event])
    at_risk = time.size - np.searchsorted(np.sort(time), distinct, side="left")
    deaths = np.searchsorted(np.sort(time[event]), distinct, side="right") - np.searchsorted(np.sort(time[event]), distinct, side="left")
    survival = np.cumprod(1.0 - deaths / at_risk)
    share = np.asarray(1.0 - survival, dtype=np.float64)
    return distinct, share * (time.size / (time.size + 1.0))
