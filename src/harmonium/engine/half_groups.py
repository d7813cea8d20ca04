r"""Rows whose unobserved cells are products over hidden units, but for a matrix that many rows share.

Weights of states are an outer product b a of two short vectors, by high and by low state, in every row. A row needs b M a and b M, M a, if
M is what remains once products are taken out, and rows with the same M need products of matrices:

* M is the product of shared cells' factors, if all unobserved cells are shared (missing covariates, the denominators of training);
* M is an integral from the edge of a panel to 1, if a censored time is all that is unobserved. Part of a panel has a few nodes, and at each
  the sum over states has a closed form.

The way back is another product: what the rows of a group add to the states of M is a sum of outer products.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.half_cells import LARGEST_SUM, Places, blame_cell, n_units, subtract_means
from harmonium.engine.half_parts import OWN_NODES, PartNodes, put_at_nodes
from harmonium.engine.half_tables import HalfTables
from harmonium.engine.pattern_sum import means_of_units
from harmonium.engine.state_sum import (
    INACCURATE,
    SMALLEST_SUM,
    SUMMED,
    TOLERANCE,
    UNDERFLOWN,
    Energy,
    Factors,
    Sums,
    add_observed,
    fields_of,
    state_weights,
    visible_energy,
)
from harmonium.numerics.compilation import compiled
from harmonium.numerics.products import product
from harmonium.typing import Array, Booleans, Integers

__all__ = ["sum_groups"]

_ROWS_AT_ONCE = 64


@compiled()
def _same_matrix(chunk: Chunk, row: int, other: int) -> bool:
    """Whether two rows share what is no product."""
    cell, another = chunk.first_cell[row], chunk.first_cell[other]
    n = chunk.first_cell[row + 1] - cell
    same = chunk.first_cell[other + 1] - another == n
    for k in range(n if same else 0):
        same = same and chunk.shared[cell + k] == chunk.shared[another + k] and chunk.column[cell + k] == chunk.column[another + k]
        same = same and chunk.whole[cell + k, 0] == chunk.whole[another + k, 0] and chunk.whole[cell + k, 1] == chunk.whole[another + k, 1]
    return bool(same)


@compiled(inline=True)
def _copy(source: Array, first: int, out: Array) -> None:
    for b in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[b, a] = source[first + b, a]


@compiled(inline=True)
def _multiply(factors: Array, first: int, out: Array) -> None:
    for b in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[b, a] *= factors[first + b, a]


@compiled(inline=True)
def _add(terms: Array, first: int, out: Array) -> None:
    for b in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[b, a] += terms[first + b, a]


@compiled(inline=True)
def _add_to(out: Array, first: int, terms: Array) -> None:
    for b in range(terms.shape[0]):
        for a in range(terms.shape[1]):
            out[first + b, a] += terms[b, a]


@compiled()
def _fill_matrix(chunk: Chunk, whole_row: Integers, row: int, shared: Array, whole: Array, n_kinds: int, out: Array) -> bool:
    """What is no product in a row; returns whether there is anything."""
    n_high, begin, end = out.shape[0], chunk.first_cell[row], chunk.first_cell[row + 1]
    if chunk.shared[begin] >= 0:
        _copy(shared, chunk.shared[begin] * n_high, out)
        for cell in range(begin + 1, end):
            _multiply(shared, chunk.shared[cell] * n_high, out)
        return True
    if chunk.whole[begin, 1] > 0:
        _copy(whole, whole_row[begin] * n_kinds * n_high, out)
    for k in range(1, chunk.whole[begin, 1]):
        _add(whole, (whole_row[begin] + k) * n_kinds * n_high, out)
    return bool(chunk.whole[begin, 1] > 0)


@compiled(sums=True, inline=True)
def _dot(values: Array, terms: Array, row: int) -> float:
    total = 0.0
    for a in range(values.size):
        total += values[a] * terms[row, a]
    return total


@compiled(inline=True)
def _add_products(factor: float, values: Array, terms: Array, row: int, out: Array) -> None:
    for a in range(out.size):
        out[a] += factor * values[a] * terms[row, a]


@compiled(sums=True, inline=True)
def _times(values: Array, other: Array, row: int) -> float:
    """Multiply one row by another; returns the sum."""
    for a in range(values.shape[1]):
        values[row, a] *= other[row, a]
    total = 0.0
    for a in range(values.shape[1]):
        total += values[row, a]
    return total


@compiled()
def _hand_back(chunk: Chunk, row: int, matrix: Array, total: Array, occupancy: Array) -> None:
    """Hand what the rows of a group have added up to each of its shared cells; ``total`` is used up."""
    _multiply(matrix, 0, total)
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        _add_to(occupancy, chunk.shared[cell] * total.shape[0], total)


@compiled()
def _hand_back_whole(
    chunk: Chunk, at: Places, cell: int, total: Array, tables: HalfTables, first: Integers, last: Integers, sums: Sums
) -> None:
    """Take expected statistics off the gradient, from what the rows of a group have added up to an integral over whole panels."""
    n_high, n_low = total.shape
    low, high, expected = np.empty(n_low), np.empty(n_high), np.empty(sums.hidden_bias.size)
    n_kinds, table = 1 + tables.statistics.shape[0], at.table[cell]
    for d in range(last[table] - first[table]):
        low[:] = 0.0
        high[:] = 0.0
        for k in range(chunk.whole[cell, 1]):
            start = ((at.whole[cell] + k) * n_kinds + 1 + d) * n_high
            for b in range(n_high):
                _add_products(1.0, total[b], tables.whole, start + b, low)
                high[b] += _dot(total[b], tables.whole, start + b)
        subtract_means(low, high, 1.0, first[table] + d, expected, sums.bias, sums.coupling)


@compiled()
def _add_part(fields: Array, nodes: PartNodes, part: int, off: Array, on: Array, mass: Array, chance: Array, out: Array) -> None:
    """Add what part of a panel contributes to a row: the sum over states at each node, and how often each hidden unit is on.

    ``off``, ``on`` and ``mass`` are as :func:`put_at_nodes` makes them. The first row of ``out`` is the sum, by hidden unit that is on and,
    last of all, altogether; the others are sums of statistics.
    """
    n_hidden, weights = fields.size, nodes.weights
    for j in range(n_hidden):
        small = exp(-abs(fields[j]))
        if_on, if_off = (1.0, small) if fields[j] > 0.0 else (small, 1.0)
        for q in range(OWN_NODES):
            is_on = if_on * on[j, q]
            both = if_off * off[j, q] + is_on
            chance[j, q] = is_on / (both + 1e-300)
            mass[q] *= both
    for d in range(out.shape[0]):
        for q in range(OWN_NODES):
            chance[n_hidden, q] = mass[q] * weights[part, d, q]
            out[d, n_hidden] += chance[n_hidden, q]
        for j in range(n_hidden):
            out[d, j] += _dot(chance[j], chance, n_hidden)


@compiled()
def _weigh_errors(chunk: Chunk, at: Places, cell: int, low: Array, high: Array, errors: Array, found: Array) -> None:
    """How wrong two parts of panels and whole panels may make a row's sum."""
    n_high = high.size
    for kind in range(3):
        found[kind] = 0.0
        part = at.parts[cell, kind] if kind < 2 else -1
        if kind < 2 and not 0 <= part < chunk.part_error.size:
            continue
        row, length = (chunk.part_error[part], chunk.part_length[part]) if kind < 2 else (at.error[cell], 1.0)
        for b in range(n_high):
            found[kind] += length * high[b] * _dot(low, errors, row * n_high + b)


