r"""Linear effects of covariates on the hazards, which a fit that shrinks lacks: what averages at values of a column are corrected by.

The prior of the couplings predicts better, but takes from the effect of every column, and what it takes from one column it leaves to those
that are correlated with it. Averages that compare two values of a column would inherit both. So a row's hazard may differ from the model's
by a factor :math:`\exp(a + z \cdot \gamma)`, where z are the standardized statistics of its covariates. :math:`\gamma` of all columns
together is where one step of Newton's method leads from zero, as in a Cox regression with the model's prediction as an offset: with the
score s and the curvature c of a row's log-likelihood by the logarithm of its hazard (of an event at t: :math:`s = 1 - H(t)` and
:math:`c = H(t)`, where H is the predicted cumulative hazard),

.. math:: (a, \gamma) = A^{-1} \sum_i s_i z_i, \qquad A = \sum_i c_i z_i z_i^\top + I_\gamma .

To first order the model's own linear part cancels, and what comes out is the unshrunk estimate. :math:`I_\gamma` is a normal prior: a
standard deviation of a covariate rarely changes a hazard more than e-fold. It matters only where events are few or columns many.

If the parameters of the model are elsewhere, along a direction of its spread, so is :math:`\gamma`; given these it has the covariance
:math:`A^{-1}`. Where a value is missing, z is expected given the covariates that were observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from harmonium.cells import Cells
from harmonium.engine.covariate_sum import covariate_layout
from harmonium.engine.exact import posterior
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.fitted import Fitted
from harmonium.model.hidden import row_chunks
from harmonium.model.row_likelihood import RowLikelihood, means_by_state
from harmonium.model.spread import STEP, Spread, covariate_statistics, flat, moved
from harmonium.training.objective import Objective
from harmonium.typing import Array, Integers

__all__ = ["with_linear_effects"]

_MOST = 700.0  # a cumulative hazard beyond which survival is no number
_LEVEL = 1e-6  # precision of the constant, without which a table with no event has none
_NARROW = 1e-9  # a width of cumulative hazards that is as good as none


def with_linear_effects(model: Fitted, objective: Objective, spread: Spread) -> Spread:
    """A spread with the linear effects on the hazards of all endpoints."""
    Z = _design(model, objective.recorded, spread)
    found = [_of_endpoint(model, objective, spread, Z, e) for e in range(len(model.encoding.endpoints))]
    linear, roots, moves = (np.array(parts) for parts in zip(*found, strict=True))
    return replace(spread, linear=linear, linear_roots=roots, linear_moves=moves)


def _of_endpoint(model: Fitted, objective: Objective, spread: Spread, Z: Array, e: int) -> tuple[Array, Array, Array]:
    """Linear effects, a root of their covariance, and how they move with directions and jumps of the spread."""
    scores, weights = _Scores(model, objective, e), objective.row_weights
    base = scores.at(np.zeros(spread.directions.shape[1]))
    prior = np.append(_LEVEL, np.ones(Z.shape[1] - 1))
    factor = cho_factor((Z * (weights * scores.curvatures())[:, None]).T @ Z + np.diag(prior), lower=True)
    root = solve_triangular(np.tril(factor[0]), np.eye(prior.size), lower=True).T
    covariates, by_bias = spread.covariates(objective.recorded), [scores.at(STEP * bias) - base for bias in spread.biases]

    def moves() -> Iterator[Array]:
        for direction, effects in zip(spread.directions, spread.effects, strict=True):
            shifts = covariates @ effects
            yield (scores.at(STEP * direction) - base + sum(own * shift for own, shift in zip(by_bias, shifts.T, strict=True))) / STEP
        for jump in spread.jumps:
            yield scores.at(jump) - base

    def estimate(own: Array) -> Array:
        return np.asarray(cho_solve(factor, Z.T @ (weights * own)))

    return estimate(base), root, np.array([estimate(own) for own in moves()])


def _design(model: Fitted, recorded: Cells, spread: Spread) -> Array:
    """One, and the standardized statistics of all rows, (rows, 1 + effects)."""
    statistics = covariate_statistics(recorded)
    missing = np.isnan(statistics)
    if missing.any():
        statistics = np.where(missing, _expected(model, recorded, np.flatnonzero(missing.any(axis=1)), spread), statistics)
    return np.column_stack([np.ones(len(statistics)), (statistics - spread.centre) / spread.unit])


def _expected(model: Fitted, recorded: Cells, rows: Integers, spread: Spread) -> Array:
    """Coupled statistics of covariates expected given those that were observed; their means where hidden states are too many."""
    out = np.tile(spread.centre, (recorded.n_rows, 1))
    whole = model.whole_parameters
    if whole.n_hidden > EXACT_LIMIT:
        return out
    layout = covariate_layout(recorded.layout)
    coupled = [np.tile(np.array(block.unit.coupled, dtype=bool), block.n_columns) for block in layout.blocks]
    means = means_by_state(whole, layout)[:, np.concatenate(coupled)]
    cells = recorded.freeing_outcomes().part(rows)
    for chunk in row_chunks(cells, whole.n_hidden):
        out[rows[chunk]] = posterior(whole, cells.part(chunk), model.n_jobs) @ means
    return out


class _Scores:
    """Derivatives of every training row's log-likelihood by the logarithm of the hazard of one endpoint, whatever happens to the others."""

    def __init__(self, model: Fitted, objective: Objective, e: int) -> None:
        self._parameters = model.parameters
        lower, upper = objective.recorded.column(objective.layout.outcomes.start + e)
        entry = objective.entry[:, e]
        self._point, self._censored = lower == upper, upper >= 1.0
        self._known = ~np.isnan(lower)
        self._likelihoods = [
            RowLikelihood(model, _later(objective, e, times)) if np.any(times > 0.0) else None
            for times in (np.nan_to_num(lower), np.where(self._point | self._censored, 0.0, np.nan_to_num(upper)), entry)
        ]

    def at(self, step: Array) -> Array:
        """Scores by parameters that are further along by a step."""
        until, width, before = self._hazards(step)
        return np.where(self._known, before - until + width / np.expm1(width), 0.0)

    def curvatures(self) -> Array:
        """Minus second derivatives at the parameters."""
        until, width, before = self._hazards(np.zeros(flat(self._parameters.natural()).size))
        narrow = width / np.expm1(width)
        return np.where(self._known, np.maximum(until - before - narrow + narrow**2 * np.exp(width), 0.0), 0.0)

    def _hazards(self, step: Array) -> tuple[Array, Array, Array]:
        """Cumulative hazards until the last time without an event, from then to the first with one, and before entry."""
        parameters = moved(self._parameters, step)
        until, later, before = (
            np.zeros(self._known.size) if one is None else np.minimum(-one.at(parameters), _MOST) for one in self._likelihoods
        )
        width = np.where(self._point, _NARROW, np.where(self._censored, _MOST, np.maximum(later - until, _NARROW)))
        return until, width, before


def _later(objective: Objective, e: int, times: Array) -> Objective:
    """The probability that one endpoint comes after a time of each row's own, given covariates."""
    shape = objective.entry.shape
    lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    lower[:, e], upper[:, e] = times, 1.0
    return Objective(objective.recorded.with_outcomes(lower, upper), np.zeros(shape), 1.0)
