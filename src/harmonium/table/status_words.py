"""A status that is a word: which of them probably means an event, and which says nothing.

Doubts about a column that says whether an event was seen: 1 may mean an event, or that the time is censored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, TableError, warn
from harmonium.table.frames import also, as_typed, reads_as_number, rows_of
from harmonium.typing import Array, Booleans

__all__ = ["probable_event", "refuse_unknown", "refuse_variants", "warn_if_inverted", "warn_of_others"]

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
            row, *others = rows = rows_of(places == number)
            raise TableError(
                f"column {series.name!r} holds {as_typed(value)} in row {row}{also(rows)}, which says neither that the event was seen "
                "nor that it was not; correct it, or leave both time and status empty there",
                column=series.name,
                row=row,
                others=others,
            )


def refuse_variants(
    series: pd.Series, places: Any, distinct: Sequence[Any], meant: Any, *, others: Collection[Any] = (), typed: bool = True
) -> None:
    """Refuse "Dead" or "dead " where "dead" is meant: it would pass for a censored time. ``others`` mean something else.

    What was ``typed`` on a command line is text, and 1 is then the same as "1"; otherwise it is not.

    Examples
    --------
    >>> refuse_variants(pd.Series(["Dead", "Dead"], name="status"), np.array([0, 0]), ["Dead"], "dead")
    Traceback (most recent call last):
    harmonium.errors.TableError: column 'status' holds 'Dead' in row 0, not 'dead'; write 'Dead', as it stands there
    """
    for number, value in enumerate(distinct):
        if value == meant or value in others or not _is_spelt_alike(value, meant) or (typed and reads_as_number(value)):
            continue
        row, *more = rows = rows_of(places == number)
        both = any(other == meant for other in distinct)
        found = (
            f", and {as_typed(meant)} elsewhere; use one spelling"
            if both
            else f", not {as_typed(meant)}; write {as_typed(value)}, as it stands there"
        )
        message = f"column {series.name!r} holds {as_typed(value)} in row {row}{also(rows) if both else ''}{found}"
        raise TableError(message, column=series.name, row=row, others=more)


def _is_spelt_alike(value: Any, other: Any) -> bool:
    """Whether two values differ in capitals and blanks only, or one is the text of the other, a number."""
    if str(value).strip().casefold() == str(other).strip().casefold():
        return True
    if isinstance(value, str) == isinstance(other, str):
        return False
    text, number = (value, other) if isinstance(value, str) else (other, value)
    return not isinstance(number, bool | np.bool_) and reads_as_number(text) and reads_as_number(number) and float(text) == float(number)


def warn_of_others(column: Any, distinct: Sequence[Any], event_value: Any) -> None:
    """Say what counts as no event, if that is more than one value."""
    others = [value for value in distinct if value != event_value and str(value) != str(event_value)]
    if len(others) > 1:
        shown = ", ".join(map(as_typed, others[:_MOST_SHOWN])) + (", ..." if len(others) > _MOST_SHOWN else "")
        warn(f"column {column!r}: {as_typed(event_value)} means an event, and {shown} count as no event", EndpointWarning)
