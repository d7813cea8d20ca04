"""What was observed of each endpoint in the training table, counted, for readers of a model file, a report or a page."""

from __future__ import annotations

from dataclasses import dataclass

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.row_weights import words_of_weight

__all__ = ["ObservedCounts", "observed_counts"]


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

    rows: float
    events: float
    intervals: float
    censored: float
    late_entries: float


def observed_counts(times: EndpointSummary) -> ObservedCounts:
    """Of one endpoint."""
    known = ~times.unknown
    kinds = (known, times.event, known & ~times.event & ~times.censored, known & times.censored)
    return ObservedCounts(*(words_of_weight(number) for number in (*(times.count[kind].sum() for kind in kinds), times.late_entries)))
