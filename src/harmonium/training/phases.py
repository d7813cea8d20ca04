"""Chains of both phases of contrastive divergence: where they are clamped and where they begin."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.sweeps import bounds_of
from harmonium.numerics.streams import spawn
from harmonium.training.contrastive_epoch import Phase
from harmonium.typing import Array

__all__ = ["negative_phase", "positive_phase"]


def positive_phase(recorded: Cells, rng: np.random.Generator) -> Phase:
    """Chains clamped to the recorded cells; they begin at the data for every update."""
    beginning = _beginning(recorded)
    return Phase(bounds_of(recorded), beginning, beginning.copy("F"), spawn(rng, recorded.n_rows), tied=True, afresh=True)


def negative_phase(
    recorded: Cells, clamped: Cells | None, beginning: Array, rng: np.random.Generator, batch_size: int, persistent: bool
) -> Phase:
    """Chains clamped to the denominator's cells.

    If anything is fixed each row has a chain of its own; if nothing is, each place in the batch.
    """
    cells = clamped or Cells.all_free(recorded.layout, recorded.n_rows)
    tied = clamped is not None or not persistent
    rows = np.arange(recorded.n_rows) if tied else rng.integers(recorded.n_rows, size=batch_size)
    values = np.asfortranarray(beginning[rows])
    return Phase(bounds_of(cells), beginning, values, spawn(rng, rows.size), tied=tied, afresh=not persistent)


def _beginning(recorded: Cells) -> Array:
    """Observed values; a bound where there is one inside the domain; the column's median where nothing is known."""
    lower, upper = recorded.bounds()
    values = np.where(lower == upper, lower, np.nan)
    out = values.copy("F")
    for c, unit in enumerate(recorded.layout.units):
        seen = values[~np.isnan(values[:, c]), c]
        median = float(np.median(seen)) if seen.size else (0.5 if unit.tabulated else 0.0)
        if unit.discrete:
            median = float(np.round(median))
        lowest, highest = unit.domain
        bound = np.where((lower[:, c] > lowest) & (lower[:, c] < highest), lower[:, c], upper[:, c])
        usable = np.isfinite(bound) & (bound > lowest) & (bound <= highest) & (not unit.discrete)
        out[:, c] = np.where(np.isnan(out[:, c]), np.where(usable, bound, median), out[:, c])
    return out
