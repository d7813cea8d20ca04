"""How endpoints were recorded in the training table, for whoever asks later what a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.table.endpoints import Endpoints

__all__ = ["Recordings", "count_recordings"]


@dataclass(frozen=True)
class Recordings:
    """Of one endpoint.

    Attributes
    ----------
    rows : int
        In which something is known of it.
    events, intervals, censored : int
        Events seen at a time, events between two times, and times without event so far.
    late_entries : int
        Rows that came under observation late.
    """

    rows: int
    events: int
    intervals: int
    censored: int
    late_entries: int


def count_recordings(y: Endpoints) -> tuple[Recordings, ...]:
    """Of every endpoint."""
    known, open_ended = ~y.unknown, np.isinf(y.upper)
    kinds = (known, y.event, known & ~y.event & ~open_ended, known & open_ended, y.entry > 0.0)
    return tuple(Recordings(*(int(kind[:, e].sum()) for kind in kinds)) for e in range(len(y.names)))
