"""The compact form of limited-memory BFGS matrices against the matrices themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.numerics.curvature_pairs import empty_pairs, forget, remember, solve_free, times_middle, w_product, w_row

N = 7


def curved(rng):
    factor = rng.normal(size=(N, N))
    return factor @ factor.T + 0.2 * np.eye(N)


def remembered(rng, n_pairs, most=4):
    """Pairs of a random quadratic, and the matrix that BFGS updates make of them, written out."""
    hessian, pairs, kept = curved(rng), empty_pairs(most, N), []
    for _ in range(n_pairs):
        step = rng.normal(size=N)
        assert remember(pairs, step, hessian @ step)
        kept = [*kept, (step, hessian @ step)][-most:]
    matrix = (kept[-1][1] @ kept[-1][1] / (kept[-1][0] @ kept[-1][1]) if kept else 1.0) * np.eye(N)
    for s, y in kept:
        moved = matrix @ s
        matrix = matrix - np.outer(moved, moved) / (s @ moved) + np.outer(y, y) / (s @ y)
    return pairs, matrix


def written_out(pairs):
    n = pairs.size[0]
    w, middle = np.empty((N, 2 * n)), np.empty((2 * n, 2 * n))
    for i in range(N):
        w_row(pairs, i, w[i])
    for k in range(2 * n):
        out = np.empty(2 * n)
        times_middle(pairs, np.eye(2 * n)[k], out)
        middle[:, k] = out
    return pairs.theta[0] * np.eye(N) - w @ middle @ w.T, w


@pytest.mark.parametrize("n_pairs", [0, 1, 3, 4, 9])
def test_the_compact_form_is_the_matrix_of_bfgs_updates(n_pairs):
    pairs, matrix = remembered(np.random.default_rng(n_pairs), n_pairs)
    ours, w = written_out(pairs)
    np.testing.assert_allclose(ours, matrix, rtol=1e-8, atol=1e-8)
    vector, out = np.arange(1.0, N + 1.0), np.empty(w.shape[1])
    w_product(pairs, vector, out)
    np.testing.assert_allclose(out, w.T @ vector, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), n_pairs=st.integers(1, 8), held=st.sets(st.integers(0, N - 1), max_size=N - 1))
def test_a_solution_in_the_free_coordinates(seed, n_pairs, held):
    rng = np.random.default_rng(seed)
    pairs, matrix = remembered(rng, n_pairs)
    fixed = np.array(sorted(held), dtype=np.int64)
    free = np.setdiff1d(np.arange(N), fixed)
    vector = rng.normal(size=N)
    vector[fixed] = 0.0
    expected = np.zeros(N)
    expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], vector[free])
    assert solve_free(pairs, fixed, vector)
    np.testing.assert_allclose(vector, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_nothing_is_left_of_what_is_forgotten():
    pairs, _ = remembered(np.random.default_rng(0), 3)
    forget(pairs)
    np.testing.assert_array_equal(written_out(pairs)[0], np.eye(N))


def test_a_matrix_that_is_not_positive_is_refused():
    pairs = empty_pairs(4, N)
    assert remember(pairs, np.eye(N)[0], np.eye(N)[0])
    assert not remember(pairs, np.zeros(N), np.eye(N)[1])
