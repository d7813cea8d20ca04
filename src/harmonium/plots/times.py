"""Endpoints and times to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.typing import Array

__all__ = ["checked_times", "endpoint_name", "last_event"]


def endpoint_name(model: Any, endpoint: str | None) -> str:
    """Name of an endpoint of the model; of the first if none is named."""
    names: tuple[str, ...] | None = getattr(model, "endpoint_names_", None)
    if names is None:
        raise ValueError(f"the model is not fitted, or no survival model; found {type(model).__name__}")
    if endpoint is None:
        return names[0]
    if endpoint not in names:
        raise ValueError(f"there is no endpoint {endpoint!r}; the model has {', '.join(map(repr, names))}")
    return endpoint


def last_event(model: Any, endpoint: str) -> float:
    """The last event in training: there, data end."""
    times = getattr(model, "best_estimator_", model).event_times_[endpoint]  # a search holds the model it has chosen
    if not len(times):
        raise ValueError(f"no event of {endpoint!r} was seen in training; state the times to draw")
    return float(times[-1])


def checked_times(times: Any) -> Array:
    """At least two increasing times.

    Examples
    --------
    >>> checked_times([0, 12, 24])
    array([ 0., 12., 24.])
    """
    array = np.asarray(times, dtype=np.float64)
    if array.ndim != 1 or array.size < 2 or not np.isfinite(array).all() or array[0] < 0.0 or (np.diff(array) <= 0.0).any():
        raise ValueError(f"times must be at least two increasing numbers that are not negative; found {times!r}")
    return array
