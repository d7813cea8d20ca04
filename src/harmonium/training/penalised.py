"""The penalised log-likelihood as a function of the optimiser's coordinates (eq. 14), and the prior that the data choose (eq. 16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Natural, Parameters
from harmonium.training.coordinates import Coordinates
from harmonium.training.objective import LogLikelihood, SeveralAtOnce
from harmonium.training.strip_loss import StripProblem, strip_losses, strip_problem
from harmonium.typing import Array, Booleans, Integers

__all__ = [
    "PenalisedLikelihood",
    "Prior",
    "evidence_precision",
    "evidence_prior",
    "groups_of",
    "log_evidence",
    "prior_precisions",
    "smoothed",
]

_OUTCOME_PRECISION = 0.01
_HIDDEN_PRECISION = 0.01
_PRECISION_RANGE = (0.1, 200.0)
_OUTCOME_RANGE = (0.003, 0.1)
_N_FIXED_POINT = 5
_LENT = 2.0  # couplings of the common precision that every column's own precision counts beside its own couplings
_GRID = 16.0  # precisions told apart between a number and its double
_STEP = 1e-4  # of differences of gradients
_LOOKED_AT = 48  # couplings of a column: their mean curvature is then known to a few per cent
_AT_BOUND = 1e-9
_STIFF = 100.0  # curvature per row beyond which that is a long step, and a shorter one is taken


@dataclass
class PenalisedLikelihood:
    """Minus the penalised log-likelihood per row as a function of z (eq. 14).

    Attributes
    ----------
    total : LogLikelihood
        The log-likelihood.
    coordinates : Coordinates
    n_rows : float
        Rows, or the sum of their weights.
    precisions : ndarray
        Of the normal prior on each element of z.
    share_of_events : float
        Rows with an event, among all.
    n_evaluations : int
        Gradients computed so far.
    current : ndarray or None
        The last iterate.
    """

    total: LogLikelihood
    coordinates: Coordinates
    n_rows: float
    precisions: Array
    share_of_events: float = 1.0
    n_evaluations: int = 0
    current: Array | None = None

    def parameters(self) -> Parameters:
        """At the last iterate."""
        assert self.current is not None
        return self.parameters_at(self.current)

    def parameters_at(self, z: Array) -> Parameters:
        """In the paper's terms."""
        return Parameters.from_natural(self.coordinates.layout, self.coordinates.to_natural(z))

    def loss(self, z: Array) -> tuple[float, Array]:
        """Value and gradient."""
        values, gradients = self.losses(np.array(z, dtype=np.float64)[None])
        return float(values[0]), gradients[0]

    def losses(self, points: Array) -> tuple[Array, Array]:
        """Values and gradients at several points, one for each row."""
        values, gradients, done = np.empty(len(points)), np.empty(points.shape), 0
        while done < len(points):
            strip = self.strip()
            n_more = 0 if strip is None else strip_losses(strip, points[done:], values[done:], gradients[done:])
            self.count_uses(n_more)
            done += n_more
            rest = points[done:] if isinstance(self.total, SeveralAtOnce) else points[done : done + 1]
            for z, (value, gradient) in zip(rest, self._likelihoods(rest), strict=True):
                values[done], gradients[done] = self._penalised(z, value, gradient)
                self.n_evaluations += 1
                done += 1
        return values, gradients

    def strip(self) -> StripProblem | None:
        """For compiled code that finds losses by itself, if the rows are one strip and hidden units few."""
        strip = self.total.one_strip(self.coordinates.n_hidden) if isinstance(self.total, LogMassSum) else None
        return None if strip is None else strip_problem(strip, self.coordinates, self.precisions, self.n_rows)

    def count_uses(self, n_evaluations: int) -> None:
        """So many evaluations were made with what :meth:`strip` has returned."""
        self.n_evaluations += n_evaluations
        if isinstance(self.total, LogMassSum):
            self.total.count_uses(n_evaluations)

    def _likelihoods(self, points: Array) -> list[tuple[float, Natural]]:
        """Log-likelihoods and their gradients, by calls that any log-likelihood allows."""
        natural = [self.coordinates.to_natural(z) for z in points]
        if isinstance(self.total, SeveralAtOnce) and len(natural) > 1:
            return self.total.values_and_natural_gradients(natural)
        return [self.total.value_and_natural_gradient(own) for own in natural]

    def _penalised(self, z: Array, value: float, natural_gradient: Natural) -> tuple[float, Array]:
        """Value and gradient of the loss, from those of the log-likelihood."""
        gradient = self.coordinates.pull_back(natural_gradient)
        penalty = 0.5 * float(self.precisions @ z**2)
        return (penalty - value) / self.n_rows, (self.precisions * z - gradient) / self.n_rows

    def curvature(self, z: Array) -> Array:
        """The Hessian of minus the log-likelihood of all rows, without the prior, by differences of its gradient."""
        _, base = self.loss(z)
        every = np.arange(z.size)
        out = self._differences(z, every, np.full(z.size, _STEP), base)
        stiff = every[np.diagonal(out) > _STIFF]
        out[stiff] = self._differences(z, stiff, _STEP / np.sqrt(out[stiff, stiff]), base)
        whole: Array = 0.5 * self.n_rows * (out + out.T) - np.diag(self.precisions)
        return whole

    def diagonal(self, z: Array) -> Array:
        """The diagonal of :meth:`curvature`; of columns with many couplings a few are looked at, and the others are as these on average."""
        group = np.full(z.size, -1)
        self.coordinates.split(group)[1][:] = groups_of(self.coordinates)[:, None]
        members = [np.flatnonzero(group == number) for number in range(_n_covariates(self.coordinates))]
        looked_at = [own[np.unique(np.linspace(0, own.size - 1, _LOOKED_AT).astype(int))] if own.size else own for own in members]
        others = np.flatnonzero((group < 0) | (group >= len(members)))
        chosen = np.concatenate([others, *looked_at])
        out, base = np.empty(z.size), self.loss(z)[1]
        out[chosen] = [self._differences(z, chosen[k : k + 1], np.array([_STEP]), base)[0, i] for k, i in enumerate(chosen)]
        out = self.n_rows * out - self.precisions
        for own, some in zip(members, looked_at, strict=True):
            out[np.setdiff1d(own, some)] = out[some].mean() if some.size else 0.0
        return np.maximum(out, 0.0)

    def _differences(self, z: Array, chosen: Integers, steps: Array, base: Array) -> Array:
        """Of gradients, by steps along some coordinates, a row for each."""
        moved = np.repeat(z[None], chosen.size, axis=0)
        moved[np.arange(chosen.size), chosen] += steps
        differences: Array = (self.losses(moved)[1] - base) / steps[:, None]
        return differences

    def hessian(self, z: Array, curvature: Array | None = None) -> Array:
        """Of minus the penalised log-likelihood per row; the curvature may be known already."""
        found = self.curvature(z) if curvature is None else curvature
        whole: Array = (found + np.diag(self.precisions)) / self.n_rows
        return whole


