"""What may be written for an endpoint, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harmonium.table.time_units import check_unit

__all__ = ["FORMS", "form_of"]

FORMS = (
    "(time, event), or a mapping with time and event, with time, cause and causes, or with lower and upper; each may have entry and unit, "
    "time and event may have event_value, until and including, and causes may have censored; until may replace event; where columns hold "
    "dates, write from, and to instead of time"
)
"""What may be written, for messages."""


def form_of(name: str, definition: Any, unit: str | None) -> dict[str, Any]:
    """Bring a definition to a mapping of known keys; ``unit`` is that of the whole table."""
    if isinstance(definition, tuple | list) and len(definition) == 2:
        return {"time": definition[0], "event": definition[1], **({} if unit is None else {"unit": unit})}
    if isinstance(definition, Mapping):
        form = {("time" if key == "to" and "from" in definition else key): value for key, value in definition.items()}
        keys = set(form) - {"unit", *(("from", "dayfirst") if "from" in form else ())}
        for needed, allowed in (
            ({"time", "event"}, {"event_value", "entry", "including", "until"}),
            ({"time", "until"}, {"entry", "including"}),
            ({"time", "cause", "causes"}, {"entry", "censored"}),
            ({"lower", "upper"}, {"entry"}),
        ):
            if needed <= keys <= needed | allowed and len(form) == len(definition):
                _check_causes(name, form)
                _check_day_first(name, form)
                return _with_unit(name, form, unit)
    raise ValueError(f"endpoint {name!r} must be {FORMS}; found {definition!r}")


def _with_unit(name: str, form: dict[str, Any], unit: str | None) -> dict[str, Any]:
    if "unit" in form:
        form["unit"] = check_unit(form["unit"])
    elif unit is not None:
        form["unit"] = unit
    elif "from" in form:
        raise ValueError(f'endpoint {name!r} is defined by dates; say in which unit its times are wanted: "unit": "months"')
    return form


def _check_day_first(name: str, form: Mapping[str, Any]) -> None:
    if not isinstance(form.get("dayfirst", True), bool):
        raise ValueError(f"endpoint {name!r}: dayfirst must be True or False; found {form['dayfirst']!r}")


def _check_causes(name: str, definition: Mapping[str, Any]) -> None:
    causes = definition.get("causes", {"": None})
    if not isinstance(causes, Mapping) or not causes:
        raise ValueError(
            f'endpoint {name!r}: causes must map names to what the column holds: {{"relapse": 1, "death": 2}}; found {causes!r}'
        )
