"""The exact trainer: maximum a posteriori by L-BFGS-B on the exact likelihood. No learning rate, no sampling noise.

Several short runs from wide random starts, the best of which is carried on. The precision of the prior on covariates' couplings is
chosen by the data (MacKay's evidence approximation, eq. 16): the effective number of well determined couplings divided by their sum of
squares.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, OptimizeResult, minimize
from threadpoolctl import threadpool_limits

from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.parameters import Natural, Parameters
from harmonium.training.coordinates import Coordinates
from harmonium.training.history import History, StopTraining
from harmonium.typing import Array

__all__ = ["ExactFit", "ExactTrainer"]

_FIRST_PRECISION = 5.0
_PRECISION_RANGE = (0.1, 200.0)
_N_UPDATES = 1
_N_FIXED_POINT = 5
_ROUGH = 1e-5  # relative change of the objective at which runs stop that are to be continued
_TIME_PRECISION = 0.01
_HIDDEN_PRECISION = 0.01
_SHORT_RUN = 40  # iterations
_MOST_ROWS_FOR_EVIDENCE = 20_000  # beyond, the prior hardly matters and its Hessian would cost more than the fit


@dataclass(frozen=True)
class ExactFit:
    """Result of the exact trainer.

    Attributes
    ----------
    parameters : Parameters
    objective : float
        Penalised log-likelihood a row.
    precision : float
        Of the prior on covariates' couplings.
    n_evaluations : int
        Gradients computed.
    converged : bool
    """

    parameters: Parameters
    objective: float
    precision: float
    n_evaluations: int
    converged: bool


@dataclass
class _Problem:
    """Minus the penalised log-likelihood a row as a function of z (eq. 14)."""

    total: LogMassSum
    coordinates: Coordinates
    n_rows: int
    precisions: Array
    n_evaluations: int = 0
    current: Array | None = None

    def parameters(self) -> Parameters:
        """At the last iterate."""
        assert self.current is not None
        return Parameters.from_natural(self.coordinates.layout, self.coordinates.to_natural(self.current))

    def loss(self, z: Array) -> tuple[float, Array]:
        self.n_evaluations += 1
        value, natural_gradient = self.total.value_and_natural_gradient(self.coordinates.to_natural(z))
        gradient = self.coordinates.pull_back(natural_gradient)
        penalty = 0.5 * float(self.precisions @ z**2)
        return (penalty - value) / self.n_rows, (self.precisions * z - gradient) / self.n_rows

    def hessian(self, z: Array, chosen: NDArray[np.int64]) -> Array:
        """Of minus the penalised log-likelihood, by differences of its gradient."""
        _, base = self.loss(z)
        step = 1e-4
        out = np.empty((chosen.size, chosen.size))
        for row, i in enumerate(chosen):
            moved = z.copy()
            moved[i] += step
            out[row] = (self.loss(moved)[1] - base)[chosen] / step
        return 0.5 * self.n_rows * (out + out.T)


@dataclass(frozen=True)
class ExactTrainer:
    """Settings of the exact trainer.

    Parameters
    ----------
    precision : float or None
        Of the prior on covariates' couplings, in effects of a standard deviation; None lets the data choose.
    n_starts : int
        Short runs from which the best is carried on.
    max_iterations : int
    tolerance : float
        Relative change of the objective at which the optimiser stops.
    n_threads : int, optional
    """

    precision: float | None = None
    n_starts: int = 6
    max_iterations: int = 1000
    tolerance: float = 3e-6
    n_threads: int | None = None

    def fit(
        self,
        terms: list[Term],
        n_hidden: int,
        conditional: float,
        rng: np.random.Generator,
        history: History,
        start: Natural | None = None,
    ) -> ExactFit:
        """Fit to the terms of an objective, the first of which holds the training table as recorded."""
        recorded = terms[0].cells
        coordinates = Coordinates.of_data(recorded, n_hidden, conditional)
        first = _FIRST_PRECISION if self.precision is None else self.precision
        problem = _Problem(LogMassSum(terms, self.n_threads), coordinates, recorded.n_rows, _precisions(coordinates, first))
        precision, converged = first, False
        try:
            with threadpool_limits(1, "blas"):  # the optimiser's linear algebra is tiny; more threads make it ten times slower
                z = self._best_start(problem, rng, history) if start is None else coordinates.from_natural(start)
                chooses = self._chooses_precision(coordinates, recorded.n_rows)
                for _ in range(_N_UPDATES if chooses else 0):
                    z, _ = self._run(problem, z, self.max_iterations, history, tolerance=_ROUGH)
                    precision = _evidence_precision(problem, z, precision)
                    problem.precisions = _precisions(coordinates, precision)
                z, converged = self._run(problem, z, self.max_iterations, history, self.tolerance)
        except (KeyboardInterrupt, StopTraining) as reason:
            if problem.current is None:
                raise
            if isinstance(reason, KeyboardInterrupt):
                warnings.warn("training was interrupted; the best parameters so far are kept", UserWarning, stacklevel=2)
            z = problem.current
        parameters = history.best or Parameters.from_natural(recorded.layout, coordinates.to_natural(z))
        return ExactFit(parameters, -problem.loss(z)[0], precision, problem.n_evaluations, converged)

    def _chooses_precision(self, coordinates: Coordinates, n_rows: int) -> bool:
        has_couplings = coordinates.n_hidden > 0 and not coordinates.of_time.all()
        return self.precision is None and has_couplings and n_rows <= _MOST_ROWS_FOR_EVIDENCE

    def _best_start(self, problem: _Problem, rng: np.random.Generator, history: History) -> Array:
        """The best end of some short runs."""
        starts = [_wide_start(problem.coordinates, seed) for seed in rng.spawn(self.n_starts)]
        if len(starts) == 1:
            return starts[0]
        ends = [self._run(problem, z, _SHORT_RUN, history, _ROUGH, may_stop=False)[0] for z in starts]
        return min(ends, key=lambda z: problem.loss(z)[0])

    def _run(
        self, problem: _Problem, z: Array, max_iterations: int, history: History, tolerance: float, *, may_stop: bool = True
    ) -> tuple[Array, bool]:
        low, high = problem.coordinates.bounds()
        history.begin_run(may_stop=may_stop)

        def tell(intermediate_result: OptimizeResult) -> None:
            problem.current = np.array(intermediate_result.x)
            history.add(problem.parameters, objective=-float(intermediate_result.fun), evaluations=problem.n_evaluations)

        result = minimize(
            problem.loss,
            z,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            callback=tell,
            options={"maxiter": max_iterations, "maxfun": 10 * max_iterations, "ftol": tolerance, "gtol": 1e-7, "maxcor": 20},
        )
        return result.x, bool(result.success)


def _precisions(coordinates: Coordinates, precision: float) -> Array:
    """The prior's precision of every element of z (eq. 14); biases have none."""
    out = np.zeros(coordinates.size)
    hidden, couplings, _ = coordinates.split(out)
    hidden[:] = _HIDDEN_PRECISION
    couplings[coordinates.of_time] = _TIME_PRECISION
    couplings[~coordinates.of_time] = precision
    return out


