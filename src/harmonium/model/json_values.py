"""Values in JSON, which has fewer types than Python.

``{"$float": "inf"}``, ``{"$tuple": [...]}`` and ``{"$mapping": [[key, value], ...]}`` stand for the others, so that a level comes back
as what it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """A value in JSON's types, from which :func:`from_json` makes an equal one of the same type.

    Examples
    --------
    >>> to_json({"levels": ("I", "II"), "horizon": float("inf")})
    {'levels': {'$tuple': ['I', 'II']}, 'horizon': {'$float': 'inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if type(value) is list:
        return [to_json(item) for item in value]
    if type(value) is tuple:
        return {"$tuple": [to_json(item) for item in value]}
    if isinstance(value, Mapping):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: to_json(item) for key, item in value.items()}
        return {"$mapping": [[to_json(key), to_json(item)] for key, item in value.items()]}
    raise TypeError(f"a model file cannot hold {value!r}, a {type(value).__name__}")


def from_json(stored: Any) -> Any:
    """The value that :func:`to_json` was given."""
    if isinstance(stored, list):
        return [from_json(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if not any(key.startswith("$") for key in stored):
        return {key: from_json(item) for key, item in stored.items()}
    ((tag, content),) = stored.items()
    if tag == "$float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if tag == "$tuple":
        return tuple(from_json(item) for item in content)
    if tag == "$mapping":
        return {from_json(key): from_json(item) for key, item in content}
    raise ValueError(f"found {stored!r}")
