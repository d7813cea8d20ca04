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


@compiled()
def write_statistics(code: int, x: float, out: Array) -> None:
    """Write the statistics of an observed value."""
    if code == 0:
        _write_bernoulli(x, out)
    elif code == 1:
        _write_categorical(x, out)
    elif code == 2:
        _write_gaussian(x, out)
    else:
        _write_truncated_gamma(x, out)


@compiled()
def draw(code: int, natural: Array, lower: float, upper: float, stream: NDArray[np.uint64]) -> float:
    """Draw a value given the natural parameters; NaN bounds mean that nothing is known, equal ones that all is."""
    if lower == upper:
        return lower
    if np.isnan(lower):
        lower, upper = -np.inf, np.inf
    if code == 0:
        return _draw_bernoulli(natural, lower, upper, stream)
    if code == 1:
        return _draw_categorical(natural, lower, upper, stream)
    if code == 2:
        return _draw_gaussian(natural, lower, upper, stream)
    return _draw_truncated_gamma(natural, lower, upper, stream)
