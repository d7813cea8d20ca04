"""The sum over many hidden states of rows that need a pass over all of them: two censored times, or one and missing covariates (eq. 5).

Tables are by halves of the hidden units (:mod:`harmonium.engine.half_tables`). A row is swept once, one high state at a time, so that
working memory stays in the nearest cache. For each high state the factor of every tabulated cell is put together from an integral over
whole panels and from the nodes of its parts, and so are the integrals of its statistics. All that is kept are sums by low and by high
state, from which the means of the hidden units, and of their products with the statistics, follow.
"""

from __future__ import annotations

from math import log

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.half_cells import LARGEST_SUM, Places, blame_cell, n_units, subtract_means
from harmonium.engine.half_parts import OWN_NODES, put_at_nodes
from harmonium.engine.half_tables import HalfTables
from harmonium.engine.panels import fill_nodes
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
    add_up,
    closed_form,
    fields_of,
    most_cells,
    state_weights,
    visible_energy,
)
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers

__all__ = ["sum_by_halves"]


# These take arrays, not the tuples that hold them: inside a loop, taking an array out of a tuple costs more than the work.


@compiled(inline=True)
def _scaled(low: Array, high: float, out: Array) -> None:
    """The states' weights that a row's fields give, for one high state."""
    for i in range(low.size):
        out[0, i] = high * low[i]


@compiled(inline=True)
def _times(factors: Array, row: int, out: Array) -> None:
    for i in range(out.shape[1]):
        out[0, i] *= factors[row, i]


@compiled(inline=True)
def _product(weights: Array, factors: Array, row: int, out: Array) -> None:
    for i in range(out.shape[1]):
        out[0, i] = weights[0, i] * factors[row, i]


@compiled(inline=True)
def _add(terms: Array, row: int, out: Array, place: int) -> None:
    for i in range(out.shape[1]):
        out[place, i] += terms[row, i]


@compiled(inline=True)
def _add_products(values: Array, factors: Array, place: int, out: Array) -> None:
    """Add values times each of three rows of factors to the same rows of ``out``."""
    for i in range(out.shape[1]):
        value = values[0, i]
        out[place, i] += value * factors[place, i]
        out[place + 1, i] += value * factors[place + 1, i]
        out[place + 2, i] += value * factors[place + 2, i]


@compiled(inline=True)
def _keep_products(values: Array, factors: Array, place: int, out: Array, row: int) -> None:
    for i in range(out.shape[1]):
        out[row, i] = values[0, i] * factors[place, i]


@compiled(sums=True, inline=True)
def _sums_of_products(values: Array, factors: Array, place: int) -> tuple[float, float, float]:
    """Sums of values times each of three rows of factors."""
    one = two = three = 0.0
    for i in range(values.shape[1]):
        value = values[0, i]
        one += value * factors[place, i]
        two += value * factors[place + 1, i]
        three += value * factors[place + 2, i]
    return one, two, three


@compiled(sums=True, inline=True)
def _dot(values: Array, errors: Array, row: int) -> float:
    """Sum of the absolute values, times errors; an interpolated factor that has come out negative must not hide its error."""
    total = 0.0
    for i in range(values.shape[1]):
        total += abs(values[0, i]) * errors[row, i]
    return total


@compiled(inline=True)
def _at_nodes(weights: Array, part: int, kind: int, high: Array, b: int, place: int, out: Array) -> None:
    """Weights of a part's nodes for three integrals, for one high state."""
    for k in range(3):
        for q in range(OWN_NODES):
            out[k, q] = weights[part, kind + k, q] * high[place + q, b]


@compiled(sums=True, inline=True)
def _combine(c: Array, low: Array, first: int, start: Array, row: int, step: int, out: Array, place: int) -> None:
    """Three combinations of the same nodes, added to rows ``row``, ``row + step``, ... of ``start``: as much as the registers hold."""
    a0, a1, a2, a3, a4, a5, a6 = c[0, 0], c[0, 1], c[0, 2], c[0, 3], c[0, 4], c[0, 5], c[0, 6]
    b0, b1, b2, b3, b4, b5, b6 = c[1, 0], c[1, 1], c[1, 2], c[1, 3], c[1, 4], c[1, 5], c[1, 6]
    c0, c1, c2, c3, c4, c5, c6 = c[2, 0], c[2, 1], c[2, 2], c[2, 3], c[2, 4], c[2, 5], c[2, 6]
    for i in range(out.shape[1]):
        v0, v1, v2, v3 = low[first, i], low[first + 1, i], low[first + 2, i], low[first + 3, i]
        v4, v5, v6 = low[first + 4, i], low[first + 5, i], low[first + 6, i]
        out[place, i] = start[row, i] + (a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3 + a4 * v4 + a5 * v5 + a6 * v6)
        out[place + 1, i] = start[row + step, i] + (b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3 + b4 * v4 + b5 * v5 + b6 * v6)
        out[place + 2, i] = start[row + 2 * step, i] + (c0 * v0 + c1 * v1 + c2 * v2 + c3 * v3 + c4 * v4 + c5 * v5 + c6 * v6)


