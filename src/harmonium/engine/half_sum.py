"""The sum over many hidden states of rows with tabulated cells: the first of two sweeps (eq. 5).

Tables are by halves of the hidden units (:mod:`harmonium.engine.half_tables`), and both sweeps take one high state at a time, so that their
working memory stays in the nearest cache:

* this one takes row after row and finds its sum, its hidden units' means and whether the tables are accurate enough for it;
* the second (:mod:`harmonium.engine.half_adjoint`), in which all sums are known, takes one high state after the other.

Rows are independent of each other here, high states there; threads share either.
"""

from __future__ import annotations

from math import log

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.half_cells import (
    Places,
    RowTotals,
    add_whole,
    coefficients,
    copied,
    n_units,
    product,
    scaled,
    times_cell,
    times_shared,
)
from harmonium.engine.half_tables import HalfTables, add_nodes, start_with_nodes
from harmonium.engine.panels import NODES
from harmonium.engine.pattern_sum import means_of_units
from harmonium.engine.state_sum import (
    INACCURATE,
    SMALLEST_SUM,
    SUMMED,
    TOLERANCE,
    UNDERFLOWN,
    WORTH_BLAME,
    Energy,
    Factors,
    Sums,
    add_observed,
    add_up,
    closed_form,
    fields_of,
    most_cells,
    state_weights,
    visible_energy,
)
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["sum_by_halves"]


@compiled(sums=True, inline=True)
def _dot(values: Array, errors: Array, row: int, b: int) -> float:
    """Sum of the absolute values, times errors; an interpolated factor that has come out negative must not hide its error."""
    total = 0.0
    for i in range(values.shape[1]):
        total += abs(values[0, i]) * errors[b, row, i]
    return total


@compiled(sums=True, inline=True)
def _sum_of_products(values: Array, factors: Array, place: int) -> float:
    total = 0.0
    for i in range(values.shape[1]):
        total += values[0, i] * factors[place, i]
    return total


@compiled(inline=True)
def _add_products(values: Array, factors: Array, place: int, out: Array) -> None:
    for i in range(out.size):
        out[i] += values[0, i] * factors[place, i]


@compiled()
def _row_sums(
    chunk: Chunk,
    at: Places,
    row: int,
    shared_factors: Array,
    tables: HalfTables,
    known: RowTotals,
    work: Array,
    found: Array,
    low_sums: Array,
    high_sums: Array,
) -> None:
    """A row's sums by low and by high state; in ``found`` how wrong each tabulated cell may make them: its two parts, its whole rows."""
    shared, whole, part_weights, part_length = chunk.shared, chunk.whole, at.weights, chunk.part_length
    part_error, node, parts, edge, edge_error = chunk.part_error, at.node, at.parts, at.whole, at.error
    low, high, sums, errors = tables
    row_low, row_high, _ = known
    begin, end = chunk.first_cell[row], chunk.first_cell[row + 1]
    weights, by_factor, factors, c = work[0], work[1:2], work[2:], np.empty(NODES)
    n = at.n_tabulated[row]
    low_sums[:] = 0.0
    found[:] = 0.0
    for b in range(high_sums.size):
        scaled(row_low, row, row_high[row, b], weights)
        for cell in range(begin, end):
            if shared[cell] >= 0:
                times_shared(shared_factors, shared[cell], b, weights)
        place = 0
        for cell in range(begin, end):
            if shared[cell] < 0:
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
                if n == 2:
                    product(weights, factors, 1 - place, by_factor, 0)
                else:
                    copied(weights, by_factor, 0)
                    for k in range(n):
                        if k != place:
                            times_cell(factors, k, by_factor, 0)
                for side in range(2):
                    part = parts[cell, side]
                    if 0 <= part < part_length.size:
                        found[place, side] += part_length[part] * _dot(by_factor, errors, part_error[part], b)
                found[place, 2] += _dot(by_factor, errors, edge_error[cell], b)
                place += 1
        high_sums[b] = _sum_of_products(by_factor, factors, n - 1)
        _add_products(by_factor, factors, n - 1, low_sums)


@compiled()
def _blame(chunk: Chunk, parts: Integers, row: int, found: Array, total: float, out: Integers) -> None:
    """Count, for each row of the error table, that it is a reason why a row is inaccurate."""
    place = 0
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        if chunk.shared[cell] < 0:
            for side in range(2):
                part = parts[cell, side]
                if 0 <= part < chunk.part_error.size:
                    out[chunk.part_error[part]] += found[place, side] > WORTH_BLAME * total
            if chunk.error[cell] >= 0:
                out[chunk.error[cell]] += found[place, 2] > WORTH_BLAME * total
            place += 1


@compiled()
def sum_by_halves(
    chunk: Chunk,
    at: Places,
    rows: Integers,
    row_weights: Array,
    energy: Energy,
    factors: Factors,
    tables: HalfTables,
    shared: Array,
    known: RowTotals,
    sums: Sums,
) -> None:
    """The first sweep, for some rows; ``shared`` are the factors of shared cells with high and low states apart."""
    bias, coupling, hidden_bias, constant = energy
    with_gradient = sums.value.size > 0
    n_high, n_low = known.high.shape[1], known.low.shape[1]
    n_low_units, most = n_units(n_low), most_cells(chunk.first_cell)
    fields, expected = np.empty(hidden_bias.size), np.empty(hidden_bias.size)
    work, found = np.empty((2 + most, n_low)), np.empty((most, 3))
    low_sums, high_sums = np.empty(n_low), np.empty(n_high)
    for row in rows:
        begin, end = chunk.first_cell[row], chunk.first_cell[row + 1]
        known.share[row] = 0.0
        sums.flag[row] = SUMMED
        fields_of(chunk.statistics, row, coupling, hidden_bias, fields)
        if begin == end:
            log_sum = closed_form(fields, expected)
        else:
            log_sum = state_weights(fields[:n_low_units], known.low[row]) + state_weights(fields[n_low_units:], known.high[row])
            for cell in range(begin, end):
                log_sum += factors.shared_scale[chunk.shared[cell]] if chunk.shared[cell] >= 0 else factors.table_scale[chunk.column[cell]]
            _row_sums(chunk, at, row, shared, tables, known, work, found, low_sums, high_sums)
            total = add_up(high_sums, 0, n_high)
            if not total > SMALLEST_SUM:
                sums.flag[row] = UNDERFLOWN
                continue
            if not found.sum() <= TOLERANCE * total:
                sums.flag[row] = INACCURATE
                _blame(chunk, at.parts, row, found, total, sums.blame)
                continue
            log_sum += log(total)
            known.share[row] = row_weights[row] / total
            means_of_units(low_sums, 1.0 / total, expected, 0, n_low_units)
            means_of_units(high_sums, 1.0 / total, expected, n_low_units, hidden_bias.size - n_low_units)
        sums.log_mass[row] = log_sum - visible_energy(chunk.statistics, row, bias) - constant
        if with_gradient:
            sums.value[0] += row_weights[row] * sums.log_mass[row]
            add_observed(chunk.statistics, row, row_weights[row], expected, sums.bias, sums.coupling, sums.hidden_bias)
