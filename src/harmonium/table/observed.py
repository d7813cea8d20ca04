"""What was observed of each endpoint in the training table, counted, for readers of a model file, a report or a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.table.endpoints import Endpoints

__all__ = ["ObservedCounts", "count_observed"]


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


def count_observed(y: Endpoints) -> tuple[ObservedCounts, ...]:
    """Of every endpoint."""
    known, open_ended = ~y.unknown, np.isinf(y.upper)
    kinds = (known, y.event, known & ~y.event & ~open_ended, known & open_ended, y.entry > 0.0)
    return tuple(ObservedCounts(*(int(kind[:, e].sum()) for kind in kinds)) for e in range(len(y.names)))
