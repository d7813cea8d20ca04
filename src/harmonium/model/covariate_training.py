"""After the prognostic part: how covariates are distributed, and, where training rows have missing values, both in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.completions import TRAINING, Completions
from harmonium.training.completed import CompletedObjective, posterior_weights
from harmonium.training.contrastive import Contrastive
from harmonium.training.covariate_fit import fit_covariate_units, number_of_units
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.trainer import Fit, Trainer
from harmonium.typing import Array, Integers

__all__ = [
    "MOST_ROUNDS",
    "MOST_ROWS",
    "CovariateTraining",
    "TrainingCompletions",
    "check_covariate_units",
    "further_trainer",
    "in_memory",
    "in_memory_subjects",
    "settled",
]

MOST_ROWS = 20_000
"""How covariates are distributed is learned from at most about so many rows."""

MOST_ROUNDS = 20
"""Of harmoniums and the distribution of covariates in turn; where half of a column is missing, ten are needed."""

SETTLED = 1e-3
"""Mean change of a subject's probabilities in a round, from which on predictions change by less than that; searches that end anywhere on
a level part of the likelihood make changes of half of it."""

_SEED = 0  # of the rows that are drawn from a larger table


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


def in_memory(objective: Any, most_rows: int = MOST_ROWS) -> Objective:
    """The rows from which the distribution of covariates is learned: all of them, or a sample of a large table."""
    if isinstance(objective, Objective) and objective.n_rows <= most_rows:
        return objective
    sample: Objective = objective.sample(min(most_rows, objective.n_rows), _SEED)
    return sample


def in_memory_subjects(rows: Objective, most_rows: int = MOST_ROWS) -> Objective:
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


@dataclass(frozen=True)
class CovariateTraining:
    """Learns how covariates are distributed, beside a prognostic part that was found by the conditional likelihood.

    Attributes
    ----------
    rows : Objective
        Of the training rows, or of a sample of them.
    wanted : "auto" or int
        Covariate units.
    """

    rows: Objective
    wanted: str | int

    @classmethod
    def of(cls, objective: Any, trainer: Trainer, n_hidden: int, conditional: float, wanted: str | int) -> CovariateTraining | None:
        """What a table and a trainer call for; None if covariates are none, or all units learn how they are distributed."""
        if conditional < 1.0 or isinstance(trainer, Contrastive) or n_hidden > EXACT_LIMIT or not objective.layout.outcomes.start:
            return None
        return cls(in_memory(objective), wanted)

    def units(self, parameters: Parameters, start: CovariateUnits | None = None) -> CovariateUnits:
        """The covariate units that go with a prognostic part."""
        auto = isinstance(self.wanted, str)
        n_units = number_of_units(self.rows.recorded, parameters.n_hidden, weights=self.rows.subjects) if auto else int(self.wanted)
        return fit_covariate_units(self.rows, parameters, n_units, start)

    def in_turn(
        self, found: Fit, objective: Any, trainer: Trainer, history: History, n_threads: int | None
    ) -> tuple[Fit, CovariateUnits, Objective]:
        """The units and, where training rows have missing values, the prognostic part by the observed-data likelihood, in turn.

        Not of rows that lie elsewhere, and not where the prognostic part has not converged: training was cut short. Rows without missing
        values, each with the probability of its completion, come third.
        """
        units = self.units(found.parameters)
        incomplete = isinstance(objective, Objective) and incomplete_rows(objective.recorded).any()
        if not (incomplete and found.converged and isinstance(trainer, Exact)):
            return found, units, self.rows
        again = further_trainer(trainer, found)
        completions = TrainingCompletions.of(objective, found.parameters, units, n_threads)
        before: Array | None = None
        for _ in range(MOST_ROUNDS):
            own = completions.objective(found.parameters, units, n_threads)
            start, rng = found.parameters, np.random.default_rng(_SEED)
            fit = again.fit(own, start.n_hidden, rng=rng, history=history, start=start, n_threads=n_threads)
            found = replace(
                fit,
                l2=found.l2,
                n_evaluations=found.n_evaluations + fit.n_evaluations,
                n_passes=found.n_passes + fit.n_passes,
                rivals=found.rivals,
            )
            units = self.units(found.parameters, start=units)
            own = completions.objective(found.parameters, units, n_threads)
            weighted = own.weighted(own.log_likelihoods(found.parameters, n_threads))
            if before is not None and weighted.weights.size == before.size and settled(weighted.weights, before):
                break
            before = weighted.weights
        return found, units, weighted


def further_trainer(trainer: Exact, found: Fit) -> Exact:
    """The trainer of a part of several that are fitted in turn, which goes on from where the part is, under the prior that was chosen."""
    again: Exact = clone(trainer).set_params(l2=found.l2, n_starts=1, sample_rows=None)
    return again


def settled(weights: Array, before: Array) -> bool:
    """Whether probabilities of completions have hardly changed, on average over subjects."""
    return bool(np.abs(weights - before).sum() < SETTLED * float(weights.sum()))


@dataclass(frozen=True)
class TrainingCompletions:
    """What the rows of a training table may be, and how probable each completion is by the distribution of covariates.

    Attributes
    ----------
    rows : Objective
        The table as it was recorded.
    subject : ndarray of int
        The row of each completion.
    covariates : Cells
        Of completions; outcomes are free.
    log_weight : ndarray
        Of completions, but for the mass of their covariates.
    """

    rows: Objective
    subject: Integers
    covariates: Cells
    log_weight: Array

    @classmethod
    def of(cls, rows: Objective, parameters: Parameters, units: CovariateUnits, n_threads: int | None) -> TrainingCompletions:
        """Completions by the covariates that were observed; a row without missing values has one."""
        found = Completions.of(parameters, units, rows.recorded.freeing_outcomes(), n_threads, TRAINING)
        log_weight = np.log(found.weights) - log_mass(units.joined(parameters), found.cells, n_threads)
        return cls(rows, found.rows, found.cells, log_weight)

    def objective(self, parameters: Parameters, units: CovariateUnits, n_threads: int | None) -> CompletedObjective:
        """The observed-data likelihood, the distribution of covariates being that of some parameters."""
        recorded = self.rows.recorded
        outcomes = (bound[self.subject] for bound in recorded.outcomes)
        whole = Cells.joined(recorded.layout, self.covariates.bounds()[0][:, : recorded.layout.outcomes.start], *outcomes)
        log_prior = self.log_weight + log_mass(units.joined(parameters), self.covariates, n_threads)
        # a constant for each subject, which makes probabilities of what is given
        _, total = posterior_weights(self.subject, log_prior, recorded.n_rows)
        own = Objective(whole, self.rows.entry[self.subject], self.rows.conditional)
        numbers = np.arange(self.subject.size)
        return CompletedObjective(self.rows, own, numbers, self.subject, log_prior - total[self.subject], self.rows.row_weights)
