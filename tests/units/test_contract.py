"""One test for what every unit promises; a new unit is covered by being registered and given an example here."""

import numpy as np
import pytest
from scipy.stats import chi2

from harmonium.numerics.streams import spawn
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma
from harmonium.units.contract import Canonical
from harmonium.units.registry import UNITS, draw, integrate, unit_code, write_statistics
from tests.brute_force import _rule
from tests.models import random_interval, random_value

EXAMPLES = [Bernoulli(), Categorical(2), Categorical(4), Gaussian(), TruncatedGamma()]
NAN = np.array(np.nan)


def random_natural(unit, rng):
    if isinstance(unit, Gaussian):
        return np.array([rng.normal(0.0, 2.0), rng.uniform(0.2, 2.0)])
    if isinstance(unit, TruncatedGamma):
        return np.array([rng.normal(0.0, 20.0), rng.exponential(5.0)])
    return rng.normal(0.0, 2.0, unit.n_statistics)


def random_constraints(unit, rng):
    point = random_value(unit, rng)
    return [(point, point), (np.nan, np.nan), *[random_interval(unit, rng) for _ in range(4)]]


def quadrature(unit, natural, lower, upper):
    x, weights = _rule(unit, lower, upper)
    return x, weights * np.exp(-unit.statistics(x) @ natural)


def test_every_unit_has_an_example():
    assert {type(unit) for unit in EXAMPLES} == set(UNITS)


@pytest.fixture(params=EXAMPLES, ids=str)
def unit(request):
    return request.param


