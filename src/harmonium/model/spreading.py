r"""The spread of a fitted model's parameters: a linearised Laplace approximation around the optimum.

The covariance is :math:`(F + c \Lambda)^{-1}`, where F is the Fisher information as the rows have it, the sum of outer products of their
scores, and :math:`\Lambda` the prior's precision, of which the covariance trusts a part only: the prior pulls towards zero what the data
leave open, which makes predictions better and intervals too narrow. Two things are added because a fit of few hidden units that shrinks
its couplings is not where the truth is, even on average.

* Direct effects of covariates on outcomes, which the model does not have, may differ from zero, under the prior of the couplings.
* The displacement :math:`V (s - c \Lambda z)`, where s is the sum of the scores, is where one step of Newton's method leads from the
  optimum under the weaker prior, with direct effects. It counts as one more direction: what was shrunk may be as far off as that.
  Averages at values of a column are corrected instead (:mod:`harmonium.model.linear_effects`).

Where the search found other optima that are nearly as good, their distance counts as well (:mod:`harmonium.model.spreading`).

What each is worth was measured (docs/intervals.md). Scores are differences of every row's log-likelihood, so the information is never
indefinite, and neither is the covariance; but scores at an optimum are smaller than those at the truth, and an inverse of a noisy matrix is
too large, so the covariance is made smaller by the share of rows that the parameters use up.

Other optima that are nearly as good as the one that was chosen, and how far away they are.

A likelihood of hidden units has several maxima, and another sample may have preferred another of them. The log-likelihoods of two optima
differ, row by row, by numbers whose sum of squares is the variance of their sum over samples (Vuong 1989). So the chance of that is
:math:`\Phi(-\Delta / \omega)`, where :math:`\Delta` is the difference of the objectives and :math:`\omega` that standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.stats import norm

from harmonium.cells import Cells
from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.prepared import Term
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.completions import Completions
from harmonium.model.fitted import Fitted
from harmonium.model.linear_effects import with_linear_effects
from harmonium.model.row_likelihood import RowLikelihood
from harmonium.model.spread import Spread, covariate_statistics, flat
from harmonium.training.blas import one_thread
from harmonium.training.coordinates import Coordinates
from harmonium.training.descent import descended
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.penalised import PenalisedLikelihood, Prior, prior_precisions
from harmonium.typing import Array, Booleans

__all__ = ["jumps_to", "spread_of"]

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


_TRUSTED = 0.25  # part of the prior's precision that the covariance trusts
_LEAST_LEFT = 0.5  # of all rows, that the parameters do not use up
_FLATTEST = 1e-6  # least precision of anything
_STEP = 1e-5  # of differences of log-likelihoods
_FREE = 1e-3  # distance from a bound from which on a parameter is free
_MOST = 96  # directions that are kept
_POPULATION = 256  # rows that stand for everybody, as many as draws with all covariates missing
_ROUGHLY = 1e-4  # relative: averages at neighbouring times that differ by less say the same
_LAST = 0.5  # of a subject, where all that are left have the event
_TIMES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a time scale as far as follow-up, where they are compared


def spread_of(
    model: Fitted, objective: Objective, prior: float | Prior, rivals: Sequence[Parameters] = (), *, by_rows: bool = False
) -> Spread:
    """The spread of a model that maximises an objective under a prior.

    Parameters
    ----------
    model : Fitted
    objective : Objective
        Of the training rows, or of a sample of them with weights.
    prior : float or Prior
        Precision of the couplings.
    rivals : sequence of Parameters
        Near other optima.
    by_rows : bool
        Whether the rows, which have no missing values, say how covariates are distributed, and not the model.
    """
    with one_thread():
        jumps, chances = jumps_to(model, objective, prior, rivals)
        found = replace(_spread(_Around.of(model, objective, by_rows), prior), jumps=jumps, chances=chances)
        return with_linear_effects(model, objective, found)


def _spread(around: _Around, prior: float | Prior) -> Spread:
    """Without other optima."""
    precision = np.append(_TRUSTED * prior_precisions(around.coordinates, prior)[around.free], around.of_effects(prior))
    precision = np.maximum(precision, _FLATTEST)
    information, slope = around.information()
    covariance = _inverse(information + np.diag(precision))
    left = max(1.0 - float(np.sum(information * covariance)) / around.objective.n_subjects, _LEAST_LEFT)
    displaced = covariance @ (slope - precision * around.position)
    return _directions(around, left * covariance, displaced)


@dataclass(frozen=True)
class _Around:
    """A model, its training rows, and the coordinates in which it was trained; of those, which are not at a bound."""

    model: Fitted
    objective: Objective
    coordinates: Coordinates
    z: Array
    free: Booleans
    by_rows: bool

    @classmethod
    def of(cls, model: Fitted, objective: Objective, by_rows: bool) -> _Around:
        coordinates = objective.coordinates(model.n_hidden)
        if model.covariate_units is not None:
            fixed, own = coordinates.fixed_bias.copy(), slice(objective.layout.outcome_statistics.start)
            fixed[own] = model.parameters.natural().bias[own]
            coordinates = replace(coordinates, fixed_bias=fixed)
        z = coordinates.from_natural(model.parameters.natural())
        low, high = coordinates.bounds()
        return cls(model, objective, coordinates, z, (z > low + _FREE) & (z < high - _FREE), by_rows)

    @property
    def of_biases(self) -> Booleans:
        """Free coordinates that are biases of outcomes."""
        out = np.zeros(self.z.size, dtype=bool)
        learned = np.flatnonzero(self.coordinates.learned_bias)
        self.coordinates.split(out)[2][:] = learned >= self.objective.layout.outcome_statistics.start
        return out & self.free

    @property
    def n_direct(self) -> int:
        """How many direct effects; none unless only the conditional likelihood was maximised."""
        return int(self.of_biases.sum()) * self.unit.size if self.objective.conditional == 1.0 else 0

    @property
    def position(self) -> Array:
        """Where the free coordinates are; direct effects are zero."""
        return np.append(self.z[self.free], np.zeros(self.n_direct))

    @property
    def _covariates(self) -> Booleans:
        out = self.coordinates.coupled.copy()
        out[self.objective.layout.outcome_statistics] = False
        return out

    @property
    def centre(self) -> Array:
        """Means of the covariates' coupled statistics."""
        return np.asarray(self.coordinates.mean[self._covariates])

    @property
    def unit(self) -> Array:
        """Their standard deviations."""
        return np.asarray(self.coordinates.scale[self._covariates])

    def of_effects(self, prior: float | Prior) -> Array:
        """The prior's precisions of direct effects: those of the covariates' couplings."""
        couplings = self.coordinates.split(prior_precisions(self.coordinates, prior))[1][~self.coordinates.of_outcomes]
        own = couplings[:, 0] if couplings.shape[1] else np.ones(self.unit.size)
        return np.tile(own, self.n_direct // max(self.unit.size, 1))

    def standardised(self, cells: Cells) -> Array:
        """Statistics of covariates in standard deviations, (rows, effects)."""
        return np.nan_to_num((covariate_statistics(cells) - self.centre) / self.unit)

    def parameters(self, k: int | None = None) -> Parameters:
        """At the optimum, or a step away from it along one coordinate."""
        z = self.z.copy()
        if k is not None:
            z[k] += _STEP
        return Parameters.from_natural(self.coordinates.layout, self.coordinates.to_natural(z))

    def natural(self, k: int) -> Array:
        """How far one coordinate moves the natural parameters, which are linear in all of them."""
        return flat(self._at_one(k)) - flat(self._origin)

    def _at_one(self, k: int) -> Natural:
        one = np.zeros(self.z.size)
        one[k] = 1.0
        return self.coordinates.to_natural(one)

    @cached_property
    def _origin(self) -> Natural:
        return self.coordinates.to_natural(np.zeros(self.z.size))

    def _score(self, k: int, by_coupling: Array, by_bias: Array) -> Array | None:
        """The scores of all rows along one coordinate, if it moves nothing but couplings of covariates and hidden biases."""
        there, here, n = self._at_one(k), self._origin, by_coupling.shape[1]
        coupling = there.coupling - here.coupling
        if (there.bias != here.bias).any() or coupling[n:].any():
            return None
        out: Array = by_bias @ (there.hidden_bias - here.hidden_bias)
        for s, j in np.argwhere(coupling[:n]):
            out += coupling[s, j] * by_coupling[:, s, j]
        return out

    def information(self) -> tuple[Array, Array]:
        """Of all rows about free coordinates and direct effects, and the sum of their scores."""
        likelihood = RowLikelihood(self.model, self.objective)
        base = likelihood.at(self.parameters())
        scores, slopes = np.zeros((base.size, self.z.size)), likelihood.slopes(self.parameters())
        for k in np.flatnonzero(self.free):
            found = None if slopes is None else self._score(int(k), *slopes)
            scores[:, k] = (likelihood.at(self.parameters(int(k))) - base) / _STEP if found is None else found
        parts = [scores[:, self.free]]
        if self.n_direct:
            covariates = self.standardised(self.objective.recorded)
            parts.append((scores[:, self.of_biases, None] * covariates[:, None, :]).reshape(base.size, -1))
        whole, weights = np.concatenate(parts, axis=1), self.objective.row_weights
        whole, weights = _by_subject(self.objective, whole, weights)
        standing = weights > 0.0
        return (whole[standing] / weights[standing, None]).T @ whole[standing], whole.sum(axis=0)

    def population(self) -> _Population:
        """Predictions for rows as the model draws them."""
        rows, weights = self._everybody()
        predictions = _Predictions(self.model, rows)
        base = predictions.at(self.parameters())
        found = np.zeros((self.z.size, *base.shape))
        for k in np.flatnonzero(self.free):
            found[k] = (predictions.at(self.parameters(int(k))) - base) / _STEP
        parts = [found[self.free]]
        if self.n_direct:
            effects = found[self.of_biases, None] * self.standardised(rows).T[None, :, :, None]
            parts.append(effects.reshape(self.n_direct, *base.shape))
        return _Population(weights, base, np.moveaxis(np.concatenate(parts), 0, -1), predictions.positions)

    def _everybody(self) -> tuple[Cells, Array]:
        """Rows without missing values as covariates are distributed, and their weights, which add up to one."""
        if not self.by_rows:
            nothing = Cells.all_free(self.objective.layout)
            drawn = Completions.of(self.model.parameters, self.model.covariate_units, nothing, self.model.n_jobs)
            return drawn.cells, drawn.weights
        n_rows = self.objective.n_rows
        chosen = np.unique(np.linspace(0, n_rows - 1, _POPULATION).astype(int))
        weights = self.objective.row_weights[chosen]
        return self.objective.recorded.part(chosen), weights / weights.sum()


def _by_subject(objective: Objective, scores: Array, weights: Array) -> tuple[Array, Array]:
    """Sums of the scores of rows of one subject, and its weight: what a subject's completions have in common."""
    if not isinstance(objective, WeightedObjective) or objective.subject is None or objective.subject_weights is None:
        return scores, weights
    numbers, place = np.unique(objective.subject, return_inverse=True)
    total = np.zeros((numbers.size, scores.shape[1]))
    np.add.at(total, place, scores)
    return total, objective.subject_weights[numbers]


@dataclass(frozen=True)
class _Population:
    """Predictions for everybody, ln(-ln S).

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
    predictions : ndarray of shape (n_rows, n_predictions)
    slopes : ndarray of shape (n_rows, n_predictions, n_coordinates)
        How free coordinates and direct effects move them.
    positions : ndarray of shape (n_predictions,)
        On the time scales of training.
    """

    weights: Array
    predictions: Array
    slopes: Array
    positions: Array

    def moves(self, directions: Array) -> Array:
        """How far each prediction moves along each direction (coordinates, directions), the more a row stands for the more."""
        each = np.sqrt(len(self.weights) * self.weights)
        return np.asarray((each[:, None, None] * (self.slopes @ directions)).reshape(self.predictions.size, directions.shape[1]))

    @property
    def alive(self) -> Array:
        """Survival averaged over everybody."""
        return np.asarray(self.weights @ np.exp(-np.exp(self.predictions)))

    @cached_property
    def average(self) -> Array:
        """How coordinates move it, (predictions, coordinates)."""
        hazards = np.exp(self.predictions)
        out: Array = -np.einsum("r,rp,rpk->pk", self.weights, hazards * np.exp(-hazards), self.slopes)
        return out


class _Predictions:
    """ln(-ln S) of all times among the outcomes at a few positions of their scales, for some rows; cells are prepared once."""

    def __init__(self, model: Fitted, recorded: Cells) -> None:
        self._model, layout = model, recorded.layout
        self._tables, positions = [recorded.freeing_outcomes()], []
        for place, timed in zip(np.flatnonzero(layout.tabulated[layout.outcomes]), model.encoding.in_training().timed, strict=True):
            for position in timed.scale.reach * np.array(_TIMES):
                lower, upper = (np.full((recorded.n_rows, layout.n_outcomes), np.nan) for _ in range(2))
                lower[:, place], upper[:, place] = position, 1.0
                self._tables.append(recorded.with_outcomes(lower, upper))
                positions.append(position)
        self.positions = np.array(positions)
        few = model.n_hidden <= EXACT_LIMIT
        self._sum = LogMassSum([Term.uniform(cells, 1.0) for cells in self._tables], model.n_jobs) if few else None

    def at(self, parameters: Parameters) -> Array:
        """Of all rows, (rows, predictions)."""
        if self._sum is not None:
            free, *later = self._sum.log_masses(parameters)
        else:
            candidate = replace(self._model, parameters=parameters)
            free, *later = (candidate.log_mass(cells) for cells in self._tables)
        return _nearly_normal(np.exp(np.array(later) - free).T)


def _nearly_normal(alive: Array) -> Array:
    return np.asarray(np.log(-np.log(np.clip(alive, 1e-9, 1.0 - 1e-9))))


def _by_average(around: _Around, population: _Population, covariance: Array, displaced: Array) -> tuple[Array, Array, Array]:
    """Directions that move survival averaged over everybody, the covariance of all else, and a displacement that leaves it where it is.

    How large effects are says nothing about the average, which is seen directly; its variance, which the covariance of all parameters has
    only roughly, is no larger than Greenwood's. What is known given the average stays.
    """
    mean, ties = population.average, around.objective.recorded.layout.tabulated[around.objective.layout.outcomes]
    values, vectors = eigh(mean @ covariance @ mean.T)
    unit = (vectors / np.sqrt(np.maximum(values, 1e-300)))[:, values > _ROUGHLY * values.max(initial=0.0)]  # of the average's own variance
    gain = covariance @ mean.T @ unit
    displaced = displaced - gain @ (unit.T @ (mean @ displaced))
    known = np.zeros((len(mean), len(mean)))
    for number, place in enumerate(np.flatnonzero(ties)):
        part = slice(number * len(_TIMES), (number + 1) * len(_TIMES))
        alive = population.alive[part]
        known[part, part] = np.outer(alive, alive) * _greenwood(around.objective, int(place), population.positions[part])
    shares, turned = eigh(unit.T @ known @ unit)
    own = gain @ turned * np.sqrt(np.clip(shares, 0.0, 1.0))  # never more variance than the model has: it is smooth in time
    return own, covariance - gain @ gain.T, displaced


def _greenwood(objective: Objective, place: int, positions: Array) -> Array:
    """Covariances of the product-limit estimate at some positions, relative to it; an interval counts where it ends."""
    lower, upper = objective.recorded.column(objective.layout.outcomes.start + place)
    event = upper < 1.0
    at = np.where(event, upper, lower)
    times, which = np.unique(at[event], return_inverse=True)
    weights = objective.row_weights
    events = np.bincount(which, weights[event], times.size)
    order, begun = np.argsort(at), np.sort(objective.entry[:, place])
    later = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)[np.searchsorted(at[order], times)]
    not_yet = np.append(np.cumsum(weights[np.argsort(objective.entry[:, place])][::-1])[::-1], 0.0)[np.searchsorted(begun, times)]
    at_risk = np.maximum(later - np.where(begun[-1] > 0.0, not_yet, 0.0), events)
    total = np.append(0.0, np.cumsum(events / (at_risk * np.maximum(at_risk - events, _LAST))))
    found = total[np.searchsorted(times, positions, side="right")]
    return np.asarray(np.minimum.outer(found, found))