@dataclass(frozen=True)
class Prior:
    """The normal prior on couplings: a precision for each covariate, and one for all outcomes.

    Attributes
    ----------
    covariates : ndarray of shape (n_covariates,)
    outcomes : float
    """

    covariates: Array
    outcomes: float = _OUTCOME_PRECISION

    @property
    def typical(self) -> float:
        """The geometric mean over covariates."""
        return float(np.exp(np.log(np.maximum(self.covariates, 1e-300)).mean())) if self.covariates.size else 0.0


def prior_precisions(coordinates: Coordinates, l2: float | Prior) -> Array:
    """The prior's precision of every element of z (eq. 14); a number is that of all covariates' couplings. Biases have none."""
    out = np.zeros(coordinates.size)
    hidden, couplings, _ = coordinates.split(out)
    prior = l2 if isinstance(l2, Prior) else Prior(np.full(_n_covariates(coordinates), float(l2)))
    hidden[:] = _HIDDEN_PRECISION
    couplings[:] = np.append(prior.covariates, prior.outcomes)[groups_of(coordinates)][:, None]
    return out


def smoothed(coordinates: Coordinates, precisions: Array, outcomes: float) -> Array:
    """The same prior with another precision of the couplings of outcomes."""
    out = precisions.copy()
    coordinates.split(out)[1][coordinates.of_outcomes] = outcomes
    return out


def evidence_precision(problem: PenalisedLikelihood, z: Array, precision: float, whole: Array) -> float:
    """The precision of all covariates' couplings that the evidence prefers, the log-likelihood being taken as quadratic around z.

    ``whole`` is :meth:`PenalisedLikelihood.curvature` at z.
    """
    return _Evidence(problem, z, whole).common(precision)[0]


def evidence_prior(problem: PenalisedLikelihood, z: Array, prior: Prior, whole: Array) -> Prior:
    """The precisions that the evidence prefers, of every covariate and of the outcomes' couplings.

    First one precision for all covariates, then each covariate's own, which counts some couplings as the common precision expects them:
    a column with one statistic says little about its precision by itself.
    """
    evidence = _Evidence(problem, z, whole)
    if not prior.covariates.size:
        return prior
    common, outcomes = evidence.common(prior.typical, prior.outcomes)
    return evidence.by_covariate(common, outcomes)


def log_evidence(problem: PenalisedLikelihood, found: OptimizeResult) -> float:
    """Ln of the evidence of an optimum under the problem's prior, by Laplace's approximation and up to a constant.

    ``found`` has the Hessian per row; elements of z that a bound holds are taken as known.
    """
    low, high = problem.coordinates.bounds()
    free = (found.x > low + _AT_BOUND) & (found.x < high - _AT_BOUND)
    prior = problem.precisions[free]
    volume = float(np.linalg.slogdet(problem.n_rows * found.hess[np.ix_(free, free)])[1])
    return -problem.n_rows * float(found.fun) + 0.5 * (float(np.log(prior[prior > 0.0]).sum()) - volume)


