"""How lines, marks and names look in all figures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

__all__ = ["CENSORED_MARKERS", "COLOURS", "GREY", "INK", "LINES", "MARKERS", "SMALL", "axes_or_new", "only_two_spines", "plain"]

# Okabe and Ito's, without yellow, which is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# As many as are needed to tell lines and dots apart without colour; numbers coprime to that of the colours give more combinations.
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))
MARKERS = ("o", "^", "s", "D", "v")
CENSORED_MARKERS = ("x", "+", "1", "2", "3")
GREY, INK = "0.55", "0.15"
SMALL = "small"

_LONGEST = 32


def plain(name: Any, longest: int = _LONGEST) -> str:
    r"""A user's name as text that Matplotlib draws as it is: dollars are no mathematics, and very long names lose their middle.

    Examples
    --------
    >>> plain("$x_1$")
    '\\$x_1\\$'
    >>> plain("days until the second recurrence of disease", 20)
    'days until th…isease'
    """
    text = " ".join(str(name).split())
    if len(text) > longest:
        tail = longest // 3
        text = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    return text.replace("$", r"\$")


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that were given, or those of a new figure of a size in inches."""
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be Matplotlib axes; found {type(ax).__name__}")
    return ax


def only_two_spines(ax: Axes) -> None:
    """Leave the left and the lower side of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
