"""Every Gauss rule and composite rule of the package."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from harmonium.typing import Array

__all__ = ["gauss_legendre", "panel_nodes"]


@lru_cache(maxsize=16)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes in (-1, 1) and weights of the Gauss-Legendre rule with n nodes, not to be written to.

    Examples
    --------
    >>> nodes, weights = gauss_legendre(3)
    >>> round(float(weights @ nodes**4), 12)
    0.4
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def panel_nodes(edges: Array, n: int) -> tuple[Array, Array]:
    """Nodes and weights of the composite rule on the panels between neighbouring edges, n nodes on each.

    Examples
    --------
    >>> import numpy as np
    >>> nodes, weights = panel_nodes(np.array([0.0, 1.0, 3.0]), 4)
    >>> round(float(weights @ nodes**2), 12)
    9.0
    """
    x, weight = gauss_legendre(n)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (x + 1.0)).ravel(), (half * weight).ravel()
