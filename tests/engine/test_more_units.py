"""Sums over many hidden states, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine import exact, prepared
from harmonium.engine.exact import LogMassSum, Term
from harmonium.units import Bernoulli, TruncatedGamma
from tests.engine.sums import by_enumeration, seeds
from tests.models import EVERY_UNIT, random_cells, random_parameters


def evaluated(total, parameters):
    value, gradient = total.value_and_gradient(parameters)
    return value, gradient.to_vector()


def assert_same(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9 * np.abs(expected[1]).max())


@given(seeds, st.integers(9, 11), st.floats(0.3, 3.0))
@settings(max_examples=10)
def test_log_masses_and_their_sum_are_those_of_enumeration(seed, n_hidden, strength):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength)
    cells = random_cells(EVERY_UNIT, 12, rng)
    total, expected = LogMassSum([Term.uniform(cells, 1.0)]), by_enumeration(parameters, cells).log_mass
    np.testing.assert_allclose(total.log_masses(parameters)[0], expected, rtol=1e-10, atol=1e-9)
    assert evaluated(total, parameters)[0] == pytest.approx(expected.sum(), rel=1e-10, abs=1e-9)


def test_the_gradient_is_that_of_differences():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 9, rng)
    total = LogMassSum([Term.uniform(random_cells(EVERY_UNIT, 20, rng), 1.0)])
    gradient, vector = evaluated(total, parameters)[1], parameters.to_vector()
    for place in rng.choice(vector.size, 12, replace=False):
        step = 1e-6 * np.eye(vector.size)[place]
        ends = [total.value_and_gradient(parameters.with_vector(vector + sign * step))[0] for sign in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(gradient[place], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n_times", [1, 2, 3])
def test_every_kind_of_interval(n_times):
    """From 0, to 1, inside a panel, over many panels, between edges, unknown; with one to three times at once."""
    rng = np.random.default_rng(n_times)
    layout = Layout([Bernoulli(), *[TruncatedGamma()] * n_times])
    kinds = [(0.0, 0.3), (0.6, 1.0), (0.5, 0.51), (0.01, 0.97), (0.0, 1.0), (np.exp(-1.0 / 16.0), 1.0), (0.25, 0.25), (np.nan, np.nan)]
    drawn = np.array(kinds)[rng.integers(0, len(kinds), (60, n_times))]
    coins = rng.choice([0.0, 1.0, np.nan], size=(60, 1))
    cells = Cells.from_bounds(layout, np.hstack([coins, drawn[:, :, 0]]), np.hstack([coins, drawn[:, :, 1]]))
    parameters = random_parameters(layout, 9, rng)
    found = evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters)
    assert found[0] == pytest.approx(by_enumeration(parameters, cells).log_mass.sum(), rel=1e-11)


def test_threads_do_not_change_a_bit_and_pieces_hardly_anything(monkeypatch):
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 9, rng)
    cells, weights = random_cells(EVERY_UNIT, 500, rng), rng.normal(size=500)
    assert cells.n_rows << 9 >= exact._WORTH_THREADS

    def found(n_threads):
        return evaluated(LogMassSum([Term(cells, weights)], n_threads), parameters)

    one, two = found(1), found(2)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    monkeypatch.setattr(prepared, "_CHUNK_ROWS", 64)
    assert_same(found(2), one)
