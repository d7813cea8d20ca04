"""The penalised log-likelihood as a function of the optimiser's coordinates (eq. 14), and the prior that the data choose (eq. 16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.engine.parameters import Parameters
from harmonium.training.coordinates import Coordinates
from harmonium.training.objective import LogLikelihood
from harmonium.typing import Array

__all__ = ["PenalisedLikelihood", "evidence_precision", "prior_precisions", "smoothed"]

_OUTCOME_PRECISION = 0.01
_HIDDEN_PRECISION = 0.01
_PRECISION_RANGE = (0.1, 200.0)
_N_FIXED_POINT = 5
_STEP = 1e-4  # of differences of gradients
_STIFF = 100.0  # curvature per row beyond which that is a long step, and a shorter one is taken


@dataclass
class PenalisedLikelihood:
    """Minus the penalised log-likelihood per row as a function of z (eq. 14).

    Attributes
    ----------
    total : LogLikelihood
        The log-likelihood.
    coordinates : Coordinates
    n_rows : int
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
    n_rows: int
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
        self.n_evaluations += 1
        value, natural_gradient = self.total.value_and_natural_gradient(self.coordinates.to_natural(z))
        gradient = self.coordinates.pull_back(natural_gradient)
        penalty = 0.5 * float(self.precisions @ z**2)
        return (penalty - value) / self.n_rows, (self.precisions * z - gradient) / self.n_rows

    def curvature(self, z: Array) -> Array:
        """The Hessian of minus the log-likelihood of all rows, without the prior, by differences of its gradient."""
        _, base = self.loss(z)
        out = np.empty((z.size, z.size))
        for i in range(z.size):
            out[i] = self._difference(z, i, _STEP, base)
            if out[i, i] > _STIFF:
                out[i] = self._difference(z, i, _STEP / np.sqrt(out[i, i]), base)
        whole: Array = 0.5 * self.n_rows * (out + out.T) - np.diag(self.precisions)
        return whole

    def _difference(self, z: Array, i: int, step: float, base: Array) -> Array:
        moved = z.copy()
        moved[i] += step
        difference: Array = (self.loss(moved)[1] - base) / step
        return difference

    def hessian(self, z: Array, curvature: Array | None = None) -> Array:
        """Of minus the penalised log-likelihood per row; the curvature may be known already."""
        found = self.curvature(z) if curvature is None else curvature
        whole: Array = (found + np.diag(self.precisions)) / self.n_rows
        return whole


def prior_precisions(coordinates: Coordinates, l2: float) -> Array:
    """The prior's precision of every element of z (eq. 14), ``l2`` for couplings of covariates; biases have none."""
    out = np.zeros(coordinates.size)
    hidden, couplings, _ = coordinates.split(out)
    hidden[:] = _HIDDEN_PRECISION
    couplings[coordinates.of_outcomes] = _OUTCOME_PRECISION
    couplings[~coordinates.of_outcomes] = l2
    return out


def smoothed(coordinates: Coordinates, precisions: Array, factor: float) -> Array:
    """The same prior, stronger on the couplings of outcomes."""
    out = precisions.copy()
    coordinates.split(out)[1][coordinates.of_outcomes] *= factor
    return out


def evidence_precision(problem: PenalisedLikelihood, z: Array, precision: float, whole: Array) -> float:
    """The precision of covariates' couplings that the evidence prefers, the log-likelihood being taken as quadratic around z.

    ``whole`` is :meth:`PenalisedLikelihood.curvature` at z.
    Alternates MacKay's fixed point (eq. 16) with the position of the optimum under the new precision, both without further gradients.
    """
    low, high = problem.coordinates.bounds()
    free = np.flatnonzero((z > low + 1e-9) & (z < high - 1e-9))
    is_coupling = np.zeros(z.size)
    problem.coordinates.split(is_coupling)[1][~problem.coordinates.of_outcomes] = 1.0
    chosen = is_coupling[free] == 1.0
    prior = problem.precisions[free]
    curvature = _positive(whole[np.ix_(free, free)])
    slope = problem.n_rows * problem.loss(z)[1][free]  # z need not be quite at the optimum
    pull = curvature @ z[free] + prior * z[free] - slope  # the optimum under another prior solves (curvature + prior) z = pull
    for _ in range(_N_FIXED_POINT):
        prior = np.where(chosen, precision, prior)
        covariance = np.linalg.inv(curvature + np.diag(np.maximum(prior, 1e-6)))
        position = covariance @ pull
        n_determined = chosen.sum() - precision * np.trace(covariance[np.ix_(chosen, chosen)])
        size = float(np.sum(position[chosen] ** 2))
        precision = float(np.clip(max(n_determined, 1e-3) / max(size, 1e-12), *_PRECISION_RANGE))
    return precision


def _positive(matrix: Array) -> Array:
    """The nearest matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    positive: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return positive