def _wide_start(coordinates: Coordinates, rng: np.random.Generator) -> Array:
    """Bells of every width all over the time axis, hidden units balanced, covariates loosely coupled."""
    z = np.zeros(coordinates.size)
    _, couplings, biases = coordinates.split(z)
    couplings[~coordinates.of_time] = rng.normal(0.0, 0.3, couplings[~coordinates.of_time].shape)
    biases[:] = (coordinates.fixed_bias * coordinates.scale)[coordinates.learned_bias]
    among_coupled = np.cumsum(coordinates.coupled) - 1
    for v in coordinates.shapes:
        shape = rng.uniform(0.0, 6.0, coordinates.n_hidden)
        centre = rng.uniform(0.2, 0.8, coordinates.n_hidden)
        couplings[among_coupled[v]] = shape * coordinates.scale[v]
        shear = 1.0 / coordinates.mean[v - 1]
        couplings[among_coupled[v - 1]] = (shape / centre - shear * shape) * coordinates.scale[v - 1]
    return z


def _evidence_precision(problem: _Problem, z: Array, precision: float) -> float:
    """The precision of covariates' couplings that the evidence prefers, the log-likelihood being taken as quadratic around z.

    Alternates MacKay's fixed point (eq. 16) with the position of the optimum under the new precision, both without further gradients.
    """
    low, high = problem.coordinates.bounds()
    free = np.flatnonzero((z > low + 1e-9) & (z < high - 1e-9))
    is_coupling = np.zeros(z.size)
    problem.coordinates.split(is_coupling)[1][~problem.coordinates.of_time] = 1.0
    chosen = is_coupling[free] == 1.0
    prior = problem.precisions[free]
    curvature = _positive(problem.hessian(z, free) - np.diag(prior))
    pull = curvature @ z[free] + prior * z[free]  # the optimum under another prior solves (curvature + prior) z = pull
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
