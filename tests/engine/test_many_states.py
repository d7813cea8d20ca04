"""Sums by halves of the hidden units, which serve many states, against sums over all states at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine import exact, many_states, prepared
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, TruncatedGamma
from tests.engine.sums import by_enumeration, seeds, signed_sum
from tests.models import EVERY_UNIT, random_cells, random_parameters

NEVER, ALWAYS = 99, 0


def evaluated(total, parameters, fewest, n_low=7):
    """Value and gradient, by halves from some number of hidden units on, so many of which are low ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "FEWEST_UNITS", fewest)
        patch.setattr(many_states, "_LOW_UNITS", n_low)
        value, gradient = total.value_and_gradient(parameters)
    return value, gradient.to_vector()


def assert_same(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9 * np.abs(expected[1]).max())


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.3, 6.0))
@settings(max_examples=40)
def test_wherever_the_hidden_units_are_cut(seed, n_hidden, n_low, strength):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength)
    total = signed_sum(random_cells(EVERY_UNIT, 20, rng), rng)
    assert_same(evaluated(total, parameters, ALWAYS, n_low), evaluated(total, parameters, NEVER))


def test_from_the_number_of_units_at_which_it_begins():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, many_states.FEWEST_UNITS, rng)
    total = signed_sum(random_cells(EVERY_UNIT, 50, rng), rng)
    value, gradient = total.value_and_gradient(parameters)
    np.testing.assert_array_equal(gradient.to_vector(), evaluated(total, parameters, ALWAYS)[1])
    assert_same((value, gradient.to_vector()), evaluated(total, parameters, NEVER))


@pytest.mark.parametrize("n_times", [1, 2, 3])
def test_every_kind_of_interval(n_times):
    """From 0, to 1, inside a panel, over many panels, between edges, unknown; with one to three times at once."""
    rng = np.random.default_rng(n_times)
    layout = Layout([Bernoulli(), *[TruncatedGamma()] * n_times])
    kinds = [(0.0, 0.3), (0.6, 1.0), (0.5, 0.51), (0.01, 0.97), (0.0, 1.0), (np.exp(-1.0 / 16.0), 1.0), (0.25, 0.25), (np.nan, np.nan)]
    drawn = np.array(kinds)[rng.integers(0, len(kinds), (60, n_times))]
    coins = rng.choice([0.0, 1.0, np.nan], size=(60, 1))
    cells = Cells.from_bounds(layout, np.hstack([coins, drawn[:, :, 0]]), np.hstack([coins, drawn[:, :, 1]]))
    parameters = random_parameters(layout, 5, rng)
    found = evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters, ALWAYS, 3)
    assert found[0] == pytest.approx(by_enumeration(parameters, cells).log_mass.sum(), rel=1e-11)
    assert_same(found, evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters, NEVER))


def test_rows_that_tables_cannot_represent():
    """Sharp bells need finer panels, and scaled sums that underflow need logarithms."""
    layout = Layout([TruncatedGamma()])
    for own, hidden_bias in (((400.0, 200.0, 200.0, 40.0), 0.0), ((3000.0, 0.0, 1000.0, 0.0), -5.0)):
        W, V, a, c = own
        block = {"W": np.array([[W]]), "V": np.array([[V]]), "a": np.array([a]), "c": np.array([c])}
        parameters = Parameters(layout, np.array([hidden_bias]), (block,))
        lower = np.linspace(0.05, 0.9, 400)[:, None]
        cells = Cells.from_bounds(layout, lower, np.ones_like(lower))
        total = LogMassSum([Term.uniform(cells, 1.0)])
        found = evaluated(total, parameters, ALWAYS, 1)
        assert total._prepared.plan.grid.halvings.max() > 0 or W == 3000.0
        assert found[0] == pytest.approx(by_enumeration(parameters, cells).log_mass.sum(), rel=1e-10)
        assert_same(found, evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters, NEVER))


def test_threads_do_not_change_a_bit_and_pieces_hardly_anything(monkeypatch):
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, many_states.FEWEST_UNITS, rng)
    cells, weights = random_cells(EVERY_UNIT, 500, rng), rng.normal(size=500)
    assert cells.n_rows << many_states.FEWEST_UNITS >= exact._WORTH_THREADS

    def found(n_threads):
        value, gradient = LogMassSum([Term(cells, weights)], n_threads).value_and_gradient(parameters)
        return value, gradient.to_vector()

    one, two = found(1), found(2)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    monkeypatch.setattr(prepared, "_CHUNK_ROWS", 64)
    assert_same(found(2), one)


@given(seeds, st.integers(1, 2))
@settings(max_examples=40)
def test_extreme_shapes_rates_and_bounds(seed, n_times):
    """Shapes up to 1000, rates up to 1000 of either sign, in rows that share a matrix and in rows that are swept."""
    rng = np.random.default_rng(seed)
    layout = Layout([TruncatedGamma()] * n_times)
    shape, rate = 10.0 ** rng.uniform(0.0, 2.7, (2, n_times)) - 1.0, np.sinh(rng.uniform(-1, 1, (2, n_times)) * np.arcsinh(500.0))
    own = {"W": rate[0][:, None], "V": shape[0][:, None], "a": rate[1], "c": shape[1]}
    low = 10.0 ** rng.uniform(-3.0, -0.01, (12, n_times))
    high = np.where(rng.random(low.shape) < 0.5, 1.0, np.minimum(1.0, low * (1.0 + 10.0 ** rng.uniform(-4.0, 1.0, low.shape))))
    cells = Cells.from_bounds(layout, low, high)
    flat = by_enumeration(Parameters(layout, np.zeros(1), (own,)), cells).posterior
    balance = np.median(np.clip(np.log(flat[:, 1] + 1e-300) - np.log(flat[:, 0] + 1e-300), -600.0, 600.0))
    parameters = Parameters(layout, np.array([float(balance)]), (own,))
    expected = by_enumeration(parameters, cells)
    value, gradient = evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters, ALWAYS, 1)
    assert value == pytest.approx(expected.log_mass.sum(), rel=1e-9, abs=1e-8)
    assert_same((value, gradient), evaluated(LogMassSum([Term.uniform(cells, 1.0)]), parameters, NEVER))
