"""What a table says of one endpoint's times, in a form that summaries of several parts of a table can be merged into.

A time scale, the follow-up, ties and counts depend only on how often each pair of bounds occurs, not on the order of rows or on their
covariates. So a summary is the distinct pairs with their counts, and learning is summarising, then concluding; parts of a table that lie
on several machines are summarised where they are, and merged.

A summary that is merged holds at most 200,000 pairs for each endpoint. Beyond, times are cut to so many binary digits that they do: to a
relative accuracy of 2**-20 (a millionth) and then of half of it and so on, until they fit. With times between a day and a century that
ends at 2**-12, a quarter of a thousandth. Cutting twice is the same as cutting once, so the result does not depend on the order of
merging.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harmonium.table.endpoints import Endpoints
from harmonium.table.row_weights import UNWEIGHTED, RowWeights, total_or_count
from harmonium.typing import Array, Booleans

__all__ = ["MOST_TIMES", "EndpointSummary", "summarise_endpoints", "with_digits"]

MOST_TIMES = 200_000
"""Distinct pairs of bounds that a merged summary keeps as they are."""

_ALL_DIGITS, _FIRST_CUT, _FEWEST_DIGITS = 52, 20, 4  # of a number's binary fraction
_ROUNDING = 1e-12  # of sums of weights


@dataclass(frozen=True)
class EndpointSummary:
    """Distinct bounds of one endpoint, ascending, and how many rows have them.

    Attributes
    ----------
    name : str
    lower, upper : ndarray
        As in a table of endpoints.
    event : ndarray of bool
        Whether the event was seen at a time.
    count : ndarray
        Rows, or their weight.
    late_entries : int or float
        Rows that came under observation late.
    first, last : float
        The smallest and the largest positive time, which are never cut; both 1 if there is none.
    digits : int
        Binary digits of times that are kept.
    row : float
        The weight of one row; times on which more lies are tied.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [EndpointSummary.of("os", np.array([2.0, time]), np.array([2.0, np.inf])) for time in (3.0, 2.0)]
    >>> whole = parts[0].merged(parts[1])
    >>> whole.lower, whole.count
    (array([2., 2., 3.]), array([2, 1, 1]))
    """

    name: str
    lower: Array
    upper: Array
    event: Booleans
    count: Any
    late_entries: float
    first: float
    last: float
    digits: int = _ALL_DIGITS
    row: float = 1.0

    @classmethod
    def of(cls, name: str, lower: Array, upper: Array, entry: Array | None = None, weights: RowWeights = UNWEIGHTED) -> EndpointSummary:
        """Of a table's rows."""
        ends = np.concatenate([lower, upper[np.isfinite(upper)]])
        positive = ends[ends > 0.0]
        first, last = (float(positive.min()), float(positive.max())) if positive.size else (np.inf, 0.0)
        late = 0 if entry is None else total_or_count(entry > 0.0, weights.values)
        count = np.ones(lower.size, dtype=np.int64) if weights.values is None else weights.values
        return cls(name, *_distinct(lower, upper, lower == upper, count), late, first, last, row=weights.smallest)

    def merged(self, other: EndpointSummary, most: int | None = None) -> EndpointSummary:
        """Of the rows of both; times are cut if there are more than ``most`` distinct pairs, by default :data:`MOST_TIMES`."""
        digits = min(self.digits, other.digits)
        parts = [part if part.digits == digits else part._cut(digits) for part in (self, other)]
        columns = ("lower", "upper", "event", "count")
        found = _distinct(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))
        out = EndpointSummary(
            self.name,
            *found,
            self.late_entries + other.late_entries,
            min(self.first, other.first),
            max(self.last, other.last),
            digits,
            min(self.row, other.row),
        )
        return out.within(MOST_TIMES if most is None else most)

    def within(self, most: int) -> EndpointSummary:
        """At most so many pairs, if times can be cut that far."""
        out = self
        while out.count.size > most and out.digits > _FEWEST_DIGITS:
            out = out._cut(min(out.digits - 1, _FIRST_CUT))
        return out

    def _cut(self, digits: int) -> EndpointSummary:
        """Times with fewer binary digits, never later than they were."""
        lower, upper = (with_digits(times, digits) for times in (self.lower, self.upper))
        lower, upper, event, count = _distinct(lower, upper, self.event, self.count)
        return replace(self, lower=lower, upper=upper, event=event, count=count, digits=digits)

    # --- what is asked of it ---

    @property
    def n_rows(self) -> float:
        """Rows, or their weight, those of which nothing is known included."""
        total: float = self.count.sum().item()
        return total

    @property
    def is_cut(self) -> bool:
        """Whether times are not known to the last digit."""
        return self.digits < _ALL_DIGITS

    @property
    def censored(self) -> Booleans:
        """Pairs without an upper bound, those of which nothing is known among them."""
        return np.isinf(self.upper)

    @property
    def unknown(self) -> Booleans:
        """Pairs of which nothing is known."""
        out: Booleans = (self.lower == 0.0) & np.isinf(self.upper)
        return out

    @property
    def event_times(self) -> Array:
        """Distinct times of events, or by which they had happened; the last known time if there was none. Curves are given there."""
        ends = np.unique(self.upper[np.isfinite(self.upper)])
        return ends if ends.size else np.array([self.last_time])

    @property
    def first_time(self) -> float:
        """The smallest positive time; 1 if there is none."""
        return self.first if np.isfinite(self.first) else 1.0

    @property
    def last_time(self) -> float:
        """The largest known time; 1 if there is none."""
        return self.last or 1.0

    def median_time(self) -> float:
        """The median of all positive bounds; 1 if there are none."""
        below, above = self.lower > 0.0, np.isfinite(self.upper) & (self.upper > 0.0)
        times = np.concatenate([self.lower[below], self.upper[above]])
        if not times.size:
            return 1.0
        order = np.argsort(times, kind="stable")
        until = np.cumsum(np.concatenate([self.count[below], self.count[above]])[order])
        half = 0.5 * until[-1]
        middle = [np.searchsorted(until, half * (1.0 - _ROUNDING)), np.searchsorted(until, half * (1.0 + _ROUNDING), side="right")]
        return float(times[order][middle].mean())


def summarise_endpoints(y: Endpoints, weights: RowWeights = UNWEIGHTED) -> tuple[EndpointSummary, ...]:
    """Of every endpoint of a table."""
    return tuple(EndpointSummary.of(name, y.lower[:, e], y.upper[:, e], y.entry[:, e], weights) for e, name in enumerate(y.names))


def _distinct(lower: Array, upper: Array, event: Booleans, count: Any) -> tuple[Array, Array, Booleans, Any]:
    """Equal rows as one, with the sum of their counts; ascending."""
    order = np.lexsort((~event, upper, lower))
    lower, upper, event = lower[order], upper[order], event[order]
    new = np.ones(lower.size, dtype=bool)
    new[1:] = (np.diff(lower) != 0.0) | (upper[1:] != upper[:-1]) | (event[1:] != event[:-1])
    starts = np.flatnonzero(new)
    total = np.add.reduceat(count[order], starts) if starts.size else count[order]
    return lower[starts], upper[starts], event[starts], total


def with_digits(times: Array, digits: int) -> Array:
    """Numbers with the last binary digits zero; 0 and infinity are as they were."""
    mask = np.uint64(2**64 - 2 ** (_ALL_DIGITS - digits))
    cut: Array = (np.ascontiguousarray(times).view(np.uint64) & mask).view(np.float64)
    return cut
