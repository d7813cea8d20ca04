"""Cells of which nothing is known, which units can draw by vector instructions if there are no others beside them."""

from __future__ import annotations

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array

__all__ = ["all_free"]


@compiled()
def all_free(lower: Array, upper: Array, lowest: float, highest: float) -> bool:
    """Whether every interval is the whole domain (lowest, highest]."""
    free = True
    for i in range(lower.size):
        free &= lower[i] <= lowest and upper[i] >= highest
    return free