@compiled()
def _sum_some(
    chunk: Chunk,
    at: Places,
    rows: Integers,
    row_weights: Array,
    in_doubt: Booleans,
    energy: Energy,
    log_scale: float,
    tables: HalfTables,
    matrix: Array,
    first: Integers,
    last: Integers,
    total: Array,
    sums: Sums,
) -> None:
    """Sum over the hidden states of rows that share a matrix, which may be empty; add to ``total`` what they weigh in its states."""
    n, (n_high, n_low), n_hidden = rows.size, total.shape, energy.hidden_bias.size
    n_low_units, statistics = n_units(n_low), chunk.statistics
    low, high = np.empty((n, n_low)), np.empty((n, n_high))
    by_low, by_high = np.zeros((n, n_low)), np.zeros((n, n_high))
    fields, expected, found, scales = np.empty((n, n_hidden)), np.empty(n_hidden), np.empty(3), np.empty(n)
    mass, chance, parts = np.empty(OWN_NODES), np.empty((n_hidden + 1, OWN_NODES)), np.empty((1 + tables.statistics.shape[0], n_hidden + 1))
    off, on = np.empty((n_hidden, OWN_NODES)), np.empty((n_hidden, OWN_NODES))
    for r in range(n):
        fields_of(statistics, rows[r], energy.coupling, energy.hidden_bias, fields[r])
        scales[r] = state_weights(fields[r, :n_low_units], low[r]) + state_weights(fields[r, n_low_units:], high[r]) + log_scale
    if matrix.size > 0:
        product(high, matrix, by_low)
        product(low, matrix.T, by_high)
    for r in range(n):
        row, cell = rows[r], chunk.first_cell[rows[r]]
        weight, with_parts, table = row_weights[row], chunk.shared[cell] < 0, at.table[cell]
        row_sum = _times(by_low, low, r)
        _times(by_high, high, r)
        parts[:] = 0.0
        for side in range(2 if with_parts else 0):
            part = at.parts[cell, side]
            if 0 <= part < chunk.part_error.size:
                put_at_nodes(energy, first[table], last[table], log_scale, at.nodes, part, off, on, mass)
                _add_part(fields[r], at.nodes, part, off, on, mass, chance, parts)
        row_sum += parts[0, n_hidden]
        sums.flag[row] = SUMMED if SMALLEST_SUM < row_sum < LARGEST_SUM else UNDERFLOWN
        if in_doubt[row] and sums.flag[row] == SUMMED:
            _weigh_errors(chunk, at, cell, low[r], high[r], tables.errors, found)
            if not found.sum() <= TOLERANCE * row_sum:
                sums.flag[row] = INACCURATE
                blame_cell(chunk, at.parts, cell, found, row_sum, sums.blame)
        share = weight / row_sum if sums.flag[row] == SUMMED else 0.0
        for b in range(n_high):
            high[r, b] *= share
        if sums.flag[row] != SUMMED:
            continue
        sums.log_mass[row] = log(row_sum) + scales[r] - visible_energy(statistics, row, energy.bias) - energy.constant
        means_of_units(by_low[r], 1.0 / row_sum, expected, 0, n_low_units)
        means_of_units(by_high[r], 1.0 / row_sum, expected, n_low_units, n_hidden - n_low_units)
        for j in range(n_hidden):
            expected[j] += parts[0, j] / row_sum
        sums.value[0] += weight * sums.log_mass[row]
        add_observed(statistics, row, weight, expected, sums.bias, sums.coupling, sums.hidden_bias)
        for d in range(last[table] - first[table] if with_parts else 0):
            sums.bias[first[table] + d] -= share * parts[1 + d, n_hidden]
            for j in range(n_hidden):
                sums.coupling[j, first[table] + d] -= share * parts[1 + d, j]
    if matrix.size > 0:
        added = np.empty(total.shape)
        product(high.T, low, added)
        _add_to(total, 0, added)