def _solved(matrix: Array, right: Array) -> Array:
    """The solution of equations with a positive definite matrix, as seen in coordinates of equal stiffness."""
    unit = 1.0 / np.sqrt(np.diagonal(matrix))
    return np.asarray((cho_solve(cho_factor(matrix * np.outer(unit, unit)), (unit * right.T).T).T * unit).T)


def _inverse(matrix: Array) -> Array:
    """Of a positive definite matrix."""
    found = _solved(matrix, np.eye(len(matrix)))
    return np.asarray(0.5 * (found + found.T))


def _directions(around: _Around, covariance: Array, displaced: Array) -> Spread:
    """The displacement, and the covariance as directions: those of averages, then others by how far predictions of everybody move."""
    population = around.population()
    own, rest, displaced = _by_average(around, population, covariance, displaced)  # first, since rows of which little is known are averages
    variances, axes = eigh(rest)
    root = axes * np.sqrt(np.maximum(variances, 0.0))  # rounding leaves some below zero where the average takes all that was open
    moves = population.moves(root)
    values, turned = eigh(moves.T @ moves)
    order = np.argsort(values)[::-1][: _MOST - own.shape[1]]
    gained = np.concatenate([np.sum(population.moves(own) ** 2, axis=0), np.maximum(values, 0.0)[order]])
    share = gained / max(float(gained.sum() + np.maximum(values, 0.0).sum() - gained[own.shape[1] :].sum()), 1e-300)
    n_free, n_effects = int(around.free.sum()), around.unit.size
    whole = np.concatenate([displaced[None], own.T, (root @ turned[:, order]).T])
    natural = np.array([around.natural(int(k)) for k in np.flatnonzero(around.free)])
    biases = natural[around.of_biases[around.free]] if around.n_direct else natural[:0]
    effects = whole[:, n_free:].reshape(len(whole), len(biases), n_effects) if len(biases) else np.zeros((len(whole), 0, n_effects))
    return Spread(
        directions=whole[:, :n_free] @ natural,
        effects=np.swapaxes(effects, 1, 2),
        biases=biases,
        kept=np.clip(np.cumsum(share), 1e-12, 1.0),
        centre=around.centre,
        unit=around.unit,
        jumps=np.zeros((0, natural.shape[1])),
        chances=np.zeros(0),
        linear=np.zeros((0, 1 + n_effects)),
        linear_roots=np.zeros((0, 1 + n_effects, 1 + n_effects)),
        linear_moves=np.zeros((0, len(whole), 1 + n_effects)),
    )
