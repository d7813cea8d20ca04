"""Exponentials of whole arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential

__all__ = ["exponentials"]


@compiled(fused=True)
def exponentials(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """e^values, at most e^700 and at least e^-700; ``out`` may be ``values``."""
    for i in range(values.size):
        out[i] = exponential(values[i])
