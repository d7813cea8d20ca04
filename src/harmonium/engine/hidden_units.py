"""Hidden units given their fields (eq. 2): means, and draws, of many units and chains at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential, rough_exponential
from harmonium.numerics.streams import uniform_pair
from harmonium.typing import Array

__all__ = ["draw_hidden", "expect_hidden"]


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
    """Replace fields (units, chains), contiguous, by the means of h, 1 / (1 + e^field)."""
    flat = fields.reshape(fields.size)
    for i in range(flat.size):
        flat[i] = 1.0 / (1.0 + exponential(flat[i]))
