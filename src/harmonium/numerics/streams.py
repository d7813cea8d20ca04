"""Independent random streams that compiled code can advance.

NumPy's generators cannot be stored in an array of their own kind inside compiled loops, and a generator must never be
shared between threads. A stream here is four unsigned integers, the state of xoshiro256++ (Blackman & Vigna, 2021; public
domain algorithm), seeded from a NumPy generator: one column of state per chain, so that a chain draws the same numbers
whichever thread runs it, and numbers for neighbouring chains come from vector instructions.
"""

from __future__ import annotations

from hashlib import blake2b
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled

__all__ = ["fill_normal", "fill_uniform", "normal", "open_uniform", "permutation", "spawn", "streams_of", "uniform_pair"]

_ROTATE_23 = np.uint64(23)
_ROTATE_41 = np.uint64(64 - 23)
_ROTATE_45 = np.uint64(45)
_ROTATE_19 = np.uint64(64 - 45)
_SHIFT_17 = np.uint64(17)
_TO_52_BITS = np.uint64(12)
_BITS_OF_ONE = np.uint64(0x3FF0000000000000)
_ALMOST_ONE = 1.0 - 2.0**-53
_TO_HIGH_HALF, _TO_LOW_HALF = np.uint64(12), np.uint64(20)
_32_BITS = np.uint64(0x000FFFFFFFF00000)  # the leading ones of the 52 behind the exponent
_ALMOST_ONE_OF_32_BITS = 1.0 - 2.0**-33
_32 = np.uint64(32)

_N_STRIPS, _LAST_EDGE, _STRIP_AREA = 128, 3.442619855899, 9.91256303526217e-3
_STRIP = np.uint64(_N_STRIPS - 1)


def _ziggurat_edges() -> NDArray[np.float64]:
    """Right edges of the strips, the lowest one widened so that it holds the tail."""
    edges = np.zeros(_N_STRIPS + 1)
    edges[0], edges[1] = _STRIP_AREA / exp(-0.5 * _LAST_EDGE**2), _LAST_EDGE
    for i in range(2, _N_STRIPS):
        edges[i] = sqrt(-2.0 * log(_STRIP_AREA / edges[i - 1] + exp(-0.5 * edges[i - 1] ** 2)))
    return edges


_EDGES = _ziggurat_edges()
_INNER = _EDGES[1:] / _EDGES[:-1]


