r"""Kaplan and Meier's curve, with intervals that make sense where nobody or everybody has had the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from harmonium.metrics.observed import right_censored
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import ProductLimit, count_at_risk
from harmonium.typing import Array, Integers

__all__ = ["KaplanMeier"]


@dataclass(frozen=True)
class KaplanMeier:
    """The fraction without event, of subjects that may be censored and may enter late.

    Attributes
    ----------
    time, event, entry : ndarray
        Until when each subject was observed, whether the event was seen then, and from when it was observed.
    steps, at_risk, events, survival : ndarray
        Distinct event times, how many were at risk and had the event there, and the curve just after.
    """

    time: Array
    event: NDArray[np.bool_]
    entry: Array
    steps: Array
    at_risk: Integers
    events: Integers
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
        curve = ProductLimit.of_events(time, event, entry)
        kept = curve.ended > 0
        return cls(time, event, entry, curve.times[kept], curve.at_risk[kept], curve.ended[kept], curve.survival[kept])

    @classmethod
    def of(cls, y: Any, endpoint: str | None = None) -> tuple[KaplanMeier, NDArray[np.bool_]]:
        """Of an endpoint in a table, and which rows count: neither those without observation nor events between two times."""
        observed = right_censored(parse_endpoints(y), endpoint)
        if not observed.time.size:
            raise ValueError(f"nothing was observed of {observed.name!r}")
        return cls.fit(observed.time, observed.event, observed.entry), observed.rows

    def part(self, chosen: NDArray[np.bool_]) -> KaplanMeier:
        """Of some of the subjects."""
        return KaplanMeier.fit(self.time[chosen], self.event[chosen], self.entry[chosen])

    @property
    def last(self) -> float:
        """The last observed time, beyond which nothing is known unless everybody has had the event."""
        return float(self.time.max())

    def path(self) -> tuple[Array, Array]:
        """Corners of the curve from time 0 to the last observed time, to be drawn as steps."""
        end = self.survival[-1] if self.steps.size else 1.0
        return np.concatenate([[0.0], self.steps, [self.last]]), np.concatenate([[1.0], self.survival, [end]])

    def at(self, time: float) -> float:
        """The fraction without event until a time; NaN where nothing is known."""
        n_before = int(np.searchsorted(self.steps, time, side="right"))
        fraction = float(self.survival[n_before - 1]) if n_before else 1.0
        return fraction if time <= self.last or fraction == 0.0 else np.nan

    def interval(self, time: float, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval of the fraction, for as many subjects without censoring as would have its variance (Rothman 1978).

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
        fraction = self.at(time)
        if np.isnan(fraction):
            return np.nan, np.nan
        n, z = self._effective_size(time, fraction), float(norm.ppf(0.5 + 0.5 * confidence))
        middle = (fraction + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
        half = z * np.sqrt(fraction * (1.0 - fraction) / n + (z / (2.0 * n)) ** 2) / (1.0 + z**2 / n)
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))

    def _effective_size(self, time: float, fraction: float) -> float:
        """Fraction times complement over Greenwood's variance; in the limit where that is 0 / 0, if there were no events or survivors."""
        before = self.steps <= time
        at_risk, events = self.at_risk[before].astype(float), self.events[before]
        if not events.size:
            return max(float(count_at_risk(self.time, np.array([time]), self.entry)[0]), 1.0)
        if fraction == 0.0:
            final = int(np.argmax(self.survival == 0.0))
            return float(at_risk[final]) / (float(self.survival[final - 1]) if final else 1.0)
        return (1.0 - fraction) / (fraction * float(np.sum(events / (at_risk * (at_risk - events)))))
