"""Checks of numeric arguments, with errors that say what was found and where."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.errors import first_offender
from harmonium.typing import Array

__all__ = ["IntervalArguments"]


class IntervalArguments:
    """Parameters (alpha, beta) and intervals within [0, 1], checked and ready for a compiled loop.

    Each of the four arrays is flat and has either one element, meant for all, or as many as ``shape`` holds: what was given as a
    scalar is neither checked nor stored more than once.
    """

    def __init__(self, alpha: ArrayLike, beta: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        given = {name: _as_numbers(name, value) for name, value in zip(_NAMES, (alpha, beta, lower, upper), strict=True)}
        try:
            self.shape = np.broadcast_shapes(*(array.shape for array in given.values()))
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in given.items())
            raise ValueError(f"the arguments' shapes do not broadcast against each other: {shapes}") from error
        _require("alpha must be finite and at least 1", (given["alpha"] >= 1.0) & (given["alpha"] < np.inf), given["alpha"])
        _require("beta must be finite", np.isfinite(given["beta"]), given["beta"])
        low, high = np.broadcast_arrays(given["lower"], given["upper"])
        where = first_offender(~((low >= 0.0) & (low < high) & (high <= 1.0)))
        if where is not None:
            raise ValueError(f"0 <= lower < upper <= 1 is needed; found lower {low[where]}, upper {high[where]} at index {where}")
        self._given = given

    @property
    def size(self) -> int:
        """How many elements the results have."""
        return int(np.prod(self.shape, dtype=np.int64))

    def flat(self) -> tuple[Array, Array, Array, Array]:
        """alpha, beta, lower and upper."""
        alpha, beta, lower, upper = (self._flat(array) for array in self._given.values())
        return alpha, beta, lower, upper

    def _flat(self, array: Array) -> Array:
        flat = array.reshape(1) if array.size == 1 else np.ascontiguousarray(np.broadcast_to(array, self.shape)).reshape(-1)
        flat.flags.writeable = False  # always, since arrays that differ in this are compiled for separately
        return flat


_NAMES = ("alpha", "beta", "lower", "upper")


def _as_numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers; found {value!r}") from error
    where = first_offender(np.isnan(array))
    if where is not None:
        raise ValueError(f"{name} must not hold NaN; found one at index {where}")
    return array


def _require(rule: str, holds: NDArray[np.bool_], array: Array) -> None:
    where = first_offender(~holds)
    if where is not None:
        raise ValueError(f"{rule}; found {array[where]} at index {where}")
