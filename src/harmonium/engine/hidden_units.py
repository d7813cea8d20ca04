"""Hidden units given their fields (eq. 2): means, and draws, of many units and chains at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import quick_exponential, rough_exponential
from harmonium.numerics.streams import uniform_pair
from harmonium.typing import Array

__all__ = ["draw_hidden", "expect_hidden"]

_LARGEST_FIELD = 350.0  # so that the product of two exponentials does not overflow


@compiled(fused=True)
def draw_hidden(fields: Array, streams: NDArray[np.uint64]) -> None:
    """Replace fields (units, chains) by h = 1 with probability 1 / (1 + e^field), else 0; the number of units is even.

    Two units share 64 random bits, and the exponential has seven digits: a probability is wrong by at most 1e-7, which 10^13 draws would
    not reveal.
    """
    for j in range(0, fields.shape[0], 2):
        for i in range(fields.shape[1]):
            u, v = uniform_pair(streams, i)
            fields[j, i] = 1.0 if u * rough_exponential(fields[j, i]) + u < 1.0 else 0.0
            fields[j + 1, i] = 1.0 if v * rough_exponential(fields[j + 1, i]) + v < 1.0 else 0.0


@compiled(fused=True)
def expect_hidden(fields: Array) -> None:
    """Replace fields (units, chains), contiguous, by the means of h, 1 / (1 + e^field); the number of units is even.

    A division takes as long as an exponential, so two means share one. Beyond a field of 350, where the mean is 1e-152, it stays that.
    """
    flat = fields.reshape(fields.size)
    first, second = flat[: flat.size // 2], flat[flat.size // 2 :]
    for i in range(first.size):
        a, b = 1.0 + quick_exponential(min(first[i], _LARGEST_FIELD)), 1.0 + quick_exponential(min(second[i], _LARGEST_FIELD))
        both = 1.0 / (a * b)
        first[i] = b * both
        second[i] = a * both
