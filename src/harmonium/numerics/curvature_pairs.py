"""What the last steps of a descent say of the curvature: the compact form of limited-memory BFGS matrices.

With the last steps S and changes of the gradient Y, the matrix is B = θ I − W M W', W = (Y, θ S), where M is the inverse of
((−D, L'), (L, θ S'S)); D and L are the diagonal and the part below it of S'Y (Byrd, Nocedal and Schnabel, Mathematical Programming 63,
1994, 129-156). B is positive definite.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["Pairs", "copy", "dot", "empty_pairs", "forget", "remember", "solve_free", "times_middle", "w_product", "w_row"]


class Pairs(NamedTuple):
    """The last steps and changes of the gradient, the oldest first.

    Attributes
    ----------
    size : ndarray of shape (1,)
        How many pairs there are.
    theta : ndarray of shape (1,)
    steps, changes : ndarray of shape (most, n)
    steps_steps, steps_changes, changes_changes : ndarray of shape (most, most)
        Their products, the first factor by row.
    scaled : ndarray of shape (most, most)
        L D^-1, and nothing on the diagonal and above.
    root : ndarray of shape (most, most)
        The Cholesky factor of θ S'S + L D^-1 L'.
    """

    size: Integers
    theta: Array
    steps: Array
    changes: Array
    steps_steps: Array
    steps_changes: Array
    changes_changes: Array
    scaled: Array
    root: Array


def empty_pairs(most: int, n: int) -> Pairs:
    """Nothing is known yet: the matrix is the identity."""
    rows, squares = np.zeros((2, most, n)), np.zeros((5, most, most))
    return Pairs(np.zeros(1, np.int64), np.ones(1), rows[0], rows[1], squares[0], squares[1], squares[2], squares[3], squares[4])


@compiled()
def forget(pairs: Pairs) -> None:
    """Drop everything."""
    pairs.size[0] = 0
    pairs.theta[0] = 1.0


@compiled()
def copy(source: Array, out: Array) -> None:
    """Write a vector; an assignment of slices would take ten times as long to compile."""
    for i in range(out.size):
        out[i] = source[i]


@compiled(sums=True)
def dot(a: Array, b: Array) -> float:
    """A scalar product."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled()
def remember(pairs: Pairs, step: Array, change: Array) -> bool:
    """Add a pair, for which the oldest goes if there are too many; False if rounding has spoilt the matrix."""
    if pairs.size[0] == pairs.steps.shape[0]:
        _drop_oldest(pairs)
    k = pairs.size[0]
    pairs.size[0] = k + 1
    copy(step, pairs.steps[k])
    copy(change, pairs.changes[k])
    for j in range(k + 1):
        pairs.steps_steps[k, j] = pairs.steps_steps[j, k] = dot(step, pairs.steps[j])
        pairs.changes_changes[k, j] = pairs.changes_changes[j, k] = dot(change, pairs.changes[j])
        pairs.steps_changes[k, j] = dot(step, pairs.changes[j])
        pairs.steps_changes[j, k] = dot(pairs.steps[j], change)
    pairs.theta[0] = pairs.changes_changes[k, k] / pairs.steps_changes[k, k]
    return _factor_middle(pairs)


@compiled()
def _drop_oldest(pairs: Pairs) -> None:
    most = pairs.steps.shape[0]
    for k in range(most - 1):
        copy(pairs.steps[k + 1], pairs.steps[k])
        copy(pairs.changes[k + 1], pairs.changes[k])
        for j in range(most - 1):
            pairs.steps_steps[k, j] = pairs.steps_steps[k + 1, j + 1]
            pairs.steps_changes[k, j] = pairs.steps_changes[k + 1, j + 1]
            pairs.changes_changes[k, j] = pairs.changes_changes[k + 1, j + 1]
    pairs.size[0] -= 1


@compiled(sums=True)
def _factor_middle(pairs: Pairs) -> bool:
    """The Cholesky factor of θ S'S + L D^-1 L', and L D^-1."""
    n, theta, products, scaled, root = pairs.size[0], pairs.theta[0], pairs.steps_changes, pairs.scaled, pairs.root
    for i in range(n):
        for k in range(i):
            scaled[i, k] = products[i, k] / products[k, k]
        for j in range(i + 1):
            total = theta * pairs.steps_steps[i, j]
            for k in range(j):
                total += scaled[i, k] * products[j, k]
            root[i, j] = total
    return _factorise(root, n)


@compiled(sums=True)
def _factorise(matrix: Array, n: int) -> bool:
    """Replace the lower triangle of a positive definite matrix by its Cholesky factor; False if it is not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = total / matrix[j, j]
            elif total > 0.0:
                matrix[i, i] = sqrt(total)
            else:
                return False
    return True


@compiled(sums=True)
def _solve_lower(factor: Array, n: int, vector: Array) -> None:
    """Solve factor x = vector, in place."""
    for i in range(n):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]


@compiled(sums=True)
def _solve_upper(factor: Array, n: int, vector: Array) -> None:
    """Solve factor' x = vector, in place."""
    for i in range(n - 1, -1, -1):
        value = vector[i] / factor[i, i]
        vector[i] = value
        for k in range(i):
            vector[k] -= factor[i, k] * value