@compiled()
def sum_groups(
    chunk: Chunk,
    at: Places,
    rows: Integers,
    row_weights: Array,
    in_doubt: Booleans,
    energy: Energy,
    factors: Factors,
    tables: HalfTables,
    first: Integers,
    last: Integers,
    sums: Sums,
) -> None:
    """Sum over the hidden states of some of the rows that share a matrix; ``first`` to ``last`` are the statistics of each table."""
    n_low, n_high, n_kinds = tables.low.shape[1], tables.high.shape[0], 1 + tables.statistics.shape[0]
    shared, occupancy = factors.shared.reshape((-1, n_low)), sums.occupancy.reshape((-1, n_low))
    matrix, total, end = np.empty((n_high, n_low)), np.empty((n_high, n_low)), 0
    while end < rows.size:
        begin, row = end, rows[end]
        while end < rows.size and _same_matrix(chunk, rows[end], row):
            end += 1
        cell = chunk.first_cell[row]
        is_shared = chunk.shared[cell] >= 0
        log_scale = 0.0 if is_shared else factors.table_scale[chunk.column[cell]]
        for k in range(cell, chunk.first_cell[row + 1] if is_shared else cell):
            log_scale += factors.shared_scale[chunk.shared[k]]
        any_matrix = _fill_matrix(chunk, at.whole, row, shared, tables.whole, n_kinds, matrix)
        total[:] = 0.0
        for start in range(begin, end, _ROWS_AT_ONCE):
            some = rows[start : min(start + _ROWS_AT_ONCE, end)]
            own = matrix if any_matrix else matrix[:0]
            _sum_some(chunk, at, some, row_weights, in_doubt, energy, log_scale, tables, own, first, last, total, sums)
        if is_shared:
            _hand_back(chunk, row, matrix, total, occupancy)
        elif any_matrix:
            _hand_back_whole(chunk, at, cell, total, tables, first, last, sums)
