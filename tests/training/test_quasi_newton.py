"""The quasi-Newton method finds known optima, within bounds, with few gradients and with curvature that is not quite right."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize, rosen, rosen_der, rosen_hess

from harmonium.training.quasi_newton import minimise, quadratic_step

NOWHERE = (np.full(5, -np.inf), np.full(5, np.inf))


def rosenbrock(z):
    return float(rosen(z)), rosen_der(z)


def convex(rng, size):
    factor = rng.normal(size=(size, size))
    return factor @ factor.T + 0.1 * np.eye(size)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_the_optimum_of_the_quadratic_within_bounds(seed):
    rng = np.random.default_rng(seed)
    matrix, gradient = convex(rng, 8), rng.normal(size=8)
    low, high = -rng.uniform(0.0, 0.5, 8), rng.uniform(0.0, 0.5, 8)
    low[0] = high[1] = 0.0
    step = quadratic_step(matrix, gradient, low, high)
    slope = gradient + matrix @ step
    assert np.all((step >= low) & (step <= high))
    assert 0 < np.sum((step == low) | (step == high)) < 8
    np.testing.assert_allclose(np.clip(step - slope, low, high), step, atol=1e-10)  # no way to go is left


def test_a_quadratic_with_its_own_curvature_takes_one_gradient():
    rng = np.random.default_rng(0)
    matrix, centre = convex(rng, 5), 0.3 * rng.normal(size=5)

    def loss(z):
        return float(0.5 * (z - centre) @ matrix @ (z - centre)), matrix @ (z - centre)

    found = minimise(loss, np.zeros(5), NOWHERE, lambda z: matrix, tol=1e-12, max_iter=50)
    np.testing.assert_allclose(found.x, centre, atol=1e-9)
    assert found.success
    assert found.nfev == 2


@pytest.mark.parametrize("curvature", [rosen_hess, lambda z: 1.3 * rosen_hess(z) + np.diag(rosen_hess(z)), lambda z: np.eye(5)])
def test_the_curvature_need_not_be_right(curvature):
    found = minimise(rosenbrock, np.full(5, -1.0), NOWHERE, curvature, tol=1e-14, max_iter=500)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
    assert found.success


@pytest.mark.parametrize("seed", range(4))
def test_bounds_that_hold_agree_with_l_bfgs_b(seed):
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(-2.0, 0.0, 5), rng.uniform(0.2, 0.8, 5)
    start = np.clip(rng.normal(size=5), low, high)
    seen = []

    def loss(z):
        seen.append(z)
        return rosenbrock(z)

    found = minimise(loss, start, (low, high), rosen_hess, tol=1e-14, max_iter=500)
    theirs = minimize(rosenbrock, found.x, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), options={"ftol": 1e-15, "gtol": 1e-10})
    assert found.success
    assert np.any((found.x == low) | (found.x == high))
    assert found.fun <= theirs.fun + 1e-9
    assert all(np.all((z >= low) & (z <= high)) for z in seen)


@pytest.mark.parametrize("factor", [1.0, 1e5])
def test_one_stiff_coordinate_does_not_slow_the_others_down(factor):
    """Curvatures of the others are far below the stiffest one's rounding error, and their optimum is beyond the first region."""
    curvature, centre = np.diag([factor, 1e-6, 1e-5, 1e-4, 1e-3]), np.full(5, 9.0)

    def loss(z):
        return float(0.5 * (z - centre) @ curvature @ (z - centre)), curvature @ (z - centre)

    found = minimise(loss, np.zeros(5), NOWHERE, lambda z: curvature, tol=1e-12, max_iter=50)
    np.testing.assert_allclose(found.x, centre, atol=0.01)
    assert found.success
    assert found.nfev <= 12


@pytest.mark.parametrize("bound", [np.inf, 0.7])
def test_ways_that_differ_end_in_one_place(bound):
    """A rough tolerance leaves them apart; last steps do not, at a bound either."""
    starts, bounds = (np.full(5, -1.0), np.linspace(0.1, 0.6, 5)), (np.full(5, -np.inf), np.full(5, bound))
    rough, same = (
        [minimise(rosenbrock, z, bounds, rosen_hess, tol=1e-7, max_iter=500, to_the_point=to_the_point).x for z in starts]
        for to_the_point in (False, True)
    )
    assert np.abs(rough[0] - rough[1]).max() > 1e-6
    np.testing.assert_allclose(same[0], same[1], atol=1e-10)


def test_last_steps_stop_where_there_is_no_value():
    def loss(z):
        return (np.nan, np.full(1, np.nan)) if z[0] > 0.8999 else (float((z[0] - 0.9) ** 2), 2.0 * (z - 0.9))

    found = minimise(
        loss, np.zeros(1), (np.full(1, -np.inf), np.full(1, np.inf)), lambda z: 2.0 * np.eye(1), tol=1e-3, max_iter=9, to_the_point=True
    )
    assert np.isfinite(found.fun)
    assert found.x[0] <= 0.8999


def test_no_iterate_is_worse_than_the_one_before():
    noted = []
    minimise(rosenbrock, np.full(5, -1.0), NOWHERE, lambda z: np.eye(5), tol=1e-10, max_iter=200, note=lambda now: noted.append(now.fun))
    assert len(noted) > 10
    assert np.all(np.diff(noted) <= 0.0)


def test_values_that_are_not_finite_are_stepped_back_from():
    def loss(z):
        return (np.nan, np.full(1, np.nan)) if z[0] > 1.0 else (float((z[0] - 0.9) ** 2), 2.0 * (z - 0.9))

    found = minimise(loss, np.zeros(1), (np.full(1, -np.inf), np.full(1, np.inf)), lambda z: 1.5 * np.eye(1), tol=1e-12, max_iter=100)
    assert found.x[0] == pytest.approx(0.9, abs=1e-5)


def test_a_limit_of_iterations_is_no_success():
    found = minimise(rosenbrock, np.full(5, -1.0), NOWHERE, rosen_hess, tol=1e-12, max_iter=3)
    assert not found.success
    assert (found.nit, found.status) == (3, 1)
    assert "limit" in found.message


def test_without_tolerance_it_ends_where_rounding_begins():
    found = minimise(rosenbrock, np.full(5, -1.0), NOWHERE, rosen_hess, tol=0.0, max_iter=1000)
    assert found.success
    assert found.nit < 200
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
