"""What is known of an endpoint itself: an interval on the unit interval, the same for many rows."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.typing import Array, Integers

__all__ = ["groups_of_intervals", "own_interval"]


def own_interval(cells: Cells, column: int) -> tuple[Array, Array]:
    """What is known of an endpoint: bounds on the unit interval, (0, 1] if nothing."""
    lower, upper = cells.column(column)
    return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), 1.0, upper)


def groups_of_intervals(*bounds: Array) -> Integers:
    """Numbers of groups of rows that have the same bounds."""
    if all(bound.size == 0 or (bound == bound[0]).all() for bound in bounds):
        return np.zeros(bounds[0].size, dtype=np.int64)
    groups: Integers = np.unique(np.column_stack(bounds), axis=0, return_inverse=True)[1].reshape(-1)
    return groups
