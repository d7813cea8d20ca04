"""Endpoints and times to draw."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from harmonium.model.prognosis import endpoint_place

__all__ = ["end_of_axis", "endpoint_name", "label_of_time", "last_event"]


def endpoint_name(model: Any, endpoint: str | None) -> str:
    """Name of an endpoint of the model; of the first if none is named."""
    names: tuple[str, ...] | None = getattr(model, "endpoint_names", None)
    if names is None:
        raise ValueError(f"the model is not fitted, or no survival model; found {type(model).__name__}")
    return names[endpoint_place(names, endpoint)]


def last_event(model: Any, endpoint: str) -> float:
    """The last event in training: there, data end."""
    encoding = model.fitted.encoding
    return float(encoding.endpoints[endpoint_place(encoding.endpoint_names, endpoint)].event_times[-1])


def label_of_time(unit: str | None, label: str | None = None) -> str:
    """What stands below an axis of time: what was asked for, or the unit, if that is known.

    Examples
    --------
    >>> label_of_time("months"), label_of_time(None), label_of_time("months", "Months from surgery")
    ('Time (months)', 'Time', 'Months from surgery')
    """
    if label is not None:
        return label
    return "Time" if unit is None else f"Time ({unit})"


def end_of_axis(until: Any) -> float:
    """A positive time.

    Examples
    --------
    >>> end_of_axis(24)
    24.0
    """
    if not (isinstance(until, Real) and 0.0 < float(until) < np.inf):
        raise ValueError(f"until must be a positive time; found {until!r}")
    return float(until)
