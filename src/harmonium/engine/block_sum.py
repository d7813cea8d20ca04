"""The sum over few hidden states of many rows, and its adjoint, in blocks of rows (eq. 5 and eq. 11).

The same sums as :mod:`harmonium.engine.state_sum` makes row by row. Here inner loops run over the rows of a block, or over all states of a
cell (:mod:`harmonium.engine.row_blocks`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.block_factors import evaluate_cells, pattern_factors, pull_back_cells, spread_patterns
from harmonium.engine.block_halves import (
    FEWEST_FOR_HALVES,
    Halves,
    add_occupancy,
    expected_by_halves,
    leave_out,
    multiply_factors,
    room_for_halves,
    sum_block,
    sum_pattern,
    times_weights,
    unit_halves,
)
from harmonium.engine.block_kernels import (
    closed_form,
    expected_hidden,
    gather_factors,
    invert_sums,
    multiply_by_factors,
    multiply_by_pattern,
    row_dot,
    state_weights,
    unit_weights,
)
from harmonium.engine.row_blocks import CLOSED, MIXED, ROWS, UNIFORM, RowBlocks
from harmonium.engine.state_sum import INACCURATE, SMALLEST_SUM, TOLERANCE, UNDERFLOWN, WORTH_BLAME, Energy, Factors, Sums
from harmonium.numerics.compilation import compiled
from harmonium.numerics.products import add_products, add_sums_of_products
from harmonium.typing import Array

__all__ = ["sum_blocks"]


class _Block(NamedTuple):
    """Working memory for the rows of one block: by hidden unit, by state, and by row."""

    on: Array
    off: Array
    expected: Array
    weights: Array
    factors: Array
    folded: Array
    scale: Array
    total: Array
    inverse: Array
    share: Array


class _Batch(NamedTuple):
    """What the rows of a batch have in common: factors of their patterns and of their cells, and what these add up.

    For patterns: factors, logarithms of scales, posterior probabilities added up. For cells of tables, of which ``first`` is the first:
    factors, how wrong these may be, their adjoints, and working memory for those of one row.
    """

    patterns: Array
    scales: Array
    occupancy: Array
    first: int
    cells: Array
    errors: Array
    adjoints: Array
    by_factor: Array


@compiled(sums=True)
def _spread_block(rows: RowBlocks, side: int, block: int, at: _Block, shared: _Batch) -> bool:
    """Hand the posterior of a block's rows, divided by a factor, to the factor's adjoint; tells whether all rows are accurate."""
    _, _, _, weights, _, _, _, _, inverse, share = at
    _, _, occupancy, first, factors, errors, adjoints, by_factor = shared
    cells, pattern = rows.cells, rows.pattern
    n_states, n_cells, one = weights.shape[0], cells.shape[1], by_factor[-1]
    good = True
    for r in range(inverse.size):
        if inverse[r] == 0.0:
            continue
        error, scale, own = 0.0, inverse[r], pattern[side, block, r]
        for i in range(n_states):
            one[i] = weights[i, r]
        for k in range(n_cells):
            cell = cells[side, k, block, r] - first
            if cell >= 0:
                for i in range(n_states):
                    factor = factors[cell, i]
                    by_factor[k, i] = scale * one[i] / factor if factor != 0.0 else 0.0
                for i in range(n_states):
                    error += abs(by_factor[k, i]) * errors[cell, i]
        if not error <= TOLERANCE:
            inverse[r] = 0.0
            good = False
            continue
        weight = share[r]
        for k in range(n_cells):
            cell = cells[side, k, block, r] - first
            if cell >= 0:
                for i in range(n_states):
                    adjoints[cell, i] += weight * by_factor[k, i]
        if own > 0:
            weight *= scale
            for i in range(n_states):
                occupancy[own, i] += weight * one[i]
    return good


@compiled()
def _set_aside(rows: RowBlocks, side: int, block: int, at: _Block, errors: Array, shared: _Batch, sums: Sums) -> None:
    """Flag the rows of a block that were not summed, blame the rows of the error table that are the reason, and take the rows out."""
    n_rows = sums.flag.size // rows.weights.shape[0]
    for r in range(at.inverse.size):
        if at.inverse[r] != 0.0:
            continue
        row = rows.row[block, r]
        if row >= 0:
            accurate = not at.total[r] > SMALLEST_SUM
            sums.flag[side * n_rows + row] = UNDERFLOWN if accurate else INACCURATE
            for k in range(0 if accurate else rows.cells.shape[1]):
                cell = rows.cells[side, k, block, r]
                for place in range(3 if cell >= 0 else 0):
                    part = rows.parts[cell, place] if place < 2 else -1
                    error = rows.error[cell] if place == 2 else rows.part_error[part] if part >= 0 else -1
                    length, total = rows.part_length[part] if part >= 0 else 1.0, 0.0
                    for i in range(errors.shape[1] if error >= 0 else 0):
                        factor = abs(shared.cells[cell - shared.first, i])
                        total += at.weights[i, r] / at.total[r] / factor * errors[error, i] if factor > 0.0 else 0.0
                    if error >= 0:
                        sums.blame[error] += abs(length * total) > WORTH_BLAME
        at.scale[r] = at.share[r] = 0.0
        at.weights[:, r] = 0.0
        at.expected[:, r] = 0.0


@compiled(fused=True)
def _add_scales(rows: RowBlocks, side: int, block: int, table_scale: Array, pattern_scale: Array, scale: Array) -> None:
    """Add the logarithms of the scales of all factors of each row."""
    pattern, cells, column = rows.pattern, rows.cells, rows.column
    for r in range(scale.size):
        scale[r] += pattern_scale[pattern[side, block, r]]
        for k in range(cells.shape[1]):
            cell = cells[side, k, block, r]
            if cell >= 0:
                scale[r] += table_scale[column[cell]]


@compiled(sums=True)
def _sum_side(
    rows: RowBlocks, side: int, start: int, table_scale: Array, errors: Array, at: _Block, shared: _Batch, fields: Array, sums: Sums
) -> None:
    """Sum over the states of the rows of some blocks; their fields are replaced by weighted means of hidden units, and the weights."""
    on, off, expected, weights, factors, folded, scale, total, inverse, share = at
    patterns, pattern_scale, occupancy, first, cell_factors, _, _, _ = shared
    kinds, pattern, cells, row_weights = rows.kind, rows.pattern, rows.cells, rows.weights
    n_hidden, value = on.shape[0], 0.0
    for place in range(fields.shape[1]):
        block = start + place
        kind, own = kinds[side, block], pattern[side, block, 0]
        unit_weights(fields, place, on, off, scale)
        if kind == CLOSED:
            closed_form(on, off, total, expected)
        else:
            state_weights(on, off, weights)
        if kind == MIXED:
            gather_factors(pattern, cells, side, block, first, patterns, cell_factors, factors)
            multiply_by_factors(weights, factors, total)
        elif kind == UNIFORM:
            multiply_by_pattern(weights, patterns, own, total)
        good = invert_sums(total, inverse, scale)
        _add_scales(rows, side, block, table_scale, pattern_scale, scale)
        for r in range(share.size):
            share[r] = row_weights[side, block, r]
        if kind == MIXED:
            good = _spread_block(rows, side, block, at, shared) and good
        if not good:
            _set_aside(rows, side, block, at, errors, shared, sums)
        for r in range(share.size):
            value += share[r] * scale[r]
        for r in range(share.size):
            inverse[r] = inverse[r] * share[r] if kind != CLOSED else share[r]
            fields[n_hidden, place, r] = share[r]
        if kind == UNIFORM:
            for i in range(weights.shape[0]):
                occupancy[own, i] += row_dot(weights, i, inverse)
        if kind != CLOSED:
            expected_hidden(weights, folded, expected)
        for j in range(n_hidden):
            for r in range(share.size):
                fields[j, place, r] = expected[j, r] * inverse[r]
    sums.value[0] += value


@compiled(sums=True)
def _spread_halves(rows: RowBlocks, side: int, block: int, at: _Block, halves: Halves, shared: _Batch) -> bool:
    """The same as :func:`_spread_block` with weights by halves."""
    inverse, share, work = at.inverse, at.share, np.empty(halves.low.shape[0])
    patterns, _, occupancy, first, factors, errors, adjoints, by_factor = shared
    good = True
    for r in range(inverse.size):
        if inverse[r] == 0.0:
            continue
        error, own = 0.0, rows.pattern[side, block, r]
        for k in range(rows.cells.shape[1]):
            cell, values = rows.cells[side, k, block, r] - first, by_factor[k]
            if cell >= 0:
                multiply_factors(rows, side, block, r, first, k, patterns, factors, values)
                times_weights(halves.low, halves.high, r, inverse[r], work, values)
                for i in range(values.size):
                    error += abs(values[i]) * errors[cell, i]
        if not error <= TOLERANCE:
            inverse[r] = 0.0
            good = False
            continue
        weight = share[r]
        for k in range(rows.cells.shape[1]):
            cell = rows.cells[side, k, block, r] - first
            if cell >= 0:
                for i in range(by_factor.shape[1]):
                    adjoints[cell, i] += weight * by_factor[k, i]
        if own > 0:
            multiply_factors(rows, side, block, r, first, -1, patterns, factors, halves.factors)
            times_weights(halves.low, halves.high, r, weight * inverse[r], work, halves.factors)
            for i in range(by_factor.shape[1]):
                occupancy[own, i] += halves.factors[i]
    return good


@compiled()
def _restore_weights(rows: RowBlocks, side: int, block: int, at: _Block, halves: Halves, shared: _Batch) -> None:
    """The weights of states of rows that were not summed, from halves; the halves lose these rows."""
    work = np.empty(halves.low.shape[0])
    for r in range(at.inverse.size):
        if at.inverse[r] == 0.0:
            multiply_factors(rows, side, block, r, shared.first, -1, shared.patterns, shared.cells, halves.factors)
            times_weights(halves.low, halves.high, r, 1.0, work, halves.factors)
            for i in range(halves.factors.size):
                at.weights[i, r] = halves.factors[i]
            leave_out(halves, r)


@compiled(sums=True)
def _sum_side_by_halves(
    rows: RowBlocks,
    side: int,
    start: int,
    table_scale: Array,
    errors: Array,
    at: _Block,
    halves: Halves,
    shared: _Batch,
    fields: Array,
    sums: Sums,
) -> None:
    """The same as :func:`_sum_side` with weights by halves."""
    on, off, expected, _, _, folded, scale, total, inverse, share = at
    n_hidden, value = on.shape[0], 0.0
    for place in range(fields.shape[1]):
        block = start + place
        kind, own = rows.kind[side, block], rows.pattern[side, block, 0]
        unit_weights(fields, place, on, off, scale)
        if kind == CLOSED:
            closed_form(on, off, total, expected)
        else:
            unit_halves(on, off, halves)
        if kind == MIXED:
            sum_block(rows, side, block, shared.first, shared.patterns, shared.cells, halves, total)
        elif kind == UNIFORM:
            sum_pattern(shared.patterns[own], halves, total)
        good = invert_sums(total, inverse, scale)
        _add_scales(rows, side, block, table_scale, shared.scales, scale)
        for r in range(share.size):
            share[r] = rows.weights[side, block, r]
        if kind == MIXED:
            good = _spread_halves(rows, side, block, at, halves, shared) and good
        if not good:
            if kind != CLOSED:
                _restore_weights(rows, side, block, at, halves, shared)
            _set_aside(rows, side, block, at, errors, shared, sums)
        for r in range(share.size):
            value += share[r] * scale[r]
            inverse[r] = inverse[r] * share[r] if kind != CLOSED else share[r]
            fields[n_hidden, place, r] = share[r]
        if kind == UNIFORM:
            add_occupancy(shared.patterns[own], inverse, halves, shared.occupancy[own])
        if kind != CLOSED:
            expected_by_halves(halves, folded, expected)
        for j in range(n_hidden):
            for r in range(share.size):
                fields[j, place, r] = expected[j, r] * inverse[r]
    sums.value[0] += value


@compiled()
def _room(n_hidden: int) -> _Block:
    """Working memory for a block."""
    by_unit, by_state, by_row = np.empty((3, n_hidden, ROWS)), np.empty((3, 1 << n_hidden, ROWS)), np.empty((4, ROWS))
    return _Block(by_unit[0], by_unit[1], by_unit[2], by_state[0], by_state[1], by_state[2], by_row[0], by_row[1], by_row[2], by_row[3])


@compiled()
def _by_place(rows: RowBlocks, energy: Energy, n_places: int) -> Array:
    """Minus the couplings (hidden units, places of statistics), then minus the biases; the constant statistic has the hidden biases."""
    n_hidden, n_statistics = energy.coupling.shape
    out = np.zeros((2 * (n_hidden // 2 + 1), n_places))
    for d in range(n_statistics):
        for j in range(n_hidden):
            out[j, rows.place[d]] = -energy.coupling[j, d]
        out[n_hidden, rows.place[d]] = -energy.bias[d]
    for j in range(n_hidden):
        out[j, rows.place[n_statistics]] = -energy.hidden_bias[j]
    out[n_hidden, rows.place[n_statistics]] = -energy.constant
    return out


@compiled()
def _add_by_statistic(rows: RowBlocks, products: Array, sums: Sums) -> None:
    """Take means of statistics, and of their products with hidden units, off the gradient (eq. 11)."""
    n_hidden, n_statistics = sums.coupling.shape
    for d in range(n_statistics):
        for j in range(n_hidden):
            sums.coupling[j, d] -= products[j, rows.place[d]]
        sums.bias[d] -= products[n_hidden, rows.place[d]]
    for j in range(n_hidden):
        sums.hidden_bias[j] -= products[j, rows.place[n_statistics]]


@compiled()
def sum_blocks(rows: RowBlocks, energy: Energy, factors: Factors, sums: Sums) -> None:
    """Sum over the hidden states of some rows (eq. 5), and add to the gradient; flags, by side and row, are set where one is left out."""
    n_hidden, n_common, n_sides, n_places = energy.hidden_bias.size, rows.n_common, rows.weights.shape[0], rows.n_places
    n_states, n_blocks, n_patterns = 1 << n_hidden, rows.row.shape[0], rows.pattern_first.size - 1
    by_place, at, halves = _by_place(rows, energy, n_places), _room(n_hidden), room_for_halves(n_hidden)
    products = np.zeros(by_place.shape)
    patterns, scales, occupancy = np.empty((n_patterns, n_states)), np.empty(n_patterns), np.zeros((n_patterns, n_states))
    pattern_factors(rows, factors, patterns, scales)
    room, by_factor = np.empty((3, np.diff(rows.batch_first).max(), n_states)), np.empty((rows.cells.shape[1] + 1, n_states))
    lines, common, own = np.arange(by_place.shape[0]), np.arange(n_common), np.arange(n_common, n_places)
    for b in range(rows.batch_first.size - 1):
        start, stop, first = b * rows.batch, min((b + 1) * rows.batch, n_blocks), rows.batch_first[b]
        n_cells = rows.batch_first[b + 1] - first
        shared = _Batch(patterns, scales, occupancy, first, room[0, :n_cells], room[1, :n_cells], room[2, :n_cells], by_factor)
        evaluate_cells(rows, first, factors.table, factors.errors, shared.cells, shared.errors)
        shared.adjoints[:] = 0.0
        seen = rows.statistics[n_places * ROWS * start : n_places * ROWS * stop].reshape(n_places, -1)
        fields = np.zeros((n_sides, lines.size, seen.shape[1]))
        add_products(by_place, lines, common, seen, fields[n_sides - 1])
        if n_sides == 2:
            fields[0] = fields[1]
            add_products(by_place, lines, own, seen, fields[0])
        by_block = fields.reshape(n_sides, lines.size, stop - start, ROWS)
        for side in range(n_sides):
            if n_hidden >= FEWEST_FOR_HALVES:
                _sum_side_by_halves(rows, side, start, factors.table_scale, factors.errors, at, halves, shared, by_block[side], sums)
            else:
                _sum_side(rows, side, start, factors.table_scale, factors.errors, at, shared, by_block[side], sums)
        if n_sides == 2:
            add_sums_of_products(fields[0], seen[n_common:], products[:, n_common:])
            fields[1] += fields[0]
        add_sums_of_products(fields[n_sides - 1], seen[:n_common], products[:, :n_common])
        pull_back_cells(rows, first, shared.adjoints, sums.adjoint)
    spread_patterns(rows, occupancy, sums.occupancy)
    _add_by_statistic(rows, products, sums)
