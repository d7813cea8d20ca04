"""What is asked of an endpoint if nothing else is said: the same in Python, on the command line, on the page and in a report."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from harmonium.model.prognosis import endpoint_place
from harmonium.numerics.round_times import three_times
from harmonium.table.encoding import Encoding

__all__ = ["usual_measure", "usual_time", "usual_times"]


def usual_measure(encoding: Encoding) -> Literal["survival", "incidence"]:
    """The probability of no event; of the event, if the model has a terminal endpoint, which may prevent others."""
    return "survival" if encoding.ordered is None else "incidence"


def usual_time(encoding: Encoding, endpoint: Any = None) -> float:
    """The median of the distinct event times in training; of several endpoints, of all of theirs."""
    names = endpoint if isinstance(endpoint, tuple) else (endpoint,)
    places = [endpoint_place(encoding.endpoint_names, name) for name in names]
    times = np.concatenate([encoding.endpoints[place].event_times for place in places])
    return float(np.median(times))


def usual_times(encoding: Encoding) -> list[float]:
    """Three round times, at which something was observed of every endpoint; none if nothing was of any."""
    ends = [endpoint.follow_up.last for endpoint in encoding.endpoints]
    known = [end for end in ends if 0.0 < end < np.inf]
    return three_times(min(known), encoding.unit) if known else []
