"""Distinct numbers and how often they occur, in a form that tallies of several parts of a table can be merged into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.table.endpoint_summary import MOST_TIMES, with_digits
from harmonium.typing import Array

__all__ = ["NOTHING", "Tally"]

_ALL_DIGITS, _FIRST_CUT, _FEWEST_DIGITS = 52, 20, 4  # of a number's binary fraction


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct numbers, ascending, and in how many rows they are.

    A tally that is merged holds at most 200,000 numbers; beyond, they are cut to fewer binary digits, as times are
    (:mod:`harmonium.table.endpoint_summary`).

    Attributes
    ----------
    values : ndarray
    counts : ndarray
        Rows, or their weight.
    digits : int
        Binary digits that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> Tally.of(np.array([2.0, 1.0, 2.0])).merged(Tally.of(np.array([1.0]))).counts
    array([2, 2])
    """

    values: Array
    counts: Any
    digits: int = _ALL_DIGITS

    @classmethod
    def of(cls, numbers: Array, weights: Array | None = None) -> Tally:
        """Of numbers without NaN, whose rows may have weights."""
        if weights is None:
            values, counts = np.unique(numbers + 0.0, return_counts=True)  # -0 is 0
            return cls(values, counts.astype(np.int64))
        values, place = np.unique(numbers + 0.0, return_inverse=True)
        return cls(values, np.bincount(place, weights, minlength=values.size))

    def merged(self, other: Tally, most: int = MOST_TIMES) -> Tally:
        """Of both; numbers are cut if there are more than ``most``."""
        out = _added(self, other, min(self.digits, other.digits))
        while out.values.size > most and out.digits > _FEWEST_DIGITS:
            out = _added(out, NOTHING, min(out.digits - 1, _FIRST_CUT))
        return out


NOTHING = Tally(np.empty(0), np.empty(0, dtype=np.int64))
"""Of no numbers."""


def _added(a: Tally, b: Tally, digits: int) -> Tally:
    numbers = np.concatenate([part.values if part.digits == digits else with_digits(part.values, digits) for part in (a, b)])
    values, place = np.unique(numbers, return_inverse=True)
    counts = np.bincount(place, np.concatenate([a.counts, b.counts]), minlength=values.size)
    return Tally(values, counts.astype(np.result_type(a.counts, b.counts)), digits)
