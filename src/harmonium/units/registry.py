"""All units, and the compiled calls by name that reach each of them.

Functions passed as arguments would be compiled anew in every process, so compiled code finds a unit by a number: its place
in :data:`UNITS`. A new unit is one line in each of the three tables below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.compilation import compiled
from harmonium.units import bernoulli, categorical, gaussian, truncated_gamma
from harmonium.units.contract import Array, Unit

__all__ = ["UNITS", "draw", "unit_code", "write_statistics"]

UNITS: tuple[type[Unit], ...] = (bernoulli.Bernoulli, categorical.Categorical, gaussian.Gaussian, truncated_gamma.TruncatedGamma)

_write_bernoulli, _draw_bernoulli = bernoulli.write_statistics, bernoulli.draw
_write_categorical, _draw_categorical = categorical.write_statistics, categorical.draw
_write_gaussian, _draw_gaussian = gaussian.write_statistics, gaussian.draw
_write_truncated_gamma, _draw_truncated_gamma = truncated_gamma.write_statistics, truncated_gamma.draw


def unit_code(unit: Unit) -> int:
    """The number by which compiled code knows the unit."""
    return UNITS.index(type(unit))


@compiled(inline=True)
def write_statistics(code: int, x: float, out: Array, first: int, last: int) -> None:
    """Write the statistics of an observed value to places ``first`` to ``last`` of a vector.

    Compiled code passes places rather than slices: making a slice costs more than the work.
    """
    if code == 0:
        _write_bernoulli(x, out, first, last)
    elif code == 1:
        _write_categorical(x, out, first, last)
    elif code == 2:
        _write_gaussian(x, out, first, last)
    else:
        _write_truncated_gamma(x, out, first, last)


@compiled(inline=True)
def draw(code: int, natural: Array, first: int, last: int, lower: float, upper: float, stream: NDArray[np.uint64]) -> float:
    """Draw a value given its natural parameters; NaN bounds mean that nothing is known, equal ones that all is."""
    if lower == upper:
        return lower
    if np.isnan(lower):
        lower, upper = -np.inf, np.inf
    if code == 0:
        return _draw_bernoulli(natural, first, last, lower, upper, stream)
    if code == 1:
        return _draw_categorical(natural, first, last, lower, upper, stream)
    if code == 2:
        return _draw_gaussian(natural, first, last, lower, upper, stream)
    return _draw_truncated_gamma(natural, first, last, lower, upper, stream)
