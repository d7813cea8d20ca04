"""The layout says which columns are outcomes; a unit of any kind can be one."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

N = 400


def draw_outcome(unit, on, rng):
    if isinstance(unit, TruncatedGamma):
        return np.where(on, rng.uniform(0.05, 0.4, N), rng.uniform(0.6, 0.95, N))
    if isinstance(unit, Gaussian):
        return np.where(on, 1.0, -1.0) + rng.normal(0.0, 0.3, N)
    return np.where(on, 1.0, rng.integers(0, 2, N))


@pytest.mark.parametrize("unit", [Gaussian(), Bernoulli(), Categorical(3), TruncatedGamma()], ids=str)
@pytest.mark.parametrize("conditional", [0.0, 1.0])
def test_an_outcome_of_any_unit_is_learned_from_a_covariate(unit, conditional):
    rng = np.random.default_rng(0)
    on = rng.random(N) < 0.5
    layout = Layout([Bernoulli(), unit], n_outcomes=1)
    cells = Cells.from_bounds(layout, np.column_stack([on, draw_outcome(unit, on, rng)]))
    objective = Objective(cells, np.zeros((N, 1)), conditional)
    exact = Exact(l2=0.1, n_starts=2).fit(objective, 2, rng=np.random.default_rng(0), history=History()).parameters
    without = Exact(l2=0.1).fit(objective, 0, rng=np.random.default_rng(0), history=History()).parameters
    sampled = Contrastive(n_epochs=60, learning_rate=0.1).fit(objective, 2, rng=rng, history=History()).parameters

    def likelihood(parameters):
        return LogMassSum(objective.terms()).value_and_gradient(parameters)[0] / N

    for parameters in (exact, sampled):
        parameters.check(layout)
    assert likelihood(exact) > likelihood(without) + 0.1
    assert likelihood(exact) >= likelihood(sampled) - 0.01


def test_a_covariate_may_be_of_the_outcomes_unit():
    """A time that is given, beside one that is to be predicted: two blocks, of which only one is freed."""
    rng = np.random.default_rng(0)
    first = rng.uniform(0.05, 0.95, N)
    layout = Layout([TruncatedGamma(), TruncatedGamma()], n_outcomes=1)
    cells = Cells.from_bounds(layout, np.column_stack([first, np.clip(first + rng.normal(0.0, 0.05, N), 0.01, 1.0)]))
    objective = Objective(cells, np.zeros((N, 1)), 1.0)
    assert np.isnan(objective.clamped().bounds()[0]).tolist() == [[False, True]] * N
    fits = [Exact(n_starts=2).fit(objective, n, rng=np.random.default_rng(0), history=History()).parameters for n in (0, 2)]
    none, two = (LogMassSum(objective.terms()).value_and_gradient(parameters)[0] / N for parameters in fits)
    assert two > none + 0.3
