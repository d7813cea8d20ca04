"""What was learned of one endpoint from the training table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from harmonium.table.calibration import Calibration
from harmonium.table.follow_up import FollowUp
from harmonium.table.observed import ObservedCounts
from harmonium.table.rules import Positive
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["LearnedEndpoint"]


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
