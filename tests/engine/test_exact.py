"""Laws of the exact engine."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine import exact, prepared
from harmonium.engine.enumeration import expected_statistics
from harmonium.engine.exact import LogMassSum, Term, log_mass, posterior
from harmonium.engine.gibbs import Chains
from harmonium.engine.panels import Grid
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import hidden_states
from harmonium.units import Bernoulli, TruncatedGamma
from tests import brute_force
from tests.engine.sums import by_enumeration, seeds, signed_sum
from tests.gbsg2 import LAYOUT as GBSG2_LAYOUT
from tests.gbsg2 import gbsg2_cells
from tests.models import EVERY_UNIT, random_cells, random_parameters
from tests.straightforward import ConditionalObjective

# --- right ---


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_hidden", [0, 1, 3])
def test_log_mass_agrees_with_brute_force(seed, n_hidden):
    rng = np.random.default_rng([seed, n_hidden])
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng)
    cells = random_cells(EVERY_UNIT, 4, rng, most_unobserved_continuous=2)
    expected = [brute_force.log_mass(parameters, lower, upper) for lower, upper in zip(*cells.bounds(), strict=True)]
    np.testing.assert_allclose(log_mass(parameters, cells), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_enumeration(parameters, cells).log_mass, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_hidden", [0, 2, 5])
def test_gradient_agrees_with_central_differences(seed, n_hidden):
    rng = np.random.default_rng([seed, n_hidden])
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength=0.7)
    total = signed_sum(random_cells(EVERY_UNIT, 30, rng), rng)
    _, gradient = total.value_and_gradient(parameters)
    vector, slope = parameters.to_vector(), gradient.to_vector()
    for i in range(vector.size):
        # Fourth order, so that the difference itself is accurate enough for 1e-6.
        h = 1e-3 * max(1.0, abs(vector[i]))
        h = min(h, 0.25 * abs(vector[i])) if abs(vector[i]) > 1e-3 else h  # V, c and sigma must keep their sign
        shifted = [vector + k * h * (np.arange(vector.size) == i) for k in (-2, -1, 1, 2)]
        values = [total.value_and_gradient(parameters.with_vector(s))[0] for s in shifted]
        difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert difference == pytest.approx(slope[i], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("n_hidden", [4, 8])
def test_conditional_objective_on_real_data_agrees_with_straightforward_enumeration(n_hidden):
    rng = np.random.default_rng(n_hidden)
    cells = gbsg2_cells()
    parameters = random_parameters(GBSG2_LAYOUT, n_hidden, rng, strength=0.3)
    fast = LogMassSum([Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)])
    value, gradient = fast.value_and_gradient(parameters)
    expected, expected_gradient = ConditionalObjective(GBSG2_LAYOUT, *cells.bounds()).value_and_gradient(parameters)
    assert value == pytest.approx(expected, rel=1e-9)
    scale = np.abs(expected_gradient.to_vector()).max()
    np.testing.assert_allclose(gradient.to_vector(), expected_gradient.to_vector(), rtol=1e-9, atol=1e-9 * scale)


@given(seeds, st.integers(0, 6), st.floats(0.3, 6.0))
@settings(max_examples=40)
def test_shared_integrals_agree_with_one_integral_for_each_cell(seed, n_hidden, strength):
    """Whatever the parameters, as large as they may get: no row is dropped and none is wrong."""
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength)
    cells = random_cells(EVERY_UNIT, 20, rng)
    expected = by_enumeration(parameters, cells)
    np.testing.assert_allclose(log_mass(parameters, cells), expected.log_mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(posterior(parameters, cells), expected.posterior, rtol=1e-7, atol=1e-9)


def test_rows_that_tables_cannot_represent_are_summed_in_log_space():
    """All states but a very unlikely one are ruled out by e^-1000: scaled sums underflow."""
    layout = Layout([TruncatedGamma()])
    own = {"W": np.array([[3000.0]]), "V": np.array([[0.0]]), "a": np.array([1000.0]), "c": np.array([0.0])}
    parameters = Parameters(layout, np.array([-5.0]), (own,))
    cells = Cells.from_bounds(layout, [[0.5], [0.9], [0.001]], [[1.0], [1.0], [0.002]])
    expected = by_enumeration(parameters, cells).log_mass
    assert expected.min() < -800.0
    np.testing.assert_allclose(log_mass(parameters, cells), expected, rtol=1e-12)
    _, gradient = LogMassSum([Term.uniform(cells, 1.0)]).value_and_gradient(parameters)
    assert gradient.blocks[0]["a"][0] == pytest.approx(-expected_statistics(parameters, cells)[:, 0].sum(), rel=1e-9)


def test_the_grid_is_refined_for_sharp_densities():
    """Narrow bells need finer panels; most rows must then come from the table, not from the fallback."""
    layout = Layout([TruncatedGamma()])
    own = {"W": np.array([[400.0]]), "V": np.array([[200.0]]), "a": np.array([200.0]), "c": np.array([40.0])}
    parameters = Parameters(layout, np.array([0.0]), (own,))
    lower = np.linspace(0.05, 0.9, 400)[:, None]
    cells = Cells.from_bounds(layout, lower, np.ones_like(lower))
    total = LogMassSum([Term.uniform(cells, 1.0)])
    value, _ = total.value_and_gradient(parameters)
    assert total._prepared.plan.grid.halvings.max() > 0
    assert value == pytest.approx(by_enumeration(parameters, cells).log_mass.sum(), rel=1e-10)


EXTREMES = [(1.0, -1000.0), (1.0, 1000.0), (61.0, 0.0), (100.0, 1000.0), (1000.0, -1000.0), (1000.0, 1000.0), (29.0, 76.0), (58.233, 76.31)]


@pytest.mark.parametrize(("alpha", "beta"), EXTREMES)
@pytest.mark.parametrize("smallest", [None, 0.5, 1e-3, 1e-12])
def test_free_times_are_accurate_whatever_else_is_in_the_table(alpha, beta, smallest):
    """ln Z and every denominator rest on free cells; with and without intervals that make the grid finer."""
    layout = Layout([TruncatedGamma()])
    own = {"W": np.array([[0.3 * beta]]), "V": np.array([[0.1 * alpha]]), "a": np.array([beta]), "c": np.array([alpha - 1.0])}
    parameters = Parameters(layout, np.array([0.5]), (own,))
    lower, upper = [[np.nan], [0.7]], [[np.nan], [0.7]]
    if smallest is not None:
        lower, upper = [*lower, [smallest]], [*upper, [1.0]]
    cells = Cells.from_bounds(layout, lower, upper)
    expected = by_enumeration(parameters, cells)
    np.testing.assert_allclose(log_mass(parameters, cells), expected.log_mass, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(posterior(parameters, cells), expected.posterior, atol=1e-9)
    value, gradient = LogMassSum([Term.uniform(cells, 1.0)]).value_and_gradient(parameters)
    assert value == pytest.approx(expected.log_mass.sum(), rel=1e-10)
    assert gradient.blocks[0]["a"][0] == pytest.approx(-expected.statistics[:, 0].sum(), rel=1e-9)
    assert gradient.blocks[0]["V"][0, 0] == pytest.approx(-expected.products[:, 1, 0].sum(), rel=1e-8, abs=1e-9)


@given(seeds)
@settings(max_examples=60)
def test_extreme_shapes_rates_and_bounds(seed):
    """Two hidden states, shapes up to 1000, rates up to 1000 of either sign, bounds from 1e-3, free cells and points among them."""
    rng = np.random.default_rng(seed)
    layout = Layout([TruncatedGamma()])
    shape, rate = 10.0 ** rng.uniform(0.0, 2.7, 2) - 1.0, np.sinh(rng.uniform(-1, 1, 2) * np.arcsinh(500.0))
    own = {"W": np.array([[rate[0]]]), "V": np.array([[shape[0]]]), "a": rate[1:], "c": shape[1:]}
    low = 10.0 ** rng.uniform(-3.0, -0.01, 12)
    high = np.where(rng.random(12) < 0.5, 1.0, np.minimum(1.0, low * (1.0 + 10.0 ** rng.uniform(-4.0, 1.0, 12))))
    low[:3] = high[:3] = np.nan
    low[3] = high[3] = 0.4
    cells = Cells.from_bounds(layout, low[:, None], high[:, None])
    flat = Parameters(layout, np.zeros(1), (own,))
    # Balance the two states at a row, where errors in either would show.
    balance = log_mass(Parameters(layout, np.array([700.0]), (own,)), cells) - by_enumeration(flat, cells).log_mass
    parameters = Parameters(layout, np.array([float(np.median(balance))]), (own,))
    expected = by_enumeration(parameters, cells)
    np.testing.assert_allclose(log_mass(parameters, cells), expected.log_mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(posterior(parameters, cells), expected.posterior, atol=1e-8)


def test_an_interpolated_factor_below_zero_does_not_pass_unseen():
    layout = Layout([TruncatedGamma()])
    own = {"W": np.array([[1000.0]]), "V": np.array([[61.0]]), "a": np.zeros(1), "c": np.zeros(1)}
    parameters = Parameters(layout, np.array([-239.6]), (own,))
    cells = Cells.from_bounds(layout, [[0.03411], [0.0005]], [[0.03582], [1.0]])
    expected = by_enumeration(parameters, cells)
    np.testing.assert_allclose(log_mass(parameters, cells), expected.log_mass, rtol=1e-9)
    np.testing.assert_allclose(posterior(parameters, cells), expected.posterior, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_all_free_rows_agree_with_brute_force(seed):
    """ln Z itself."""
    rng = np.random.default_rng(seed)
    layout = Layout([TruncatedGamma(), Bernoulli(), TruncatedGamma()])  # interleaved
    parameters = random_parameters(layout, 2, rng)
    nothing = np.full(3, np.nan)
    expected = brute_force.log_mass(parameters, nothing, nothing)
    np.testing.assert_allclose(log_mass(parameters, Cells.all_free(layout)), expected, rtol=1e-9, atol=1e-9)


# --- the machinery ---


def test_threads_and_memory_limits_do_not_change_a_bit(monkeypatch):
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 4, rng)
    cells = random_cells(EVERY_UNIT, 400, rng)
    lower, upper = (np.tile(bounds, (40, 1)) for bounds in cells.bounds())
    cells = Cells.from_bounds(EVERY_UNIT, lower, upper)
    weights = rng.normal(size=cells.n_rows)
    assert cells.n_rows << 4 >= exact._WORTH_THREADS

    def vector(n_threads):
        value, gradient = LogMassSum([Term(cells, weights)], n_threads).value_and_gradient(parameters)
        return np.append(gradient.to_vector(), value)

    one, two = vector(1), vector(2)
    np.testing.assert_array_equal(one, two)
    monkeypatch.setattr(prepared, "_KEPT_BYTES", 0)
    np.testing.assert_array_equal(vector(2), one)
    np.testing.assert_array_equal(log_mass(parameters, cells, n_threads=1), log_mass(parameters, cells, n_threads=2))


def test_what_all_sums_keep_is_limited_and_given_back(monkeypatch):
    rng = np.random.default_rng(0)
    cells, parameters = random_cells(EVERY_UNIT, 100, rng), random_parameters(EVERY_UNIT, 3, rng)

    def evaluated():
        total = LogMassSum([Term.uniform(cells, 1.0)], 1)
        return total, total.value_and_gradient(parameters)[1].to_vector()

    gc.collect()
    before = prepared._BY_ALL.n_bytes
    first, gradient = evaluated()
    kept = prepared._BY_ALL.n_bytes - before
    assert kept > 0
    monkeypatch.setattr(prepared, "_KEPT_BY_ALL", before + kept)
    second, same = evaluated()
    assert prepared._BY_ALL.n_bytes == before + kept
    np.testing.assert_array_equal(same, gradient)
    del first, second
    gc.collect()
    assert prepared._BY_ALL.n_bytes == before


def test_evaluating_twice_gives_the_same():
    rng = np.random.default_rng(0)
    total = signed_sum(random_cells(EVERY_UNIT, 30, rng), rng)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    first, second = (total.value_and_gradient(parameters) for _ in range(2))
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1].to_vector(), second[1].to_vector())


def test_parameters_survive_the_way_through_a_vector():
    parameters = random_parameters(EVERY_UNIT, 3, np.random.default_rng(0))
    back = parameters.with_vector(parameters.to_vector())
    for block, other in zip(parameters.blocks, back.blocks, strict=True):
        for name in block:
            np.testing.assert_array_equal(block[name], other[name])


def test_panels_reach_from_nearly_zero_to_one():
    grid = Grid.covering(0.003)
    assert grid.edges[-1] == 1.0
    assert grid.edges[0] < 1e-15
    assert (np.diff(grid.edges) > 0.0).all()


@pytest.mark.parametrize("function", [log_mass, posterior])
@pytest.mark.parametrize("n_hidden", [15, 70])
def test_too_many_hidden_units_are_refused_with_advice(function, n_hidden):
    layout = Layout([Bernoulli()])
    parameters = random_parameters(layout, n_hidden, np.random.default_rng(0))
    with pytest.raises(ValueError, match=rf"at most 14 hidden units .*; found {n_hidden}\. Use the sampled engine"):
        function(parameters, Cells.all_free(layout))
    assert hidden_states(14).shape == (2**14, 14)


def test_one_sum_may_be_evaluated_from_several_threads():
    """One thread refines the grid while another is at work."""
    layout = Layout([TruncatedGamma()])
    lower = np.linspace(0.05, 0.9, 3000)[:, None]
    total = LogMassSum([Term.uniform(Cells.from_bounds(layout, lower, np.ones_like(lower)), 1.0)], n_threads=1)

    def evaluate(strength):
        own = {"W": np.array([[4.0]]), "V": np.array([[2.0]]), "a": np.array([2.0]), "c": np.array([0.4])}
        parameters = Parameters(layout, np.zeros(1), ({name: strength * a for name, a in own.items()},))
        return total.value_and_gradient(parameters)[0]

    strengths = [1.0, 100.0] * 6
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(evaluate, strengths))
    np.testing.assert_allclose(together[2:], together[:2] * 5, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"V": np.array([[-1.0]])}, "V must be at least 0; found -1"),
        ({"a": np.array([np.nan])}, "parameters must be finite; found nan in a"),
        ({"c": np.array([np.inf])}, "parameters must be finite; found inf in c"),
    ],
)
def test_parameters_outside_their_bounds_are_refused(change, message):
    layout = Layout([TruncatedGamma()])
    own = {"W": np.zeros((1, 1)), "V": np.zeros((1, 1)), "a": np.zeros(1), "c": np.zeros(1), **change}
    parameters = Parameters(layout, np.zeros(1), (own,))
    cells = Cells.all_free(layout)
    for function in (log_mass, posterior, expected_statistics, lambda p, c: Chains.start(p, c, np.random.default_rng(0))):
        with pytest.raises(ValueError, match=message):
            function(parameters, cells)


def test_mismatched_arguments_are_refused():
    layout, other = Layout([TruncatedGamma()]), Layout([Bernoulli()])
    rng = np.random.default_rng(0)
    parameters = random_parameters(other, 1, rng)
    cells = Cells.all_free(layout, 3)
    with pytest.raises(ValueError, match="the same layout"):
        log_mass(parameters, cells)
    with pytest.raises(ValueError, match=r"one weight per row, 3; found shape \(2,\)"):
        Term(cells, np.ones(2))
    with pytest.raises(ValueError, match="at least one term"):
        LogMassSum([])
    with pytest.raises(ValueError, match="1 or more, -1 or None for all cores, -2 for all but one; found 0"):
        log_mass(random_parameters(layout, 1, rng), cells, n_threads=0)
    with pytest.raises(TypeError, match=r"made of units, which are instances"):
        Layout([TruncatedGamma])
    with pytest.raises(ValueError, match=r"the vector must have 2 elements|the vector must have 3 elements"):
        parameters.with_vector(np.zeros(9))
