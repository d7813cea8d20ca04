"""A status that is a word: which of them probably means an event, and which says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, TableError, warn
from harmonium.table.frames import as_typed

__all__ = ["probable_event", "refuse_unknown", "warn_of_others"]

_EVENT = {"yes", "y", "true", "t", "ja", "oui", "si", "sí", "sim", "dead", "died", "deceased", "death", "exitus", "event", "observed"} | {
    "relapse", "relapsed", "recurrence", "recurred", "progression", "progressed", "metastasis", "failed", "failure", "broken", "positive"
}  # fmt: skip
_NO_EVENT = {"no", "n", "false", "f", "nein", "non", "não", "alive", "living", "lives", "survived", "censored", "none", "event-free"} | {
    "ok", "intact", "running", "working", "negative"
}  # fmt: skip
_UNKNOWN = {"unknown", "unkn", "unk", "uk", "not known", "not recorded", "?", "-", "--", "n.a.", "n/k", "nk", "missing", "tbd"}
_MOST_SHOWN = 4


def probable_event(distinct: Sequence[Any]) -> Any:
    """The value that probably means an event, or None: "yes" of yes and no, 2 of 1 and 2.

    Examples
    --------
    >>> probable_event(["no", "yes"]), probable_event([1, 2]), probable_event(["A", "B"])
    ('yes', 2, None)
    """
    words = [str(value).strip().casefold() for value in distinct]
    if set(words) in ({"1", "2"}, {"1.0", "2.0"}):
        return distinct[words.index(max(words))]
    known = all(word in _EVENT | _NO_EVENT | _UNKNOWN for word in words)
    events = [value for value, word in zip(distinct, words, strict=True) if word in _EVENT]
    return events[0] if known and len({str(value).strip().casefold() for value in events}) == 1 else None


def refuse_unknown(series: pd.Series, places: Any, distinct: Sequence[Any], event_value: Any) -> None:
    """Refuse "unknown" where a value means an event and all others mean none: it says neither."""
    for number, value in enumerate(distinct):
        if isinstance(value, str) and value != event_value and value.strip().casefold() in _UNKNOWN:
            rows = np.flatnonzero(places == number)
            more = f" (and in {rows.size - 1} more rows)" if rows.size > 1 else ""
            raise TableError(
                f"column {series.name!r} holds {as_typed(value)} in row {int(rows[0])}{more}, which says neither that the event was seen "
                "nor that it was not; correct it, or leave both time and status empty there",
                column=series.name,
                row=int(rows[0]),
            )


def warn_of_others(column: Any, distinct: Sequence[Any], event_value: Any) -> None:
    """Say what counts as no event, if that is more than one value."""
    others = [value for value in distinct if value != event_value and str(value) != str(event_value)]
    if len(others) > 1:
        shown = ", ".join(map(as_typed, others[:_MOST_SHOWN])) + (", ..." if len(others) > _MOST_SHOWN else "")
        warn(f"column {column!r}: {as_typed(event_value)} means an event, and {shown} count as no event", EndpointWarning)
