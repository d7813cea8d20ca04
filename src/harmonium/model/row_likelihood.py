"""The log-likelihood of every training row, for many parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_sum import covariate_layout, observed_statistics
from harmonium.engine.covariate_units import incomplete_rows
from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Parameters
from harmonium.engine.prepared import Term
from harmonium.engine.states import EXACT_LIMIT, hidden_states
from harmonium.model.fitted import Fitted
from harmonium.training.objective import Objective
from harmonium.typing import Array, Booleans

__all__ = ["RowLikelihood", "means_by_state"]


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
            own = self._joined(parameters) if with_units else parameters
            for term, values in zip(self._terms, total.log_masses(own), strict=True):
                out[rows] += self._shared(term, rows, values)
        return out

    def slopes(self, parameters: Parameters) -> tuple[Array, Array] | None:
        """Of every row, derivatives by the natural couplings of covariates, (rows, statistics, hidden units), and by hidden biases.

        They follow from the probabilities of hidden states (eq. 11). None if more than the conditional likelihood was maximised, or states
        are too many.
        """
        if not self._sums or self._objective.conditional < 1.0:
            return None
        recorded, n_hidden = self._objective.recorded, parameters.n_hidden
        statistics, missing = observed_statistics(recorded)
        layout = covariate_layout(recorded.layout)
        unseen = np.repeat(missing, np.diff(layout.offsets), axis=1)
        by_coupling, by_bias = np.zeros((*statistics.shape, n_hidden)), np.zeros((len(statistics), n_hidden))
        for (rows, with_units), total in zip(self._parts, self._sums, strict=True):
            own = self._joined(parameters) if with_units else parameters
            on = hidden_states(own.n_hidden)[:, :n_hidden]
            means = means_by_state(own, layout) if unseen[rows].any() else None
            for term, found in zip(self._terms, total.posteriors(own), strict=True):
                hidden = found @ on
                products = statistics[rows][:, :, None] * hidden[:, None, :]
                if means is not None:
                    expected = np.einsum("rs,sk,sj->rkj", found, means, on, optimize=True)
                    products = np.where(unseen[rows][:, :, None], expected, products)
                by_coupling[rows] -= term.weights[rows, None, None] * products
                by_bias[rows] -= term.weights[rows, None] * hidden
        return by_coupling, by_bias

    def _joined(self, parameters: Parameters) -> Parameters:
        return parameters if self._units is None else self._units.joined(parameters)

    def _sum(self, rows: Booleans) -> LogMassSum:
        return LogMassSum([Term.uniform(_part(term.cells, rows), 1.0) for term in self._terms], self._model.n_jobs)

    def _shared(self, term: Term, rows: Booleans, values: Array) -> Array:
        """What a term is to some rows; one that is the same for all is shared out among them."""
        if term.cells.n_rows == rows.size:
            return np.asarray(term.weights[rows] * values)
        weights = self._objective.row_weights
        return np.asarray(term.weights * values * weights[rows] / weights.sum())


def means_by_state(parameters: Parameters, layout: Layout) -> Array:
    """Means of the statistics of covariates of which nothing is known, in every state, (states, statistics)."""
    natural = parameters.natural()
    states, parts = hidden_states(parameters.n_hidden), []
    by_state = natural.bias + states @ natural.coupling.T
    for block in layout.blocks:
        own = by_state[:, block.statistics].reshape(len(states), block.n_columns, -1)
        nothing = np.full((len(states), block.n_columns), np.nan)
        parts.append(block.unit.mean_statistics(own, nothing, nothing).reshape(len(states), -1))
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(states), 0))


def _part(cells: Cells, rows: Booleans) -> Cells:
    return cells if cells.n_rows != rows.size or rows.all() else cells.part(np.flatnonzero(rows))
