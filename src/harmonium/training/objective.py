"""Objectives: what is maximised, as a signed sum of log masses (eq. 8)."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.exact import Term
from harmonium.typing import Array

__all__ = ["conditioned_cells", "denominator_cells", "entry_cells", "objective_terms"]

_ENDPOINT = "truncated_gamma"


def conditioned_cells(recorded: Cells, entry: Array) -> Cells:
    """The denominator of the conditional likelihood (eq. 8): covariates as recorded, endpoints free, or beyond entry where that is late."""
    if not entry.any():
        return recorded.freeing(_ENDPOINT)
    late = entry > 0.0
    lower, upper = np.where(late, entry, np.nan), np.where(late, 1.0, np.nan)
    return Cells(recorded.layout, (*recorded.lower[:-1], lower), (*recorded.upper[:-1], upper))


def entry_cells(recorded: Cells, entry: Array) -> Cells:
    """The denominator of the joint likelihood (eq. 8): covariates free, endpoints free, or beyond entry where that is late."""
    nothing, given = Cells.all_free(recorded.layout, recorded.n_rows), conditioned_cells(recorded, entry)
    return Cells(recorded.layout, (*nothing.lower[:-1], given.lower[-1]), (*nothing.upper[:-1], given.upper[-1]))


def denominator_cells(recorded: Cells, entry: Array, conditional: float) -> Cells | None:
    """What contrastive training clamps its negative chains to; None if the denominator is the same for all rows, nothing being fixed."""
    if conditional == 1.0:
        return conditioned_cells(recorded, entry)
    return entry_cells(recorded, entry) if entry.any() else None


def objective_terms(recorded: Cells, entry: Array, conditional: float) -> list[Term]:
    """Terms whose sum is the log-likelihood, conditional on covariates with a weight between 0 (joint) and 1 (eq. 14).

    Parameters
    ----------
    recorded : Cells
        The training table; its last block holds the endpoints.
    entry : ndarray of shape (n_rows, n_endpoints)
        Entry times on the endpoints' scales, 0 where there is none.
    conditional : float
        Weight of ln p(times | covariates); ln p(times, covariates) has the rest.
    """
    terms = [Term.uniform(recorded, 1.0)]
    if conditional > 0.0:
        terms.append(Term.uniform(conditioned_cells(recorded, entry), -conditional))
    if conditional < 1.0 and entry.any():
        terms.append(Term.uniform(entry_cells(recorded, entry), -(1.0 - conditional)))
    elif conditional < 1.0:
        terms.append(Term.uniform(Cells.all_free(recorded.layout), -(1.0 - conditional) * recorded.n_rows))
    return terms
