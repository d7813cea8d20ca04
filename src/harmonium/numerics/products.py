"""Products of small matrices, whose bits do not depend on the number of threads.

OpenBLAS shares a product among threads, and then adds in another order, only if it takes more than 2^18 multiplications; larger ones are
done in pieces. Where a call would cost more than it saves there are compiled loops. They work on two rows and four terms at a time,
which is what a core's registers hold.
"""

from __future__ import annotations

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["FEWEST_FOR_BLAS", "add_products", "add_sums_of_products", "product"]

FEWEST_FOR_BLAS = 1 << 14
"""Multiplications from which on :func:`product` is faster than :func:`add_products`."""

_MOST_ON_ONE_THREAD = 1 << 18


@compiled()
def product(left: Array, right: Array, out: Array) -> None:
    """Write left times right to ``out``; ``left`` is contiguous in either order."""
    n_rows = max(1, _MOST_ON_ONE_THREAD // right.size)
    if n_rows >= left.shape[0]:
        np.dot(left, right, out)
        return
    for first in range(0, left.shape[0], n_rows):
        np.dot(np.ascontiguousarray(left[first : first + n_rows]), right, out[first : first + n_rows])


@compiled(fused=True)
def add_products(weights: Array, rows: Integers, places: Integers, terms: Array, out: Array) -> None:
    """Add to each row r of ``out`` that is listed the sum of weights[r, p] terms[p] over places p.

    The number of rows is even, that of places a multiple of four.
    """
    for k in range(0, rows.size, 2):
        r, s = rows[k], rows[k + 1]
        for m in range(0, places.size, 4):
            p0, p1, p2, p3 = places[m], places[m + 1], places[m + 2], places[m + 3]
            v0, v1, v2, v3 = weights[r, p0], weights[r, p1], weights[r, p2], weights[r, p3]
            w0, w1, w2, w3 = weights[s, p0], weights[s, p1], weights[s, p2], weights[s, p3]
            for i in range(out.shape[1]):
                t0, t1, t2, t3 = terms[p0, i], terms[p1, i], terms[p2, i], terms[p3, i]
                out[r, i] = out[r, i] + v0 * t0 + v1 * t1 + v2 * t2 + v3 * t3
                out[s, i] = out[s, i] + w0 * t0 + w1 * t1 + w2 * t2 + w3 * t3


@compiled(sums=True)
def _add_sums_in_loops(left: Array, right: Array, out: Array) -> None:
    for k in range(0, left.shape[0], 2):
        for j in range(0, right.shape[0], 4):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for i in range(left.shape[1]):
                x, y = left[k, i], left[k + 1, i]
                t0, t1, t2, t3 = right[j, i], right[j + 1, i], right[j + 2, i], right[j + 3, i]
                a0 += x * t0
                a1 += x * t1
                a2 += x * t2
                a3 += x * t3
                b0 += y * t0
                b1 += y * t1
                b2 += y * t2
                b3 += y * t3
            for column, to_first, to_second in ((j, a0, b0), (j + 1, a1, b1), (j + 2, a2, b2), (j + 3, a3, b3)):
                out[k, column] += to_first
                out[k + 1, column] += to_second


@compiled()
def add_sums_of_products(left: Array, right: Array, out: Array) -> None:
    """Add to out[k, j] the products of row k of ``left`` with row j of ``right``, summed over columns.

    The number of rows of ``left`` is even, that of ``right`` a multiple of four.
    """
    if left.size * right.shape[0] < FEWEST_FOR_BLAS:
        _add_sums_in_loops(left, right, out)
        return
    sums = np.empty(out.shape)
    product(left, right.T, sums)
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] += sums[k, j]
