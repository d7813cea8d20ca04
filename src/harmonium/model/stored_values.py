"""Values in JSON, which has fewer types than Python, and back; and whether they have the types that a model needs.

``{"$float": "inf"}``, ``{"$mapping": [[key, value], ...]}`` and ``{"$tensor": "its name"}`` stand for what JSON does not have,
so that a level comes back as what it was. An array is a tuple. Dataclasses are written field by field, and read by the types of their
fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from harmonium.errors import ModelFileError
from harmonium.typing import Array

__all__ = ["from_json", "require", "to_json", "typed"]


def require(holds: bool, rule: str) -> None:
    """Refuse the file if a rule does not hold."""
    if not holds:
        raise ModelFileError(rule)


def to_json(value: Any, tensors: dict[str, Array], where: str = "") -> Any:
    """A value in JSON's types; arrays are added to the tensors, under the names of their places.

    Examples
    --------
    >>> to_json({"levels": ("I", "II"), "horizon": float("inf")}, {})
    {'levels': ['I', 'II'], 'horizon': {'$float': 'inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if is_dataclass(value):
        value = {own.name: getattr(value, own.name) for own in fields(value)}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if type(value) is tuple:
        return [to_json(item, tensors, f"{where}.{getattr(item, 'name', i)}") for i, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        name = where[1:].encode("ascii", "backslashreplace").decode()
        tensors[name] = np.ascontiguousarray(value, dtype="<f8")
        return {"$tensor": name}
    if isinstance(value, Mapping):
        plain = all(type(key) is str and not key.startswith("$") for key in value)
        items = [(key if plain else to_json(key, tensors, where), to_json(item, tensors, f"{where}.{key}")) for key, item in value.items()]
        return dict(items) if plain else {"$mapping": items}
    kind = type(value).__name__
    raise TypeError(f"{where[1:]} cannot be saved: a model file cannot hold {value!r}, a {kind}; use text or numbers in its place")


def from_json(stored: Any, tensors: dict[str, Array]) -> Any:
    """The value that :func:`to_json` was given, but for dataclasses; its arrays are taken out of the tensors."""
    if not isinstance(stored, dict):
        return tuple(from_json(item, tensors) for item in stored) if isinstance(stored, list) else stored
    if not any(key.startswith("$") for key in stored):
        return {key: from_json(item, tensors) for key, item in stored.items()}
    ((tag, content),) = stored.items()
    if tag == "$float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if tag == "$mapping":
        return {from_json(key, tensors): from_json(item, tensors) for key, item in content}
    if tag == "$tensor":
        return tensors.pop(content)
    raise ValueError(f"found {stored!r}")


def typed(value: Any, hint: Any, where: str = "") -> Any:
    """A value that must be of a type, which is that of a field; mappings become dataclasses, whose rules must hold.

    Examples
    --------
    >>> typed((1.0, 2), tuple[float, ...], ".knots")
    Traceback (most recent call last):
    harmonium.errors.ModelFileError: knots.1 must be of type float; found 2
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = typed(value, parts[0], where)
        for rule in parts[1:]:
            require(rule.holds(value), f"{where[1:]} must be {rule.words}; found {value!r}")
        return value
    if origin in (Union, UnionType):
        return _one_of(value, [part for part in parts if part is not NoneType or value is None], where)
    kind = {Mapping: dict}.get(origin, origin) or (dict if _fields(hint) else hint)
    if hint is not Any and type(value) is not kind:
        raise ModelFileError(f"{where[1:]} must be of type {kind.__name__}; found {value!r}")
    if origin is tuple:
        names = (item.get("name", i) if isinstance(item, dict) else i for i, item in enumerate(value))
        return tuple(typed(item, parts[0], f"{where}.{name}") for item, name in zip(value, names, strict=True))
    if kind is not dict:
        return value
    if origin is not None:
        return {typed(key, parts[0], f"{where}.{key}"): typed(item, parts[1], f"{where}.{key}") for key, item in value.items()}
    return _record(value, hint, where)


def _record(value: dict[str, Any], hint: Any, where: str) -> Any:
    hints = _fields(hint)
    for name in [name for name in value if name not in hints]:
        raise ModelFileError(f"there is nothing called {f'{where}.{name}'[1:]} in a model")
    for name in [name for name in getattr(hint, "__required_keys__", hints) if name not in value]:
        raise ModelFileError(f"{f'{where}.{name}'[1:]} is missing")
    found = hint(**{name: typed(item, hints[name], f"{where}.{name}") for name, item in value.items()})
    for rule, holds in found.rules().items() if hasattr(found, "rules") else ():
        require(holds, f"{where[1:] or 'the model'}: {rule}")
    return found


def _one_of(value: Any, hints: list[Any], where: str) -> Any:
    """A value that must be of one of some types."""
    refusals = []
    for hint in hints:
        try:
            return typed(value, hint, where)
        except ModelFileError as error:
            refusals.append(str(error))
    raise ModelFileError(", or ".join(refusals))


@cache
def _fields(hint: Any) -> dict[str, Any]:
    """Types by name, of a dataclass or a typed mapping."""
    return get_type_hints(hint, include_extras=True) if is_dataclass(hint) or hasattr(hint, "__required_keys__") else {}
