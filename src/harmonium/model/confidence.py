"""Intervals around answers, on the scale on which each answer is most nearly normal.

An answer's standard error is found on its own scale and carried over by the slope of the other one, so an interval of a probability never
leaves [0, 1], and one of a time never falls below zero. Where nothing is uncertain, as survival until a time that is known to have been
reached, the interval is a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from harmonium.typing import Array

__all__ = [
    "CORRELATION",
    "EVENT",
    "NO_EVENT",
    "PLAIN",
    "POSITIVE",
    "SHARE",
    "Interval",
    "Scale",
    "between",
    "check_level",
    "interval_of",
    "standard_error",
]


_ROUNDING = 1e-9  # relative standard errors below are differences of rounded numbers: nothing is uncertain
_LARGE = 2.0  # a width on a logarithmic scale


class Interval(NamedTuple):
    """An answer and what it may as well be.

    Attributes
    ----------
    estimate, lower, upper : ndarray
        Of the answer's own shape; of survival functions, arrays of step functions.
    """

    estimate: Any
    lower: Any
    upper: Any


@dataclass(frozen=True)
class Scale:
    """A scale on which answers are nearly normal: there, back, and its slope.

    Attributes
    ----------
    there, back, slope : callable
    least, most : float
        Between which answers lie; an answer that is neither has limits that are neither.
    """

    there: Callable[[Array], Array]
    back: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    least: float = -np.inf
    most: float = np.inf


def between(least: float, most: float) -> Scale:
    """Of answers between two bounds: log odds of the way from one to the other."""
    width = most - least
    return Scale(
        lambda x: logit((x - least) / width),
        lambda g: least + width * expit(g),
        lambda x: width / ((x - least) * (most - x)),
        least,
        most,
    )


NO_EVENT = Scale(lambda s: np.log(-np.log(s)), lambda g: np.exp(-np.exp(g)), lambda s: 1.0 / (s * np.log(s)), 0.0, 1.0)
"""Of the probability of no event until a time: ln(-ln S), the log of the cumulative hazard."""

EVENT = Scale(lambda f: np.log(-np.log1p(-f)), lambda g: -np.expm1(-np.exp(g)), lambda f: -1.0 / ((1.0 - f) * np.log1p(-f)), 0.0, 1.0)
"""Of the probability that the event has happened: the same scale."""

SHARE = Scale(logit, expit, lambda p: 1.0 / (p * (1.0 - p)), 0.0, 1.0)
"""Of any other probability: log odds."""

POSITIVE = Scale(np.log, np.exp, lambda t: 1.0 / t, 0.0)
"""Of ratios, rates and densities: logarithms."""

PLAIN = Scale(lambda d: d, lambda d: d, np.ones_like)
"""Of differences."""

CORRELATION = Scale(np.arctanh, np.tanh, lambda r: 1.0 / (1.0 - r**2))
"""Of Kendall's tau: Fisher's scale."""


def check_level(level: Any) -> float:
    """Refuse what is no probability of an interval."""
    if isinstance(level, bool) or not (isinstance(level, Real) and 0.0 < float(level) < 1.0):
        raise ValueError(f"interval must be a probability, such as 0.95; found {level!r}")
    return float(level)


def standard_error(deviations: Iterable[Array], like: Array) -> Array:
    """The root of the sum of squares of deviations, each of which is a standard error in its direction."""
    total = np.zeros_like(like, dtype=np.float64)
    for deviation in deviations:
        total += deviation**2
    return np.asarray(np.sqrt(total))


def _shorter(width: Array) -> Array:
    """Widths on a logarithmic scale, of which large ones grow as if there were no scale: an error says little about factors beyond e^2."""
    return np.where(width > _LARGE, _LARGE + np.log(np.maximum(width, _LARGE) / _LARGE), width)


def _just_inside(least: float, most: float) -> tuple[float, float]:
    """The numbers next to two bounds, which a limit may come so close to that it is rounded to one."""
    return float(np.nextafter(least, np.inf)), float(np.nextafter(most, -np.inf))


def interval_of(estimate: Array, error: Array, level: float, scale: Scale) -> Interval:
    """The interval of answers with known standard errors.

    Examples
    --------
    >>> found = interval_of(np.array([0.5, 1.0]), np.array([0.1, 0.0]), 0.95, NO_EVENT)
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.295, 1.   ]), array([0.675, 1.   ]))
    >>> interval_of(np.array([1.0 - 1e-16]), np.array([1e-11]), 0.95, NO_EVENT).lower
    array([1.])

    Where hardly anybody has, its lower end is not much further away than it would be without a scale.

    >>> interval_of(np.array([0.9999]), np.array([0.001]), 0.95, NO_EVENT).lower.round(3)
    array([0.993])
    """
    reach = float(norm.ppf(0.5 + 0.5 * level))  # in standard errors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        there, width = scale.there(estimate), _shorter(reach * np.abs(scale.slope(estimate)) * error)
        ends = np.clip([scale.back(there - width), scale.back(there + width)], *_just_inside(scale.least, scale.most))
        known = np.isfinite(there) & np.isfinite(width) & (error > _ROUNDING * (1.0 + np.abs(estimate)))
    found = np.where(known, ends, estimate)
    return Interval(estimate, found.min(axis=0), found.max(axis=0))
