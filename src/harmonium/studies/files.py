"""Models that users bring in a Python file of their own."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

__all__ = ["models_at"]


def models_at(path: str, name: str) -> Any:
    """A dictionary of models, by its name in a Python file."""
    spec = spec_from_file_location("harmonium_rivals", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"there is no Python file {path} to take models from")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} must define {name}, a dictionary of models by name; found {'none' if found is None else type(found).__name__}"
        )
    return found