class _Evidence:
    """MacKay's fixed point (eq. 16) in turn with the position of the optimum under the new precisions, without further gradients."""

    def __init__(self, problem: PenalisedLikelihood, z: Array, whole: Array) -> None:
        """``whole`` is :meth:`PenalisedLikelihood.curvature`, or its diagonal alone."""
        coordinates = problem.coordinates
        low, high = coordinates.bounds()
        free = np.flatnonzero((z > low + _AT_BOUND) & (z < high - _AT_BOUND))
        group = np.full(z.size, -1.0)
        coordinates.split(group)[1][:] = groups_of(coordinates)[:, None]
        self._group = group[free].astype(np.int64)
        self._n_covariates = _n_covariates(coordinates)
        self._of_outcomes = self._group == self._n_covariates
        self._prior = problem.precisions[free]
        self._curvature = whole[free] if whole.ndim == 1 else _positive(whole[np.ix_(free, free)])
        slope = problem.n_rows * problem.loss(z)[1][free]  # z need not be quite at the optimum
        bent = self._curvature * z[free] if whole.ndim == 1 else self._curvature @ z[free]
        self._pull = bent + self._prior * z[free] - slope  # the optimum solves (curvature + prior) z = pull

    def common(self, precision: float, outcomes: float | None = None) -> tuple[float, float]:
        """One precision for all covariates and, if it is to be chosen, one for the outcomes."""
        of_covariates = (self._group >= 0) & ~self._of_outcomes
        chosen = np.nan if outcomes is None else outcomes
        for _ in range(_N_FIXED_POINT):
            prior = np.where(self._of_outcomes & (outcomes is not None), chosen, self._prior)
            variances, position = self._optimum(np.where(of_covariates, precision, prior))
            precision = _updated(of_covariates, precision, variances, position, _PRECISION_RANGE)
            chosen = _updated(self._of_outcomes, chosen, variances, position, _OUTCOME_RANGE)
        return precision, chosen

    def by_covariate(self, common: float, outcomes: float) -> Prior:
        """A precision for each covariate."""
        precisions = np.full(self._n_covariates, common)
        chosen = [self._group == k for k in range(self._n_covariates)]
        for _ in range(_N_FIXED_POINT):
            prior = np.where(self._group >= 0, np.append(precisions, outcomes)[self._group], self._prior)
            variances, position = self._optimum(prior)
            for k, own in enumerate(chosen):
                precisions[k] = _updated(own, precisions[k], variances, position, _PRECISION_RANGE, (_LENT, common))
            outcomes = _updated(self._of_outcomes, outcomes, variances, position, _OUTCOME_RANGE)
        return Prior(_on_grid(precisions), float(_on_grid(np.array(outcomes))))

    def _optimum(self, prior: Array) -> tuple[Array, Array]:
        """Variances and position."""
        least = np.maximum(prior, 1e-6)
        if self._curvature.ndim == 1:
            variances = 1.0 / (self._curvature + least)
            return variances, variances * self._pull
        covariance = np.linalg.inv(self._curvature + np.diag(least))
        return np.diagonal(covariance), covariance @ self._pull


def _updated(
    chosen: Booleans,
    precision: float,
    variances: Array,
    position: Array,
    allowed: tuple[float, float],
    lent: tuple[float, float] = (0.0, 1.0),
) -> float:
    """The effective number of well determined couplings divided by their sum of squares; ``lent``: so many, of such a precision."""
    n_determined = chosen.sum() - precision * variances[chosen].sum()
    size = float(np.sum(position[chosen] ** 2))
    number, of_precision = lent
    return float(np.clip((max(n_determined, 1e-3) + number) / (max(size, 1e-12) + number / of_precision), *allowed))


def _on_grid(precisions: Array) -> Array:
    """Precisions rounded to a grid: around its maximum the evidence is flat, and further digits are those of where a search stopped."""
    out: Array = 2.0 ** (np.round(np.log2(precisions) * _GRID) / _GRID)
    return out


def _n_covariates(coordinates: Coordinates) -> int:
    return coordinates.layout.n_columns - coordinates.layout.n_outcomes


def groups_of(coordinates: Coordinates) -> Integers:
    """The covariate that each coupled statistic belongs to; of all outcomes, one number beyond them."""
    layout = coordinates.layout
    column = np.repeat(np.arange(layout.n_columns), np.diff(layout.offsets))[coordinates.coupled]
    groups: Integers = np.minimum(column, _n_covariates(coordinates))
    return groups


def _positive(matrix: Array) -> Array:
    """The nearest matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    positive: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return positive
