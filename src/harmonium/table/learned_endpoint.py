"""What was learned of one endpoint from the training table.

What was observed of each endpoint in the training table, counted, for readers of a model file, a report or a page.

Follow-up: how long subjects of the training table were observed, for censoring synthetic ones alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from harmonium.table.calibration import Calibration
from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.product_limit import product_limit
from harmonium.table.row_weights import words_of_weight
from harmonium.table.rules import Count, Positive
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["FollowUp", "LearnedEndpoint", "ObservedCounts", "follow_up_at", "follow_up_of", "observed_counts"]


@dataclass(frozen=True)
class ObservedCounts:
    """Of one endpoint; where rows have weights, these are counted.

    Attributes
    ----------
    rows : int or float
        In which something is known of it.
    events, intervals, censored : int or float
        Events at an observed time, events between two times, and times without an event so far.
    late_entries : int or float
        Rows that came under observation late.
    """

    rows: Count
    events: Count
    intervals: Count
    censored: Count
    late_entries: Count

    @property
    def happened(self) -> float:
        """All events, whether their time is known or not."""
        return words_of_weight(self.events + self.intervals)

    def words(self, among: str = "") -> str:
        """How many events, among whom, and how many of them lie within intervals.

        Examples
        --------
        >>> ObservedCounts(9, 1, 0, 8, 0).words(), ObservedCounts(9, 2, 4, 3, 0).words()
        ('1 event', '6 events, 4 of them within intervals')
        >>> ObservedCounts(9, 0, 4, 5, 0).words("in 9 subjects")
        '4 events in 9 subjects, all within intervals'
        """
        number = f"{self.happened} event{'s' * (self.happened != 1)} {among}".rstrip()
        if not self.intervals:
            return number
        return f"{number}, {f'{self.intervals} of them' if self.events else 'all'} within intervals"


def observed_counts(times: EndpointSummary) -> ObservedCounts:
    """Of one endpoint."""
    known = ~times.unknown
    kinds = (known, times.event, known & ~times.event & ~times.censored, known & times.censored)
    return ObservedCounts(*(words_of_weight(number) for number in (*(times.count[kind].sum() for kind in kinds), times.late_entries)))


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


@dataclass(frozen=True)
class LearnedEndpoint:
    """What was learned of one endpoint from the training table.

    Attributes
    ----------
    name : str
    scale : TimeScale
    first_time : float
        The smallest positive observed time: an event at time 0 has happened before it.
    follow_up : FollowUp
    counts : ObservedCounts
    event_times : ndarray
        Distinct times of events, the later bound of an event within an interval; the last observed time if there was no event. There,
        curves are given if no other times are asked for.
    calibration : Calibration, optional
        What the scale was calibrated with after training.
    """

    name: str
    scale: TimeScale
    first_time: Positive
    follow_up: FollowUp
    counts: ObservedCounts
    event_times: Array = field(compare=False)
    calibration: Calibration | None = None

    def in_training(self) -> LearnedEndpoint:
        """With the scale on which parameters are learned."""
        return self if self.calibration is None else replace(self, scale=self.calibration.trained)

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        times = self.event_times
        right = times.ndim == 1 and times.size > 0 and bool((times >= 0.0).all() and (np.diff(times) > 0.0).all())
        return {"its event times must have one axis, not be negative, and ascend": right}
