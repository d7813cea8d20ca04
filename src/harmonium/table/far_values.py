"""Numbers far from all that training has seen: an age of 250 is a slip, or in another unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.errors import RangeWarning, warn
from harmonium.table.frames import also, rows_of
from harmonium.typing import Array, Booleans

__all__ = ["FarValues", "is_far", "warn_of_far_values"]


def is_far(values: Any, lowest: float, highest: float) -> Booleans:
    """Whether numbers are further from a range than it is wide; NaN is not.

    Examples
    --------
    >>> is_far([250.0, 100.0, np.nan], 44.0, 92.0)
    array([ True, False, False])
    """
    span = highest - lowest
    values = np.asarray(values, dtype=np.float64)
    return np.asarray((values < lowest - span) | (values > highest + span))


def warn_of_far_values(name: Any, values: Array, lowest: float, highest: float) -> None:
    """Warn of such numbers in a column."""
    far = is_far(values, lowest, highest)
    if far.any():
        found = FarValues(name, lowest, highest)
        found.add(values, np.arange(values.size))
        warn(found.line, RangeWarning)


@dataclass
class FarValues:
    """Those of a column of a table that may come in parts.

    Attributes
    ----------
    name : str or int
        Of the column.
    lowest, highest : float
        What was seen in training.
    """

    name: Any
    lowest: float
    highest: float

    def __post_init__(self) -> None:
        self.rows: list[int] = []
        self.first = np.nan

    def add(self, values: Array, rows: Any) -> None:
        """Look at some values, whose rows have these numbers."""
        far = rows_of(is_far(values, self.lowest, self.highest))
        if far and not self.rows:
            self.first = float(values[far[0]])
        self.rows += [int(rows[place]) for place in far]

    @property
    def line(self) -> str:
        """What to say of them, if there are any.

        Examples
        --------
        >>> age = FarValues("age", 44.0, 92.0)
        >>> age.add(np.array([60.0, 250.0]), [0, 1])
        >>> age.line
        "column 'age' holds 250 in row 1, far from what was seen in training, 44 to 92; is it a slip, or another unit?"
        """
        return (
            f"column {self.name!r} holds {self.first:g} in row {self.rows[0]}{also(self.rows)}, far from what was seen in training, "
            f"{self.lowest:g} to {self.highest:g}; is it a slip, or another unit?"
        )