@compiled()
def _fill_nodes(
    chunk: Chunk, at: Places, row: int, energy: Energy, scales: Array, first: Integers, last: Integers, low: Array, high: Array
) -> None:
    """The integrand at the nodes of all parts of a row's tabulated cells, two parts for each cell, as products of low and high states."""
    n_hidden, n_low_units = energy.hidden_bias.size, n_units(low.shape[1])
    off, on, bases = np.empty((n_hidden, OWN_NODES)), np.empty((n_hidden, OWN_NODES)), np.empty(OWN_NODES)
    ones, place = np.ones(OWN_NODES), 0
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        if chunk.shared[cell] < 0:
            for side in range(2):
                part, table = at.parts[cell, side], at.table[cell]
                if part >= 0:
                    put_at_nodes(energy, first[table], last[table], scales[chunk.column[cell]], at.nodes, part, off, on, bases)
                    fill_nodes(ones, off[:n_low_units], on[:n_low_units], low[place : place + OWN_NODES])
                    fill_nodes(bases, off[n_low_units:], on[n_low_units:], high[place : place + OWN_NODES])
                place += OWN_NODES


@compiled()
def _sweep(
    chunk: Chunk,
    at: Places,
    row: int,
    in_doubt: bool,
    shared_factors: Array,
    tables: HalfTables,
    row_low: Array,
    row_high: Array,
    low: Array,
    high: Array,
    factors: Array,
    found: Array,
    low_sums: Array,
    high_sums: Array,
    posterior: Array,
) -> None:
    """A row's sums by low and by high state; for each tabulated cell once as they are, and then times each of its statistics.

    In ``found``, if the row is in doubt, how wrong each of these cells may make its sum: its two parts, its whole rows. ``posterior`` is
    filled if it is not empty.
    """
    shared, whole, part_weights, part_length = chunk.shared, chunk.whole, at.nodes.weights, chunk.part_length
    part_error, parts, edge, edge_error = chunk.part_error, at.parts, at.whole, at.error
    integrals, errors = tables.whole, tables.errors
    begin, end, n, n_high = chunk.first_cell[row], chunk.first_cell[row + 1], at.n_tabulated[row], row_high.size
    n_kinds, c = part_weights.shape[1], np.empty((3, OWN_NODES))
    weights, by_factor = np.empty((1, row_low.size)), np.empty((1, row_low.size))
    low_sums[:] = 0.0
    found[:] = 0.0
    for b in range(n_high):
        _scaled(row_low, row_high[b], weights)
        for cell in range(begin, end):
            if shared[cell] >= 0:
                _times(shared_factors, shared[cell] * n_high + b, weights)
        place = node = 0
        for cell in range(begin, end):
            if shared[cell] < 0:
                one, other = parts[cell, 0], parts[cell, 1]
                for kind in range(0, n_kinds, 3):
                    _at_nodes(part_weights, one, kind, high, b, node, c)
                    _combine(c, low, node, integrals, (edge[cell] * n_kinds + kind) * n_high + b, n_high, factors, place + kind)
                    if other >= 0:
                        _at_nodes(part_weights, other, kind, high, b, node + OWN_NODES, c)
                        _combine(c, low, node + OWN_NODES, factors, place + kind, 1, factors, place + kind)
                for k in range(n_kinds, whole[cell, 1] * n_kinds):
                    _add(integrals, (edge[cell] * n_kinds + k) * n_high + b, factors, place + k % n_kinds)
                place += n_kinds
                node += 2 * OWN_NODES
        place = 0
        for cell in range(begin, end):
            if shared[cell] < 0:
                if n == 2:
                    _product(weights, factors, n_kinds - place, by_factor)
                else:
                    by_factor[:] = weights
                    for k in range(0, n * n_kinds, n_kinds):
                        if k != place:
                            _times(factors, k, by_factor)
                for k in range(place, place + n_kinds, 3):
                    high_sums[k, b], high_sums[k + 1, b], high_sums[k + 2, b] = _sums_of_products(by_factor, factors, k)
                    _add_products(by_factor, factors, k, low_sums)
                if in_doubt:
                    for side in range(2):
                        part = parts[cell, side]
                        if 0 <= part < part_length.size:
                            found[place // n_kinds, side] += part_length[part] * _dot(by_factor, errors, part_error[part] * n_high + b)
                    found[place // n_kinds, 2] += _dot(by_factor, errors, edge_error[cell] * n_high + b)
                place += n_kinds
        if posterior.shape[0] > 0:
            _keep_products(by_factor, factors, place - n_kinds, posterior, b)


@compiled()
def _blame(chunk: Chunk, parts: Integers, row: int, found: Array, total: float, out: Integers) -> None:
    place = 0
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        if chunk.shared[cell] < 0:
            blame_cell(chunk, parts, cell, found[place], total, out)
            place += 1


@compiled()
def _hand_back(
    chunk: Chunk,
    at: Places,
    row: int,
    share: float,
    low_sums: Array,
    high_sums: Array,
    posterior: Array,
    first: Integers,
    last: Integers,
    n_kinds: int,
    expected: Array,
    sums: Sums,
) -> None:
    """Take a row's expected statistics off the gradient, and add the probabilities of its states to its shared cells."""
    n_high, n_low = posterior.shape[0], low_sums.shape[1]
    place = 0
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        if chunk.shared[cell] >= 0:
            occupancy = sums.occupancy[chunk.shared[cell]]
            for b in range(n_high):
                for i in range(n_low):
                    occupancy[b * n_low + i] += share * posterior[b, i]
        else:
            table = at.table[cell]
            for d in range(last[table] - first[table]):
                own = place + 1 + d
                subtract_means(low_sums[own], high_sums[own], share, first[table] + d, expected, sums.bias, sums.coupling)
            place += n_kinds


@compiled()
def sum_by_halves(
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
    """Sum over the hidden states of some rows, one after the other; ``first`` to ``last`` are the statistics of each table."""
    bias, coupling, hidden_bias, constant = energy
    n_high, n_low, n_hidden, n_kinds = tables.high.shape[0], tables.low.shape[1], hidden_bias.size, 1 + tables.statistics.shape[0]
    n_low_units, most = n_units(n_low), most_cells(chunk.first_cell)
    shared = factors.shared.reshape((-1, n_low))
    fields, expected, low, high = np.empty(n_hidden), np.empty(n_hidden), np.empty(n_low), np.empty(n_high)
    work, found, posterior = np.empty((n_kinds * most, n_low)), np.empty((most, 3)), np.empty((n_high, n_low))
    low_sums, high_sums = np.empty((n_kinds * most, n_low)), np.empty((n_kinds * most, n_high))
    nodes_low, nodes_high = np.empty((2 * most * OWN_NODES, n_low)), np.empty((2 * most * OWN_NODES, n_high))
    for row in rows:
        begin, end = chunk.first_cell[row], chunk.first_cell[row + 1]
        sums.flag[row] = SUMMED
        fields_of(chunk.statistics, row, coupling, hidden_bias, fields)
        if begin == end:
            log_sum = closed_form(fields, expected)
        else:
            log_sum = state_weights(fields[:n_low_units], low) + state_weights(fields[n_low_units:], high)
            for cell in range(begin, end):
                log_sum += factors.shared_scale[chunk.shared[cell]] if chunk.shared[cell] >= 0 else factors.table_scale[chunk.column[cell]]
            probable = posterior if end - begin > at.n_tabulated[row] else posterior[:0]
            _fill_nodes(chunk, at, row, energy, factors.table_scale, first, last, nodes_low, nodes_high)
            into = (work, found, low_sums, high_sums, probable)
            _sweep(chunk, at, row, in_doubt[row], shared, tables, low, high, nodes_low, nodes_high, *into)
            total = add_up(high_sums[0], 0, n_high)
            if not SMALLEST_SUM < total < LARGEST_SUM:
                sums.flag[row] = UNDERFLOWN
                continue
            if not found.sum() <= TOLERANCE * total:
                sums.flag[row] = INACCURATE
                _blame(chunk, at.parts, row, found, total, sums.blame)
                continue
            log_sum += log(total)
            share = row_weights[row] / total
            _hand_back(chunk, at, row, share, low_sums, high_sums, probable, first, last, n_kinds, expected, sums)
            means_of_units(low_sums[0], 1.0 / total, expected, 0, n_low_units)
            means_of_units(high_sums[0], 1.0 / total, expected, n_low_units, n_hidden - n_low_units)
        sums.log_mass[row] = log_sum - visible_energy(chunk.statistics, row, bias) - constant
        sums.value[0] += row_weights[row] * sums.log_mass[row]
        add_observed(chunk.statistics, row, row_weights[row], expected, sums.bias, sums.coupling, sums.hidden_bias)
