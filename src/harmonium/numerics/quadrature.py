"""Every Gauss rule and every grid of panels, made once.

A rule on [-1, 1] is two arrays, nodes and weights. They are shared by all who ask for the same number of nodes, so they cannot be
written to.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from harmonium.typing import Array

__all__ = ["gauss_legendre", "panel_nodes"]


@cache
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss-Legendre rule on [-1, 1], exact for polynomials up to degree 2 n - 1.

    Parameters
    ----------
    n : int
        How many nodes.

    Returns
    -------
    nodes, weights : ndarray of shape (n,)
        Read-only.

    Examples
    --------
    The integral of z^4 over [-1, 1] is 2 / 5:

    >>> nodes, weights = gauss_legendre(3)
    >>> round(float(weights @ nodes**4), 12)
    0.4
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def panel_nodes(edges: Array, n: int) -> tuple[Array, Array]:
    """Nodes and weights of the composite rule: Gauss-Legendre with ``n`` nodes on each panel between neighbouring edges.

    Parameters
    ----------
    edges : ndarray of shape (n_panels + 1,)
        Ascending.
    n : int
        Nodes on each panel.

    Returns
    -------
    nodes, weights : ndarray of shape (n_panels * n,)
        Panel after panel.

    Examples
    --------
    >>> import numpy as np
    >>> nodes, weights = panel_nodes(np.array([0.0, 1.0, 3.0]), 4)
    >>> round(float(weights @ nodes**2), 12)
    9.0
    """
    on_panel, weights = gauss_legendre(n)
    half = 0.5 * np.diff(edges)
    return (edges[:-1, None] + half[:, None] * (on_panel + 1.0)).ravel(), (half[:, None] * weights).ravel()
