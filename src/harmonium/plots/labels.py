"""Labels beside the right ends of lines, kept from overlapping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from scipy.optimize import isotonic_regression

from harmonium.plots.style import INK, SMALL
from harmonium.typing import Array

__all__ = ["label_ends", "spread"]

_LINE_HEIGHT = 1.25  # of a label, in font sizes


def label_ends(ax: Axes, ends: Sequence[tuple[float, float]], texts: Sequence[str], colours: Sequence[str]) -> None:
    """Write a text to the right of the axes for each end (x, y) of a line, joined to it by a thin line of its colour."""
    if not ends:
        return
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height * 72.0 / ax.figure.dpi
    gap = _LINE_HEIGHT * FontProperties(size=SMALL).get_size_in_points() * (high - low) / points
    for (x, y), place, text, colour in zip(ends, spread(np.array([y for _, y in ends]), gap, low, high), texts, colours, strict=True):
        ax.annotate(
            text,
            xy=(x, y),
            xytext=(1.05, place),
            textcoords=ax.get_yaxis_transform(),
            va="center",
            color=INK,
            fontsize=SMALL,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 1.0, "shrinkB": 0.0, "relpos": (0.0, 0.5)},
        )


def spread(heights: Array, gap: float, low: float, high: float) -> Array:
    """Heights moved as little as possible so that they are ``gap`` apart, or as far as there is room, between two limits.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([0.5, 0.52, 0.9]), 0.1, 0.0, 1.0)
    array([0.46, 0.56, 0.9 ])
    """
    n = heights.size
    if n > 1:
        gap = min(gap, (high - low) / (n - 1))
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(n)
    fitted = np.clip(isotonic_regression(heights[order] - steps).x, low, high - steps[-1])
    out = np.empty(n)
    out[order] = fitted + steps
    return out