@compiled(sums=True)
def times_middle(pairs: Pairs, vector: Array, out: Array) -> None:
    """Write M times a vector (twice as long as there are pairs)."""
    n, scaled = pairs.size[0], pairs.scaled
    first, second = out[:n], out[n : 2 * n]
    for i in range(n):
        total = vector[n + i]
        for k in range(i):
            total += scaled[i, k] * vector[k]
        second[i] = total
    _solve_lower(pairs.root, n, second)
    _solve_upper(pairs.root, n, second)
    for i in range(n):
        first[i] = -vector[i] / pairs.steps_changes[i, i]
    for i in range(n):
        for k in range(i):
            first[k] += scaled[i, k] * second[i]


@compiled()
def w_row(pairs: Pairs, i: int, out: Array) -> None:
    """Write what W has for a coordinate."""
    n, theta = pairs.size[0], pairs.theta[0]
    for k in range(n):
        out[k] = pairs.changes[k, i]
        out[n + k] = theta * pairs.steps[k, i]


@compiled()
def w_product(pairs: Pairs, vector: Array, out: Array) -> None:
    """Write W' times a vector."""
    n, theta = pairs.size[0], pairs.theta[0]
    for k in range(n):
        out[k] = dot(pairs.changes[k], vector)
        out[n + k] = theta * dot(pairs.steps[k], vector)


@compiled()
def _held_products(pairs: Pairs, held: Integers, steps_steps: Array, steps_changes: Array, changes_changes: Array) -> None:
    """Products of steps and of changes over the coordinates that are held; of the symmetric ones, the lower triangle."""
    n = pairs.size[0]
    few_steps, few_changes = np.empty((n, held.size)), np.empty((n, held.size))
    for k in range(n):
        for m in range(held.size):
            few_steps[k, m] = pairs.steps[k, held[m]]
            few_changes[k, m] = pairs.changes[k, held[m]]
    for i in range(n):
        for j in range(n):
            steps_changes[i, j] = dot(few_steps[i], few_changes[j])
        for j in range(i + 1):
            steps_steps[i, j] = dot(few_steps[i], few_steps[j])
            changes_changes[i, j] = dot(few_changes[i], few_changes[j])


@compiled(sums=True)
def solve_free(pairs: Pairs, held: Integers, vector: Array) -> bool:
    """Replace a vector, which is zero where coordinates are held, by the solution of B x = vector in the others.

    By the formula of Sherman, Morrison and Woodbury; its matrix ((−P, Q'), (Q, R)) is M^-1 − W'W / θ over the free coordinates. False if
    rounding has spoilt it.
    """
    n, theta = pairs.size[0], pairs.theta[0]
    p, q, r, schur = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    _held_products(pairs, held, r, q, p)
    for i in range(n):
        for j in range(n):
            free = pairs.steps_changes[i, j] - q[i, j]
            q[i, j] = (pairs.steps_changes[i, j] if i > j else 0.0) - free
        for j in range(i + 1):
            p[i, j] = (pairs.changes_changes[i, j] - p[i, j]) / theta + (pairs.steps_changes[i, i] if i == j else 0.0)
    if not _factorise(p, n):
        return False
    for i in range(n):
        _solve_lower(p, n, q[i])  # now Q times the inverse of P's transposed factor
    for i in range(n):
        for j in range(i + 1):
            schur[i, j] = theta * r[i, j] + dot(q[i], q[j])
    if not _factorise(schur, n):
        return False
    both = np.empty(2 * n)
    w_product(pairs, vector, both)
    first, second = both[:n], both[n:]
    _solve_lower(p, n, first)
    for i in range(n):
        second[i] += dot(q[i], first)
    _solve_lower(schur, n, second)
    _solve_upper(schur, n, second)
    for i in range(n):
        first[i] = -first[i]
    for k in range(n):
        for i in range(n):
            first[i] += q[k, i] * second[k]
    _solve_upper(p, n, first)
    _add_back(pairs, held, first, second, vector)
    return True


@compiled(fused=True)
def _add_back(pairs: Pairs, held: Integers, first: Array, second: Array, vector: Array) -> None:
    """Turn a vector into vector / θ + W (first, second) / θ², but for the coordinates that are held."""
    n, theta = pairs.size[0], pairs.theta[0]
    for i in range(vector.size):
        vector[i] /= theta
    for k in range(n):
        a, b, change, step = first[k] / theta**2, second[k] / theta, pairs.changes[k], pairs.steps[k]
        for i in range(vector.size):
            vector[i] += a * change[i] + b * step[i]
    for i in held:
        vector[i] = 0.0