def spawn(rng: np.random.Generator, n_streams: int) -> NDArray[np.uint64]:
    """Draw the initial states of independent streams, one per column.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the seeds come from; it advances.
    n_streams : int
        How many streams.

    Returns
    -------
    ndarray of uint64, shape (4, n_streams)

    Examples
    --------
    >>> import numpy as np
    >>> spawn(np.random.default_rng(0), 3).shape
    (4, 3)
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, as numpy.random.default_rng(seed) makes; got {rng!r}")
    return np.ascontiguousarray(rng.integers(0, 2**64, size=(n_streams, 4), dtype=np.uint64).T)


def streams_of(content: bytes, seed: int, n_streams: int) -> NDArray[np.uint64]:
    """Streams that belong to some content: they depend on it and on the seed, and on nothing else.

    Parameters
    ----------
    content : bytes
        Whatever the streams are to serve.
    seed : int
        Below 2^64 and not negative.
    n_streams : int
        How many streams.

    Examples
    --------
    >>> bool((streams_of(b"a row", 0, 2) == streams_of(b"a row", 0, 2)).all()), bool((streams_of(b"a row", 1, 2) == 0).any())
    (True, False)
    """
    digest = blake2b(content, digest_size=32, key=seed.to_bytes(8, "little")).digest()
    return spawn(np.random.default_rng(int.from_bytes(digest, "little")), n_streams)


@compiled(inline=True)
def _bits(streams: NDArray[np.uint64], i: int) -> np.uint64:
    """64 random bits; stream i advances."""
    s0, s1, s2, s3 = streams[0, i], streams[1, i], streams[2, i], streams[3, i]
    total = s0 + s3
    result = ((total << _ROTATE_23) | (total >> _ROTATE_41)) + s0
    shifted = s1 << _SHIFT_17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << _ROTATE_45) | (s3 >> _ROTATE_19)
    streams[0, i], streams[1, i], streams[2, i], streams[3, i] = s0, s1, s2, s3
    return np.uint64(result)


@compiled(inline=True)
def open_uniform(streams: NDArray[np.uint64], i: int) -> float:
    """A uniform number strictly between 0 and 1; stream i advances.

    52 random bits behind the sign and exponent of one are a number in [1, 2); the detour spares a slow conversion.
    """
    return np.uint64((_bits(streams, i) >> _TO_52_BITS) | _BITS_OF_ONE).view(np.float64) - _ALMOST_ONE


@compiled()
def permutation(streams: NDArray[np.uint64], n: int) -> NDArray[np.int64]:
    """The numbers below n, at most 2^32, in random order (Durstenfeld, 1964); stream 0 advances.

    A place among m is 32 random bits times m / 2^32, so that its probability is wrong by a fraction of at most m / 2^32.
    """
    out = np.arange(n)
    for last in range(n - 1, 0, -1):
        place = np.int64(((_bits(streams, 0) >> _32) * np.uint64(last + 1)) >> _32)
        out[last], out[place] = out[place], out[last]
    return out


@compiled(inline=True)
def uniform_pair(streams: NDArray[np.uint64], i: int) -> tuple[float, float]:
    """Two uniform numbers of 32 bits each, strictly between 0 and 1, made as in :func:`open_uniform`; stream i advances once."""
    bits = _bits(streams, i)
    high, low = (
        np.uint64(((bits >> _TO_HIGH_HALF) & _32_BITS) | _BITS_OF_ONE),
        np.uint64(((bits << _TO_LOW_HALF) & _32_BITS) | _BITS_OF_ONE),
    )
    return high.view(np.float64) - _ALMOST_ONE_OF_32_BITS, low.view(np.float64) - _ALMOST_ONE_OF_32_BITS


@compiled()
def fill_uniform(streams: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """Row after row of uniform numbers strictly between 0 and 1, column i from stream i: those of :func:`open_uniform`."""
    for row in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[row, i] = open_uniform(streams, i)


@compiled(inline=True)
def _in_strip(bits: np.uint64) -> tuple[float, float, bool]:
    """A place along the strip that random bits choose, the number there, and whether it is certainly under the density."""
    strip = int(bits & _STRIP)
    mantissa = np.uint64((bits >> _TO_52_BITS) | _BITS_OF_ONE)
    u = 2.0 * (mantissa.view(np.float64) - _ALMOST_ONE) - 1.0
    return u, u * _EDGES[strip], abs(u) < _INNER[strip]


@compiled()
def _normal_from(bits: np.uint64, streams: NDArray[np.uint64], i: int) -> float:
    """A standard normal number that begins with given bits of stream i."""
    while True:
        u, x, inside = _in_strip(bits)
        if inside:
            return x
        strip = int(bits & _STRIP)
        if strip == 0:
            while True:  # the tail beyond the last edge (Marsaglia, 1964)
                beyond = -log(open_uniform(streams, i)) / _LAST_EDGE
                if -2.0 * log(open_uniform(streams, i)) >= beyond * beyond:
                    return _LAST_EDGE + beyond if u > 0.0 else -_LAST_EDGE - beyond
        outer, inner = _EDGES[strip], _EDGES[strip + 1]
        high, low = exp(-0.5 * (outer * outer - x * x)), exp(-0.5 * (inner * inner - x * x))
        if low + open_uniform(streams, i) * (high - low) < 1.0:
            return x
        bits = _bits(streams, i)


@compiled()
def normal(streams: NDArray[np.uint64], i: int) -> float:
    """A standard normal number, by the ziggurat method: 128 strips of equal area, in 98 of 100 cases one product (Doornik, 2005)."""
    return _normal_from(_bits(streams, i), streams, i)


@compiled()
def fill_normal(streams: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """A standard normal number from every stream: those of :func:`normal`.

    The usual case is a loop without branches; the others follow.
    """
    bits = np.empty(out.size, np.uint64)
    for i in range(out.size):
        bits[i] = _bits(streams, i)
    for i in range(out.size):
        _, x, inside = _in_strip(bits[i])
        out[i] = x if inside else np.nan
    for i in range(out.size):
        if np.isnan(out[i]):
            out[i] = _normal_from(bits[i], streams, i)
