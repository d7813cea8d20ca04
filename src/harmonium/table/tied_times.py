"""Tied event times, and the intervals that they stand for.

Times that were recorded to the day or month repeat. An event recorded at t has happened since the recording before and not later than t:
an interval that ends at t, so that survival at t has all events recorded at t behind it, as in Kaplan and Meier's estimate.
Times that differ by less than a ten-millionth are the same: rounding on the way of a table must not make them different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.typing import Array, Booleans, Integers

__all__ = ["TiedTimes"]

_SAME = 1e-7  # relative difference
_ROUNDING = 1e-9  # of sums of weights


@dataclass(frozen=True, eq=False)
class TiedTimes:
    """Event times of one endpoint that more than one row has, or that have more than one row's weight.

    Attributes
    ----------
    first, last : ndarray
        Ascending; recordings from first to last are the same time.
    lower : ndarray
        The recording before, 0 if there is none.
    """

    first: Array
    last: Array
    lower: Array

    @classmethod
    def of(cls, known: EndpointSummary) -> TiedTimes:
        """Times that are not known to the last digit are not taken for ties.

        Examples
        --------
        >>> import numpy as np
        >>> times = np.array([1.0, 2.0, 2.0 + 1e-9])
        >>> TiedTimes.of(EndpointSummary.of("os", times, times)).lower
        array([1.])
        """
        if known.is_cut or not (known.lower > 0.0).any():
            return cls(np.empty(0), np.empty(0), np.empty(0))
        recorded = np.unique(known.lower[known.lower > 0.0])
        new = np.concatenate([[True], np.diff(recorded) > _SAME * recorded[1:]])
        first, last = recorded[new], recorded[np.concatenate([new[1:], [True]])]
        place = np.clip(np.searchsorted(last, known.lower), 0, last.size - 1)
        events = np.bincount(place, known.count * (known.event & (known.lower > 0.0)), minlength=last.size)
        tied = events > known.row * (1.0 + _ROUNDING)
        return cls(first[tied], last[tied], np.concatenate([[0.0], last[:-1]])[tied])

    def places(self, times: Array, event: Booleans) -> tuple[Integers, Integers]:
        """Rows with a tied event, and the number of the tie that each of them has."""
        if not self.first.size:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.last, times), self.last.size - 1)
        rows = np.flatnonzero(event & (times >= self.first[place]) & (times <= self.last[place]))
        return rows, place[rows]
