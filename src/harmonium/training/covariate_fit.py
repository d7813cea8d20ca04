"""Covariate units by the joint likelihood, the prognostic part being fixed: p(outcomes | complete covariates) stays what it is.

Training begins at the principal axes of the covariates' statistics, so that neither a seed nor the coding of the table decides where it
ends.
"""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_sum import CovariateSum, covariate_cells, observed_statistics
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import posterior
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.states import EXACT_LIMIT, hidden_states
from harmonium.training.blas import one_thread
from harmonium.training.coordinates import Coordinates
from harmonium.training.descent import descended
from harmonium.training.objective import Objective, conditioned_cells
from harmonium.training.penalised import PenalisedLikelihood, prior_precisions
from harmonium.training.statistics import StatisticsSummary
from harmonium.typing import Array

__all__ = ["MOST_UNITS", "PRECISION", "fit_covariate_units", "number_of_units"]

PRECISION = 2.0
"""Of the prior on couplings, in effects of a standard deviation."""

_MAX_ITER = 300
_TOL = 1e-5  # relative change of the objective at which the optimiser stops
_FLAT = 1e-6  # projected gradient at which it does
_ROWS_PER_UNIT = 40

MOST_UNITS = 4
"""How many units a table asks for at most, for predictions."""


def number_of_units(recorded: Cells, n_prognostic: int, most: int = MOST_UNITS, weights: Array | None = None) -> int:
    """How many covariate units a table asks for: as many as can be learned from the values that were observed.

    Few are not enough even for two columns: prognostic units also tie covariates to each other, in a way that suits the times, and these
    units have to make up for it. ``most`` is the largest number; rows may have weights.

    Examples
    --------
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Bernoulli
    >>> table = np.ones((100, 8))
    >>> number_of_units(Cells.from_bounds(Layout([Bernoulli()] * 8), table), 4)
    2
    """
    covariates = covariate_cells(recorded)
    lower, upper = covariates.bounds()
    n_columns = lower.shape[1]
    if not n_columns or not n_prognostic:
        return 0
    seen = lower == upper
    n_observed = int((np.count_nonzero(seen) if weights is None else weights @ seen.sum(axis=1)) // n_columns)
    asked: int = min(n_observed // _ROWS_PER_UNIT, most, EXACT_LIMIT - n_prognostic)
    return max(0, asked)


def fit_covariate_units(
    objective: Objective, parameters: Parameters, n_units: int, start: CovariateUnits | None = None, precision: float = PRECISION
) -> CovariateUnits:
    """Maximise the joint likelihood of a table over the covariates' biases and the covariate units.

    Parameters
    ----------
    objective : Objective
        The table; the weight of its conditional likelihood does not matter.
    parameters : Parameters
        The prognostic part, which stays as it is.
    n_units : int
    start : CovariateUnits, optional
        Where to begin; as many units.
    precision : float
        Of the prior on couplings.
    """
    recorded, weights = objective.recorded, objective.row_weights
    late = objective.entry.any()
    free = conditioned_cells(recorded, objective.entry).freeing_covariates() if late else Cells.all_free(recorded.layout)
    total = CovariateSum(parameters, recorded, free, weights, weights if late else np.array([weights.sum()]))
    own, n_units = covariate_cells(recorded), n_units if start is None else start.n_units
    coordinates = Coordinates.of_statistics(own.layout, StatisticsSummary.of(own, objective.subjects), n_units, 0.0)
    problem = PenalisedLikelihood(total, coordinates, objective.n_subjects, prior_precisions(coordinates, precision))
    natural = _start(objective, coordinates, parameters) if start is None else Natural(start.bias, start.coupling, start.hidden_bias, 0.0)
    with one_thread():
        result = descended(problem, coordinates.from_natural(natural), _MAX_ITER, _TOL, flat=_FLAT)
    found = coordinates.to_natural(result.x)
    return CovariateUnits(found.bias, found.coupling, found.hidden_bias)


def _start(objective: Objective, coordinates: Coordinates, parameters: Parameters) -> Natural:
    """Units along the principal axes of the statistics, and biases that make up for the mean pull of all units."""
    natural, n = parameters.natural(), coordinates.layout.n_statistics
    found, weights = posterior(parameters, objective.recorded, 1), objective.subjects
    mean = found.mean(axis=0) if weights is None else weights @ found / weights.sum()
    on = mean @ hidden_states(parameters.n_hidden)
    coupling = np.zeros((n, coordinates.n_hidden))
    coupling[coordinates.coupled] = _axes(objective.recorded, coordinates, weights) / coordinates.scale[coordinates.coupled, None]
    bias = coordinates.fixed_bias - natural.coupling[:n] @ on - 0.5 * coupling.sum(axis=1)
    return Natural(bias, coupling, -coordinates.mean @ coupling, 0.0)


def _axes(recorded: Cells, coordinates: Coordinates, weights: Array | None = None) -> Array:
    """Principal axes of the standardised statistics, as long as their standard deviations, (statistics, units)."""
    statistics, missing = observed_statistics(recorded)
    by_statistic = np.repeat(~missing, np.diff(coordinates.layout.offsets), axis=1)
    standardised = np.where(by_statistic, (statistics - coordinates.mean) / coordinates.scale, 0.0)[:, coordinates.coupled]
    seen = by_statistic[:, coordinates.coupled].astype(np.float64)
    if weights is not None:
        root = np.sqrt(weights / weights.mean())[:, None]
        standardised, seen = standardised * root, seen * root
    values, axes = np.linalg.eigh((standardised.T @ standardised) / np.maximum(seen.T @ seen, 1.0))
    longest = np.argsort(-values, kind="stable")
    chosen = longest[np.arange(coordinates.n_hidden) % longest.size]
    shorter = 0.5 ** (np.arange(coordinates.n_hidden) // longest.size)  # of axes that are used again
    out: Array = axes[:, chosen] * np.sqrt(np.maximum(values[chosen], 0.0)) * shorter
    return out
