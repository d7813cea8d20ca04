"""The penalised log-likelihood of a small table, from the optimiser's coordinates to the gradient by them, in one compiled call.

With few rows the steps in between, each a call from Python, would take a quarter of the time.
"""

from __future__ import annotations

import numpy as np

from harmonium.engine.one_strip import Strip, add_up_strip
from harmonium.numerics.compilation import compiled
from harmonium.training.coordinates import Coordinates, Places, write_gradient, write_natural
from harmonium.typing import Array

__all__ = ["strip_loss"]


def strip_loss(strip: Strip, coordinates: Coordinates, precisions: Array, n_rows: float, z: Array) -> tuple[float, Array] | None:
    """Minus the penalised log-likelihood per row and its gradient; None if some row cannot be summed with the strip's tables."""
    gradient = np.empty(z.size)
    z = np.ascontiguousarray(z, dtype=np.float64)
    at = coordinates
    value, complete = _loss(strip, at.places, at.mean, at.fixed_bias, at.n_hidden, precisions, float(n_rows), z, gradient)
    return (value, gradient) if complete else None


@compiled()
def _loss(
    strip: Strip,
    at: Places,
    mean: Array,
    fixed_bias: Array,
    n_hidden: int,
    precisions: Array,
    n_rows: float,
    z: Array,
    gradient: Array,
) -> tuple[float, bool]:
    """Fill in the gradient; returns the value, and whether all rows were summed."""
    n_statistics = mean.size
    bias, coupling, hidden = fixed_bias.copy(), np.zeros((n_statistics, n_hidden)), np.empty(n_hidden)
    write_natural(z, at, mean, bias, coupling, hidden)
    by_bias, by_coupling, by_hidden = np.empty(n_statistics), np.empty((n_statistics, n_hidden)), np.empty(n_hidden)
    value, complete = add_up_strip(strip, (bias, coupling, hidden, 0.0), by_bias, by_coupling, by_hidden)
    penalty = 0.0
    if complete:
        write_gradient(by_bias, by_coupling, by_hidden, at, mean, gradient)
        for i in range(z.size):
            penalty += precisions[i] * z[i] * z[i]
            gradient[i] = (precisions[i] * z[i] - gradient[i]) / n_rows
    return (0.5 * penalty - value) / n_rows, complete
