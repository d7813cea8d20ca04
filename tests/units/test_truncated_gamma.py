"""The two kernels everything rests on: the integral of a truncated gamma, and a draw from it."""

from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kstest

from harmonium.numerics.streams import spawn
from harmonium.units.truncated_gamma import _draws, interval_mass, sample

ORACLE = np.genfromtxt(Path(__file__).parents[1] / "data" / "interval_gamma.csv", delimiter=",", names=True)

shapes = st.one_of(st.just(1.0), st.floats(1.0, 1000.0), st.floats(0.0, 3.0).map(lambda e: 10.0**e))
rates = st.one_of(st.just(0.0), st.floats(-1000.0, 1000.0), st.floats(-3.0, 3.0))


@st.composite
def intervals(draw):
    """Intervals of every width, from 1e-9 of their position to the whole domain."""
    lower = draw(st.one_of(st.just(0.0), st.floats(1e-6, 0.999), st.floats(-6.0, -0.01).map(lambda e: 10.0**e)))
    upper = draw(st.one_of(st.just(1.0), st.floats(0.001, 1.0), st.floats(-9.0, 0.0).map(lambda e: min(1.0, lower * (1.0 + 10.0**e)))))
    assume(lower < upper)
    return lower, upper


# --- the integral ---


def test_every_row_of_the_oracle_is_met():
    log_mass, mean_log_x, mean_x = interval_mass(ORACLE["alpha"], ORACLE["beta"], ORACLE["lower"], ORACLE["upper"])
    assert ORACLE.size == 400
    np.testing.assert_array_less(np.abs(log_mass - ORACLE["log_mass"]), 1e-12 * np.maximum(1.0, np.abs(ORACLE["log_mass"])))
    np.testing.assert_allclose(mean_log_x, ORACLE["mean_log_x"], rtol=1e-11)
    np.testing.assert_allclose(mean_x, ORACLE["mean_x"], rtol=1e-11)


@pytest.mark.parametrize("seed", range(12))
def test_fresh_cases_agree_with_arbitrary_precision(seed):
    rng = np.random.default_rng(seed)
    alpha, beta = 10.0 ** rng.uniform(0, 3), np.sinh(rng.uniform(-7.6, 7.6))
    lower = rng.choice([0.0, rng.random()])
    upper = rng.choice([1.0, lower + (1.0 - lower) * rng.random(), min(1.0, lower * (1 + 10.0 ** -rng.uniform(2, 7)) + 1e-9)])
    with mpmath.workdps(40):
        a, b = mpmath.mpf(alpha), mpmath.mpf(beta)
        peak = min(max((a - 1) / b if b > 0 else mpmath.mpf(upper), mpmath.mpf(lower)), mpmath.mpf(upper))
        peak = max(peak, mpmath.mpf("1e-30"))

        log_peak = (a - 1) * mpmath.log(peak) - b * peak

        def density(x):
            return mpmath.exp((a - 1) * mpmath.log(x) - b * x - log_peak) if x > 0 else mpmath.mpf(a == 1) * mpmath.exp(-log_peak)

        reach = [peak + s * k / (mpmath.sqrt(a) / peak + abs((a - 1) / peak - b)) for s in (-1, 1) for k in (1, 3, 10, 30)]
        cuts = sorted({mpmath.mpf(lower), mpmath.mpf(upper), peak, *(c for c in reach if lower < c < upper)})
        mass = mpmath.quad(density, cuts)
        expected = (
            mpmath.log(mass) + (a - 1) * mpmath.log(peak) - b * peak,
            mpmath.quad(lambda x: density(x) * mpmath.log(x) if x > 0 else 0, cuts) / mass,
            mpmath.quad(lambda x: density(x) * x, cuts) / mass,
        )
    found = interval_mass(alpha, beta, lower, upper)
    np.testing.assert_allclose(found, [float(e) for e in expected], rtol=1e-11, atol=1e-12)


@given(shapes, rates, intervals(), st.floats(0.1, 0.9))
def test_masses_of_adjacent_intervals_add_up(alpha, beta, interval, share):
    lower, upper = interval
    middle = lower + share * (upper - lower)
    assume(lower < middle < upper)
    whole = interval_mass(alpha, beta, lower, upper)[0]
    parts = interval_mass(alpha, beta, [lower, middle], [middle, upper])[0]
    # Cutting a narrow interval rounds the cut, which shifts mass by about eps / width.
    rounding = 4e-16 * upper / (upper - lower)
    assert np.logaddexp(*parts) == pytest.approx(whole, abs=1e-11 + 1e-12 * abs(whole) + rounding)


