"""Our L-BFGS-B takes SciPy's steps, and ends where the conditions of an optimum hold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, minimize, rosen, rosen_der

from harmonium.numerics.bounded_descent import descend

INFINITY = np.inf


def rosenbrock(z):
    return float(rosen(z)), rosen_der(z)


def powell(z):
    """Powell's singular function: the Hessian at the optimum has no inverse."""
    a, b, c, d = z.reshape(-1, 4).T
    value = np.sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)
    by = [
        2 * (a + 10 * b) + 40 * (a - d) ** 3,
        20 * (a + 10 * b) + 4 * (b - 2 * c) ** 3,
        10 * (c - d) - 8 * (b - 2 * c) ** 3,
        -10 * (c - d) - 40 * (a - d) ** 3,
    ]
    return float(value), np.stack(by, axis=1).ravel()


def badly_scaled(z):
    """Brown's function in pairs: optimum (1e6, 2e-6)."""
    a, b = z.reshape(-1, 2).T
    value = np.sum((a - 1e6) ** 2 + (b - 2e-6) ** 2 + (a * b - 2.0) ** 2)
    return float(value), np.stack([2 * (a - 1e6) + 2 * (a * b - 2.0) * b, 2 * (b - 2e-6) + 2 * (a * b - 2.0) * a], axis=1).ravel()


def waves(z):
    """Many optima."""
    return float(np.sum(0.05 * z**2 - np.cos(3.0 * z))) + 0.2 * float(z.sum()) ** 2, 0.1 * z + 3.0 * np.sin(3.0 * z) + 0.4 * z.sum()


CASES = {
    "Rosenbrock": (rosenbrock, 12, -INFINITY, INFINITY),
    "Rosenbrock in a box": (rosenbrock, 12, -1.0, 0.5),
    "Rosenbrock from below": (rosenbrock, 12, 0.3, INFINITY),
    "Powell": (powell, 8, -INFINITY, INFINITY),
    "Powell in a box": (powell, 8, 0.1, 3.0),
    "waves": (waves, 15, -INFINITY, INFINITY),
    "waves in a box": (waves, 15, -1.7, 0.4),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_scipy(name, seed):
    loss, n, lowest, highest = CASES[name]
    low, high = np.full(n, lowest), np.full(n, highest)
    low[::3] = -INFINITY if name.endswith("below") else low[::3]
    start = np.random.default_rng(seed).normal(size=n)
    ours, theirs = [], []
    descend(loss, start, (low, high), tol=1e-9, flat=1e-7, max_iter=15, note=lambda at: ours.append(at.x))
    options = {"maxcor": 20, "ftol": 1e-9, "gtol": 1e-7, "maxiter": 15}
    start = np.clip(start, low, high)
    minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), callback=lambda z: theirs.append(z.copy()), options=options
    )
    assert len(ours) == len(theirs) > 3
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_ends_are_as_good_as_those_of_scipy(name, seed):
    loss, n, lowest, highest = CASES[name]
    low, high = np.full(n, lowest), np.full(n, highest)
    start = np.clip(np.random.default_rng(seed).normal(size=n), low, high)
    ours = descend(loss, start, (low, high), tol=1e-12, flat=1e-7, max_iter=1000)
    options = {"maxcor": 20, "ftol": 1e-12, "gtol": 1e-7, "maxiter": 1000, "maxfun": 10_000}
    theirs = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), options=options)
    assert ours.success
    assert ours.fun <= theirs.fun + 1e-8 * max(1.0, abs(theirs.fun))
    assert ours.nfev <= 1.2 * theirs.nfev + 5


def test_a_badly_scaled_function():
    found = descend(badly_scaled, np.ones(6), (np.full(6, -INFINITY), np.full(6, INFINITY)), tol=1e-15, flat=1e-8, max_iter=500)
    np.testing.assert_allclose(found.x, [1e6, 2e-6] * 3, rtol=1e-4)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 25), share=st.floats(0.0, 1.0))
def test_the_optimum_of_a_convex_function_within_any_bounds(seed, n, share):
    """No way to go is left: the projected gradient vanishes, and the start does not matter."""
    rng = np.random.default_rng(seed)
    factor, centre = rng.normal(size=(n, n)), rng.normal(size=n)
    matrix = factor @ factor.T / n + 0.1 * np.eye(n)
    low = np.where(rng.random(n) < share, rng.normal(size=n) - 0.5, -INFINITY)
    high = np.where(rng.random(n) < share, np.maximum(low, -5.0) + rng.choice([0.0, 0.3, 2.0], size=n), INFINITY)

    def loss(z):
        away = z - centre
        return float(0.5 * away @ matrix @ away + np.sum(np.log(np.cosh(away)))), matrix @ away + np.tanh(away)

    seen = []
    found = descend(loss, 3.0 * rng.normal(size=n), (low, high), tol=0.0, flat=1e-9, max_iter=2000, note=lambda at: seen.append(at.fun))
    slope = loss(found.x)[1]
    assert np.all((found.x >= low) & (found.x <= high))
    np.testing.assert_allclose(np.clip(found.x - slope, low, high), found.x, atol=1e-6)
    assert all(after <= before for before, after in pairwise(seen))
    np.testing.assert_array_equal(found.jac, slope)


def test_it_says_why_it_ended():
    box = np.full(4, -INFINITY), np.full(4, INFINITY)
    begun = descend(rosenbrock, np.zeros(4), box, tol=0.0, flat=0.0, max_iter=3)
    assert (begun.nit, begun.status, begun.success) == (3, 1, False)
    assert descend(rosenbrock, np.ones(4), box, tol=0.0, flat=1e-9, max_iter=3).nit == 0
    stuck = descend(lambda z: (float(z.sum()), -np.ones(4)), np.zeros(4), box, tol=0.0, flat=0.0, max_iter=3)  # a wrong gradient
    assert (stuck.status, stuck.success, stuck.message) == (2, False, "the line search finds nothing better")


def test_where_there_are_no_numbers_it_gives_up():
    box = np.full(4, -INFINITY), np.full(4, INFINITY)
    found = descend(lambda z: (np.nan, np.full(4, np.nan)), np.zeros(4), box, tol=1e-9, flat=1e-9, max_iter=50)
    assert not found.success

    def walled_in(z):
        return float(z.sum()) if z.min() > -1.0 else np.nan, np.ones(4)

    walled = descend(walled_in, np.zeros(4), box, tol=1e-9, flat=1e-9, max_iter=50)
    assert not walled.success
    assert np.isfinite(walled.fun)
