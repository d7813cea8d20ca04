"""Restricted means: areas under survival curves."""

from __future__ import annotations

import numpy as np

from harmonium.model.intervals import groups_of_intervals, own_interval
from harmonium.model.rows import Rows
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["restricted_mean"]


def restricted_mean(rows: Rows, column: int, scale: TimeScale, until: float) -> Array:
    """Mean of the event time or ``until``, whichever comes first (eq. 24), for every row.

    Until when a row is known to be event-free, survival is one; from there on it is integrated, on the time scale where time is endless.
    """
    lower, upper = own_interval(rows.cells, column)
    out = np.empty(rows.cells.n_rows)
    groups = groups_of_intervals(lower, upper)
    for group, row in enumerate(np.unique(groups, return_index=True)[1]):
        own = groups == group
        start = float(scale.from_unit(lower[row : row + 1])[0])
        if lower[row] == upper[row] or start >= until:
            out[own] = min(start, until)
            continue
        end = until if upper[row] >= 1.0 else min(until, float(scale.from_unit(upper[row : row + 1])[0]))
        positions, weights = scale.integration_nodes(start, end)
        part = rows if own.all() else rows.part(own)
        out[own] = start + np.sum(part.survival(column, positions).mean * weights, axis=1)  # a row's sum by itself
    return out
