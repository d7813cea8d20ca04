"""Times with round numbers, for tables and axes."""

from __future__ import annotations

import math

__all__ = ["round_times", "three_times"]

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_MONTHS = (1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 36.0, 60.0, 120.0)  # steps that are said in years


def round_times(end: float, most: int = 5) -> list[float]:
    """At most ``most`` equally spaced times with round numbers until a time.

    Examples
    --------
    >>> round_times(96.1)
    [20.0, 40.0, 60.0, 80.0]
    """
    rough = end / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(k for k in _ROUND if k * power >= rough * (1.0 - 1e-9))
    return [step * k for k in range(1, math.floor(end * (1.0 + 1e-9) / step) + 1)]


def three_times(end: float, unit: str | None = None) -> list[float]:
    """Three such times, of which the last lies in the last part of the whole; months make years.

    Examples
    --------
    >>> three_times(96.1), three_times(96.1, "months")
    ([25.0, 50.0, 75.0], [24.0, 48.0, 72.0])
    """
    rough = end / 3.0 * (1.0 + 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [k for k in _MONTHS if k <= rough] if unit == "months" else []
    step = max(steps, default=max(k * power for k in _ROUND if k * power <= rough))
    return [step, 2.0 * step, 3.0 * step]
