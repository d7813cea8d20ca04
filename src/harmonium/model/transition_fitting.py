"""Training where endpoints are ordered: a distribution of covariates, and a harmonium for each endpoint on the table of its sojourns.

A subject of whom something is not known, a covariate or when an event happened, is what it may be, each completion with its probability
(:mod:`harmonium.model.history_completions`). The harmoniums maximise the likelihood of what was observed, one after the other; then the
distribution of covariates is fitted again to the completions with their probabilities, and so on until these settle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.completions import TRAINING
from harmonium.model.covariate_training import MOST_ROUNDS, in_memory, settled
from harmonium.model.endpoint_tables import EndpointTable
from harmonium.model.history_completions import HistoryCompletions
from harmonium.table.encoding import Encoding
from harmonium.table.endpoint_rows import endpoint_rows
from harmonium.table.endpoints import Endpoints
from harmonium.table.possible_histories import completed
from harmonium.table.row_weights import RowWeights
from harmonium.training.completed import CompletedObjective, posterior_weights
from harmonium.training.coordinates import Coordinates
from harmonium.training.covariate_fit import PRECISION, fit_covariate_units, number_of_units
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.statistics import StatisticsSummary
from harmonium.typing import Array

__all__ = ["CovariateModel", "HistoryTraining", "fit_covariates"]

_MOST_UNITS = 8  # covariate latent units: no other units say how covariates are distributed


# --- covariates ---


@dataclass(frozen=True)
class CovariateModel:
    """A harmonium of the covariates alone: biases in ``parameters``, which have no hidden units, and covariate latent units."""

    parameters: Parameters
    units: CovariateUnits | None

    def log_mass(self, encoding: Encoding, covariates: Array, n_threads: int | None = None) -> Array:
        """Ln p of encoded covariates, up to a constant."""
        if self.units is None:
            return np.zeros(len(covariates))
        return log_mass(self.whole, encoding.cells(covariates), n_threads)

    def fitted_to(self, encoding: Encoding, covariates: Array, weights: Array, precision: float = PRECISION) -> CovariateModel:
        """Fitted again, from where it is, to rows with weights."""
        if self.units is None:
            return self
        rows = in_memory(_of_covariates(encoding, covariates, weights))
        return replace(self, units=fit_covariate_units(rows, self.parameters, self.units.n_units, self.units, precision))

    @property
    def whole(self) -> Parameters:
        """Parameters of biases and latent units together."""
        return self.parameters if self.units is None else self.units.joined(self.parameters)


def fit_covariates(layout: Layout, table: Callable[[], Any], wanted: str | int) -> CovariateModel:
    """Fit the distribution of covariates to a table with missing values, wherever its rows are.

    Parameters
    ----------
    layout : Layout
        Of the covariates.
    table : callable
        Makes an objective of covariates alone; not used if there are none.
    wanted : "auto" or int
        Latent units.
    """
    if not layout.n_columns:
        return CovariateModel(_without_hidden_units(layout, np.zeros(0)), None)
    rows = in_memory(table())
    statistics = StatisticsSummary.of(rows.recorded, rows.subjects)
    parameters = _without_hidden_units(layout, Coordinates.of_statistics(layout, statistics, 0, 1.0).fixed_bias)
    n_units = number_of_units(rows.recorded, 1, _MOST_UNITS, rows.subjects) if isinstance(wanted, str) else int(wanted)
    return CovariateModel(parameters, fit_covariate_units(rows, parameters, n_units))


def _without_hidden_units(layout: Layout, bias: Array) -> Parameters:
    return Parameters.from_natural(layout, Natural(bias, np.zeros((layout.n_statistics, 0)), np.zeros(0), 0.0))


def _of_covariates(encoding: Encoding, covariates: Array, weights: Array) -> WeightedObjective:
    return WeightedObjective(encoding.cells(covariates), np.empty((len(covariates), 0)), 0.0, weights, weights)


# --- what is not known ---


@dataclass(frozen=True)
class HistoryTraining:
    """A training table in which subjects are what they may be.

    Which history a subject may have had is said by hazards of the whole table, which know nothing of covariates
    (:mod:`harmonium.table.possible_histories`): a harmonium would confirm its own opinion of what nobody saw. Which covariates it may have,
    by their distribution and the likelihood of the history.

    Attributes
    ----------
    study : Encoding
    covariates : CovariateModel
        By which completions were found.
    possible : HistoryCompletions
    objectives : tuple of CompletedObjective
        Of each endpoint, without what the others say of completions.
    weights : ndarray
        Of the subjects.
    n_threads : int, optional
    """

    study: Encoding
    covariates: CovariateModel
    possible: HistoryCompletions
    objectives: tuple[CompletedObjective, ...]
    weights: Array
    n_threads: int | None

    @classmethod
    def of(
        cls,
        study: Encoding,
        covariates: CovariateModel,
        tables: list[EndpointTable],
        values: Array,
        y: Endpoints,
        weights: RowWeights,
        n_threads: int | None,
    ) -> HistoryTraining:
        """Completions of a table with encoded covariates."""
        assert study.ordered is not None
        graph, seen = study.ordered.graph, completed(y, weights)
        parts = covariates.parameters, covariates.units, values[seen.rows], seen.y, n_threads
        possible = HistoryCompletions.possible(study, *parts, effort=TRAINING, events=())
        own_weights = np.ones(seen.rows.size) if seen.weights.values is None else seen.weights.values
        objectives = []
        for e, table in enumerate(tables):
            own = endpoint_rows(graph, possible.known, possible.y, e)
            rows = table.form.objective(study, possible.covariates, own, 1.0)
            nothing = np.zeros(possible.rows.size)
            objectives.append(CompletedObjective(table.objective, rows, own.rows, possible.rows, nothing, own_weights))
        return cls(study, covariates, possible, tuple(objectives), own_weights, n_threads)

    @property
    def is_certain(self) -> bool:
        """Whether no covariate is missing."""
        return self.possible.rows.size == self.possible.n_rows

    def thinned(self, most: int) -> HistoryTraining:
        """At most about so many subjects, in even steps through the table."""
        if self.possible.n_rows <= most:
            return self
        chosen = np.unique(np.linspace(0, self.possible.n_rows - 1, most).astype(int))
        number = np.full(self.possible.n_rows, -1)
        number[chosen] = np.arange(chosen.size)
        kept = np.flatnonzero(number[self.possible.rows] >= 0)
        place = np.full(self.possible.rows.size, -1)
        place[kept] = np.arange(kept.size)
        possible, weights, objectives = self.possible.part(chosen), self.weights[chosen], []
        for own in self.objectives:
            rows = np.flatnonzero(place[own.completion] >= 0)
            some = Objective(own.rows.recorded.part(rows), own.rows.entry[rows], own.rows.conditional)
            nothing = np.zeros(kept.size)
            objectives.append(CompletedObjective(own.recorded, some, place[own.completion[rows]], possible.rows, nothing, weights))
        return replace(self, possible=possible, weights=weights, objectives=tuple(objectives))

    def reweighted(self, weights: Array) -> HistoryTraining:
        """The same subjects with other weights."""
        return replace(self, weights=weights, objectives=tuple(replace(own, weights=weights) for own in self.objectives))

    def in_turn(
        self,
        parameters: Sequence[Parameters],
        fit: Callable[[int, CompletedObjective, Parameters], Parameters],
        model: CovariateModel | None = None,
        *,
        precision: float = PRECISION,
        rounds: int = MOST_ROUNDS,
    ) -> tuple[list[Parameters], CovariateModel, list[WeightedObjective]]:
        """Harmoniums of all endpoints, each given the others, and the distribution of covariates, until probabilities settle.

        Parameters
        ----------
        parameters : sequence of Parameters
            Of each endpoint's harmonium, to begin with.
        fit : callable
            Maximises an endpoint's objective from some parameters.
        model : CovariateModel, optional
            Distribution of covariates, to begin with; by default that by which completions were found.
        precision : float
            Of the prior on couplings of covariates to their latent units.
        rounds : int
            At most.

        Returns
        -------
        parameters : list of Parameters
        covariates : CovariateModel
        rows : list of WeightedObjective
            The sojourns of each endpoint, without missing values, with the probabilities of completions as weights.
        """
        found, subject, shares = list(parameters), self.possible.rows, np.empty(0)
        at_first, model = self._log_mass(self.covariates), model or self.covariates
        prior = self.possible.log_prior + self._log_mass(model) - at_first
        ln = [one.log_likelihoods(own, self.n_threads) for one, own in zip(self.objectives, found, strict=True)]
        for _ in range(rounds):
            for e, objective in enumerate(self.objectives):
                found[e] = fit(e, replace(objective, log_prior=self._others(prior, ln, e)), found[e])
                ln[e] = objective.log_likelihoods(found[e], self.n_threads)
            before, (shares, _) = shares, posterior_weights(subject, self._others(prior, ln), self.weights.size)
            model = model.fitted_to(self.study, self.possible.covariates, shares * self.weights[subject], precision)
            prior = self.possible.log_prior + self._log_mass(model) - at_first
            if before.size and settled(shares, before):
                break
        rows = [one.weighted(self._others(prior, ln)) for one in self.objectives]
        return found, model, rows

    def _log_mass(self, model: CovariateModel) -> Array:
        return model.log_mass(self.study, self.possible.covariates, self.n_threads)

    def _others(self, prior: Array, ln: list[Array], but: int | None = None) -> Array:
        """The logarithm of what covariates and endpoints, but for one of them, say of completions."""
        return np.asarray(prior + np.sum([own for e, own in enumerate(ln) if e != but], axis=0))
