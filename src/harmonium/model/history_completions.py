r"""Completions of rows of whose covariates or event history something is not known: rows of which everything is, with weights.

.. math:: p(x_m, \text{history} \mid \text{what is known}) \propto p(x_m \mid x_o) \, L(\text{history} \mid x), \qquad x = (x_o, x_m) .

Missing covariates are completed by :mod:`harmonium.model.completions`; possible histories, of an event between two visits, say, or of a
subject that is known to be alive for longer than it was examined, by :mod:`harmonium.table.possible_histories`. L is the likelihood under
the harmoniums of all endpoints, so any answer about such a row is the average of the answers about its completions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.model.completions import ANSWERS, Completions, Effort
from harmonium.model.transitions import Transitions
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.possible_histories import Rule, possible_histories
from harmonium.training.completed import posterior_weights
from harmonium.typing import Array, Integers

__all__ = ["FINE", "HistoryCompletions"]

_NEGLIGIBLE = 1e-10  # a weight that is not worth an answer

FINE = Rule(*panel_nodes(np.linspace(0.0, 1.0, 9), 4))
"""Of integrals over the time of an event that was not seen: to about four digits where hazards are smooth."""


@dataclass(frozen=True)
class HistoryCompletions:
    """Rows of which everything is known until some time; those of each row of a table are next to each other.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    rows : ndarray of int
        The row of the table of each completion.
    covariates : ndarray
        Encoded.
    y : Endpoints
    known : Histories
    log_prior : ndarray
        Of the covariates given those that were observed, and of the width that the time of an unobserved event stands for.
    log_likelihood : ndarray
        Of the history given the covariates; zero where it was not needed.
    weights : ndarray
        They add up to one for each row.
    """

    n_rows: int
    rows: Integers
    covariates: Array
    y: Endpoints
    known: Histories
    log_prior: Array
    log_likelihood: Array
    weights: Array

    @classmethod
    def possible(
        cls,
        encoding: Encoding,
        parameters: Parameters,
        units: CovariateUnits | None,
        covariates: Array,
        y: Endpoints,
        n_threads: int | None = None,
        *,
        rule: Rule = FINE,
        effort: Effort = ANSWERS,
        events: Sequence[str] | None = None,
    ) -> HistoryCompletions:
        """Completions of rows with encoded covariates, NaN where missing, weighted by the distribution of covariates alone.

        Parameters and covariate units say how covariates are distributed; ``events`` which events may have been missed, by default any.
        """
        if covariates.shape[1]:
            found = Completions.of(parameters, units, encoding.cells(covariates), n_threads, effort)
            parts = found.rows, found.covariates, np.log(found.weights)
        else:
            parts = np.arange(len(covariates)), covariates, np.zeros(len(covariates))
        return cls.joined(encoding, len(covariates), *parts, y, rule, events)

    @classmethod
    def joined(
        cls,
        encoding: Encoding,
        n_rows: int,
        own_rows: Integers,
        values: Array,
        own_prior: Array,
        y: Endpoints,
        rule: Rule,
        events: Sequence[str] | None = None,
    ) -> HistoryCompletions:
        """Completed covariates, with rows and logarithms of weights, together with all possible histories of their rows."""
        assert encoding.ordered is not None
        graph = encoding.ordered.graph
        histories = possible_histories(graph, y, encoding.ordered.histories(y), rule, graph.names if events is None else events)
        first = np.searchsorted(own_rows, np.arange(n_rows + 1))
        sizes = np.diff(first)[histories.rows]
        history = np.repeat(np.arange(histories.rows.size), sizes)
        own = np.arange(history.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[histories.rows[history]]
        order = np.argsort(histories.rows[history], kind="stable")
        history, own = history[order], own[order]
        rows, known = histories.rows[history], histories.y.part(history)
        prior = own_prior[own] + histories.log_width[history]
        weights, _ = posterior_weights(rows, prior, n_rows)
        return cls(n_rows, rows, values[own], known, encoding.ordered.histories(known), prior, np.zeros(rows.size), weights)

    def given(self, transitions: Transitions, encoding: Encoding, *, everything: bool = False) -> HistoryCompletions:
        """The same completions weighted by their likelihood as well.

        Likelihoods of rows with a single completion are found if ``everything`` is wanted; their weights do not need them.
        """
        uncertain = np.flatnonzero((np.bincount(self.rows, minlength=self.n_rows)[self.rows] > 1) | everything)
        ln = np.zeros(self.rows.size)
        parts = self.covariates[uncertain], self.y.part(uncertain), self.known.part(uncertain)
        ln[uncertain] = transitions.log_likelihood(encoding, *parts)
        weights, _ = posterior_weights(self.rows, self.log_prior + ln, self.n_rows)
        found = replace(self, log_likelihood=ln).completions(np.flatnonzero(weights > _NEGLIGIBLE))
        weights, _ = posterior_weights(found.rows, found.log_prior + found.log_likelihood, found.n_rows)
        return replace(found, weights=weights)

    def completions(self, chosen: Integers) -> HistoryCompletions:
        """Some of the completions."""
        arrays = (array[chosen] for array in (self.log_prior, self.log_likelihood, self.weights))
        known = self.y.part(chosen), self.known.part(chosen)
        return HistoryCompletions(self.n_rows, self.rows[chosen], self.covariates[chosen], *known, *arrays)

    def alone(self) -> HistoryCompletions:
        """Every completion as a row of its own."""
        size, certain = self.rows.size, np.zeros(self.rows.size)
        return HistoryCompletions(size, np.arange(size), self.covariates, self.y, self.known, certain, certain, np.ones(size))

    def part(self, rows: Integers) -> HistoryCompletions:
        """Completions of some rows of the table, which are numbered anew."""
        number = np.full(self.n_rows, -1)
        number[rows] = np.arange(rows.size)
        own = np.flatnonzero(number[self.rows] >= 0)
        own = own[np.argsort(number[self.rows[own]], kind="stable")]
        found = self.completions(own)
        return replace(found, n_rows=rows.size, rows=number[found.rows])

    def log_likelihoods(self) -> Array:
        """Ln p of what is known of the history of each row, given the covariates that were observed."""
        return posterior_weights(self.rows, self.log_likelihood + self.log_prior, self.n_rows)[1]

    def averaged(self, answers: Array) -> Array:
        """Answers about the table's rows, from those about completions."""
        if self.rows.size == self.n_rows:
            return answers
        starts = np.searchsorted(self.rows, np.arange(self.n_rows))
        weighted = answers * self.weights.reshape(-1, *[1] * (answers.ndim - 1))
        return np.asarray(np.add.reduceat(weighted, starts, axis=0)) if self.n_rows else answers

    def drawn(self, rng: np.random.Generator) -> Integers:
        """One completion of each row, drawn by its weight."""
        first = np.searchsorted(self.rows, np.arange(self.n_rows))
        last = np.append(first[1:], self.rows.size) - 1
        places = np.searchsorted(np.cumsum(self.weights), np.arange(self.n_rows) + rng.random(self.n_rows))
        return np.clip(places, first, last)
