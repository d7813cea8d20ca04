"""Gauss rules are exact for polynomials, made once, and cannot be written to."""

import ast
from pathlib import Path

import numpy as np
import pytest

from harmonium.numerics.quadrature import gauss_legendre, panel_nodes

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "harmonium"


@pytest.mark.parametrize("n", [1, 6, 12, 80])
def test_a_rule_is_exact_up_to_twice_its_nodes(n):
    nodes, weights = gauss_legendre(n)
    for degree in range(2 * n):
        assert weights @ nodes**degree == pytest.approx((1 + (-1) ** degree) / (degree + 1), abs=1e-13)


def test_a_rule_is_shared_and_read_only():
    nodes, weights = gauss_legendre(7)
    assert gauss_legendre(7)[0] is nodes
    for array in (nodes, weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_panels_add_up():
    edges = np.array([0.0, 0.1, 0.5, 2.0])
    nodes, weights = panel_nodes(edges, 10)
    assert nodes.shape == weights.shape == (30,)
    assert (np.diff(nodes) > 0.0).all()
    assert weights @ np.exp(nodes) == pytest.approx(np.exp(2.0) - 1.0, rel=1e-13)


@pytest.mark.parametrize("folder", ["units", "engine", "training"])
def test_nobody_else_makes_a_rule(folder):
    for path in (PACKAGE / folder).rglob("*.py"):
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert "leggauss" not in names, path