@given(shapes, rates, intervals())
def test_moments_are_derivatives_of_the_log_mass(alpha, beta, interval):
    lower, upper = interval
    h = 1e-4 * np.sqrt(alpha)
    up, down = interval_mass(alpha + 2 * h + np.array([h, -h]), beta, lower, upper)[0]
    _, mean_log_x, _ = interval_mass(alpha + 2 * h, beta, lower, upper)
    assert (up - down) / (2 * h) == pytest.approx(mean_log_x, rel=1e-6, abs=1e-6)
    k = 1e-4 * max(1.0, abs(beta))
    up, down = interval_mass(alpha, beta + np.array([k, -k]), lower, upper)[0]
    _, _, mean_x = interval_mass(alpha, beta, lower, upper)
    assert (down - up) / (2 * k) == pytest.approx(mean_x, rel=1e-6, abs=1e-6)


@given(shapes, rates, intervals())
def test_recurrence_in_the_shape(alpha, beta, interval):
    """β I(α+1) = α I(α) − [x^α e^(−βx)], which integration by parts gives; divided by the largest term."""
    lower, upper = interval
    log_mass = interval_mass(alpha, beta, lower, upper)[0]
    log_next = interval_mass(alpha + 1.0, beta, lower, upper)[0]
    at = [alpha * np.log(x) - beta * x if x > 0 else -np.inf for x in (lower, upper)]
    scale = max(np.log(alpha) + log_mass, *at)
    left = beta * np.exp(log_next - scale)
    right = alpha * np.exp(log_mass - scale) - (np.exp(at[1] - scale) - np.exp(at[0] - scale))
    assert left == pytest.approx(right, abs=1e-11 * (1 + max(abs(t) for t in at if np.isfinite(t)) / 1000))


@given(shapes, rates, intervals(), st.floats(0.01, 0.99))
def test_mass_grows_with_the_interval_and_means_stay_inside(alpha, beta, interval, share):
    lower, upper = interval
    middle = lower + share * (upper - lower)
    assume(lower < middle < upper)
    whole, mean_log_x, mean_x = interval_mass(alpha, beta, lower, upper)
    tolerance = 1e-12 * max(1.0, abs(whole))
    assert interval_mass(alpha, beta, lower, middle)[0] <= whole + tolerance
    assert interval_mass(alpha, beta, middle, upper)[0] <= whole + tolerance
    assert lower * (1 - 1e-14) <= mean_x <= upper * (1 + 1e-14)
    assert mean_log_x <= np.log(mean_x) + 1e-14


@given(shapes, intervals())
def test_power_law_when_the_rate_is_zero(alpha, interval):
    lower, upper = interval
    # (t^a - s^a)/a, written so that nothing cancels
    narrow = alpha * np.log1p((lower - upper) / upper) if lower > 0.0 else -np.inf
    expected = alpha * np.log(upper) + np.log(-np.expm1(narrow)) - np.log(alpha)
    assert interval_mass(alpha, 0.0, lower, upper)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(rates, intervals())
def test_exponential_when_the_shape_is_one(beta, interval):
    lower, upper = interval
    start = lower if beta > 0 else upper
    length = upper - lower
    steepness = abs(beta) * length
    factor = 1.0 if steepness < 1e-300 else -np.expm1(-steepness) / steepness
    expected = -beta * start + np.log(length) + np.log(factor)
    assert interval_mass(1.0, beta, lower, upper)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_arguments_broadcast():
    log_mass, mean_log_x, mean_x = interval_mass(np.ones((3, 1)), 2.0, [0.1, 0.2], 1.0)
    assert log_mass.shape == mean_log_x.shape == mean_x.shape == (3, 2)
    assert np.ndim(interval_mass(2, 1, 0, 1)[0]) == 0
    assert sample(np.ones((3, 1)), 2.0, [0.1, 0.2], 1.0, np.random.default_rng(0)).shape == (3, 2)
    assert interval_mass(np.ones(0), 1.0, 0.0, 1.0)[0].shape == (0,)


# --- the sampler ---

NAMED = [(29.0, 76.0), (8.0, 58.0), (8.127, 28.508), (58.233, 76.310)]
CASES = [
    *[(alpha, beta, 0.0, 1.0) for alpha in (1.0, 1.5, 30.0, 1000.0) for beta in (-1000.0, -5.0, 0.0, 5.0, 1000.0)],
    *[(alpha, beta, lower, 1.0) for alpha, beta in NAMED for lower in (0.0, 0.3, 0.75, 0.95)],
    *[(alpha, beta, 0.95, 1.0) for alpha in (1.0, 1000.0) for beta in (-1000.0, 0.0, 1000.0)],
    *[(alpha, beta, 0.4, 0.4001) for alpha, beta in NAMED],
    (1.0 + 1e-9, 2.0, 0.0, 0.5),
]


