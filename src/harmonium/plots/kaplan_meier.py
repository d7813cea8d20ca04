r"""Kaplan and Meier's curve, with intervals that make sense where nobody or everybody has had the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from harmonium.metrics.observed import right_censored
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["KaplanMeier"]


@dataclass(frozen=True)
class KaplanMeier:
    """The share without event, from recordings that may be censored and begin late.

    Attributes
    ----------
    time, event, entry : ndarray
        Until when each subject was watched, whether the event was seen then, and from when it was watched.
    steps, at_risk, events, survival : ndarray
        Distinct event times, how many were at risk and had the event there, and the curve just after.
    """

    time: Array
    event: NDArray[np.bool_]
    entry: Array
    steps: Array
    at_risk: NDArray[np.int64]
    events: NDArray[np.int64]
    survival: Array

    @classmethod
    def fit(cls, time: Array, event: NDArray[np.bool_], entry: Array) -> KaplanMeier:
        """Estimate the curve.

        Examples
        --------
        >>> import numpy as np
        >>> KaplanMeier.fit(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]), np.zeros(4)).survival
        array([0.75, 0.5 , 0.  ])
        """
        steps, events = np.unique(time[event], return_counts=True)
        at_risk = np.array([_n_at_risk(time, entry, step) for step in steps], dtype=np.int64)
        return cls(time, event, entry, steps, at_risk, events, np.cumprod(1.0 - events / at_risk, dtype=np.float64))

    @classmethod
    def of(cls, y: Any, endpoint: str | None = None) -> tuple[KaplanMeier, NDArray[np.bool_]]:
        """Of an endpoint in a table, and which rows count: neither those without recording nor events between two times."""
        known = parse_endpoints(y)
        recordings = right_censored(known, endpoint)
        if not recordings.time.size:
            raise ValueError(f"there is no recording of {recordings.name!r}")
        entry = known.entry[recordings.rows, known.names.index(recordings.name)]
        return cls.fit(recordings.time, recordings.event, entry), recordings.rows

    def part(self, chosen: NDArray[np.bool_]) -> KaplanMeier:
        """Of some of the subjects."""
        return KaplanMeier.fit(self.time[chosen], self.event[chosen], self.entry[chosen])

    @property
    def last(self) -> float:
        """The last recording, beyond which nothing is known unless everybody has had the event."""
        return float(self.time.max())

    def path(self) -> tuple[Array, Array]:
        """Corners of the curve from time 0 to the last recording, to be drawn as steps."""
        end = self.survival[-1] if self.steps.size else 1.0
        return np.concatenate([[0.0], self.steps, [self.last]]), np.concatenate([[1.0], self.survival, [end]])

    def at(self, time: float) -> float:
        """The share without event until a time; NaN where nothing is known."""
        n_before = int(np.searchsorted(self.steps, time, side="right"))
        share = float(self.survival[n_before - 1]) if n_before else 1.0
        return share if time <= self.last or share == 0.0 else np.nan

    def interval(self, time: float, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval of the share, for as many subjects without censoring as would have its variance (Rothman 1978).

        References
        ----------
        Rothman, Estimation of confidence limits for the cumulative probability of survival in life table analysis, Journal of Chronic
        Diseases 31 (1978).

        Examples
        --------
        >>> import numpy as np
        >>> curve = KaplanMeier.fit(np.arange(1.0, 11.0), np.ones(10, dtype=bool), np.zeros(10))
        >>> [round(bound, 3) for bound in curve.interval(5.0)]
        [0.237, 0.763]
        """
        share = self.at(time)
        if np.isnan(share):
            return np.nan, np.nan
        n, z = self._effective_size(time, share), float(norm.ppf(0.5 + 0.5 * confidence))
        middle = (share + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
        half = z * np.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2) / (1.0 + z**2 / n)
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))

    def _effective_size(self, time: float, share: float) -> float:
        """Share times complement over Greenwood's variance; in the limit where that is 0 / 0, if there were no events or survivors."""
        before = self.steps <= time
        at_risk, events = self.at_risk[before].astype(float), self.events[before]
        if not events.size:
            return max(float(_n_at_risk(self.time, self.entry, time)), 1.0)
        if share == 0.0:
            final = int(np.argmax(self.survival == 0.0))
            return float(at_risk[final]) / (float(self.survival[final - 1]) if final else 1.0)
        return (1.0 - share) / (share * float(np.sum(events / (at_risk * (at_risk - events)))))


def _n_at_risk(time: Array, entry: Array, at: float) -> int:
    return int(np.count_nonzero((time >= at) & ((entry < at) | (entry == 0.0))))
