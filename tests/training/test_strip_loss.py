"""The loss of a small table in one compiled call is the loss in steps."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.training.objective import Objective
from harmonium.training.penalised import PenalisedLikelihood, prior_precisions
from harmonium.training.starts import Directions
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma

LAYOUT = Layout([Bernoulli(), Gaussian(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def problem(conditional, n_hidden, n_rows=90):
    rng = np.random.default_rng(0)
    lower = np.column_stack([rng.integers(0, 2, n_rows), rng.normal(size=n_rows), rng.uniform(0.05, 0.95, (n_rows, 2))])
    upper = lower.copy()
    upper[:, 2:] = np.where(rng.random((n_rows, 2)) < 0.4, 1.0, upper[:, 2:])
    lower[:5, 1] = upper[:5, 1] = np.nan
    objective = Objective(Cells.from_bounds(LAYOUT, lower, upper), np.zeros((n_rows, 2)), conditional)
    coordinates = objective.coordinates(n_hidden)
    found = PenalisedLikelihood(objective.likelihood(n_hidden, 1), coordinates, n_rows, prior_precisions(coordinates, 3.0))
    return found, Directions.of(objective.recorded, coordinates).start(0)


@pytest.mark.parametrize("conditional", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_hidden", [0, 3])
def test_the_same_in_one_call_and_in_steps(conditional, n_hidden):
    likelihood, z = problem(conditional, n_hidden)
    assert likelihood.total.one_strip(n_hidden) is not None or conditional == 0.5  # which is more than one strip
    value, gradient = likelihood.loss(z)
    expected, expected_gradient = likelihood._penalised(z, *likelihood._likelihoods(z[None])[0])
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-14)


def test_rows_that_the_tables_do_not_represent_are_summed_all_the_same():
    likelihood, z = problem(1.0, 2)
    _, couplings, _ = likelihood.coordinates.split(z)
    couplings[likelihood.coordinates.of_outcomes] *= 20.0
    z = likelihood.coordinates.within_bounds(z)
    value, gradient = likelihood.loss(z)
    step = 1e-6 * np.eye(z.size)[3]
    assert gradient[3] == pytest.approx((likelihood.loss(z + step)[0] - likelihood.loss(z - step)[0]) / 2e-6, rel=1e-4, abs=1e-7)
    assert np.isfinite(value)
    assert likelihood.total._prepared.plan.grid.halvings.max() > 0
