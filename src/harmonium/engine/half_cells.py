"""Rows of a chunk as tables by halves see them.

Rows are of two kinds. For most of them all that is no product over hidden units is a matrix that many rows share, high states by low
states (:mod:`harmonium.engine.half_groups`); the others need a pass over all of their states (:mod:`harmonium.engine.half_sum`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.factors import FactorPlan
from harmonium.engine.half_parts import PartNodes, part_nodes
from harmonium.engine.panels import NODES
from harmonium.engine.pattern_sum import means_of_units
from harmonium.engine.state_sum import WORTH_BLAME
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers

__all__ = ["LARGEST_SUM", "Places", "blame_cell", "doubtful_rows", "n_units", "places", "subtract_means"]

LARGEST_SUM = 1e200  # a scaled sum can get so large only where an endpoint's integrand has a peak far above all nodes of its table


class Places(NamedTuple):
    """Where :class:`harmonium.engine.half_tables.HalfTables` have what a chunk refers to, and which rows are summed how.

    Attributes
    ----------
    nodes : PartNodes
        The nodes of all parts.
    parts : ndarray of shape (n_cells, 2)
        Each cell's parts of panels as in the chunk, but a single one first, and an empty one for a cell that has none.
    whole, error : ndarray of shape (n_cells,)
        The first whole row of each cell and its row of the error table; a row of zeros where there is none.
    table : ndarray of shape (n_cells,)
        The number of the cell's table.
    n_tabulated : ndarray of shape (n_rows,)
        How many tabulated cells each row has.
    grouped : ndarray
        Rows whose sum needs a matrix that they may share with others, those with the same one together.
    others : ndarray
        All other rows, in the chunk's order.
    n_between : int
        How many cells need integrals over single panels.
    """

    nodes: PartNodes
    parts: Integers
    whole: Integers
    error: Integers
    table: Integers
    n_tabulated: Integers
    grouped: Integers
    others: Integers
    n_between: int


def places(chunk: Chunk, plan: FactorPlan) -> Places:
    """Translate from tables that have all nodes, panels and suffixes of an endpoint together."""
    n_rows, n_panels, zeros = plan.grid.n_rows, plan.grid.n_panels, plan.n_error_rows
    parts = np.where(chunk.parts[:, :1] >= 0, chunk.parts, chunk.parts[:, ::-1])
    parts[parts[:, 0] < 0, 0] = chunk.part_length.size
    row, count = chunk.whole.T
    whole = np.where(count > 0, row - NODES * n_panels * (row // n_rows + 1), zeros)
    error = np.where(chunk.error >= 0, chunk.error, zeros)
    counted = np.concatenate([[0], np.cumsum(chunk.shared < 0)])
    n_tabulated = np.diff(counted[chunk.first_cell])
    alone = chunk.others[(n_tabulated[chunk.others] == 1) & (np.diff(chunk.first_cell)[chunk.others] == 1)]
    cells = chunk.first_cell[alone]
    alone = alone[np.lexsort((count[cells], whole[cells]))]
    others = chunk.others[np.isin(chunk.others, alone, invert=True)]
    between = (count > 0) & (whole % (2 * n_panels) < n_panels) & (chunk.shared < 0)
    table = np.searchsorted(plan.tabulated_columns, chunk.column)
    grouped = np.concatenate([chunk.patterns, alone])
    return Places(part_nodes(chunk, plan), parts, whole, error, table, n_tabulated, grouped, others, int(between.sum()))


@compiled()
def doubtful_rows(chunk: Chunk, at: Places, doubtful: Booleans, n_panels: int) -> Booleans:
    """Rows whose cells' errors have to be weighed by state, given the rows of the error table for which this is so."""
    out = np.zeros(chunk.first_cell.size - 1, np.bool_)
    for row in range(out.size):
        for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
            if chunk.shared[cell] < 0:
                error = chunk.error[cell]  # is known for integrals from here to 1; for shorter ones it may be much larger than they are
                out[row] |= error >= 0 and (doubtful[error] or at.whole[cell] != error)
                for side in range(2):
                    part = at.parts[cell, side]
                    if 0 <= part < chunk.part_error.size:
                        panel = chunk.part_error[part]
                        out[row] |= doubtful[panel] or (error < 0 and panel % (2 * n_panels) != n_panels - 1)
    return out


@compiled()
def blame_cell(chunk: Chunk, parts: Integers, cell: int, found: Array, total: float, out: Integers) -> None:
    """Count, for each row of the error table, why a row is inaccurate; ``found`` are the errors of two parts and a whole."""
    for side in range(2):
        part = parts[cell, side]
        if 0 <= part < chunk.part_error.size:
            out[chunk.part_error[part]] += found[side] > WORTH_BLAME * total
    if chunk.error[cell] >= 0:
        out[chunk.error[cell]] += found[2] > WORTH_BLAME * total


@compiled()
def subtract_means(low: Array, high: Array, scale: float, d: int, expected: Array, bias: Array, coupling: Array) -> None:
    """Take a statistic's expectation off the gradient, given its sums by low and by high state, which are used up."""
    n_low = n_units(low.size)
    means_of_units(low, scale, expected, 0, n_low)
    means_of_units(high, scale, expected, n_low, expected.size - n_low)
    bias[d] -= scale * high[0]
    for j in range(expected.size):
        coupling[j, d] -= expected[j]


@compiled(inline=True)
def n_units(n_states: int) -> int:
    """So many hidden units have so many states."""
    n = 0
    while (1 << n) < n_states:
        n += 1
    return n
