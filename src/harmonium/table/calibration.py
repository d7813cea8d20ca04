r"""Time scales calibrated after training: a model that knows nothing of a subject then says what Kaplan and Meier's estimate says.

Parameters are learned on a scale with few knots, which training likes. What they say of a subject of whom nothing is known, the share
:math:`M(u)` of those with an event before position :math:`u`, is then close to the observed share :math:`F(t)`, but not the same: hidden
units shrink, and few knots are smooth. So time is bent: :math:`u(t) = M^{-1}(F(t))`, where :math:`F` follows the data more closely than
the scale of training did. Order in time, and all that was learned of how subjects differ, stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.hazard import fit_hazard, spaced_knots, spline_basis
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["Calibration", "calibration_of"]

_N_TIMES = 160  # at which the bent scale is looked at, evenly in time and evenly in events
_LEAST = 1e-4  # of the mean hazard, below which a hazard does not fall
_RIDGE = 1e-4
_CERTAIN = 1e-9


@dataclass(frozen=True)
class Calibration:
    """What a scale is calibrated with.

    Attributes
    ----------
    trained : TimeScale
        On which parameters are learned.
    observed : TimeScale
        Whose positions are the share of those who have had the event.
    """

    trained: TimeScale
    observed: TimeScale

    def bent(self, positions: Array, shares: Array) -> TimeScale:
        """The scale on which a model with some share of events before each position, from 0 to 1, has the share that was observed."""
        end = self.trained.end
        even = np.linspace(0.0, 1.0, _N_TIMES)
        times = np.unique(np.concatenate([even * end, self.observed.from_unit(even * self.observed.reach)]))
        at = np.interp(self.observed.to_unit(times), np.maximum.accumulate(shares), positions)
        cumulative, alive = -np.log1p(-np.minimum(at, 1.0 - _CERTAIN)), np.maximum(1.0 - at, _CERTAIN)
        knots = spaced_knots({*self.trained.knots, *self.observed.knots})
        return replace(self.observed, knots=tuple(knots), hazards=tuple(_hazards(knots, times / end, cumulative, alive)))


def calibration_of(times: EndpointSummary, scale: TimeScale) -> Calibration | None:
    """What is needed to calibrate the scale of an endpoint.

    None if the scale does not follow the data or has a horizon, if there was no event, or if subjects came late, whom a plain share of
    events does not do justice.
    """
    if scale.name != "kaplan-meier" or np.isfinite(scale.horizon) or times.late_entries or times.censored.all():
        return None
    knots, hazards = fit_hazard(times, scale.end, closely=True)
    return Calibration(scale, replace(scale, knots=tuple(knots.tolist()), hazards=tuple(hazards.tolist())))


def _hazards(knots: list[float], times: Array, cumulative: Array, alive: Array) -> list[float]:
    """Positive coefficients of the hazard whose integral comes closest to a cumulative hazard, the more alive the more so."""
    from scipy.optimize import nnls  # noqa: PLC0415 - takes long to import, and summaries do without

    _, integral = spline_basis(np.array(knots))
    wanted = integral(times) * alive[:, None]
    n = wanted.shape[1]
    ridge = _RIDGE * np.eye(n)
    found, _ = nnls(np.vstack([wanted, ridge]), np.concatenate([cumulative * alive, np.zeros(n)]))
    hazards: list[float] = np.maximum(found, _LEAST * found.mean()).tolist()
    return hazards