def _cdf(alpha, beta, lower, upper):
    total = interval_mass(alpha, beta, lower, upper)[0]

    def cdf(x):
        inside = np.clip(x, np.nextafter(lower, 1.0), upper)
        return np.exp(interval_mass(alpha, beta, lower, inside)[0] - total)

    return cdf


@pytest.mark.parametrize(("alpha", "beta", "lower", "upper"), CASES)
def test_draws_follow_the_density(alpha, beta, lower, upper):
    draws = sample(np.full(4000, alpha), beta, lower, upper, np.random.default_rng(7))
    assert draws.min() >= lower
    assert draws.max() <= upper
    assert (draws > 0.0).all()
    # 47 tests at level 1e-4: a wrong sampler fails, a right one does not by chance
    assert kstest(draws, _cdf(alpha, beta, lower, upper)).pvalue > 1e-4


def test_there_are_enough_parameter_sets():
    assert len(CASES) >= 40


def test_equal_neighbours_share_a_hat_and_draw_the_same():
    """A hat kept for the next draw must not change what is drawn."""
    alpha = np.repeat([5.0, 8.0, 5.0], 4)
    together = sample(alpha, 3.0, 0.0, 1.0, np.random.default_rng(1))
    apart = sample(alpha + np.arange(12) * 1e-13, 3.0, 0.0, 1.0, np.random.default_rng(1))
    np.testing.assert_allclose(together, apart, rtol=1e-9)


def test_acceptance_is_high_whatever_the_parameters():
    rng = np.random.default_rng(11)
    n_sets, n_draws = 5000, 200
    alpha = 10.0 ** rng.uniform(0.0, 3.0, n_sets)
    beta = np.sinh(rng.uniform(-1.0, 1.0, n_sets) * np.arcsinh(1000.0))
    lower = rng.random(n_sets) * (rng.random(n_sets) < 0.6)
    upper = lower + (1.0 - lower) * np.where(rng.random(n_sets) < 0.6, 1.0, rng.random(n_sets))
    acceptance = np.empty(n_sets)
    for i in range(n_sets):
        case = [np.full(n_draws, value) for value in (alpha[i], beta[i], lower[i], upper[i])]
        acceptance[i] = n_draws / _draws(*case, spawn(rng, 1), np.empty(n_draws))
    assert acceptance.min() >= 0.6
    assert acceptance.mean() >= 0.9


@pytest.mark.parametrize("arguments", [(2.5, -1000.0, 0.0, 1e-310), (1000.0, 0.0, 0.0, 1e-306), (1.5, 1e160, 0.0, 1.0)])
def test_arguments_at_the_edge_of_arithmetic_do_not_hang(arguments):
    draws = sample(np.full(5, arguments[0]), *arguments[1:], np.random.default_rng(0))
    assert ((draws >= arguments[2]) & (draws <= arguments[3])).all()


def test_same_seed_same_draws():
    first, second = (sample(np.full(100, 3.0), 2.0, 0.1, 0.9, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# --- bad input ---


@pytest.mark.parametrize("function", [interval_mass, lambda *a: sample(*a, np.random.default_rng(0))])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.5, 1.0, 0.0, 1.0), ValueError, r"alpha must be finite and at least 1; found 0\.5"),
        (([1.0, 2.0, 0.9], 1.0, 0.0, 1.0), ValueError, r"found 0\.9 at index \(2,\)"),
        ((np.inf, 1.0, 0.0, 1.0), ValueError, "alpha must be finite"),
        ((2.0, -np.inf, 0.0, 1.0), ValueError, "beta must be finite; found -inf"),
        ((2.0, 1.0, 0.6, 0.5), ValueError, r"0 <= lower < upper <= 1 is needed; found lower 0\.6, upper 0\.5"),
        ((2.0, 1.0, 0.5, 0.5), ValueError, "lower < upper"),
        ((2.0, 1.0, -0.1, 0.5), ValueError, "0 <= lower"),
        ((2.0, 1.0, 0.1, [0.5, 1.5]), ValueError, r"upper 1\.5 at index \(1,\)"),
        ((2.0, [1.0, np.nan], 0.0, 1.0), ValueError, r"beta must not hold NaN; found one at index \(1,\)"),
        ((np.ones(2), np.ones(3), 0.0, 1.0), ValueError, r"do not broadcast.*alpha \(2,\), beta \(3,\)"),
        (("two", 1.0, 0.0, 1.0), TypeError, "alpha must hold numbers; found 'two'"),
    ],
)
def test_bad_arguments_are_named(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


def test_only_a_generator_is_a_source_of_randomness():
    with pytest.raises(TypeError, match=r"numpy\.random\.Generator"):
        sample(2.0, 1.0, 0.0, 1.0, 42)
