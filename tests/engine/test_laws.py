"""Laws of the model that the exact engine obeys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum, Term, log_mass, posterior
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.engine.sums import by_enumeration, seeds
from tests.models import EVERY_UNIT, random_cells, random_parameters

# --- laws ---


@given(seeds, st.integers(0, 4))
@settings(max_examples=25)
def test_a_free_cell_carries_no_information(seed, n_hidden):
    """A free column that no hidden unit is coupled to shifts every log mass by the same amount and moves no posterior."""
    rng = np.random.default_rng(seed)
    wider = Layout([*EVERY_UNIT.units, Gaussian()])
    parameters = random_parameters(wider, n_hidden, rng)
    parameters.blocks[-1]["W"][...] = 0.0
    cells = random_cells(wider, 6, rng)
    lower, upper = cells.bounds()
    lower[:, -1] = upper[:, -1] = np.nan
    with_column = Cells.from_bounds(wider, lower, upper)
    without = Parameters(EVERY_UNIT, parameters.hidden_bias, parameters.blocks[:-1])
    narrower = Cells.from_bounds(EVERY_UNIT, lower[:, :-1], upper[:, :-1])
    shift = log_mass(parameters, with_column) - log_mass(without, narrower)
    sigma = parameters.blocks[-1]["sigma"][0]
    np.testing.assert_allclose(shift, 0.5 * np.log(2.0 * np.pi) + np.log(sigma), atol=1e-9)
    np.testing.assert_allclose(posterior(parameters, with_column), posterior(without, narrower), atol=1e-9)


@given(seeds, st.integers(0, 4))
@settings(max_examples=25)
def test_the_whole_interval_equals_free(seed, n_hidden):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng)
    lower, upper = random_cells(EVERY_UNIT, 6, rng).bounds()
    free_lower, free_upper = lower.copy(), upper.copy()
    lower[:, 3], upper[:, 3] = 0.0, 1.0
    free_lower[:, 3] = free_upper[:, 3] = np.nan
    whole, free = (Cells.from_bounds(EVERY_UNIT, *bounds) for bounds in ((lower, upper), (free_lower, free_upper)))
    np.testing.assert_array_equal(log_mass(parameters, whole), log_mass(parameters, free))
    np.testing.assert_allclose(by_enumeration(parameters, whole).log_mass, log_mass(parameters, free), rtol=1e-10, atol=1e-10)


@given(seeds, st.integers(0, 4), st.floats(0.01, 0.99))
@settings(max_examples=25)
def test_masses_of_adjacent_intervals_add_up(seed, n_hidden, cut):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng)
    lower, upper = random_cells(EVERY_UNIT, 6, rng).bounds()

    def mass(low, high):
        lower[:, 3], upper[:, 3] = low, high
        return log_mass(parameters, Cells.from_bounds(EVERY_UNIT, lower, upper))

    np.testing.assert_allclose(np.logaddexp(mass(0.0, cut), mass(cut, 1.0)), mass(0.0, 1.0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.logaddexp(mass(0.3 * cut, cut), mass(cut, 1.0)), mass(0.3 * cut, 1.0), rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 5))
@settings(max_examples=25)
def test_permuting_hidden_units_changes_nothing(seed, n_hidden):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng)
    order = rng.permutation(n_hidden)
    blocks = tuple({name: a[..., order] if name in ("W", "V") else a for name, a in block.items()} for block in parameters.blocks)
    permuted = Parameters(EVERY_UNIT, parameters.hidden_bias[order], blocks)
    cells = random_cells(EVERY_UNIT, 8, rng)
    np.testing.assert_allclose(log_mass(permuted, cells), log_mass(parameters, cells), rtol=1e-10, atol=1e-10)
    weights = rng.normal(size=8)
    gradients = [LogMassSum([Term(cells, weights)]).value_and_gradient(p)[1] for p in (parameters, permuted)]
    np.testing.assert_allclose(gradients[1].hidden_bias, gradients[0].hidden_bias[order], rtol=1e-7, atol=1e-8)


@given(seeds, st.integers(0, 5))
@settings(max_examples=20)
def test_posteriors_are_distributions(seed, n_hidden):
    rng = np.random.default_rng(seed)
    p = posterior(random_parameters(EVERY_UNIT, n_hidden, rng), random_cells(EVERY_UNIT, 10, rng))
    assert p.shape == (10, 2**n_hidden)
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_rows_without_gaps_take_the_closed_form():
    """M = -(visible energy) + sum of softplus(-field), with no sum over states."""
    rng = np.random.default_rng(0)
    layout = Layout([Bernoulli(), Gaussian(), TruncatedGamma()])
    parameters = random_parameters(layout, 6, rng)
    values = np.column_stack([rng.integers(0, 2, 50), rng.normal(size=50), rng.uniform(0.01, 1, 50)])
    cells = Cells.from_bounds(layout, values)
    np.testing.assert_allclose(log_mass(parameters, cells), by_enumeration(parameters, cells).log_mass, rtol=1e-12, atol=1e-12)


def test_no_hidden_unit_is_a_product_of_marginals():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 0, rng)
    cells = random_cells(EVERY_UNIT, 10, rng)
    lower, upper = cells.bounds()
    total = -parameters.natural().constant
    for block in EVERY_UNIT.blocks:
        bias = parameters.natural().bias[block.statistics].reshape(block.n_columns, -1)
        total = total + block.unit.log_mass(bias, lower[:, block.columns], upper[:, block.columns]).sum(axis=1)
    np.testing.assert_allclose(log_mass(parameters, cells), total, rtol=1e-10, atol=1e-10)


def test_repeated_and_weighted_rows_are_the_same():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    lower, upper = random_cells(EVERY_UNIT, 5, rng).bounds()
    repeated = Cells.from_bounds(EVERY_UNIT, np.repeat(lower, 3, axis=0), np.repeat(upper, 3, axis=0))
    weighted = Term.uniform(Cells.from_bounds(EVERY_UNIT, lower, upper), 3.0)
    a, ga = LogMassSum([Term.uniform(repeated, 1.0)]).value_and_gradient(parameters)
    b, gb = LogMassSum([weighted]).value_and_gradient(parameters)
    assert a == pytest.approx(b, rel=1e-12)
    np.testing.assert_allclose(ga.to_vector(), gb.to_vector(), rtol=1e-10, atol=1e-10)
