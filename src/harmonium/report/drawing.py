"""Figures for a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

__all__ = ["SQUARE", "WIDE", "drawn", "in_unit", "signed", "time_label"]

WIDE, SQUARE = 5.8, 3.8
"""Widths of figures in inches: all have letters of one size, on paper, on a screen and, made smaller, on a phone."""


def drawn(draw: Callable[..., Any], size: tuple[float, float]) -> Figure:
    """A figure of a size in inches, on whose axes ``draw`` draws."""
    figure = Figure(figsize=size, layout="constrained")
    draw(ax=figure.subplots())
    return figure


def time_label(unit: str) -> str:
    """Of an axis.

    Examples
    --------
    >>> time_label("months"), time_label("")
    ('Time (months)', 'Time')
    """
    return f"Time ({unit})" if unit else "Time"


def in_unit(value: float, unit: str) -> str:
    """A time with its unit.

    Examples
    --------
    >>> in_unit(60.25, "months"), in_unit(float("inf"), "months")
    ('60.2 months', 'not reached')
    """
    if not np.isfinite(value):
        return "not reached"
    digits = f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def signed(value: float, digits: int) -> str:
    """A difference with its sign, and without one if it is zero to these digits.

    Examples
    --------
    >>> signed(3.2, 0), signed(-12.04, 1), signed(-0.04, 1)
    ('+3', '−12.0', '0.0')
    """
    shown = f"{value:+.{digits}f}"
    return shown.replace("-", "−") if float(shown) else shown[1:]
