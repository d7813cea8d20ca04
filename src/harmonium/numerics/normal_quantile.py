"""Quantiles of the normal distribution (Wichura 1988, algorithm AS 241), to 16 digits; without SciPy, which takes long to import."""

from __future__ import annotations

import numpy as np

from harmonium.typing import Array

__all__ = ["normal_quantile"]

_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
     1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
     687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_NEAR = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504,
     5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455,
     1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093, 0.29656057182850489123,
     1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4, 0.0148753612908506148525,
     0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def normal_quantile(share: Array) -> Array:
    """Where the standard normal distribution function is ``share``; infinite at 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> normal_quantile(np.array([0.0, 0.025, 0.5])).round(3)
    array([ -inf, -1.96,  0.  ])
    """
    share = np.asarray(share, dtype=np.float64)
    q = share - 0.5
    centre = np.abs(q) <= 0.425
    tail = np.where(centre, 0.25, np.minimum(share, 1.0 - share))
    with np.errstate(divide="ignore"):
        r = np.sqrt(-np.log(tail))
    finite = np.where(np.isfinite(r), r, 10.0)
    outer = np.where(finite <= 5.0, _ratio(_NEAR, finite - 1.6), _ratio(_FAR, finite - 5.0))
    inner = q * _ratio(_CENTRE, 0.180625 - np.where(centre, q * q, 0.0))
    return np.asarray(np.where(centre, inner, np.sign(q) * np.where(np.isfinite(r), outer, np.inf)))


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    above, below = (_polynomial(coefficients, x) for coefficients in polynomials)
    return np.asarray(above / below)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """By Horner's rule, the highest power first; several times as quick as NumPy's for few numbers."""
    out = np.multiply(x, coefficients[0])
    for coefficient in coefficients[1:-1]:
        out += coefficient
        out *= x
    out += coefficients[-1]
    return np.asarray(out)
