"""What was observed of each endpoint in the training table, counted, for readers of a model file, a report or a page."""

from __future__ import annotations

from dataclasses import dataclass

from harmonium.table.endpoint_summary import EndpointSummary

__all__ = ["ObservedCounts", "observed_counts"]


@dataclass(frozen=True)
class ObservedCounts:
    """Of one endpoint.

    Attributes
    ----------
    rows : int
        In which something is known of it.
    events, intervals, censored : int
        Events at an observed time, events between two times, and times without an event so far.
    late_entries : int
        Rows that came under observation late.
    """

    rows: int
    events: int
    intervals: int
    censored: int
    late_entries: int


def observed_counts(times: EndpointSummary) -> ObservedCounts:
    """Of one endpoint."""
    known = ~times.unknown
    kinds = (known, times.event, known & ~times.event & ~times.censored, known & times.censored)
    rows, events, intervals, censored = (int(times.count[kind].sum()) for kind in kinds)
    return ObservedCounts(rows, events, intervals, censored, times.late_entries)
