"""Products of small matrices, whose bits do not depend on the number of threads.

OpenBLAS shares a product among threads, and then adds in another order, only if it takes more than 2^18 multiplications; larger ones are
done in pieces. Below some ten thousand a call costs more than it saves, and compiled loops take its place. They work on two rows and four
columns at a time, which is what a core's registers hold.
"""

from __future__ import annotations

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array

__all__ = ["product", "sums_of_products"]

_FEWEST_FOR_BLAS, _MOST_ON_ONE_THREAD = 1 << 14, 1 << 18


@compiled(fused=True)
def _product_in_loops(left: Array, right: Array, out: Array) -> None:
    for r in range(0, left.shape[0], 2):
        for i in range(out.shape[1]):
            out[r, i] = out[r + 1, i] = 0.0
        for k in range(0, left.shape[1], 4):
            v0, v1, v2, v3 = left[r, k], left[r, k + 1], left[r, k + 2], left[r, k + 3]
            w0, w1, w2, w3 = left[r + 1, k], left[r + 1, k + 1], left[r + 1, k + 2], left[r + 1, k + 3]
            for i in range(out.shape[1]):
                t0, t1, t2, t3 = right[k, i], right[k + 1, i], right[k + 2, i], right[k + 3, i]
                out[r, i] = out[r, i] + v0 * t0 + v1 * t1 + v2 * t2 + v3 * t3
                out[r + 1, i] = out[r + 1, i] + w0 * t0 + w1 * t1 + w2 * t2 + w3 * t3


@compiled()
def product(left: Array, right: Array, out: Array) -> None:
    """Write left times right to ``out``; the number of rows of ``left`` is even, that of its columns a multiple of four."""
    if left.shape[0] * right.size < _FEWEST_FOR_BLAS:
        _product_in_loops(left, right, out)
        return
    n_rows = max(1, _MOST_ON_ONE_THREAD // right.size)
    for first in range(0, left.shape[0], n_rows):
        np.dot(left[first : first + n_rows], right, out[first : first + n_rows])


@compiled(sums=True)
def sums_of_products(left: Array, right: Array, out: Array) -> None:
    """Write left times the transpose of right to ``out``; the number of rows of ``left`` is even, that of ``right`` a multiple of four."""
    for r in range(0, left.shape[0], 2):
        for j in range(0, right.shape[0], 4):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for i in range(left.shape[1]):
                x, y = left[r, i], left[r + 1, i]
                t0, t1, t2, t3 = right[j, i], right[j + 1, i], right[j + 2, i], right[j + 3, i]
                a0 += x * t0
                a1 += x * t1
                a2 += x * t2
                a3 += x * t3
                b0 += y * t0
                b1 += y * t1
                b2 += y * t2
                b3 += y * t3
            out[r, j], out[r, j + 1], out[r, j + 2], out[r, j + 3] = a0, a1, a2, a3
            out[r + 1, j], out[r + 1, j + 1], out[r + 1, j + 2], out[r + 1, j + 3] = b0, b1, b2, b3
