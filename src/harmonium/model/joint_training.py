"""Training where something is not known of subjects: harmoniums, and the distribution of covariates, in turn.

A subject of whom something is not known, a covariate or when an event happened, is what it may be, each completion with its probability
(:mod:`harmonium.model.completions`). The harmoniums maximise the likelihood of what was observed, one after the other; then the
distribution of covariates is fitted again, and so on until the probabilities of completions settle. How covariates are distributed is
learned by latent units beside those of a prognostic part or, where endpoints are ordered, by a harmonium of covariates alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.completions import TRAINING, Completions, HistoryCompletions
from harmonium.model.endpoint_tables import EndpointTable
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import endpoint_rows
from harmonium.table.possible_histories import completed
from harmonium.table.row_weights import RowWeights
from harmonium.training.completed import CompletedObjective, posterior_weights
from harmonium.training.contrastive import Contrastive
from harmonium.training.coordinates import Coordinates
from harmonium.training.covariate_fit import PRECISION, fit_covariate_units, number_of_units
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.statistics import StatisticsSummary
from harmonium.training.trainer import Trainer
from harmonium.typing import Array, Integers

__all__ = [
    "CovariateModel",
    "CovariatesBeside",
    "JointTraining",
    "check_covariate_units",
    "fit_covariates",
    "in_memory",
    "in_memory_subjects",
]

_MOST_ROWS = 20_000  # from which the distribution of covariates is learned, about
_MOST_ROUNDS = 20  # where half of a column is missing, ten are needed
_SETTLED = 1e-3  # mean change of a subject's probabilities in a round: predictions then change by less, and searches alone make half of it
_SEED = 0  # of the rows that are drawn from a larger table
_MOST_UNITS = 8  # latent units where no others say how covariates are distributed

Fitting = Callable[[int, CompletedObjective, Parameters], Parameters]
"""Maximises the objective of a harmonium, by its number, from some parameters."""


def check_covariate_units(wanted: Any, n_hidden: int, conditional: float, trainer: Trainer) -> None:
    """Refuse a number of covariate units that makes no sense, or that the model has no use for."""
    if isinstance(wanted, str) and wanted == "auto":
        return
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise ValueError(f'n_covariate_units must be "auto" or a whole number that is not negative; found {wanted!r}')
    if wanted == 0:
        return
    if isinstance(trainer, Contrastive):
        raise ValueError(f"the contrastive trainer has no covariate units; found n_covariate_units={wanted}. Leave it out or say 0")
    if conditional < 1.0:
        raise ValueError(
            f'covariate units go with objective="conditional": any other objective learns how covariates are distributed with all '
            f"units. Found n_covariate_units={wanted}; leave it out or say 0"
        )
    if n_hidden + wanted > EXACT_LIMIT:
        raise ValueError(
            f"n_hidden and n_covariate_units may be {EXACT_LIMIT} together, whose states are enumerated; found {n_hidden} and {wanted}"
        )


def in_memory(objective: Any, most_rows: int = _MOST_ROWS) -> Objective:
    """The rows from which the distribution of covariates is learned: all of them, or a sample of a large table."""
    if isinstance(objective, Objective) and objective.n_rows <= most_rows:
        return objective
    sample: Objective = objective.sample(min(most_rows, objective.n_rows), _SEED)
    return sample


def in_memory_subjects(rows: Objective, most_rows: int = _MOST_ROWS) -> Objective:
    """Rows of all subjects, or of so many that there are at most about ``most_rows``; with weights for all."""
    if not isinstance(rows, WeightedObjective) or rows.subject is None or rows.n_rows <= most_rows:
        return in_memory(rows, most_rows)
    subject = rows.subject
    numbers = np.unique(subject)
    share = most_rows / rows.n_rows
    chosen = numbers[np.unique(np.linspace(0, numbers.size - 1, max(1, int(share * numbers.size))).astype(int))]
    kept = np.flatnonzero(np.isin(subject, chosen))
    more = rows.n_subjects / rows.row_weights[kept].sum()
    weights = rows.row_weights[kept] * more
    of_subjects = None if rows.subject_weights is None else rows.subject_weights * more
    return WeightedObjective(rows.recorded.part(kept), rows.entry[kept], rows.conditional, weights, weights, subject[kept], of_subjects)


# --- how covariates are distributed ---


@dataclass(frozen=True)
class CovariatesBeside:
    """Latent units of covariates beside a prognostic part that was found by the conditional likelihood.

    Attributes
    ----------
    rows : Objective
        Of the training rows, or of a sample of them.
    wanted : "auto" or int
        Latent units.
    units : CovariateUnits, optional
        Once they were fitted.
    """

    rows: Objective
    wanted: str | int
    units: CovariateUnits | None = None

    @classmethod
    def of(cls, objective: Any, trainer: Trainer, n_hidden: int, conditional: float, wanted: str | int) -> CovariatesBeside | None:
        """What a table and a trainer call for; None if covariates are none, or all units learn how they are distributed."""
        if conditional < 1.0 or isinstance(trainer, Contrastive) or n_hidden > EXACT_LIMIT or not objective.layout.outcomes.start:
            return None
        return cls(in_memory(objective), wanted)

    def fitted(self, parameters: Parameters) -> CovariatesBeside:
        """With the units that go with a prognostic part, from where they are."""
        auto = isinstance(self.wanted, str)
        n_units = number_of_units(self.rows.recorded, parameters.n_hidden, weights=self.rows.subjects) if auto else int(self.wanted)
        return replace(self, units=fit_covariate_units(self.rows, parameters, n_units, self.units))

    def refitted(self, cells: Cells, weights: Array, parameters: Sequence[Parameters], precision: float) -> CovariatesBeside:
        """Fitted again, to the rows as they were recorded: units sum over what is missing."""
        return self.fitted(parameters[0])

    def log_mass(self, cells: Cells, parameters: Sequence[Parameters], n_threads: int | None = None) -> Array:
        """Ln p of covariates, up to a constant; outcomes are free."""
        return log_mass(parameters[0] if self.units is None else self.units.joined(parameters[0]), cells, n_threads)


@dataclass(frozen=True)
class CovariateModel:
    """A harmonium of the covariates alone: biases in ``parameters``, which have no hidden units, and covariate latent units."""

    parameters: Parameters
    units: CovariateUnits | None

    @property
    def whole(self) -> Parameters:
        """Parameters of biases and latent units together."""
        return self.parameters if self.units is None else self.units.joined(self.parameters)

    def refitted(self, cells: Cells, weights: Array, parameters: Sequence[Parameters], precision: float) -> CovariateModel:
        """Fitted again, from where it is, to completions with weights."""
        if self.units is None:
            return self
        rows = in_memory(WeightedObjective(cells, np.empty((cells.n_rows, 0)), 0.0, weights, weights))
        return replace(self, units=fit_covariate_units(rows, self.parameters, self.units.n_units, self.units, precision))

    def log_mass(self, cells: Cells, parameters: Sequence[Parameters], n_threads: int | None = None) -> Array:
        """Ln p of covariates, up to a constant."""
        return np.zeros(()) if self.units is None else log_mass(self.whole, cells, n_threads)


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


# --- in turn ---


@dataclass(frozen=True)
class JointTraining:
    """Subjects that are what they may be, with the objective of every harmonium.

    Which history a subject may have had is said by hazards of the whole table, which know nothing of covariates
    (:mod:`harmonium.table.possible_histories`): a harmonium would confirm its own opinion of what nobody saw. Which covariates it may have,
    by their distribution and the likelihood of the history.

    Attributes
    ----------
    subject : ndarray of int
        Of each completion.
    cells : Cells
        Covariates of completions.
    log_weight : ndarray
        Of completions, but for the mass of their covariates.
    objectives : tuple of CompletedObjective
        Of each harmonium, without what the others say of completions.
    weights : ndarray
        Of the subjects.
    n_threads : int, optional
    """

    subject: Integers
    cells: Cells
    log_weight: Array
    objectives: tuple[CompletedObjective, ...]
    weights: Array
    n_threads: int | None

    @classmethod
    def of_rows(cls, rows: Objective, parameters: Parameters, covariates: CovariatesBeside, n_threads: int | None) -> JointTraining:
        """Of one harmonium of all endpoints, and completions by the covariates that were observed."""
        found, recorded = Completions.of(parameters, covariates.units, rows.recorded.freeing_outcomes(), n_threads, TRAINING), rows.recorded
        whole = Cells.joined(recorded.layout, found.covariates, *(bound[found.rows] for bound in recorded.outcomes))
        own, size = Objective(whole, rows.entry[found.rows], rows.conditional), found.rows.size
        objective = CompletedObjective(rows, own, np.arange(size), found.rows, np.zeros(size), rows.row_weights)
        log_weight = np.log(found.weights) - covariates.log_mass(found.cells, [parameters], n_threads)
        return cls(found.rows, found.cells, log_weight, (objective,), rows.row_weights, n_threads)

    @classmethod
    def of_histories(
        cls,
        study: Encoding,
        covariates: CovariateModel,
        tables: list[EndpointTable],
        values: Array,
        y: Endpoints,
        weights: RowWeights,
        n_threads: int | None,
    ) -> JointTraining:
        """Of a harmonium for each of several ordered endpoints, and completions of encoded covariates and event histories."""
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
        cells = study.cells(possible.covariates)
        log_weight = possible.log_prior - covariates.log_mass(cells, [], n_threads)
        return cls(possible.rows, cells, log_weight, tuple(objectives), own_weights, n_threads)

    @property
    def is_certain(self) -> bool:
        """Whether no covariate is missing."""
        return self.subject.size == self.weights.size

    def thinned(self, most: int) -> JointTraining:
        """At most about so many subjects, in even steps through the table."""
        if self.weights.size <= most:
            return self
        chosen = np.unique(np.linspace(0, self.weights.size - 1, most).astype(int))
        number, place = np.full(self.weights.size, -1), np.full(self.subject.size, -1)
        number[chosen] = np.arange(chosen.size)
        kept = np.flatnonzero(number[self.subject] >= 0)
        place[kept] = np.arange(kept.size)
        subject, weights, objectives = number[self.subject[kept]], self.weights[chosen], []
        for own in self.objectives:
            rows = np.flatnonzero(place[own.completion] >= 0)
            some = Objective(own.rows.recorded.part(rows), own.rows.entry[rows], own.rows.conditional)
            objectives.append(CompletedObjective(own.recorded, some, place[own.completion[rows]], subject, np.zeros(kept.size), weights))
        return JointTraining(subject, self.cells.part(kept), self.log_weight[kept], tuple(objectives), weights, self.n_threads)

    def reweighted(self, weights: Array) -> JointTraining:
        """The same subjects with other weights."""
        return replace(self, weights=weights, objectives=tuple(replace(own, weights=weights) for own in self.objectives))

    def in_turn(
        self, parameters: Sequence[Parameters], covariates: Any, fit: Fitting, *, precision: float = PRECISION, rounds: int = _MOST_ROUNDS
    ) -> tuple[list[Parameters], Any, list[WeightedObjective]]:
        """Every harmonium, given the others, and the distribution of covariates, until probabilities settle.

        Parameters
        ----------
        parameters : sequence of Parameters
            Of each harmonium, to begin with.
        covariates : CovariateModel or CovariatesBeside
            To begin with.
        fit : callable
        precision : float
            Of the prior on couplings of covariates to latent units.
        rounds : int
            At most.

        Returns
        -------
        parameters : list of Parameters
        covariates : CovariateModel or CovariatesBeside
        rows : list of WeightedObjective
            The rows of each harmonium, without missing values, with the probabilities of completions as weights.
        """
        found, shares, prior = list(parameters), np.empty(0), self._prior(covariates, parameters)
        ln = [one.log_likelihoods(own, self.n_threads) for one, own in zip(self.objectives, found, strict=True)]
        for _ in range(rounds):
            for e, objective in enumerate(self.objectives):
                found[e] = fit(e, replace(objective, log_prior=_others(prior, ln, e)), found[e])
                ln[e] = objective.log_likelihoods(found[e], self.n_threads)
            before, (shares, _) = shares, posterior_weights(self.subject, _others(prior, ln), self.weights.size)
            covariates = covariates.refitted(self.cells, shares * self.weights[self.subject], found, precision)
            prior = self._prior(covariates, found)
            if before.size and np.abs(shares - before) @ self.weights[self.subject] < _SETTLED * self.weights.sum():
                break
        return found, covariates, [one.weighted(_others(prior, ln)) for one in self.objectives]

    def _prior(self, covariates: Any, parameters: Sequence[Parameters]) -> Array:
        """Ln of the probabilities of completions by their covariates, given those that were observed."""
        ln = self.log_weight + covariates.log_mass(self.cells, parameters, self.n_threads)
        return np.asarray(ln - posterior_weights(self.subject, ln, self.weights.size)[1][self.subject])


def _others(prior: Array, ln: list[Array], but: int | None = None) -> Array:
    """Ln of what covariates and harmoniums, but for one of them, say of completions."""
    return np.asarray(prior + np.sum([own for e, own in enumerate(ln) if e != but], axis=0))
