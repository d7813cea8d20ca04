r"""Other optima that are nearly as good as the one that was chosen, and how far away they are.

A likelihood of hidden units has several maxima, and another sample may have preferred another of them. The log-likelihoods of two optima
differ, row by row, by numbers whose sum of squares is the variance of their sum over samples (Vuong 1989). So the chance of that is
:math:`\Phi(-\Delta / \omega)`, where :math:`\Delta` is the difference of the objectives and :math:`\omega` that standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.fitted import Fitted
from harmonium.model.row_likelihood import RowLikelihood
from harmonium.model.spread import flat
from harmonium.training.descent import descended
from harmonium.training.objective import Objective
from harmonium.training.penalised import PenalisedLikelihood, Prior, prior_precisions
from harmonium.typing import Array

__all__ = ["jumps_to"]

_MOST_STEPS = 80  # of the optimiser, from near another optimum
_TOL = 1e-6  # relative change of the objective at which an optimum has been reached


def jumps_to(model: Fitted, objective: Objective, prior: float | Prior, rivals: Sequence[Parameters]) -> tuple[Array, Array]:
    """From a model's natural parameters to those of other optima, and the chance that another sample would have preferred these.

    Parameters
    ----------
    model : Fitted
    objective : Objective
        Of the training rows.
    prior : float or Prior
        Under which the model maximises it.
    rivals : sequence of Parameters
        Near other optima; whatever of covariates is fixed is as in the model.
    """
    here = flat(model.parameters.natural())
    if not rivals or model.n_hidden > EXACT_LIMIT:
        return np.zeros((0, here.size)), np.zeros(0)
    problem = _problem(objective, model, prior)
    rows = RowLikelihood(model, objective)
    best, own = problem.loss(problem.coordinates.from_natural(model.parameters.natural()))[0], rows.at(model.parameters)
    jumps, chances = [], []
    for rival in rivals:
        there = _settled(problem, rival, _MOST_STEPS)
        behind = (problem.loss(problem.coordinates.from_natural(there.natural()))[0] - best) * problem.n_rows
        deviation = float(np.sqrt(np.sum((rows.at(there) - own) ** 2)))
        jumps.append(flat(there.natural()) - here)
        chances.append(float(norm.sf(behind / max(deviation, 1e-9))))
    return np.array(jumps), np.array(chances)


def _problem(objective: Objective, model: Fitted, prior: float | Prior) -> PenalisedLikelihood:
    coordinates = objective.coordinates(model.n_hidden)
    likelihood = objective.likelihood(model.n_hidden, model.n_jobs)
    return PenalisedLikelihood(likelihood, coordinates, objective.n_subjects, prior_precisions(coordinates, prior))


def _settled(problem: PenalisedLikelihood, rival: Parameters, most_steps: int) -> Parameters:
    """The optimum near some parameters, or some way towards it."""
    return problem.parameters_at(descended(problem, problem.coordinates.from_natural(rival.natural()), most_steps, _TOL).x)
