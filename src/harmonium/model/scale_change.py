"""Cells and drawn tables on other time scales: positions that mean the same times."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.table.encoding import Encoding
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["moved_cells", "moved_table"]

_NARROWEST = 1e-9  # intervals stay at least so wide


def moved_cells(cells: Cells, before: Encoding, after: Encoding) -> Cells:
    """The same cells on other time scales."""
    if _same(before, after):
        return cells
    first = cells.layout.outcomes.start
    lower, upper = (bound[:, first:] for bound in cells.bounds())
    wide = upper > lower
    lower, upper = (_moved(bound, before, after) for bound in (lower, upper))
    return cells.with_outcomes(lower, np.where(wide, np.minimum(np.maximum(upper, lower + _NARROWEST), 1.0), lower))


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
        out[known, place] = _position(outcomes[known, place], old.scale, new.scale)
    return out


def _position(position: Array, old: TimeScale, new: TimeScale) -> Array:
    """The position of the same time; where there is none, as far between the end and 1 as before."""
    inside = new.to_unit(old.from_unit(np.minimum(position, old.reach)))
    if old.reach == 1.0 or new.reach == 1.0:
        return np.asarray(inside)
    beyond = new.reach + (position - old.reach) * (1.0 - new.reach) / (1.0 - old.reach)
    return np.where(position > old.reach, beyond, inside)