@pytest.mark.parametrize("seed", range(5))
def test_log_mass_and_means_agree_with_quadrature(unit, seed):
    rng = np.random.default_rng(seed)
    natural = random_natural(unit, rng)
    for lower, upper in random_constraints(unit, rng):
        x, density = quadrature(unit, natural, lower, upper)
        low, high = np.array(lower), np.array(upper)
        assert unit.log_mass(natural, low, high) == pytest.approx(np.log(density.sum()), abs=1e-10)
        expected = density @ unit.statistics(x) / density.sum()
        np.testing.assert_allclose(unit.mean_statistics(natural, low, high), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", EXAMPLES, ids=repr)
def test_the_compiled_integral_is_log_mass_and_means(unit, seed):
    rng = np.random.default_rng(seed)
    natural = np.stack([random_natural(unit, rng) for _ in range(7)])
    for lower, upper in random_constraints(unit, rng)[1:]:
        low, high = unit.domain if np.isnan(lower) else (max(lower, unit.domain[0]), min(upper, unit.domain[1]))
        log_mass, means = np.empty(7), np.empty((2 + unit.n_statistics, 7))
        shifted = np.vstack([np.zeros((1, 7)), natural.T])
        integrate(unit_code(unit), shifted, 1, 1 + unit.n_statistics, low, high, log_mass, means, 2)
        np.testing.assert_allclose(log_mass, unit.log_mass(natural, np.array(lower), np.array(upper)), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(means[2:].T, unit.mean_statistics(natural, np.array(lower), np.array(upper)), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_means_are_minus_the_gradient_of_the_log_mass(unit, seed):
    rng = np.random.default_rng(seed)
    natural = random_natural(unit, rng)
    step = 1e-5 * np.eye(unit.n_statistics)
    for lower, upper in random_constraints(unit, rng):
        low, high = np.array(lower), np.array(upper)
        slope = (unit.log_mass(natural - step, low, high) - unit.log_mass(natural + step, low, high)) / 2e-5
        np.testing.assert_allclose(unit.mean_statistics(natural, low, high), slope, rtol=1e-6, atol=1e-7)


def test_covering_the_domain_says_nothing(unit):
    natural = random_natural(unit, np.random.default_rng(0))
    lower, upper = (np.array(bound) for bound in unit.domain)
    assert unit.log_mass(natural, lower, upper) == unit.log_mass(natural, NAN, NAN)
    np.testing.assert_array_equal(unit.mean_statistics(natural, lower, upper), unit.mean_statistics(natural, NAN, NAN))


def test_constraints_broadcast_against_parameters(unit):
    rng = np.random.default_rng(0)
    natural = np.stack([random_natural(unit, rng) for _ in range(6)]).reshape(2, 3, -1)
    lower, upper = (np.array(bounds)[:, None, None] for bounds in zip(*random_constraints(unit, rng), strict=True))
    together = unit.log_mass(natural, lower, upper)
    assert together.shape == (6, 2, 3)
    assert unit.mean_statistics(natural, lower, upper).shape == (6, 2, 3, unit.n_statistics)
    assert together[3, 1, 2] == unit.log_mass(natural[1, 2], lower[3, 0, 0], upper[3, 0, 0])


def test_compiled_statistics_are_the_statistics(unit):
    rng = np.random.default_rng(3)
    x = np.array([random_value(unit, rng) for _ in range(5)])
    out = np.full((unit.n_statistics + 2, 5), np.nan)
    write_statistics(unit_code(unit), x, out, 1, 1 + unit.n_statistics)
    assert np.isnan(out[[0, -1]]).all()
    np.testing.assert_allclose(out[1:-1], unit.statistics(x).T, rtol=1e-15)


def draws_of(unit, natural, lower, upper, n, rng):
    """Draws with the same parameters and bounds, each from a stream of its own."""
    bounds = unit.domain if np.isnan(lower) else (lower, upper)
    out = np.full(n, bounds[0])
    same = np.repeat(natural[:, None], n, axis=1)
    draw(unit_code(unit), same, 0, unit.n_statistics, np.full(n, bounds[0]), np.full(n, bounds[1]), spawn(rng, n), out)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_draws_stay_inside_and_follow_the_mean_statistics(unit, seed):
    rng = np.random.default_rng(seed)
    natural = random_natural(unit, rng)
    n = 4000
    for lower, upper in random_constraints(unit, rng):
        draws = draws_of(unit, natural, lower, upper, n, rng)
        if not np.isnan(lower) and lower < upper:
            assert (draws >= lower).all()
            assert (draws <= upper).all()
        if unit.discrete:
            assert set(draws) <= set(_rule(unit, lower, upper)[0])
        statistics = unit.statistics(draws)
        mean = unit.mean_statistics(natural, np.array(lower), np.array(upper))
        spread = statistics.std(axis=0, ddof=1)
        moving = spread > 1e-12 * np.abs(mean)
        z = (statistics.mean(axis=0) - mean)[moving] / spread[moving] * np.sqrt(n)
        np.testing.assert_allclose(statistics[0][~moving], mean[~moving], rtol=1e-9, atol=1e-12)
        assert np.sum(z**2) < chi2.isf(1e-5, z.size) if z.size else True


def test_a_missing_category_is_drawn_as_exactly_one_level():
    unit = Categorical(5)
    draws = draws_of(unit, np.array([0.0, 1.0, -1.0, 30.0, 0.0]), np.nan, np.nan, 500, np.random.default_rng(0))
    np.testing.assert_array_equal(unit.statistics(draws).sum(axis=-1), 1.0)
    assert set(draws) == {0.0, 1.0, 2.0, 4.0}


def _own(unit, n_columns, n_hidden, rng):
    own = {name: rng.normal(size=(n_columns, *shape)) for name, shape in unit.parameter_shapes(n_hidden).items()}
    for declared in unit.parameters:
        if declared.lowest > -np.inf:
            own[declared.name] = declared.lowest + np.exp(own[declared.name])
    return own


def test_pulling_back_is_the_chain_rule(unit):
    """For random weights of bias, coupling and constant, against central differences by each own parameter."""
    rng = np.random.default_rng(0)
    own = _own(unit, 2, 3, rng)
    natural = unit.canonical(own)
    weights = Canonical(rng.normal(size=natural.bias.shape), rng.normal(size=natural.coupling.shape), rng.normal())

    def weighted(parameters):
        c = unit.canonical(parameters)
        return np.sum(weights.bias * c.bias) + np.sum(weights.coupling * c.coupling) + weights.constant * c.constant

    pulled = unit.pull_back(own, weights)
    assert pulled.keys() == own.keys()
    for name, values in own.items():
        for index in np.ndindex(values.shape):
            moved = [{**own, name: values + sign * 1e-6 * (index == np.indices(values.shape).T).all(-1).T} for sign in (1, -1)]
            assert (weighted(moved[0]) - weighted(moved[1])) / 2e-6 == pytest.approx(pulled[name][index], rel=1e-6, abs=1e-8)


def test_own_parameters_invert_the_natural_form(unit):
    own = _own(unit, 2, 3, np.random.default_rng(0))
    natural = unit.canonical(own)
    back = unit.own_parameters(natural)
    for name, values in own.items():
        np.testing.assert_allclose(back[name], values, rtol=1e-12)
    assert len(unit.coupled) == unit.n_statistics
    assert (natural.coupling[:, ~np.array(unit.coupled)] == 0.0).all()


def test_uncoupled_constant_keeps_the_paper_energy():
    """The Gaussian's constant is what (x - a)^2 / (2 sigma^2) holds beyond x and x^2."""
    own = {"W": np.array([[0.5]]), "a": np.array([1.5]), "sigma": np.array([0.7])}
    natural = Gaussian().canonical(own)
    x, h = 0.3, 1.0
    energy = natural.constant + Gaussian().statistics(np.array(x)) @ (natural.bias[0] + natural.coupling[0, :, 0] * h)
    assert energy == pytest.approx(x / 0.7 * 0.5 * h + (x - 1.5) ** 2 / (2 * 0.7**2))


@pytest.mark.parametrize(("mean", "width"), [(30.0, 1e-12), (5.0, 1e-13), (100.0, 1e-10), (0.0, 1e-9)])
def test_narrow_gaussian_intervals_keep_their_digits(mean, width):
    natural = np.array([-mean, 0.5])
    found = Gaussian().log_mass(natural, np.array(0.0), np.array(width))
    assert found == pytest.approx(np.log(width) + 0.5 * mean * width, abs=1e-9)  # e^(mean x) in natural form


def test_initial_parameters_have_the_promised_shapes_and_stay_finite(unit):
    rng = np.random.default_rng(0)
    values = np.array([[random_value(unit, rng) for _ in range(3)] for _ in range(20)])
    values[::3, 0] = np.nan
    values[:, 1] = values[0, 1]  # a constant column
    values[:, 2] = np.nan  # a column never observed
    own = unit.initial_parameters(values, 4, rng)
    assert [(name, array.shape) for name, array in own.items()] == [(name, (3, *shape)) for name, shape in unit.parameter_shapes(4).items()]
    assert all(declared.refusal(own[declared.name]) is None for declared in unit.parameters)


def test_initial_biases_reproduce_the_shares():
    yes = np.repeat([1.0, 0.0], [30, 10])[:, None]
    own = Bernoulli().initial_parameters(yes, 0, np.random.default_rng(0))
    assert Bernoulli().mean_statistics(own["a"][:, None], NAN, NAN)[0, 0] == pytest.approx(0.75, abs=0.01)
    levels = np.repeat([0.0, 1.0, 2.0], [10, 20, 70])[:, None]
    own = Categorical(3).initial_parameters(levels, 0, np.random.default_rng(0))
    np.testing.assert_allclose(Categorical(3).mean_statistics(own["a"], NAN, NAN)[0], [0.1, 0.2, 0.7], atol=0.01)


def test_a_category_needs_two_levels():
    with pytest.raises(ValueError, match="at least 2 levels; got 1"):
        Categorical(1)


# --- declarations ---


def test_natural_parameters_are_the_declared_products(unit):
    """Bias and coupling of every statistic as coefficient * own * scale^power are what ``canonical`` says."""
    own = _own(unit, 2, 3, np.random.default_rng(0))
    natural = unit.canonical(own)
    declared_by_name = {declared.name: declared for declared in unit.parameters}

    def product(term, scale):
        if term is None:
            return 0.0
        factor = term.coefficient * (1.0 if scale is None else own[scale] ** term.power)
        if term.name is None:
            return factor
        values = own[term.name][:, term.place] if declared_by_name[term.name].shape else own[term.name]
        return values * (factor[:, None] if np.ndim(factor) and values.ndim == 2 else factor)

    assert len(unit.natural_parameters) == unit.n_statistics
    for d, declared in enumerate(unit.natural_parameters):
        np.testing.assert_allclose(natural.bias[:, d], product(declared.bias, declared.scale), rtol=1e-13)
        np.testing.assert_allclose(natural.coupling[:, d], product(declared.coupling, declared.scale), rtol=1e-13)


def test_declared_bounds_are_refused_and_kept(unit):
    for declared in unit.parameters:
        assert declared.smallest >= declared.lowest
        assert declared.refusal(np.array([declared.smallest, 1.0])) is None or declared.smallest == -np.inf
        assert declared.refusal(np.array([np.nan])) == f"parameters must be finite; found nan in {declared.name}"
        if declared.lowest > -np.inf:
            assert declared.name in declared.refusal(np.array([declared.lowest - 1.0]))
            assert (declared.refusal(np.array([declared.lowest])) is not None) == declared.exclusive
    for natural in unit.natural_parameters:
        if natural.compensated_by is not None:
            other = unit.natural_parameters[natural.compensated_by]
            assert other.bias_bounds == other.coupling_bounds == (-np.inf, np.inf)


def test_every_cell_with_a_value_has_a_representative_one(unit):
    rng = np.random.default_rng(0)
    values = np.array([[random_value(unit, rng)] for _ in range(10)])
    np.testing.assert_allclose(unit.representative_values(values, values), values, rtol=1e-12)
    lower, upper = (np.array(bounds)[:, None] for bounds in zip(*random_constraints(unit, rng), strict=True))
    found = unit.representative_values(lower, upper)
    assert np.isnan(found[1, 0])  # nothing is known
    known = found[~np.isnan(found)]
    assert ((known > unit.domain[0]) & (known <= unit.domain[1])).all()


def test_neutral_parameters_depend_on_nothing_but_the_values(unit):
    rng = np.random.default_rng(0)
    values = np.array([[random_value(unit, rng)] for _ in range(10)])
    once, again = unit.neutral_parameters(values), unit.neutral_parameters(values)
    assert all(np.array_equal(once[name], again[name]) for name in once)
    assert {name: array.shape for name, array in once.items()} == {name: (1, *shape) for name, shape in unit.parameter_shapes(0).items()}


def test_a_wide_start_keeps_the_bounds_of_couplings(unit):
    start = unit.wide_start(5, np.random.default_rng(0))
    assert start.shape == (unit.n_statistics, 5)
    for row, natural in zip(start, unit.natural_parameters, strict=True):
        assert (row >= natural.coupling_bounds[0]).all()
        assert (row <= natural.coupling_bounds[1]).all()
        assert natural.coupling is not None or (row == 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_means_over_nodes_are_means_over_all_values_in_every_state(unit, seed):
    rng = np.random.default_rng(seed)
    bias, coupling = random_natural(unit, rng), rng.normal(size=(unit.n_statistics, 2)) * np.array(unit.coupled)[:, None]
    nodes = unit.nodes(bias, coupling)
    assert unit.discrete or isinstance(unit, Gaussian) or not nodes.size
    for state in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]) if nodes.size else ():
        natural = bias + coupling @ np.array(state)
        density = np.exp(-unit.statistics(nodes) @ natural)
        mean = density @ unit.statistics(nodes) / density.sum()
        np.testing.assert_allclose(mean, unit.mean_statistics(natural, NAN, NAN), rtol=1e-4, atol=1e-4)
