"""Exponentials and logarithms that the compiler can turn into vector instructions.

Compiled code calls the C library for one number at a time, 4 to 10 ns each. The functions below are a few products and shifts without
branches, so that a loop over many numbers takes 1 to 2 ns each. Relative errors are below 2e-15.

The polynomials pass through the functions at Chebyshev's points. Numbers are taken apart and put together by their bits.
"""

from __future__ import annotations

import numpy as np

from harmonium.numerics.compilation import compiled

__all__ = ["exponential", "exponential_minus_one", "logarithm", "logarithm_of_one_plus", "quick_exponential", "rough_exponential"]

_LARGEST = 700.0
_ROUNDING = 1.5 * 2.0**52  # added to a number, it leaves the nearest whole number in the last bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LN2 = 0.6931471805599453

_MANTISSA_BITS = 52
_EXPONENT_OF_ONE = 1023
_BITS_OF_ONE = _EXPONENT_OF_ONE << _MANTISSA_BITS
_BITS_OF_ROOT_HALF = 0x3FE6A09E667F3BCD
_BITS_OF_2_52 = 0x4330000000000000  # OR-ed with a whole number below 2^52, the bits of 2^52 plus this number


@compiled(inline=True, fused=True)
def _nearest_power(value: float) -> tuple[float, float, np.int64]:
    """The value x, at most 700 in size; the nearest whole number k to x / ln 2; what multiplies by 2^k if added to a number's bits."""
    x = value if value > -_LARGEST else -_LARGEST
    x = x if x < _LARGEST else _LARGEST
    shifted = x * _LOG2_E + _ROUNDING
    return x, shifted - _ROUNDING, np.int64(np.float64(shifted).view(np.int64) << _MANTISSA_BITS)  # of ``shifted`` only k's bits are left


@compiled(inline=True)
def _scaled(x: float, power: np.int64) -> np.float64:
    """A number near 1 times a power of 2."""
    return np.int64(np.float64(x).view(np.int64) + power).view(np.float64)


@compiled(inline=True, fused=True)
def _growth(x: float, k: float) -> tuple[float, float]:
    """e^r - 1, divided by r, and r = x - k ln 2, at most ln(2) / 2 in size."""
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 2.7620075879983367e-07
    p = p * r + 2.7632640675430236e-06
    p = p * r + 2.4801521322368692e-05
    p = p * r + 1.984119064754424e-04
    p = p * r + 1.3888888917196719e-03
    p = p * r + 8.333333367311603e-03
    p = p * r + 4.1666666666624164e-02
    p = p * r + 1.6666666666615648e-01
    p = p * r + 0.5000000000000001
    return p * r + 1.0000000000000013, r


@compiled(inline=True, fused=True)
def exponential(value: float) -> float:
    """e^value, at most e^700 and at least e^-700."""
    x, k, power = _nearest_power(value)
    slope, r = _growth(x, k)
    return _scaled(slope * r + 1.0, power)


@compiled(inline=True, fused=True)
def exponential_minus_one(value: float) -> float:
    """e^value - 1, without loss of digits near 0."""
    x, k, power = _nearest_power(value)
    slope, r = _growth(x, k)
    scale = _scaled(1.0, power)
    return scale * (slope * r) + (scale - 1.0)


@compiled(inline=True, fused=True)
def quick_exponential(value: float) -> float:
    """e^value with a relative error of 1e-12, for means of hidden units."""
    x, k, power = _nearest_power(value)
    r = x - k * _LN2
    p = 2.4876164022625967e-05
    p = p * r + 1.9915866926782682e-04
    p = p * r + 1.3888821677630362e-03
    p = p * r + 8.333266097949614e-03
    p = p * r + 4.1666666890957e-02
    p = p * r + 1.6666666891045775e-01
    p = p * r + 0.49999999999797934
    p = p * r + 0.9999999999797852
    return _scaled(p * r + 1.0, power)


@compiled(inline=True, fused=True)
def rough_exponential(value: float) -> float:
    """e^value with a relative error of 1e-7, for comparisons with random numbers."""
    x, k, power = _nearest_power(value)
    r = x - k * _LN2
    p = 0.008369148490856347
    p = p * r + 0.04191750724961526
    p = p * r + 0.16666505260408124
    p = p * r + 0.49998869378303396
    p = p * r + 1.00000001077157
    return _scaled(p * r + 1.0000000754548972, power)


@compiled(inline=True, fused=True)
def _split_logarithm(x: float) -> tuple[float, np.float64]:
    """The whole number k, and 2^-k, with which 2^-k x lies between the roots of 1/2 and 2."""
    bits = np.float64(x).view(np.int64)
    biased = np.int64(np.uint64(bits + (_BITS_OF_ONE - _BITS_OF_ROOT_HALF)) >> np.uint64(_MANTISSA_BITS))
    k = np.int64(biased | _BITS_OF_2_52).view(np.float64) - (2.0**52 + _EXPONENT_OF_ONE)
    return k, np.int64((2 * _EXPONENT_OF_ONE - biased) << _MANTISSA_BITS).view(np.float64)


@compiled(inline=True, fused=True)
def _combine_logarithm(k: float, f: float) -> float:
    """Ln of 2^k (1 + f), from the series of 2 atanh(f / (2 + f))."""
    s = f / (2.0 + f)
    w = s * s
    p = 0.16837659970680488
    p = p * w + 0.18121934431215214
    p = p * w + 0.22223434547517906
    p = p * w + 0.2857141602110767
    p = p * w + 0.40000000061741614
    p = p * w + 0.6666666666655292
    p = p * w + 2.0000000000000004
    return k * _LN2 + s * p


@compiled(inline=True, fused=True)
def logarithm(x: float) -> float:
    """Ln of a positive, normal number."""
    k, scale = _split_logarithm(x)
    return _combine_logarithm(k, x * scale - 1.0)


@compiled(inline=True, fused=True)
def logarithm_of_one_plus(y: float) -> float:
    """ln(1 + y) for y > -1, without loss of digits near 0."""
    k, scale = _split_logarithm(1.0 + y)
    return _combine_logarithm(k, y * scale + (scale - 1.0))
