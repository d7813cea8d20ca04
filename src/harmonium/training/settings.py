"""Checks of a trainer's settings, with errors that say what was found and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["require_boolean", "require_number", "require_one_of", "require_whole_number"]


def require_whole_number(name: str, value: Any, least: int, *, instead: str = "") -> None:
    """Refuse anything but a whole number that is large enough; ``instead`` names what else is allowed.

    Examples
    --------
    >>> require_whole_number("n_starts", 0, least=1)
    Traceback (most recent call last):
    ValueError: n_starts must be a whole number of at least 1; found 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be {instead}a whole number of at least {least}; found {value!r}")


def require_number(name: str, value: Any, least: float, below: float = np.inf, *, above: bool = False, instead: str = "") -> None:
    """Refuse anything but a finite number in a range, which excludes its lower end if ``above``; ``instead`` names what else is allowed."""
    fine = isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) < below and not (above and value == least)
    if not fine:
        bounds = f"{'above' if above else 'of at least'} {least:g}" + (f" and below {below:g}" if below < np.inf else "")
        raise ValueError(f"{name} must be {instead}a number {bounds}; found {value!r}")


def require_one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse anything but some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; found {value!r}")


def require_boolean(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; found {value!r}")
