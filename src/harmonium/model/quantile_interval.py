"""Intervals of quantiles: the times at which the ends of the interval of the cumulative incidence reach the level.

Unlike a standard error of the time itself, they exist where the level is not reached until the end of follow-up (Brookmeyer and Crowley
1982).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from harmonium.model.confidence import Interval, check_level
from harmonium.typing import Array

__all__ = ["quantile_with_interval"]

_N_TIMES = 192  # at which the interval of the curve is found; in between it is a straight line


def quantile_with_interval(method: Callable[..., Array]) -> Callable[..., Any]:
    """Let a prognosis' method ``quantile`` take ``interval``."""

    @wraps(method)
    def asked(self: Any, endpoint: Any = None, q: float = 0.5, *, interval: float | None = None) -> Any:
        estimate = method(self, endpoint, q)
        if interval is None:
            return estimate
        times = _times(self, endpoint)
        happened = self.cumulative_incidence(endpoint, times, interval=check_level(interval))
        highest = np.minimum.accumulate(happened.upper[:, ::-1], axis=1)[:, ::-1]  # the curve rises, so its bounds do
        early, late = _reached(times, highest, q), _reached(times, np.maximum.accumulate(happened.lower, axis=1), q)
        return Interval(estimate, np.minimum(early, estimate), np.maximum(late, estimate))

    parameters = list(inspect.signature(method).parameters.values())
    keyword = inspect.Parameter("interval", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="float | None")
    asked.__signature__ = inspect.Signature([*parameters, keyword])  # type: ignore[attr-defined]
    return asked


def _times(prognosis: Any, endpoint: Any) -> Array:
    """A grid that is fine where events are frequent."""
    names = (endpoint,) if endpoint is None or isinstance(endpoint, str) else tuple(endpoint)
    scale = max((prognosis.encoding.scales[prognosis._place(name)] for name in names), key=lambda own: own.end)
    return np.asarray(scale.from_unit(np.linspace(0.0, scale.reach, _N_TIMES + 1)))


def _reached(times: Array, happened: Array, q: float) -> Array:
    """When rising curves (rows, times) reach a level; infinite if they do not."""
    reached = happened >= q
    place = np.argmax(reached, axis=1)
    row, before = np.arange(len(happened)), np.maximum(place - 1, 0)
    low, high = happened[row, before], happened[row, place]
    share = np.clip((q - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    return np.where(reached.any(axis=1), times[before] + share * (times[place] - times[before]), np.inf)
