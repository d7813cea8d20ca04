"""Follow-up: how long subjects of the training table were observed, for censoring synthetic ones alike."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.product_limit import product_limit
from harmonium.typing import Array

__all__ = ["FollowUp", "follow_up_at", "follow_up_of"]

_MOST_QUANTILES = 101


@dataclass(frozen=True)
class FollowUp:
    """Quantiles of the time until censoring of one endpoint, at equal steps of probability.

    From the Kaplan-Meier curve with the roles of event and censoring exchanged; subjects that would be followed beyond the last observed
    time are censored there.
    """

    quantiles: tuple[float, ...]

    def at(self, probability: Array) -> Array:
        """Censoring times at probabilities between 0 and 1."""
        return np.interp(probability, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles)

    @property
    def median(self) -> float:
        """The median time until censoring."""
        return float(self.at(np.array(0.5)))

    @property
    def last(self) -> float:
        """The last observed time: beyond it, survival is a bound. Infinite if there was none."""
        return self.quantiles[-1]

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        right = len(self.quantiles) >= 2 and all(0.0 <= a <= b for a, b in pairwise(self.quantiles))
        return {"the quantiles of follow-up must be at least two ascending times": right}


def follow_up_of(times: EndpointSummary) -> FollowUp:
    """Of one endpoint; an event within an interval ends with it, since that is when somebody looked."""
    time, censored, count = np.where(times.censored, times.lower, times.upper), times.censored, times.count
    known = time > 0.0
    time, censored, count = time[known], censored[known], count[known]
    if not time.size:
        return FollowUp((np.inf, np.inf))
    distinct = np.unique(time)
    return follow_up_at(distinct, product_limit(time, censored, distinct, count=count))


def follow_up_at(times: Array, followed: Array) -> FollowUp:
    """Of the probabilities to be followed beyond each of some ascending times."""
    shares = np.linspace(0.0, 1.0, _MOST_QUANTILES)
    place = np.searchsorted(1.0 - followed, shares, side="left")
    return FollowUp(tuple(map(float, times[np.minimum(place, times.size - 1)])))
