"""What imputations and cohorts are drawn from: the same model, continued on the joint likelihood of everything in the table.

The prior that makes a model predict well shrinks the ties between covariates and outcomes, and draws would inherit that. So all units,
prognostic and covariate ones, become free to couple to every column, under a weak prior, and go on from where they are. Parameters are
uncertain too: the Bayesian bootstrap (Rubin 1981), random weights of the rows, gives as many draws of them, one for each imputation.

It is made when it is first needed, from the training rows, which are then let go: the model file and pickles hold parameters only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.errors import silenced
from harmonium.model.generating import Generator
from harmonium.model.joint_training import CovariateModel, JointTraining
from harmonium.training.completed import CompletedObjective
from harmonium.training.contrastive import Contrastive
from harmonium.training.covariate_fit import MOST_UNITS, fit_covariate_units, number_of_units
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.trainer import Trainer

__all__ = ["MOST_ROWS", "continued_histories", "continued_jointly"]

MOST_ROWS = 10_000
"""A generator is learned from at most about so many rows."""

N_DRAWS = 10
"""Draws of the parameters; imputations beyond use them again."""

_PRECISION = 0.5  # of the weak prior, in effects of a standard deviation
_TOL = 1e-5
_MAX_ITER = 300
_ITERATIONS_OF_DRAW = 30
_ROUNDS = 2  # of harmoniums and covariates in turn, from where predictions are
_ENOUGH_UNITS, _MANY_ROWS, _MORE = 8, 1000, 2  # units beyond which none are added; so many more where there are many rows


def continued_jointly(
    objective: Objective, parameters: Parameters, units: CovariateUnits | None, trainer: Trainer, seed: int, n_threads: int | None = None
) -> Generator:
    """Continue a model on the joint likelihood.

    Parameters
    ----------
    objective : Objective
        Of the training rows, as the model was trained on it.
    parameters : Parameters
        Of the prognostic units.
    units : CovariateUnits or None
    trainer : Trainer
        Of the model. Where hidden states cannot be enumerated, the contrastive trainer goes on, without draws of parameters.
    seed : int
    n_threads : int, optional
    """
    joint, rng = replace(objective, conditional=0.0), np.random.default_rng(seed)
    if isinstance(trainer, Contrastive) or parameters.n_hidden > EXACT_LIMIT:
        if objective.conditional < 1.0:  # which is the joint likelihood already
            return Generator(parameters, ())
        again = clone(trainer) if isinstance(trainer, Contrastive) else Contrastive()
        found = again.fit(joint, parameters.n_hidden, rng=rng, history=History(), start=parameters, n_threads=n_threads)
        return Generator(found.parameters, ())
    if objective.conditional > 0.0:
        parameters = _continued(joint, _start(objective, parameters, units), _MAX_ITER, rng, n_threads)
    return Generator(parameters, tuple(_drawn(joint, parameters, own, n_threads) for own in rng.spawn(N_DRAWS)))


def continued_histories(
    training: JointTraining, parameters: Sequence[Parameters], model: CovariateModel, seed: int, n_threads: int | None = None
) -> tuple[Generator, ...]:
    """The same where endpoints are ordered: of the covariates, and of each endpoint's harmonium.

    Parameters
    ----------
    training : JointTraining
    parameters : sequence of Parameters
        Of each endpoint's harmonium.
    model : CovariateModel
    seed : int
    n_threads : int, optional
    """
    rng = np.random.default_rng(seed)

    def fitting(max_iter: int) -> Callable[[int, CompletedObjective, Parameters], Parameters]:
        return lambda _, objective, start: _continued(objective, start, max_iter, rng, n_threads)

    found, whole, _ = training.in_turn(parameters, model, fitting(_MAX_ITER), precision=_PRECISION, rounds=_ROUNDS)
    draws = []
    for own in rng.spawn(N_DRAWS):
        random = own.standard_gamma(training.weights)
        drawn = training.reweighted(random * (training.weights.sum() / random.sum()))
        some, covariates, _ = drawn.in_turn(found, whole, fitting(_ITERATIONS_OF_DRAW), precision=_PRECISION, rounds=1)
        draws.append((covariates.whole, *some))
    return tuple(Generator(one, tuple(own)) for one, own in zip((whole.whole, *found), zip(*draws, strict=True), strict=True))


def _start(objective: Objective, parameters: Parameters, units: CovariateUnits | None) -> Parameters:
    """All units, as many as the table asks for; couplings of covariate units to outcomes begin at zero."""
    n_prognostic = parameters.n_hidden
    if objective.conditional < 1.0 or not objective.layout.outcomes.start:
        return parameters
    more = _MORE if objective.n_subjects >= _MANY_ROWS else 0
    most = min(MOST_UNITS, _ENOUGH_UNITS - n_prognostic) + more
    asked = number_of_units(objective.recorded, max(n_prognostic, 1), max(0, most), objective.subjects)
    n_units = asked if units is None else max(units.n_units, asked)
    if units is None or n_units > units.n_units:
        units = fit_covariate_units(objective, parameters, n_units)
    return units.joined(parameters)


def _continued(objective: Any, start: Parameters, max_iter: int, rng: np.random.Generator, n_threads: int | None) -> Parameters:
    trainer = Exact(l2=_PRECISION, n_starts=1, max_iter=max_iter, tol=_TOL)
    with silenced(ConvergenceWarning):
        found = trainer.fit(objective, start.n_hidden, rng=rng, history=History(), start=start, n_threads=n_threads)
    return found.parameters


def _drawn(objective: Objective, parameters: Parameters, rng: np.random.Generator, n_threads: int | None) -> Parameters:
    """The parameters of randomly weighted rows; a row that stands for two subjects has the sum of their weights."""
    subjects = objective.subjects
    random = rng.standard_exponential(objective.n_rows) if subjects is None else rng.standard_gamma(subjects) / subjects
    weights = objective.row_weights * random / np.average(random, weights=subjects)
    weighted = WeightedObjective(objective.recorded, objective.entry, 0.0, weights, subjects)
    return _continued(weighted, parameters, _ITERATIONS_OF_DRAW, rng, n_threads)
