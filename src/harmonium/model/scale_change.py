"""Cells and drawn tables on other time scales: positions that mean the same times."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.table.encoding import NARROWEST, Encoding
from harmonium.typing import Array

__all__ = ["moved_cells", "moved_table"]


def moved_cells(cells: Cells, before: Encoding, after: Encoding) -> Cells:
    """The same cells on other time scales."""
    if _same(before, after):
        return cells
    first = cells.layout.outcomes.start
    lower, upper = (bound[:, first:] for bound in cells.bounds())
    wide = upper > lower
    lower, upper = (_moved(bound, before, after) for bound in (lower, upper))
    return cells.with_outcomes(lower, np.where(wide, np.minimum(np.maximum(upper, lower + NARROWEST), 1.0), lower))


def moved_table(table: Array, before: Encoding, after: Encoding) -> Array:
    """A completed table (rows, columns) on other time scales."""
    if _same(before, after):
        return table
    first = before.layout.outcomes.start
    return np.concatenate([table[:, :first], _moved(table[:, first:], before, after)], axis=1)


def _same(before: Encoding, after: Encoding) -> bool:
    return all(old.scale is new.scale for old, new in zip(before.timed, after.timed, strict=True))


def _moved(outcomes: Array, before: Encoding, after: Encoding) -> Array:
    """Outcomes, of which times come first."""
    out = outcomes.copy()
    for place, (old, new) in enumerate(zip(before.timed, after.timed, strict=True)):
        known = ~np.isnan(outcomes[:, place])
        out[known, place] = old.scale.position_on(new.scale, outcomes[known, place])
    return out
