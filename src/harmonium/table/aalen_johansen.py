"""Aalen and Johansen's estimate of a cumulative incidence: what Kaplan and Meier's is where another event may come first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array

__all__ = ["AalenJohansen"]


@dataclass(frozen=True)
class AalenJohansen:
    """A cumulative incidence, as a step function.

    Attributes
    ----------
    times : ndarray
        Distinct observed times, ascending.
    incidence : ndarray
        Just after each of them.
    """

    times: Array
    incidence: Array

    @classmethod
    def of(cls, time: Array, event: Any, other: Any, entry: Array | None = None, weights: Array | None = None) -> AalenJohansen:
        """From observed times, whether the event was seen then, and whether another one was that prevents it; subjects may have weights.

        Examples
        --------
        >>> import numpy as np
        >>> time = np.array([1.0, 2.0, 3.0, 4.0])
        >>> AalenJohansen.of(time, np.array([1, 0, 1, 0], dtype=bool), np.array([0, 1, 0, 0], dtype=bool)).incidence
        array([0.25, 0.25, 0.5 , 0.5 ])
        """
        event = np.asarray(event, dtype=bool)
        free = ProductLimit.of_events(time, event | np.asarray(other, dtype=bool), entry, weights)
        before = np.concatenate([[1.0], free.survival[:-1]])
        seen = np.bincount(np.searchsorted(free.times, time[event]), None if weights is None else weights[event], minlength=free.times.size)
        steps = before * np.divide(seen, free.at_risk, out=np.zeros(seen.size), where=seen > 0)
        return cls(free.times, np.cumsum(steps, dtype=np.float64))

    def at(self, times: Any) -> Array:
        """At some times; beyond the last observed time, as it was there."""
        place = np.searchsorted(self.times, np.asarray(times, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.incidence])[place]
