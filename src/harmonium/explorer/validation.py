"""What comes from a browser, checked: a request may hold anything, and not every request comes from our page.

A ``ValueError`` says what was found and what is allowed, in one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harmonium.explorer.schema import Schema, short
from harmonium.table.odd_values import is_far

__all__ = [
    "FARTHEST",
    "KNOWN",
    "MOST_GRID",
    "Patient",
    "checked_choice",
    "checked_grid",
    "checked_label",
    "checked_place",
    "checked_times",
    "parse_form",
]

KNOWN = ("unknown", "free", "event")
"""What may be known of an endpoint: nothing, that there was no event until a time, or when the event was."""

MOST_GRID = 200
"""Times along each side of a joint density."""

FARTHEST = 10
"""Times the last observed time: nothing is known of what comes later, and it is probably a slip or another unit."""

_MOST_TIMES = 12
_LONGEST_NUMBER = 40
_LONGEST_LABEL = 60
_LARGEST = 1e12
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Patient:
    """What is known of a patient.

    Attributes
    ----------
    values : tuple
        Of the covariates of the schema: a number, a level of training, or None.
    known : tuple of (float, float)
        Bounds of each endpoint's event time; (0, inf) if nothing is known.
    hints : tuple of str
        What the form leaves open, or what is unusual.
    """

    values: tuple[Any, ...]
    known: tuple[tuple[float, float], ...]
    hints: tuple[str, ...] = ()

    @classmethod
    def unknown(cls, schema: Schema) -> Patient:
        """A patient of whom nothing is known."""
        return cls((None,) * len(schema.columns), ((0.0, math.inf),) * len(schema.endpoints))


def parse_form(schema: Schema, form: Any) -> Patient:
    """Read a form.

    Parameters
    ----------
    schema : Schema
    form : mapping
        ``covariates``, a list with the text of a number, the place of a level, or nothing, for each covariate; ``states``, one of
        :data:`KNOWN` for each endpoint; ``times``, the text of a number, or nothing, for each endpoint.
    """
    if not isinstance(form, dict):
        raise ValueError(f"a form must have covariates, states and times; found {_shown(form)}")
    raw: dict[str, Any] = {}
    for name, n in (("covariates", len(schema.columns)), ("states", len(schema.endpoints)), ("times", len(schema.endpoints))):
        raw[name] = form.get(name)
        if not isinstance(raw[name], list) or len(raw[name]) != n:
            raise ValueError(f"a form must have a list of {n} {name}; found {_shown(raw[name])}")
    hints: list[str] = []
    values = tuple(_covariate(column, value, hints) for column, value in zip(schema.columns, raw["covariates"], strict=True))
    states = zip(schema.endpoints, raw["states"], raw["times"], schema.last, strict=True)
    known = tuple(_endpoint(name, state, time, last, hints) for name, state, time, last in states)
    if schema.graph is not None:
        _check_order(schema, known)
    hints += _hints_of_unknown_endpoints(schema, known)
    return Patient(values, known, tuple(hints))


def _hints_of_unknown_endpoints(schema: Schema, known: tuple[tuple[float, float], ...]) -> list[str]:
    """A relapse that is known says more: the patient was alive then. Where death is terminal, the model knows."""
    excluded = () if schema.graph is None else schema.graph.terminal
    latest = max((lower for lower, upper in known if lower == upper), default=0.0)
    silent = [name for name, bounds in zip(schema.endpoints, known, strict=True) if bounds == (0.0, math.inf) and name not in excluded]
    return [
        f"{short(name)} before {latest:g} is not excluded; if there was none, say: no event until {latest:g}" for name in silent if latest
    ]


def _check_order(schema: Schema, known: tuple[tuple[float, float], ...]) -> None:
    """Nothing happens after a terminal event, and nobody is watched any longer."""
    assert schema.graph is not None
    ends = [(known[e][1], name) for e, name in enumerate(schema.endpoints) if name in schema.graph.terminal]
    end, terminal = min(ends)
    for name, (lower, upper) in zip(schema.endpoints, known, strict=True):
        if lower <= end or name == terminal:
            continue
        said = f"an event of {short(name)} at {lower:g}" if upper == lower else f"no event of {short(name)} until {lower:g}"
        raise ValueError(f"{said} cannot be: {short(terminal)} was at {end:g}, and ends everything")


def _covariate(column: Any, value: Any, hints: list[str]) -> Any:
    if _nothing(value):
        return None
    name = short(column.name)
    if column.role == "numeric":
        number = _number(name, value)
        if is_far(number, column.lowest, column.highest):
            raise ValueError(
                f"{name}: {number:g} is too far from what was seen in training, {column.lowest:g} to {column.highest:g}, for an answer; "
                "is it a slip, or another unit?"
            )
        if not column.lowest <= number <= column.highest:
            hints.append(f"{name}: {number:g} is outside of what was seen in training, {column.lowest:g} to {column.highest:g}")
        return number
    place = _whole(value)
    if place is None or not 0 <= place < len(column.levels):
        raise ValueError(f"{name} must be unknown or one of its {len(column.levels)} levels; found {_shown(value)}")
    return column.levels[place]


def _endpoint(name: str, state: Any, time: Any, last: float, hints: list[str]) -> tuple[float, float]:
    state = "unknown" if _nothing(state) else state
    if not isinstance(state, str) or state not in KNOWN:
        raise ValueError(f"{short(name)} must be one of {', '.join(KNOWN)}; found {_shown(state)}")
    if state == "unknown":
        return 0.0, math.inf
    if _nothing(time):
        hints.append(f"{short(name)}: enter a time")
        return 0.0, math.inf
    at = _number(f"the time of {short(name)}", time)
    if at < 0.0:
        raise ValueError(f"the time of {short(name)} must not be negative; found {at:g}")
    if at > FARTHEST * last:
        raise ValueError(
            f"the time of {short(name)} must be at most {FARTHEST * last:g}, {FARTHEST} times the last observed time; found {at:g}"
        )
    if at > last:
        hints.append(f"{short(name)}: {at:g} is beyond the last observed time in training, {last:g}")
    return (at, at) if state == "event" else (at, math.inf)


def checked_times(text: Any) -> list[float]:
    """Times separated by commas or blanks; none is allowed.

    Examples
    --------
    >>> checked_times("12, 24")
    [12.0, 24.0]
    """
    if _nothing(text):
        return []
    if not isinstance(text, str):
        raise ValueError(f"times must be numbers separated by commas, such as 12, 24, 36; found {_shown(text)}")
    items = [item for item in re.split(r"[,;\s]+", text) if item]
    if len(items) > _MOST_TIMES:
        raise ValueError(f"at most {_MOST_TIMES} times can be shown; found {len(items)}")
    times = [_number("a time", item) for item in items]
    if any(time < 0.0 for time in times):
        raise ValueError(f"times must not be negative; found {min(times):g}")
    return list(dict.fromkeys(times))


def checked_grid(n: Any) -> int:
    """The number of times along each side of a joint density."""
    found = _whole(n)
    if found is None or not 2 <= found <= MOST_GRID:
        raise ValueError(f"a grid must have 2 to {MOST_GRID} times on each side; found {_shown(n)}")
    return found


def checked_choice(what: str, value: Any, options: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{what} must be one of {', '.join(options)}; found {_shown(value)}")
    return value


def checked_place(what: str, value: Any, n: int) -> int:
    """The place of something among ``n``."""
    found = _whole(value)
    if found is None or not 0 <= found < n:
        raise ValueError(f"{what} must be a number from 0 to {n - 1}; found {_shown(value)}")
    return found


def checked_label(label: Any, otherwise: str) -> str:
    """A scenario's label; the usual one if there is none."""
    if _nothing(label):
        return otherwise
    if not isinstance(label, str):
        raise ValueError(f"a label must be text; found {_shown(label)}")
    return short(label, _LONGEST_LABEL) if label.strip() else otherwise


def _nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _whole(value: Any) -> int | None:
    """A whole number, or the digits of a small one."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(what: str, value: Any) -> float:
    if isinstance(value, str):
        text = value.strip()
        found = len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text)
        number = float(text.replace(",", ".")) if found else math.nan
    else:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST else math.nan
    if not abs(number) <= _LARGEST:
        raise ValueError(f"{what} must be a number; found {_shown(value)}")
    return number


def _shown(value: Any) -> str:
    """What was found, in a few characters."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return short(repr(value) if not isinstance(value, str) else repr(value[:100]), 40)
