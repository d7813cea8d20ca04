"""Doubts about a column that says whether an event was seen: 1 may mean an event, or that the time is censored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from harmonium.errors import EndpointWarning, warn
from harmonium.typing import Array, Booleans

__all__ = ["warn_if_inverted"]

_CDISC = re.compile(r"(?i)(^|[^a-z])cnsr([^a-z]|$)")
_CENSORED = re.compile(r"(?i)(^|[^a-z])(cens|censor|censored|censoring|alive|survived)([^a-z]|$)")
_FEW = 40  # rows, below which times say nothing
_LATER = 0.5  # by how much the fraction of events in the last quarter of the times exceeds that in the first


def warn_if_inverted(column: Any, time: Array, event: Booleans) -> None:
    """Warn if the name of a column of 0 and 1, or the times, say that 1 means censored.

    A name such as ``cens``, which some use for the opposite, does not count against times that say that 1 means an event.

    Where follow-up ends for many at once, late times are censored, and early ones mostly events. In 18 public studies the fraction of
    events never grows from the first to the last quarter of the times; if it grows by half, the column may say the opposite.
    """
    known = ~np.isnan(time)
    if not known.any() or event[known].all() or not event[known].any():
        return
    if _CDISC.search(str(column)) or (_CENSORED.search(str(column)) and not _looks_inverted(time[known], ~event[known])):
        reason = "its name says that 1 means censored"
    elif _looks_inverted(time[known], event[known]):
        reason = "early times are mostly censored and late ones mostly events, as if 1 meant censored"
    else:
        return
    warn(
        f'column {column!r} is used as an event, and {reason}; if 0 means an event, write "event_value": 0 ({column}:0 on the command '
        'line); if 1 does, write "event_value": 1',
        EndpointWarning,
    )


def _looks_inverted(time: Array, event: Booleans) -> bool:
    if time.size < _FEW:
        return False
    first, last = np.quantile(time, [0.25, 0.75])
    return bool(event[time >= last].mean() - event[time <= first].mean() > _LATER)
