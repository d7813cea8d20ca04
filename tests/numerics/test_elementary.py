"""Random streams and exponentials of our own."""

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from harmonium.numerics.exponential import exponentials
from harmonium.numerics.streams import fill_uniform, normal, open_uniform, spawn


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
