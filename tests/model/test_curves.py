"""Survival, density, quantiles and joint survival, against log masses of the exact engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from harmonium.cells import Cells
from harmonium.engine.exact import log_mass
from tests.asking import density, joint_density, joint_survival, mean_position, quantile, survival
from tests.models import EVERY_UNIT, random_cells, random_parameters

FIRST, SECOND = 3, 4  # the endpoints' columns
RNG = np.random.default_rng(0)  # not used up to the exact limit


def with_own(cells, column, lower, upper):
    low, high = cells.bounds()
    low[:, column], high[:, column] = lower, upper
    return Cells.from_bounds(cells.layout, low, high)


def random_question(seed):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, int(rng.integers(0, 5)), rng, strength=0.7)
    return parameters, random_cells(EVERY_UNIT, 6, rng), rng


def interval_of(cells, column):
    lower, upper = cells.column(column)
    free = np.isnan(lower)
    return np.where(free, 0.0, lower), np.where(free, 1.0, upper)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_survival_is_a_ratio_of_masses(seed):
    parameters, cells, rng = random_question(seed)
    lower, upper = interval_of(cells, FIRST)
    unobserved = lower < upper
    positions = rng.uniform(0.01, 0.99, 5)
    found = survival(parameters, cells, FIRST, positions, RNG).mean
    base = log_mass(parameters, cells)
    for k, u in enumerate(positions):
        start = np.clip(u, lower, upper)
        inside = unobserved & (start < upper)
        beyond = log_mass(parameters, with_own(cells, FIRST, np.where(inside, start, lower), upper))
        expected = np.where(inside, np.exp(beyond - base), np.where(u < lower, 1.0, 0.0))
        np.testing.assert_allclose(found[:, k], expected, atol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_survival_starts_at_one_falls_and_ends_at_zero(seed):
    parameters, cells, _ = random_question(seed)
    curves = survival(parameters, cells, SECOND, np.linspace(0.0, 1.0, 33), RNG).mean
    assert (curves[:, 0] == 1.0).all()
    assert (np.diff(curves, axis=1) <= 1e-12).all()
    assert (curves[:, -1] == 0.0).all()


@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
@settings(max_examples=30, deadline=None)
def test_being_alive_at_s_divides_by_the_survival_until_s(seed, s):
    parameters, cells, _ = random_question(seed)
    free = with_own(cells, FIRST, np.nan, np.nan)
    positions = np.linspace(0.0, 1.0, 21)
    unconditional, until = (survival(parameters, free, FIRST, u, RNG).mean for u in (positions, np.array([s])))
    conditional = survival(parameters, with_own(cells, FIRST, s, 1.0), FIRST, positions, RNG).mean
    np.testing.assert_allclose(conditional, np.where(positions <= s, 1.0, unconditional / until), rtol=1e-8, atol=1e-12)


def test_rows_with_intervals_of_their_own_agree_with_one_at_a_time():
    """Points, open and closed intervals and gaps in one table: the shared table and the grouped ones give the same."""
    rng = np.random.default_rng(5)
    parameters = random_parameters(EVERY_UNIT, 4, rng)
    cells = random_cells(EVERY_UNIT, 200, rng)
    positions = np.linspace(0.0, 1.0, 9)
    together = survival(parameters, cells, FIRST, positions, RNG).mean
    apart = [survival(parameters, cells.part(slice(r, r + 1)), FIRST, positions, RNG).mean[0] for r in range(200)]
    np.testing.assert_allclose(together, apart, atol=1e-12)


def test_an_event_at_the_end_of_the_scale_is_an_event():
    """Nobody survives until there, so that dividing by the survival until then would be 0 / 0."""
    parameters = random_parameters(EVERY_UNIT, 2, np.random.default_rng(0))
    free = Cells.all_free(EVERY_UNIT, 3)
    cells = with_own(free, FIRST, [1.0, 0.5, 0.25], [1.0, 1.0, 0.25])
    positions = np.array([0.0, 0.25, 0.75, 1.0 - 1e-12, 1.0])
    curves = survival(parameters, cells, FIRST, positions, RNG).mean
    np.testing.assert_array_equal(curves[0], [1.0, 1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(curves[2], [1.0, 0.0, 0.0, 0.0, 0.0])
    apart = survival(parameters, cells.part(slice(1, 2)), FIRST, positions, RNG).mean
    np.testing.assert_allclose(curves[1:2], apart, rtol=1e-12)
    assert np.isnan(density(parameters, cells, FIRST, positions, RNG).mean[0]).all()
    np.testing.assert_array_equal(quantile(parameters, cells, FIRST, 0.5, RNG)[[0, 2]], [1.0, 0.25])


def test_survival_beyond_a_time_that_no_one_reaches():
    """Shares of 1e-300 and less, where dividing by the survival until s would be 0 / 0."""
    parameters = random_parameters(EVERY_UNIT, 2, np.random.default_rng(0))
    times = parameters.blocks[-1]
    times["a"][...], times["W"][...], times["V"][...], times["c"][...] = 5000.0, 100.0, 1.0, 0.0
    cells = with_own(Cells.all_free(EVERY_UNIT, 3), FIRST, 0.5, 1.0)
    positions = np.array([0.4, 0.5, 0.5 + 1e-4])
    curves = survival(parameters, cells, FIRST, positions, RNG).mean
    assert (curves[:, :2] == 1.0).all()
    exact = np.exp(log_mass(parameters, with_own(cells, FIRST, positions[2], 1.0)) - log_mass(parameters, cells))
    np.testing.assert_allclose(curves[:, 2], exact, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_density_is_the_slope_of_survival_and_means_agree(seed):
    parameters, cells, _ = random_question(seed)
    lower, upper = interval_of(cells, FIRST)
    known = lower == upper
    mean = mean_position(parameters, cells, FIRST, RNG).mean[:, 0]
    np.testing.assert_allclose(mean[known], lower[known])
    at = np.linspace(0.05, 0.95, 7)
    step = 1e-5
    found = density(parameters, cells, FIRST, at, RNG).mean
    assert np.isnan(found[known]).all()
    around = survival(parameters, cells, FIRST, np.concatenate([at - step, at + step]), RNG).mean
    slope = (around[:, :7] - around[:, 7:]) / (2.0 * step)
    smooth = (np.abs(at - lower[:, None]) > 2 * step) & (np.abs(at - upper[:, None]) > 2 * step)
    wide = (upper - lower > 1e-3)[:, None] & smooth
    np.testing.assert_allclose(found[wide], slope[wide], rtol=1e-4, atol=1e-5)
    for row in np.flatnonzero(~known & (upper - lower > 1e-3))[:2]:
        one = cells.part(slice(row, row + 1))
        area = quad(lambda u, one=one: survival(parameters, one, FIRST, np.array([u]), RNG).mean[0, 0], lower[row], upper[row])[0]
        np.testing.assert_allclose(mean[row], lower[row] + area, rtol=1e-6)


@given(st.integers(0, 10**6), st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_quantiles_invert_survival(seed, share):
    parameters, cells, _ = random_question(seed)
    positions = quantile(parameters, cells, FIRST, share, RNG)
    lower, upper = interval_of(cells, FIRST)
    wide = (upper - lower > 0.01) & (positions - lower > 0.002) & (upper - positions > 0.002)  # nearer, curves have a bend between points
    reached = survival(parameters, cells, FIRST, positions, RNG).mean.diagonal()
    np.testing.assert_allclose(reached[wide], 1.0 - share, atol=2e-5)
    np.testing.assert_array_equal(positions[lower == upper], lower[lower == upper])


def test_quantiles_of_many_rows_are_those_of_each():
    """Alone, a row needs one part of the fine grid; together they need many."""
    parameters, _, rng = random_question(7)
    cells = random_cells(EVERY_UNIT, 60, rng)
    for share in (0.001, 0.5, 0.999):
        together = quantile(parameters, cells, FIRST, share, RNG)
        apart = [quantile(parameters, cells.part(slice(r, r + 1)), FIRST, share, RNG)[0] for r in range(60)]
        np.testing.assert_allclose(together, apart, rtol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_joint_survival_agrees_with_masses_and_its_marginals(seed):
    parameters, cells, rng = random_question(seed)
    u = np.sort(rng.uniform(0.01, 0.99, 3))
    grid = np.array([0.0, *u])
    joint = joint_survival(parameters, cells, [FIRST, SECOND], [grid, grid], RNG).mean
    one, other = (survival(parameters, cells, column, grid, RNG).mean for column in (FIRST, SECOND))
    np.testing.assert_allclose(joint[:, :, 0], one, atol=1e-12)
    np.testing.assert_allclose(joint[:, 0, :], other, atol=1e-12)
    assert (joint <= np.minimum(one[:, :, None], other[:, None, :]) + 1e-12).all()
    assert (joint >= one[:, :, None] + other[:, None, :] - 1.0 - 1e-12).all()
    free = with_own(with_own(cells, FIRST, np.nan, np.nan), SECOND, np.nan, np.nan)
    beyond = with_own(with_own(free, FIRST, grid[2], 1.0), SECOND, grid[3], 1.0)
    both = joint_survival(parameters, free, [FIRST, SECOND], [grid, grid], RNG).mean
    np.testing.assert_allclose(both[:, 2, 3], np.exp(log_mass(parameters, beyond) - log_mass(parameters, free)), atol=1e-9)


def test_joint_density_integrates_to_a_marginal():
    rng = np.random.default_rng(1)
    parameters = random_parameters(EVERY_UNIT, 3, rng, strength=0.6)
    cells = with_own(with_own(random_cells(EVERY_UNIT, 4, rng), FIRST, np.nan, np.nan), SECOND, np.nan, np.nan)
    x, w = np.polynomial.legendre.leggauss(200)
    nodes, weights = 0.5 * (x + 1.0), 0.5 * w
    at = np.array([0.2, 0.6])
    joint = joint_density(parameters, cells, [FIRST, SECOND], [at, nodes], RNG).mean
    np.testing.assert_allclose(joint @ weights, density(parameters, cells, FIRST, at, RNG).mean, rtol=1e-8)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_conditioning_on_an_independent_endpoint_changes_nothing(seed):
    parameters, cells, rng = random_question(seed)
    own = parameters.blocks[-1]
    own["W"][1], own["V"][1] = 0.0, 0.0  # no hidden unit acts on the second endpoint
    positions = np.linspace(0.0, 1.0, 9)
    curves = [
        survival(parameters, with_own(cells, SECOND, *bounds), FIRST, positions, RNG).mean
        for bounds in ((np.nan, np.nan), (0.4, 0.4), (rng.uniform(0.1, 0.9), 1.0))
    ]
    np.testing.assert_allclose(curves[1], curves[0], atol=1e-10)
    np.testing.assert_allclose(curves[2], curves[0], atol=1e-10)
