"""Random streams and exponentials of our own."""

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import (
    exponential,
    exponential_minus_one,
    logarithm,
    logarithm_of_one_plus,
    quick_exponential,
    rough_exponential,
)
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.streams import fill_normal, fill_uniform, normal, open_uniform, spawn, uniform_pair

SIZES = 10.0 ** np.linspace(-18.0, 2.8, 400)
BOTH_SIGNS = np.concatenate([-SIZES, SIZES])


def relative_errors(function, reference, arguments):
    exact = [reference(mpmath.mpf(float(x))) for x in arguments]
    return np.array([float(abs(mpmath.mpf(function(x)) / value - 1)) for x, value in zip(arguments, exact, strict=True)])


@pytest.mark.parametrize(
    ("function", "reference", "arguments", "most"),
    [
        (exponential, mpmath.exp, BOTH_SIGNS, 1e-14),
        (quick_exponential, mpmath.exp, BOTH_SIGNS, 2e-12),
        (rough_exponential, mpmath.exp, BOTH_SIGNS, 1.2e-7),
        (exponential_minus_one, mpmath.expm1, BOTH_SIGNS, 1e-14),
        (
            logarithm,
            mpmath.log,
            np.concatenate([10.0 ** np.linspace(-300.0, 300.0, 400), 1.0 + 10.0 ** np.linspace(-15.0, -1.0, 50)]),
            1e-15,
        ),
        (logarithm_of_one_plus, mpmath.log1p, np.concatenate([SIZES, -SIZES[SIZES < 1.0], [-1.0 + 1e-12]]), 1e-15),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_elementary_functions_are_accurate(function, reference, arguments, most):
    with mpmath.workdps(40):
        assert relative_errors(function, reference, arguments).max() < most


def test_elementary_functions_at_their_ends():
    assert exponential(0.0) == 1.0
    assert exponential_minus_one(0.0) == 0.0
    assert exponential_minus_one(-np.inf) == -1.0
    assert logarithm(1.0) == logarithm_of_one_plus(0.0) == 0.0


@compiled()
def _exponentials_one_by_one(values, out):
    for i in range(values.size):
        out[i] = exponential(values[i])
        if out[i] < 0.0:  # a way out of the loop, so that it cannot be turned into vector instructions
            break


def test_vector_instructions_give_the_same_bits():
    x = np.random.default_rng(0).normal(0.0, 20.0, 1001)
    together, one_by_one = np.empty(x.size), np.empty(x.size)
    exponentials(x, together)
    _exponentials_one_by_one(x, one_by_one)
    np.testing.assert_array_equal(together, one_by_one)


@pytest.mark.parametrize("n", [1, 7, 8, 33])
def test_exponentials_are_accurate(n):
    rng = np.random.default_rng(n)
    for scale in (1e-3, 1.0, 30.0, 300.0):
        x = np.clip(rng.normal(0.0, scale, n), -690.0, 690.0)
        out = np.empty(n)
        exponentials(x, out)
        expected = [float(mpmath.exp(mpmath.mpf(value))) for value in x]
        np.testing.assert_allclose(out, expected, rtol=3e-14)


def test_exponentials_neither_overflow_nor_vanish():
    x = np.array([-np.inf, -1e9, 1e9, np.inf] * 3)
    out = np.empty(12)
    exponentials(x, out)
    assert np.isfinite(out).all()
    assert (out[:2] < 1e-300).all()
    assert (out[2:4] > 1e300).all()


def test_normal_numbers_are_normal():
    stream = spawn(np.random.default_rng(0), 1)
    draws = np.array([normal(stream, 0) for _ in range(200_000)])
    assert kstest(draws, "norm").pvalue > 1e-3
    # The tail and the edges of the strips, where a mistake would hide from the test above.
    cuts = np.concatenate([[-np.inf], np.linspace(-4.0, 4.0, 41), [np.inf]])
    counts, _ = np.histogram(draws, cuts)
    assert chisquare(counts, len(draws) * np.diff(norm.cdf(cuts))).pvalue > 1e-3
    assert np.abs(draws).max() > 3.8


def test_uniform_numbers_are_uniform_and_streams_differ():
    streams = spawn(np.random.default_rng(0), 2)
    draws = np.array([[open_uniform(streams, i) for _ in range(20_000)] for i in range(2)])
    assert (draws > 0.0).all()
    assert (draws < 1.0).all()
    assert kstest(draws.ravel(), "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws)[0, 1]) < 0.03


@pytest.mark.parametrize("n_streams", [1, 3, 8, 67])
def test_uniform_numbers_of_many_streams_at_once_are_those_of_each(n_streams):
    at_once, apart = (spawn(np.random.default_rng(1), n_streams) for _ in range(2))
    draws = np.empty((50, n_streams))
    fill_uniform(at_once, draws)
    np.testing.assert_array_equal(draws, [[open_uniform(apart, i) for i in range(n_streams)] for _ in range(50)])
    np.testing.assert_array_equal(at_once, apart)


@pytest.mark.parametrize("n_streams", [1, 3, 8, 67])
def test_normal_numbers_of_many_streams_at_once_are_those_of_each(n_streams):
    at_once, apart = (spawn(np.random.default_rng(1), n_streams) for _ in range(2))
    draws = np.empty((200, n_streams))
    for row in draws:
        fill_normal(at_once, row)
    np.testing.assert_array_equal(draws, [[normal(apart, i) for i in range(n_streams)] for _ in range(200)])
    np.testing.assert_array_equal(at_once, apart)


def test_pairs_are_uniform_and_independent():
    streams = spawn(np.random.default_rng(0), 2)
    draws = np.array([[uniform_pair(streams, i) for _ in range(20_000)] for i in range(2)])
    assert (draws > 0.0).all()
    assert (draws < 1.0).all()
    assert (draws * 2.0**33 % 2.0 == 1.0).all()  # the middles of 2^32 equal parts
    assert kstest(draws.ravel(), "uniform").pvalue > 1e-3
    first, second = draws[0].T
    counts, _, _ = np.histogram2d(first, second, bins=8, range=[[0, 1], [0, 1]])
    assert chisquare(counts.ravel()).pvalue > 1e-3
    assert np.abs(np.corrcoef([first, second, *draws[1].T]) - np.eye(4)).max() < 0.03
    assert abs(np.corrcoef(first[1:], second[:-1])[0, 1]) < 0.03
