"""Models that users bring in a Python file of their own."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

__all__ = ["module_at"]


def module_at(path: str) -> Any:
    """A Python file as a module."""
    spec = spec_from_file_location("harmonium_rivals", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"there is no Python file {path} to take models from")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
