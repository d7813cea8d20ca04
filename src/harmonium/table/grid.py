"""The grid on which a column's values lie: whole numbers, multiples of ten, two decimals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.typing import Array

__all__ = ["Grid", "grid_of"]

_MOST_DECIMALS = 8
_LARGEST = 2.0**53  # whole numbers up to here are exact
_SURE = 100.0  # how unlikely a common step must be to be taken for a rule


@dataclass(frozen=True)
class Grid:
    """Values (origin + step * k) / 10**decimals, for whole numbers k.

    Examples
    --------
    >>> import numpy as np
    >>> grid_of(np.array([0.25, 1.5, 2.01]))
    Grid(origin=25, step=1, decimals=2)
    >>> grid_of(np.array([10.0, 20.0, 40.0, 90.0])).nearest(np.array([33.0]))
    array([30.])
    """

    origin: int
    step: int
    decimals: int

    def nearest(self, values: Array, lowest: float = -np.inf, highest: float = np.inf) -> Array:
        """The nearest points of the grid that do not lie outside a range."""
        unit = 10.0**self.decimals
        low, high = (np.ceil((lowest * unit - self.origin) / self.step - 1e-6), np.floor((highest * unit - self.origin) / self.step + 1e-6))
        k = np.clip(np.round((values * unit - self.origin) / self.step), low, high)
        return np.asarray((self.origin + self.step * k) / unit)

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        return {"it must have a positive step and few decimals": self.step > 0 and 0 <= self.decimals <= _MOST_DECIMALS}


def grid_of(values: Array, precision: float = 2.0**-52) -> Grid | None:
    """The coarsest grid of distinct ascending values; None if they have many decimals.

    A step of more than one unit of the last decimal is believed if by chance so many values would hardly all lie on it.
    """
    size = float(np.abs(values).max())
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = values * 10.0**decimals
        if size * 10.0**decimals * max(precision * 2.0**52, 1.0) >= _LARGEST:
            return None
        whole = np.round(scaled)
        if (np.abs(scaled - whole) <= 4.0 * precision * np.abs(whole)).all():
            points = whole.astype(np.int64)
            step = int(np.gcd.reduce(points - points[0]))
            rule = step > 1 and (values.size - 1) * np.log(step) >= np.log(_SURE)
            return Grid(int(points[0]), step if rule else 1, decimals)
    return None
