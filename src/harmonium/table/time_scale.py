r"""Time scales: smooth increasing maps of time to the unit interval, on which the truncated gamma lives.

* ``linear``: t / horizon, the paper's;
* ``log``: logarithmic in t, with the median observed time as its unit;
* ``kaplan-meier``: a smooth version of the fraction of subjects that have had the event, :math:`1 - S_{KM}(t)`: its hazard is a positive
  cubic spline (:mod:`harmonium.table.hazard`). The marginal distribution is then nearly uniform.

A scale with a horizon reaches 1 there; later times are at position 1, and have no density. Without one, and ``kaplan-meier`` has none by
itself, a scale ends with follow-up, short of 1: the rest of the unit interval is for those who have their event later, nobody knows when.

Densities in the user's unit need the logarithm of the slope, :meth:`TimeScale.log_slope` (eq. 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Annotated

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.hazard import HazardSpline, fit_hazard
from harmonium.table.rules import NotNegative, Positive, ascending, one_of
from harmonium.typing import Array, Booleans

__all__ = ["TIME_SCALES", "TimeScale", "fit_time_scale", "time_scale_of"]

TIME_SCALES = ("kaplan-meier", "linear", "log")

_BEYOND = 1.001  # the horizon, relative to the last observed time, if none is given
_NEARLY_ALL = float(np.nextafter(1.0, 0.0))  # the largest share with a finite cumulative hazard


@dataclass(frozen=True)
class TimeScale:
    """An increasing map of time to (0, 1], at least twice continuously differentiable, with a positive slope up to its end.

    Attributes
    ----------
    name : str
    end : float
        The last time with a position of its own: the horizon, or the end of follow-up.
    unit : float
        Of the log scale; 0 otherwise.
    knots, hazards : tuple of float
        Of the Kaplan-Meier scale: from 0 to 1, in units of the end, and B-spline coefficients of the hazard.
    horizon : float
        The time at which 1 is reached; infinite if that is not known.
    """

    name: Annotated[str, one_of(TIME_SCALES)]
    end: Positive
    unit: NotNegative
    knots: tuple[NotNegative, ...]
    hazards: tuple[Positive, ...]
    horizon: float

    @cached_property
    def reach(self) -> float:
        """The position at the end."""
        return 1.0 if np.isfinite(self.horizon) else float(self.to_unit(np.array(self.end)))

    def is_timed(self, time: Array) -> Booleans:
        """Whether there is a position for a time, rather than only for something later than the end."""
        return np.asarray((np.asarray(time) <= self.end) | (self.reach == 1.0))

    def to_unit(self, time: Array) -> Array:
        """Position on (0, 1]; that of the end for all times beyond."""
        time = np.asarray(time, dtype=np.float64)
        t = np.minimum(time, self.end)
        if self.name == "linear":
            return np.asarray(t / self.end)
        if self.name == "log":
            return np.asarray(np.log1p(t / self.unit) / np.log1p(self.end / self.unit))
        return np.asarray(-np.expm1(-self._spline.integral(t / self.end)) / self._top)

    def from_unit(self, position: Array) -> Array:
        """The time at a position, the inverse of :meth:`to_unit`; infinite beyond the position of the end."""
        position = np.asarray(position, dtype=np.float64)
        if self.name == "linear":
            return np.asarray(position * self.end)
        if self.name == "log":
            return np.asarray(np.minimum(self.unit * np.expm1(position * np.log1p(self.end / self.unit)), self.end))
        top = self._top if np.isfinite(self.horizon) else self.reach
        share = np.minimum(np.minimum(position * self._top, top), _NEARLY_ALL)
        times = np.minimum(self._spline.inverse(-np.log1p(-share)), 1.0) * self.end
        return np.where(position > self.reach * (1.0 + 1e-12), np.inf, times)

    def position_on(self, other: TimeScale, position: Array) -> Array:
        """The position of the same time on another scale; beyond the end, where there is none, as far between there and 1 as here."""
        inside = other.to_unit(self.from_unit(np.minimum(position, self.reach)))
        if self.reach == 1.0:
            return np.asarray(inside)
        beyond = other.reach + (position - self.reach) * (1.0 - other.reach) / (1.0 - self.reach)
        return np.where(position > self.reach, beyond, inside)

    def log_slope(self, time: Array) -> Array:
        """Ln of the derivative of the position by time (eq. 9); beyond a horizon -inf, beyond follow-up NaN."""
        time = np.asarray(time, dtype=np.float64)
        t = np.minimum(time, self.end)
        if self.name == "linear":
            inside = np.full(t.shape, -np.log(self.end))
        elif self.name == "log":
            inside = -np.log(self.unit + t) - np.log(np.log1p(self.end / self.unit))
        else:
            z = t / self.end
            inside = self._spline.log_hazard(z) - self._spline.integral(z) - np.log(self.end) - np.log(self._top)
        return np.where(time <= self.end, inside, np.nan if self.reach < 1.0 else -np.inf)

    @cached_property
    def _spline(self) -> HazardSpline:
        return HazardSpline.of(np.array(self.knots), np.array(self.hazards))

    @cached_property
    def _top(self) -> float:
        """The share of those with an event until the horizon, by which positions are divided if there is one."""
        return float(-np.expm1(-self._spline.integral(np.array(1.0)))) if np.isfinite(self.horizon) else 1.0

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        knots, n_hazards, smooth = self.knots, len(self.hazards), self.name == "kaplan-meier"
        return {
            "the unit of a logarithmic scale must not be 0": self.name != "log" or self.unit > 0.0,
            "it needs two knots and two hazards more": n_hazards == len(knots) + 2 >= 4 if smooth else not knots and not n_hazards,
            "its knots must ascend from 0 to 1": not smooth or (ascending(knots) and (knots[0], knots[-1]) == (0.0, 1.0)),
            "its horizon must be its end": self.horizon == self.end or (smooth and self.horizon == np.inf),
        }


def fit_time_scale(name: str, lower: Array, upper: Array, horizon: float | None = None) -> TimeScale:
    """Fit a time scale to the observed times of one endpoint.

    Parameters
    ----------
    name : str
        One of :data:`TIME_SCALES`.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of the event time, as in a table of endpoints.
    horizon : float, optional
        Where the scale ends; by default just beyond the last observed time; ``kaplan-meier`` then ends with follow-up, short of 1.

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
    if name in ("log", "linear"):
        return TimeScale(name, end, times.median_time() if name == "log" else 0.0, (), (), end)
    end = last if horizon is None else end
    knots, hazards = fit_hazard(times, end)
    return TimeScale(name, end, 0.0, tuple(knots.tolist()), tuple(hazards.tolist()), np.inf if horizon is None else end)
