"""All units, and the compiled calls by name that reach each of them.

Functions passed as arguments would be compiled again in every process, so compiled code finds a unit by a number: its place
in :data:`UNITS`. A new unit is an import, a line in each of the two tables below, and a case in each of the three functions
(docs/add_a_unit.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array
from harmonium.units import bernoulli, categorical, gaussian, truncated_gamma
from harmonium.units.contract import Unit

__all__ = ["UNITS", "draw", "integrate", "unit_code", "write_statistics"]

UNITS: tuple[type[Unit], ...] = (
    bernoulli.Bernoulli,
    categorical.Categorical,
    gaussian.Gaussian,
    truncated_gamma.TruncatedGamma,
)

_write_bernoulli, _draw_bernoulli, _integrate_bernoulli = bernoulli.write_statistics, bernoulli.draw, bernoulli.integrate
_write_categorical, _draw_categorical, _integrate_categorical = categorical.write_statistics, categorical.draw, categorical.integrate
_write_gaussian, _draw_gaussian, _integrate_gaussian = gaussian.write_statistics, gaussian.draw, gaussian.integrate
_write_truncated_gamma, _draw_truncated_gamma = truncated_gamma.write_statistics, truncated_gamma.draw
_integrate_truncated_gamma = truncated_gamma.integrate


def unit_code(unit: Unit) -> int:
    """The number by which compiled code knows the unit."""
    return UNITS.index(type(unit))


@compiled()
def write_statistics(code: int, x: Array, out: Array, first: int, last: int) -> None:
    """Write the statistics of a column's values to rows ``first`` to ``last`` of an array (statistics, values)."""
    if code == 0:
        _write_bernoulli(x, out, first, last)
    elif code == 1:
        _write_categorical(x, out, first, last)
    elif code == 2:
        _write_gaussian(x, out, first, last)
    elif code == 3:
        _write_truncated_gamma(x, out, first, last)


@compiled()
def integrate(
    code: int, natural: Array, first: int, last: int, lower: float, upper: float, log_mass: Array, means: Array, place: int
) -> None:
    """Log mass of an unobserved cell and, in rows ``place`` and following, the means of its statistics (eq. 5 and eq. 12).

    For every column of natural parameters (statistics, n), of which the cell's are in rows ``first`` to ``last``. Bounds lie within the
    unit's domain and are its ends where nothing is known.
    """
    if code == 0:
        _integrate_bernoulli(natural, first, last, lower, upper, log_mass, means, place)
    elif code == 1:
        _integrate_categorical(natural, first, last, lower, upper, log_mass, means, place)
    elif code == 2:
        _integrate_gaussian(natural, first, last, lower, upper, log_mass, means, place)
    elif code == 3:
        _integrate_truncated_gamma(natural, first, last, lower, upper, log_mass, means, place)


@compiled()
def draw(code: int, natural: Array, first: int, last: int, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> None:
    """Draw a column's values, each in its interval and with a stream of its own, given natural parameters (statistics, values).

    Bounds lie within the unit's domain and are its ends where nothing is known; where they are equal, the value stays as it is.
    """
    if code == 0:
        _draw_bernoulli(natural, first, last, lower, upper, streams, out)
    elif code == 1:
        _draw_categorical(natural, first, last, lower, upper, streams, out)
    elif code == 2:
        _draw_gaussian(natural, first, last, lower, upper, streams, out)
    elif code == 3:
        _draw_truncated_gamma(natural, first, last, lower, upper, streams, out)
