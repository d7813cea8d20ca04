"""The joint likelihood as a function of the covariate units alone, against the engine's own sum over all states."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_sum import CovariateSum
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Natural, Parameters
from harmonium.training.objective import Objective, entry_cells
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

LAYOUT = Layout([Gaussian(), Gaussian(), Bernoulli(), Categorical(3), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
N_UNITS = 2


def table(rng, n=40):
    """Rows with points, gaps and intervals among covariates, and censored outcomes; some covariates are complete."""
    lower = np.column_stack([rng.normal(size=(n, 2)), rng.integers(2, size=n), rng.integers(3, size=n), rng.uniform(0.05, 0.9, (n, 2))])
    upper = lower.copy()
    upper[rng.random(n) < 0.4, 4] = 1.0
    gaps = rng.random((n, 4)) < 0.3
    gaps[: n // 3] = False
    for bounds in (lower, upper):
        bounds[:, :4][gaps] = np.nan
    lower[-1, 0], upper[-1, 0] = -0.5, 1.5
    return Cells.from_bounds(LAYOUT, lower, upper)


@pytest.fixture(scope="module", params=[False, True], ids=["from the start", "late entry"])
def problem(request):
    rng = np.random.default_rng(0)
    cells, weights = table(rng), rng.uniform(0.5, 2.0, 40)
    parameters = Parameters.initial(LAYOUT, np.where(cells.bounds()[0] == cells.bounds()[1], cells.bounds()[0], np.nan), 3, rng)
    entry = np.where(rng.random((40, 2)) < 0.5, 0.04, 0.0) if request.param else np.zeros((40, 2))
    objective = Objective(cells, entry, 0.0)
    free = entry_cells(cells, entry) if request.param else Cells.all_free(LAYOUT)
    own = CovariateSum(parameters, objective.recorded, free, weights, weights if request.param else np.array([weights.sum()]))
    return own, parameters, cells, free, weights


def some_units(rng):
    n = LAYOUT.outcome_statistics.start
    coupled = np.concatenate([unit.coupled for unit in LAYOUT.units])[:n]
    bias = rng.normal(size=n)
    bias[[1, 3]] = rng.uniform(0.3, 2.0, 2)
    return Natural(bias, rng.normal(size=(n, N_UNITS)) * coupled[:, None], rng.normal(size=N_UNITS), 0.0)


def by_the_engine(natural, parameters, cells, free, weights):
    whole = CovariateUnits(natural.bias, natural.coupling, natural.hidden_bias).joined(parameters)
    denominator = log_mass(whole, free)
    return float(weights @ (log_mass(whole, cells) - denominator))


def test_it_is_the_joint_likelihood_up_to_a_constant(problem):
    own, *rest = problem
    rng = np.random.default_rng(1)
    differences = []
    for _ in range(4):
        natural = some_units(rng)
        differences.append(own.value_and_natural_gradient(natural)[0] - by_the_engine(natural, *rest))
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_the_gradient_is_that_of_the_value(problem):
    own = problem[0]
    natural = some_units(np.random.default_rng(2))
    parts = [natural.bias, natural.coupling, natural.hidden_bias]
    _, gradient = own.value_and_natural_gradient(natural)
    for part, slope in zip(parts, (gradient.bias, gradient.coupling, gradient.hidden_bias), strict=True):
        for place in np.ndindex(part.shape):
            ends = []
            for step in (1e-5, -1e-5):
                part[place] += step
                ends.append(own.value_and_natural_gradient(natural)[0])
                part[place] -= step
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope[place], rel=1e-5, abs=1e-5)
