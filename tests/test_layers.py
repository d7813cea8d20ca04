"""Imports point one way only."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "harmonium"

# From the ground up: a module may import from its own layer and from those below it.
LAYERS = [
    "version",
    "typing",
    "errors",
    "numerics",
    "units",
    "cells",
    "engine",
    "table",
    "datasets",
    "training",
    "metrics",
    "model",
    "pooling",
    "estimator",
    "search",
    "distributed",
    "plots",
    "report",
    "studies",
    "explorer",
    "cli",
]


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(["harmonium", *(p for p in parts if p != "__init__")]), path


def imports(path):
    """Names of the package's modules that a file imports, wherever in the file it does."""
    known = {name for name, _ in modules()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & known
            yield from submodules
            if len(submodules) < len(node.names):
                yield node.module


def layer(name):
    return LAYERS.index(name.split(".")[1])


@pytest.mark.parametrize(("name", "path"), [m for m in modules() if m[0] != "harmonium"])
def test_a_module_imports_only_from_its_layer_and_below(name, path):
    assert name.split(".")[1] in LAYERS, f"{name} has no place in LAYERS"
    above = [other for other in imports(path) if other == "harmonium" or layer(other) > layer(name)]
    assert not above, f"{name} imports {above}"


def test_no_module_imports_itself_in_a_circle():
    graph = {name: set(imports(path)) for name, path in modules()}
    assert list(TopologicalSorter(graph).static_order())
