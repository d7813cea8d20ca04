"""Tied event times are intervals.

Taken as exact, each repetition of a time rewards a density that is ever higher there; taken as what they are
(:mod:`harmonium.table.tied_times`), they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harmonium.table.endpoint_summary import summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.tied_times import TiedTimes

__all__ = ["TiedTimes", "ties_as_intervals"]


def ties_as_intervals(y: Endpoints, tied: Sequence[TiedTimes] | None = None, weights: RowWeights = UNWEIGHTED) -> Endpoints:
    """Widen every event time that occurs more than once, or has more than one row's weight, to the interval since the recording before.

    ``tied`` has the ties of a whole table of which these are some rows; by default this is the whole.
    """
    found = [TiedTimes.of(known) for known in summarise_endpoints(y, weights)] if tied is None else tied
    lower, upper = y.lower.copy(), y.upper.copy()
    for e, ties in enumerate(found):
        rows, place = ties.places(y.lower[:, e], y.event[:, e])
        lower[rows, e], upper[rows, e] = np.maximum(ties.lower[place], y.entry[rows, e]), ties.last[place]
    return replace(y, lower=lower, upper=upper)
