"""The adjoint of the sum over many hidden states, one high state after the other: the second of two sweeps (eq. 11).

For a high state, the adjoint of every tabulated cell's factor is written down first. Cells with a part of the same panel then share its
nodes, four at a time: a product of matrices with a fixed order of additions. What a panel's nodes have gathered goes back to the natural
parameters at once, so that no adjoint of the size nodes times states is ever stored.
"""

from __future__ import annotations

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.half_cells import (
    Places,
    RowTotals,
    add_whole,
    coefficients,
    copied,
    product,
    scaled,
    times_cell,
    times_shared,
)
from harmonium.engine.half_tables import HalfTables, add_nodes, pull_back_panel, start_with_nodes
from harmonium.engine.panels import NODES
from harmonium.engine.state_sum import most_cells
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["adjoint_by_halves"]


@compiled(inline=True)
def _add_row(values: Array, number: int, row: int, out: Array) -> None:
    for i in range(out.shape[1]):
        out[row, i] += values[number, i]


@compiled(inline=True)
def _add_occupancy(by_cell: Array, number: int, factors: Array, place: int, row: int, b: int, out: Array) -> None:
    for i in range(by_cell.shape[1]):
        out[row, b, i] += by_cell[number, i] * factors[place, i]


@compiled()
def _adjoints_of_cells(
    chunk: Chunk,
    at: Places,
    rows: Integers,
    b: int,
    shared_factors: Array,
    tables: HalfTables,
    known: RowTotals,
    work: Array,
    by_cell: Array,
    by_whole: Array,
    occupancy: Array,
) -> None:
    """The adjoint of every tabulated cell's factor for one high state; added up for whole rows and shared cells."""
    first_cell, shared, whole, part_weights = chunk.first_cell, chunk.shared, chunk.whole, at.weights
    node, parts, edge, number, n_tabulated = at.node, at.parts, at.whole, at.number, at.n_tabulated
    low, high, sums, _ = tables
    row_low, row_high, share = known
    weights, factors, c = work[0], work[1:], np.empty(NODES)
    for row in rows:
        begin, end = first_cell[row], first_cell[row + 1]
        n = n_tabulated[row]
        needed = n > 1 or end - begin > n
        scaled(row_low, row, share[row] * row_high[row, b], weights)
        for cell in range(begin, end):
            if shared[cell] >= 0:
                times_shared(shared_factors, shared[cell], b, weights)
        place = last = 0
        for cell in range(begin, end):
            if shared[cell] < 0 and needed:
                one, other, first = parts[cell, 0], parts[cell, 1], edge[cell]
                coefficients(part_weights, one, high, b, node[one], c)
                start_with_nodes(c, low, node[one], sums, first, b, factors, place)
                for k in range(1, whole[cell, 1]):
                    add_whole(sums, first + k, b, factors, place)
                if other >= 0:
                    coefficients(part_weights, other, high, b, node[other], c)
                    add_nodes(c, low, node[other], factors, place)
                place += 1
        place = 0
        for cell in range(begin, end):
            if shared[cell] < 0:
                last = number[cell]
                if n == 2:
                    product(weights, factors, 1 - place, by_cell, last)
                else:
                    copied(weights, by_cell, last)
                    for k in range(n):
                        if k != place:
                            times_cell(factors, k, by_cell, last)
                for k in range(whole[cell, 1]):
                    _add_row(by_cell, last, edge[cell] + k, by_whole)
                place += 1
        for cell in range(begin, end):
            if shared[cell] >= 0:
                _add_occupancy(by_cell, last, factors, n - 1, shared[cell], b, occupancy)


@compiled(sums=True, inline=True)
def _add_four(w: Array, k: int, by_cell: Array, n0: int, n1: int, n2: int, n3: int, out: Array) -> None:
    """Add the adjoints of four parts of one panel to two of its nodes: a small piece of a matrix product."""
    a0, a1, a2, a3 = w[0, k], w[1, k], w[2, k], w[3, k]
    b0, b1, b2, b3 = w[0, k + 1], w[1, k + 1], w[2, k + 1], w[3, k + 1]
    for i in range(out.shape[1]):
        v0, v1, v2, v3 = by_cell[n0, i], by_cell[n1, i], by_cell[n2, i], by_cell[n3, i]
        out[k, i] += a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
        out[k + 1, i] += b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3


@compiled()
def _adjoint_of_panel(part_weights: Array, order: Integers, owner: Integers, begin: int, end: int, by_cell: Array, out: Array) -> None:
    """The adjoint of a panel's nodes from that of all cells with a part of it."""
    w, n = np.zeros((4, NODES)), np.zeros(4, np.int64)
    for start in range(begin, end, 4):
        for j in range(4):
            within = start + j < end
            part = order[start + j] if within else order[start]
            n[j] = owner[part]
            for k in range(NODES):
                w[j, k] = part_weights[part, k] if within else 0.0
        for k in range(0, NODES, 2):
            _add_four(w, k, by_cell, n[0], n[1], n[2], n[3], out)


@compiled()
def _add_free(occupancy: Array, row: int, b: int, factors: Array, out: Array, suffix: int) -> None:
    """The adjoint of an integral over all of a table from how often its states occur with a free cell."""
    for i in range(out.shape[1]):
        if factors[row, b, i] > 0.0:
            out[suffix, i] += occupancy[row, b, i] / factors[row, b, i]


@compiled()
def adjoint_by_halves(
    chunk: Chunk,
    at: Places,
    rows: Integers,
    first_high: int,
    last_high: int,
    tables: HalfTables,
    shared: Array,
    known: RowTotals,
    half_widths: Array,
    statistics: Array,
    occupancy: Array,
    free_row: Integers,
    expected: Array,
) -> None:
    """The second sweep, for some high states.

    Adds to ``occupancy`` (shared cells, high states, low states) how often each state occurs with a shared cell, and to ``expected``
    (tables, statistics, high states, low states) the statistics of tabulated cells. ``free_row`` are shared cells whose factors are
    integrals over the whole of each table and whose occupancy is complete with these rows, or -1.
    """
    n_low, n_panels = known.low.shape[1], half_widths.size
    shares, work = np.empty((4, n_low)), np.empty((1 + most_cells(chunk.first_cell), n_low))
    by_cell, by_node, by_whole = np.zeros((at.number.size, n_low)), np.empty((NODES, n_low)), np.empty((tables.whole.shape[1], n_low))
    tabulated = rows[known.share[rows] != 0.0]
    for b in range(first_high, last_high):
        by_whole[:] = 0.0
        _adjoints_of_cells(chunk, at, tabulated, b, shared, tables, known, work, by_cell, by_whole, occupancy)
        for table in range(free_row.size):
            if free_row[table] >= 0:
                _add_free(occupancy, free_row[table], b, shared, by_whole, n_panels * (2 * table + 1))
        for panel in range(n_panels * expected.shape[0]):
            by_node[:] = 0.0
            _adjoint_of_panel(chunk.part_weights, at.order, at.owner, at.first[panel], at.first[panel + 1], by_cell, by_node)
            table = panel // n_panels
            pull_back_panel(tables, table, panel % n_panels, b, half_widths, statistics[table], by_node, by_whole, shares, expected[table])
