"""Independent random streams that compiled code can advance.

NumPy's generators cannot be stored in an array of their own kind inside compiled loops, and a generator must never be
shared between threads. A stream here is four unsigned integers, the state of xoshiro256++ (Blackman & Vigna, 2021; public
domain algorithm), seeded from a NumPy generator: one row of state per chain, so that a chain draws the same numbers
whichever thread runs it.
"""

from __future__ import annotations

from math import cos, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from harmonium.compilation import compiled

__all__ = ["normal", "open_uniform", "spawn"]

_ROTATE_23 = np.uint64(23)
_ROTATE_41 = np.uint64(64 - 23)
_ROTATE_45 = np.uint64(45)
_ROTATE_19 = np.uint64(64 - 45)
_SHIFT_17 = np.uint64(17)
_TO_52_BITS = np.uint64(12)
_UNIT = 2.0**-52


def spawn(rng: np.random.Generator, n_streams: int) -> NDArray[np.uint64]:
    """Draw the initial states of independent streams, one a row.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the seeds come from; it advances.
    n_streams : int
        How many streams.

    Returns
    -------
    ndarray of uint64, shape (n_streams, 4)

    Examples
    --------
    >>> import numpy as np
    >>> spawn(np.random.default_rng(0), 3).shape
    (3, 4)
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, as numpy.random.default_rng(seed) makes; got {rng!r}")
    return rng.integers(0, 2**64, size=(n_streams, 4), dtype=np.uint64)


@compiled()
def open_uniform(stream: NDArray[np.uint64]) -> float:
    """A uniform number strictly between 0 and 1; the stream advances."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    total = s0 + s3
    result = ((total << _ROTATE_23) | (total >> _ROTATE_41)) + s0
    shifted = s1 << _SHIFT_17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << _ROTATE_45) | (s3 >> _ROTATE_19)
    stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
    return (np.float64(result >> _TO_52_BITS) + 0.5) * _UNIT


@compiled()
def normal(stream: NDArray[np.uint64]) -> float:
    """A standard normal number (Box-Muller)."""
    radius = sqrt(-2.0 * log(open_uniform(stream)))
    return radius * cos(2.0 * pi * open_uniform(stream))
