"""The sampled engine draws from what the exact engine integrates."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.annealing import annealed_log_mass
from harmonium.engine.enumeration import expected_statistics
from harmonium.engine.exact import log_mass
from harmonium.engine.gibbs import Chains
from harmonium.units import Bernoulli, TruncatedGamma
from tests.models import EVERY_UNIT, random_cells, random_parameters


def statistics_of(values):
    parts = [block.unit.statistics(values[:, block.columns]).reshape(values.shape[0], -1) for block in EVERY_UNIT.blocks]
    return np.concatenate(parts, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_exact_and_sampled_engines_agree(seed):
    """Posterior means of every statistic, within 4 Monte-Carlo standard errors from independent chains."""
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, int(rng.integers(1, 6)), rng, strength=0.6)
    cells = random_cells(EVERY_UNIT, 5, rng)
    n_chains = 2000
    chains = Chains.start(parameters, cells, rng, chains_per_row=n_chains)
    chains.sweep(parameters, n_sweeps=300)
    draws = [statistics_of(chains.values)]
    for _ in range(4):
        chains.sweep(parameters, n_sweeps=10)
        draws.append(statistics_of(chains.values))
    by_chain = np.mean(draws, axis=0).reshape(cells.n_rows, n_chains, -1)
    exact = expected_statistics(parameters, cells)
    error = by_chain.std(axis=1, ddof=1) / np.sqrt(n_chains)
    lower, upper = cells.bounds()
    observed = np.repeat(lower == upper, np.diff(EVERY_UNIT.offsets), axis=1)
    np.testing.assert_allclose(by_chain.mean(axis=1)[observed], exact[observed], rtol=1e-12)
    deviation = np.abs(by_chain.mean(axis=1) - exact)[~observed]
    # A level that is never drawn has no spread; one draw in all chains is then the resolution.
    resolution = 1.0 / n_chains / 4.0
    assert (deviation <= 4.0 * error[~observed] + resolution).all()


def test_samples_stay_in_their_cells_and_points_stay():
    rng = np.random.default_rng(1)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    cells = random_cells(EVERY_UNIT, 50, rng)
    lower, upper = cells.bounds()
    chains = Chains.start(parameters, cells, rng, chains_per_row=4)
    low, high = np.repeat(lower, 4, axis=0), np.repeat(upper, 4, axis=0)
    for _ in range(5):
        chains.sweep(parameters, n_sweeps=2)
        known = ~np.isnan(low)
        assert (chains.values[known] >= low[known]).all()
        assert (chains.values[known] <= high[known]).all()
        np.testing.assert_array_equal(chains.values[low == high], low[low == high])


def test_same_seed_gives_identical_samples_with_one_and_two_threads():
    rng = np.random.default_rng(2)
    parameters = random_parameters(EVERY_UNIT, 4, rng)
    cells = random_cells(EVERY_UNIT, 60, rng)

    def values(n_threads):
        chains = Chains.start(parameters, cells, np.random.default_rng(3), chains_per_row=10, n_threads=n_threads)
        chains.sweep(parameters, n_sweeps=7, n_threads=n_threads)
        return chains.values

    np.testing.assert_array_equal(values(1), values(2))


def test_a_chain_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(2)
    parameters = random_parameters(EVERY_UNIT, 4, rng)
    lower, upper = random_cells(EVERY_UNIT, 3, rng).bounds()

    def first_row(n_rows):
        cells = Cells.from_bounds(EVERY_UNIT, lower[:n_rows], upper[:n_rows])
        chains = Chains.start(parameters, cells, np.random.default_rng(3))
        chains.sweep(parameters, n_sweeps=20)
        return chains.values[0]

    np.testing.assert_allclose(first_row(1), first_row(3), rtol=1e-9)  # sums may be taken in another order


def test_two_stretches_of_sweeps_are_one_long_one():
    rng = np.random.default_rng(2)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    cells = random_cells(EVERY_UNIT, 5, rng)
    once, twice = (Chains.start(parameters, cells, np.random.default_rng(3)) for _ in range(2))
    once.sweep(parameters, n_sweeps=9)
    twice.sweep(parameters, n_sweeps=4)
    twice.sweep(parameters, n_sweeps=5)
    np.testing.assert_array_equal(once.values, twice.values)


def test_chains_begin_where_they_are_told():
    parameters = random_parameters(EVERY_UNIT, 3, np.random.default_rng(0))
    cells = Cells.all_free(EVERY_UNIT, 2)
    begin = np.array([[1.0, 2.0, 0.5, 0.3, 0.4], [0.0, 0.0, -1.0, 0.9, 0.1]])
    chains = Chains.start(parameters, cells, np.random.default_rng(0), values=begin)
    chains.sweep(parameters, n_sweeps=0)
    np.testing.assert_array_equal(chains.values, begin)
    natural = parameters.natural()
    expected = 1.0 / (1.0 + np.exp(natural.hidden_bias + statistics_of(begin) @ natural.coupling))
    np.testing.assert_allclose(chains.expected_hidden(), expected.T, rtol=1e-10)
    with pytest.raises(ValueError, match=r"values must have shape \(2, 5\); found \(1, 5\)"):
        Chains.start(parameters, cells, np.random.default_rng(0), values=begin[:1])


@pytest.mark.parametrize(("n_hidden", "seed"), [(1, 0), (3, 1), (6, 2), (9, 3), (12, 4)])
def test_annealing_agrees_with_enumeration_within_its_stated_error(n_hidden, seed):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength=0.5)
    partly = random_cells(EVERY_UNIT, 2, rng)
    for cells in (Cells.all_free(EVERY_UNIT), partly):
        estimate, error = annealed_log_mass(parameters, cells, rng, n_chains=200)
        assert (error < 0.2).all()
        deviation = np.abs(estimate - log_mass(parameters, cells))
        assert (deviation <= 4.0 * error + 1e-9).all()


def test_the_sampled_engine_serves_where_enumeration_cannot():
    layout = Layout([Bernoulli(), TruncatedGamma(), TruncatedGamma()])
    rng = np.random.default_rng(0)
    parameters = random_parameters(layout, 40, rng, strength=0.1)
    cells = Cells.from_bounds(layout, [[np.nan, 0.3, 0.2]], [[np.nan, 1.0, 0.2]])
    chains = Chains.start(parameters, cells, rng, chains_per_row=10)
    chains.sweep(parameters, n_sweeps=20)
    assert (chains.values[:, 1] > 0.3).all()
    estimates = [annealed_log_mass(parameters, Cells.all_free(layout), np.random.default_rng(s)) for s in (1, 2)]
    (first, first_error), (second, second_error) = estimates
    assert abs(first - second) <= 4.0 * np.hypot(first_error, second_error)


def test_an_annealed_mass_depends_on_the_row_and_the_seed_alone():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 20, rng, strength=0.2)
    cells = random_cells(EVERY_UNIT, 4, rng)

    def estimate(chosen):
        return np.stack(annealed_log_mass(parameters, cells.part(chosen), np.random.default_rng(1), n_chains=10, n_steps=20))

    together, order = estimate(np.arange(4)), np.array([2, 0, 3, 1, 2])
    np.testing.assert_array_equal(estimate(order), together[:, order])
    for row in range(4):
        np.testing.assert_array_equal(estimate(np.array([row])), together[:, [row]])


def test_annealing_refuses_a_single_chain():
    parameters = random_parameters(EVERY_UNIT, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="at least 2 chains"):
        annealed_log_mass(parameters, Cells.all_free(EVERY_UNIT), np.random.default_rng(0), n_chains=1)


@pytest.mark.parametrize(("value", "message"), [(7.0, r"must lie in \(-1, 2\]"), (np.nan, "must not be missing")])
def test_impossible_beginnings_are_refused(value, message):
    parameters = random_parameters(EVERY_UNIT, 3, np.random.default_rng(0))
    begin = np.array([[1.0, value, 0.5, 0.3, 0.4]])
    with pytest.raises(ValueError, match=message):
        Chains.start(parameters, Cells.all_free(EVERY_UNIT), np.random.default_rng(0), values=begin)


def test_sweeps_of_another_model_are_refused():
    rng = np.random.default_rng(0)
    chains = Chains.start(random_parameters(EVERY_UNIT, 3, rng), Cells.all_free(EVERY_UNIT), rng)
    assert np.isnan(chains.fields).all()
    with pytest.raises(ValueError, match="have 3 hidden units; found parameters with 1"):
        chains.sweep(random_parameters(EVERY_UNIT, 1, rng), 2)
    with pytest.raises(ValueError, match="the same layout"):
        chains.sweep(random_parameters(Layout([Bernoulli()]), 3, rng), 2)
    with pytest.raises(ValueError, match="n_sweeps must be a whole number"):
        chains.sweep(random_parameters(EVERY_UNIT, 3, rng), -1)
    with pytest.raises(ValueError, match="chains_per_row must be at least 1"):
        Chains.start(random_parameters(EVERY_UNIT, 3, rng), Cells.all_free(EVERY_UNIT), rng, chains_per_row=0)
