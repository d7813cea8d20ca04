"""What was learned of one endpoint from the training table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from harmonium.table.calibration import Calibration
from harmonium.table.follow_up import FollowUp
from harmonium.table.observed import ObservedCounts
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
    first_time: float
    follow_up: FollowUp
    counts: ObservedCounts
    event_times: Array = field(compare=False)
    calibration: Calibration | None = None

    def in_training(self) -> LearnedEndpoint:
        """With the scale on which parameters are learned."""
        return self if self.calibration is None else replace(self, scale=self.calibration.trained)

    def to_dict(self) -> dict[str, Any]:
        """For a model file, which keeps the event times elsewhere."""
        return {
            "name": self.name,
            "scale": self.scale.to_dict(),
            "first_time": self.first_time,
            "follow_up": self.follow_up.to_list(),
            "counts": asdict(self.counts),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], event_times: Array) -> LearnedEndpoint:
        """From a model file."""
        return cls(
            stored["name"],
            TimeScale.from_dict(stored["scale"]),
            stored["first_time"],
            FollowUp.from_list(stored["follow_up"]),
            ObservedCounts(**stored["counts"]),
            event_times,
            None if stored["calibration"] is None else Calibration.from_dict(stored["calibration"]),
        )
