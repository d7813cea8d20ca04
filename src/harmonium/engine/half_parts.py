"""Parts of panels at nodes of their own.

Part of a panel could be a combination of the panel's nodes (:mod:`harmonium.engine.panels`), which all rows have in common. With many
hidden states that is not worth its price, since every node takes a pass over all states: a Gauss rule on the part itself needs about half
the nodes for the same accuracy. Its integrand is still a product over hidden units at each node, and H exponentials are few compared with
the states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.factors import FactorPlan
from harmonium.engine.panels import NODES
from harmonium.engine.state_sum import Energy
from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array

__all__ = ["OWN_NODES", "PartNodes", "n_kinds", "part_nodes", "put_at_nodes"]

OWN_NODES = 7
"""Nodes of a part. By its leading error a rule of seven is more accurate than interpolation between the twelve of a panel."""

_PANEL_ABSCISSAE, _ = gauss_legendre(NODES)
_ABSCISSAE, _WEIGHTS = gauss_legendre(OWN_NODES)


class PartNodes(NamedTuple):
    """Nodes of all parts of a chunk, and of an empty part after them.

    Attributes
    ----------
    log_x : ndarray of shape (n_parts + 1, OWN_NODES)
    statistics : ndarray of shape (n_parts + 1, n_statistics, OWN_NODES)
    weights : ndarray of shape (n_parts + 1, 1 + n_statistics, OWN_NODES)
        Of an integral in ln x; first by themselves, then times each statistic.
    """

    log_x: Array
    statistics: Array
    weights: Array


def n_kinds(plan: FactorPlan) -> int:
    """How many integrals there are for each panel: of the integrand, and times each statistic; rounded up to threes, which go together."""
    return 3 * ((3 + int(plan.tables.at_nodes.shape[1])) // 3)


def part_nodes(chunk: Chunk, plan: FactorPlan) -> PartNodes:
    """Nodes from the weights of the panels' nodes, which know where in its panel a part is."""
    grid, columns = plan.grid, plan.tabulated_columns
    n_parts, widest = chunk.part_length.size, n_kinds(plan) - 1
    table, row = np.divmod(chunk.part_row, grid.n_rows)
    panel = row // NODES
    length = chunk.part_length
    middle = np.log(grid.edges)[panel] + grid.half_widths[panel] * (1.0 + chunk.part_weights @ _PANEL_ABSCISSAE / length)
    log_x, weights = np.zeros((n_parts + 1, OWN_NODES)), np.zeros((n_parts + 1, 1 + widest, OWN_NODES))
    statistics = np.zeros((n_parts + 1, widest, OWN_NODES))
    log_x[:-1] = np.minimum(middle[:, None] + 0.5 * length[:, None] * _ABSCISSAE, 0.0)
    for k, column in enumerate(columns):
        own = np.flatnonzero(table == k)
        values = plan.layout.units[column].statistics(np.exp(log_x[own]))
        statistics[own, : values.shape[-1]] = np.moveaxis(values, -1, 1)
    weights[:-1, 0] = 0.5 * length[:, None] * _WEIGHTS
    weights[:, 1:] = weights[:, :1] * statistics
    return PartNodes(log_x, statistics, weights)


@compiled()
def put_at_nodes(
    energy: Energy, first: int, last: int, scale: float, nodes: PartNodes, part: int, off: Array, on: Array, bases: Array
) -> None:
    """The factors of which the integrand's states are products at a part's nodes; the larger of two is one.

    For an endpoint with statistics ``first`` to ``last``; ``scale`` is the logarithm of a factor to leave out.
    """
    statistics = nodes.statistics
    for q in range(OWN_NODES):
        bases[q] = nodes.log_x[part, q] - scale  # dx = x dy
        for d in range(last - first):
            bases[q] -= energy.bias[first + d] * statistics[part, d, q]
    for j in range(off.shape[0]):
        for q in range(OWN_NODES):
            exponent = 0.0
            for d in range(last - first):
                exponent -= energy.coupling[j, first + d] * statistics[part, d, q]
            bases[q] += max(exponent, 0.0)
            on[j, q] = exponent
            off[j, q] = -abs(exponent)
    exponentials(bases, bases)
    exponentials(off.ravel(), off.ravel())
    for j in range(off.shape[0]):
        for q in range(OWN_NODES):
            small, grows = off[j, q], on[j, q] > 0.0
            on[j, q] = 1.0 if grows else small
            off[j, q] = small if grows else 1.0
