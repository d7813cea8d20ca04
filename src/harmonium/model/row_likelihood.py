"""The log-likelihood of every training row, for many parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import incomplete_rows
from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Parameters
from harmonium.engine.prepared import Term
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.fitted import Fitted
from harmonium.training.objective import Objective
from harmonium.typing import Array, Booleans

__all__ = ["RowLikelihood"]


class RowLikelihood:
    """What training maximised, row by row, each times its weight; cells are prepared once.

    Parameters
    ----------
    model : Fitted
        Whose covariate units say how missing values are distributed, if only the conditional likelihood was maximised.
    objective : Objective
    """

    def __init__(self, model: Fitted, objective: Objective) -> None:
        self._model, self._objective, self._terms = model, objective, objective.terms()
        recorded = objective.recorded
        self._units = model.covariate_units if objective.conditional == 1.0 else None
        gaps = incomplete_rows(recorded) if self._units is not None else np.zeros(recorded.n_rows, dtype=bool)
        self._parts = [(rows, own) for rows, own in ((~gaps, False), (gaps, True)) if rows.any()]
        self._sums = [self._sum(rows) for rows, _ in self._parts] if model.n_hidden <= EXACT_LIMIT else []

    def at(self, parameters: Parameters) -> Array:
        """Of every row."""
        out = np.zeros(self._objective.n_rows)
        if not self._sums:
            candidate = replace(self._model, parameters=parameters)
            for term in self._terms:
                out += self._shared(term, np.ones(out.size, dtype=bool), candidate.log_mass(term.cells))
            return out
        for (rows, with_units), total in zip(self._parts, self._sums, strict=True):
            own = self._units.joined(parameters) if with_units and self._units is not None else parameters
            for term, values in zip(self._terms, total.log_masses(own), strict=True):
                out[rows] += self._shared(term, rows, values)
        return out

    def _sum(self, rows: Booleans) -> LogMassSum:
        return LogMassSum([Term.uniform(_part(term.cells, rows), 1.0) for term in self._terms], self._model.n_jobs)

    def _shared(self, term: Term, rows: Booleans, values: Array) -> Array:
        """What a term is to some rows; one that is the same for all is shared out among them."""
        if term.cells.n_rows == rows.size:
            return np.asarray(term.weights[rows] * values)
        weights = self._objective.row_weights
        return np.asarray(term.weights * values * weights[rows] / weights.sum())


def _part(cells: Cells, rows: Booleans) -> Cells:
    return cells if cells.n_rows != rows.size or rows.all() else cells.part(np.flatnonzero(rows))
