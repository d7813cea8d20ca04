"""Layers above the units know neither a unit's type nor the names of its parameters."""

import ast
from pathlib import Path

import pytest

from harmonium.units.registry import UNITS

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "harmonium"
FILES = [PACKAGE / "cells.py", *sorted(PACKAGE.glob("engine/*.py")), *sorted(PACKAGE.glob("training/*.py"))]
TYPES = {unit.__name__ for unit in UNITS}
NAMES = {unit.name for unit in UNITS if isinstance(unit.name, str)} | {"W", "V", "a", "c", "sigma"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_generic_file_names_no_unit_and_no_parameter(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            assert node.id not in TYPES, f"line {node.lineno} names {node.id}"
        if isinstance(node, ast.Constant):
            assert node.value not in NAMES, f"line {node.lineno} names {node.value!r}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr in ("blocks", "lower", "upper"):
            last = isinstance(node.slice, ast.UnaryOp)
            assert not last, f"line {node.lineno} takes the last {node.value.attr} to be something special"
