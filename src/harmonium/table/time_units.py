"""Units of time: what they are called, and how many of one make another.

A year has 365.25 days, and a month is a twelfth of it. A study may count something else, such as cycles or kilometres: that is a unit too,
but none that can be converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harmonium.typing import Array

__all__ = ["UNITS", "check_unit", "conversion", "days_per", "in_one_unit", "unit_called"]

UNITS = {"seconds": 1 / 86400, "minutes": 1 / 1440, "hours": 1 / 24, "days": 1.0, "weeks": 7.0, "months": 365.25 / 12, "years": 365.25}
"""Days in each unit that can be converted."""

_SHORT = {"sec": "seconds", "min": "minutes", "hr": "hours", "hrs": "hours", "h": "hours", "d": "days", "wk": "weeks", "wks": "weeks"}
_SHORT |= {"mo": "months", "mos": "months", "mth": "months", "mths": "months", "mon": "months", "yr": "years", "yrs": "years", "y": "years"}


def unit_called(name: str) -> str:
    """A unit by its usual name: singular, short or capital letters are all the same.

    Examples
    --------
    >>> unit_called("MONTH"), unit_called("yrs"), unit_called("Cycles")
    ('months', 'years', 'Cycles')
    """
    text = name.strip().lower()
    if text in UNITS or f"{text}s" in UNITS:
        return text if text in UNITS else f"{text}s"
    return _SHORT.get(text, name.strip())


def check_unit(name: Any) -> str:
    """A unit that a user has named, by its usual name."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f'a unit of time must be a name, such as "months"; found {name!r}')
    return unit_called(name)


def days_per(unit: str) -> float:
    """How many days make one of a unit; one that cannot be converted is refused."""
    if unit not in UNITS:
        raise ValueError(f"days cannot be converted to {unit!r}; use one of {', '.join(UNITS)}")
    return UNITS[unit]


def conversion(unit: str, to: str) -> float:
    """By what times in one unit are multiplied to be in another.

    Examples
    --------
    >>> conversion("years", "months")
    12.0
    """
    if unit == to:
        return 1.0
    if unit not in UNITS or to not in UNITS:
        raise ValueError(f"{unit!r} cannot be converted to {to!r}; use one of {', '.join(UNITS)}")
    return UNITS[unit] / UNITS[to]


def in_one_unit(found: dict[str, dict[str, Array]], units: Mapping[str, str], common: str | None) -> str | None:
    """Convert the times of all endpoints, by name and kind, to one unit, and return it; None if none is known."""
    if not units:
        return common
    stated, unit = next(iter(units.items()))
    silent = [name for name in found if name not in units]
    if silent and common is None:
        raise ValueError(
            f'endpoint {stated!r} is in {unit}, and {silent[0]!r} has no unit; state it too ("unit": {unit!r}, or unit={unit} on the '
            "command line)"
        )
    common = common or unit
    for name, own in units.items():
        factor = conversion(own, common)
        if factor != 1.0:
            found[name] = {kind: factor * times for kind, times in found[name].items()}
    return common
