"""Labels beside the right ends of lines, kept from overlapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from scipy.optimize import isotonic_regression

from harmonium.plots.style import INK, SMALL, plain
from harmonium.typing import Array

__all__ = ["label_ends", "spread"]

_LINE_HEIGHT = 1.25  # of a label, in font sizes


def label_ends(ax: Axes, ends: Sequence[tuple[float, float]], texts: Sequence[str], colours: Sequence[str], *, title: Any = None) -> None:
    """Write a text to the right of the axes for each end (x, y) of a line, joined to it by a thin line of its colour; a title above."""
    if not ends:
        return
    if title is not None:
        ax.annotate(plain(title), (1.05, 1.04), xycoords="axes fraction", va="bottom", color=INK, fontsize=SMALL, fontweight="bold")
    (low, high), right = ax.get_ylim(), ax.get_xlim()[1]
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
            arrowprops={"arrowstyle": "-", "color": colour, "shrinkA": 1.0, "shrinkB": 0.0, "relpos": (0.0, 0.5), **_leader(x, right)},
        )


def _leader(end: float, right: float) -> dict[str, Any]:
    """How a label is joined to a line: if that ends early, by faint dots, which nobody takes for the line itself."""
    return {"linewidth": 0.8} if end >= 0.98 * right else {"linewidth": 0.7, "linestyle": (0, (1, 4)), "alpha": 0.7}


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
