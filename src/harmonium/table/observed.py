"""What was observed of each endpoint in the training table, counted, for readers of a model file, a report or a page."""

from __future__ import annotations

from dataclasses import dataclass

from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.row_weights import words_of_weight
from harmonium.table.rules import Count

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
