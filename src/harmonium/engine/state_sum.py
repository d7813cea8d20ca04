"""The sum over hidden states of assembled rows, and its adjoint (eq. 3 and 4).

For each row the weights of all states are built by doubling from the H fields, multiplied by the factor of every unobserved
cell, and summed. Everything is scaled so that no factor exceeds one; a row whose sum gets too small for that, or for which an
endpoint's table is not accurate enough, is flagged and left to :mod:`harmonium.engine.enumeration`. Nothing is dropped.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.compilation import compiled, compiled_sum
from harmonium.engine.assembly import Chunk
from harmonium.engine.panels import NODES
from harmonium.units.contract import Array

__all__ = ["INACCURATE", "SUMMED", "UNDERFLOWN", "Factors", "Sums", "sum_states"]

SUMMED, UNDERFLOWN, INACCURATE = 0, 1, 2

_SMALLEST_SUM = 1e-200  # contributions lost to underflow are below 1e-308
_TOLERANCE = 1e-10  # of a row's log mass; trailing coefficients overstate the error by about a factor of twenty


class Factors(NamedTuple):
    """Factors of unobserved cells for all states, from the current parameters.

    ``shared`` has a row for each shared cell, ``table`` the rows of all endpoints' tables, ``errors`` their error rows; the
    logarithms of what was divided out are in ``shared_scale`` (by row) and ``table_scale`` (by column of the data).
    """

    shared: Array
    shared_scale: Array
    table: Array
    table_scale: Array
    errors: Array


class Sums(NamedTuple):
    """Where results go.

    ``log_mass`` and ``expected`` (mean of the hidden units) are by row, and so is ``posterior``, which may have no rows if it is
    not wanted. ``occupancy`` (shared rows by states) and ``adjoint`` (table rows by states) add up over rows, times the rows'
    weights; they too may have no rows. Rows with a ``flag`` other than :data:`SUMMED` have no result.
    """

    log_mass: Array
    expected: Array
    posterior: Array
    occupancy: Array
    adjoint: Array
    flag: NDArray[np.int8]


@compiled
def _closed_form(fields: Array, row: int, expected: Array) -> float:
    """A row with nothing unobserved: sum of softplus(fields); p(h = 1) in ``expected``."""
    total = 0.0
    for j in range(fields.shape[1]):
        field = fields[row, j]
        small = exp(-abs(field))
        total += max(field, 0.0) + log1p(small)
        expected[row, j] = (1.0 if field > 0.0 else small) / (1.0 + small)
    return total


@compiled
def _state_weights(fields: Array, row: int, out: Array) -> float:
    """e^(fields . h) of all states by doubling, the largest scaled to 1; returns the logarithm of the scale."""
    log_scale = 0.0
    out[0] = 1.0
    half = 1
    for j in range(fields.shape[1]):
        field = fields[row, j]
        factor = exp(-abs(field))
        if field > 0.0:
            log_scale += field
            for i in range(half):
                out[half + i] = out[i]
            for i in range(half):
                out[i] *= factor
        else:
            for i in range(half):
                out[half + i] = out[i] * factor
        half *= 2
    return log_scale


@compiled_sum
def _expected_hidden(posterior: Array, work: Array, row: int, expected: Array) -> None:
    """Mean of every hidden unit, folding the states in half once for each unit."""
    half = posterior.size // 2
    j = expected.shape[1] - 1
    if j < 0:
        return
    total = 0.0
    for i in range(half):
        total += posterior[half + i]
        work[i] = posterior[i] + posterior[half + i]
    expected[row, j] = total
    while j > 0:
        j -= 1
        half //= 2
        total = 0.0
        for i in range(half):
            total += work[half + i]
            work[i] += work[half + i]
        expected[row, j] = total


@compiled_sum
def _combine(table: Array, first: int, count: int, out: Array, place: int) -> None:
    """Start a tabulated cell's factor, in row ``place`` of ``out``, with the sum of its whole rows of the table."""
    for i in range(out.shape[1]):
        out[place, i] = table[first, i] if count > 0 else 0.0
    for row in range(first + 1, first + count):
        for i in range(out.shape[1]):
            out[place, i] += table[row, i]


@compiled_sum
def _combine_part(table: Array, first: int, weights: Array, part: int, out: Array, place: int) -> None:
    """Add part of a panel: a combination of its nodes' rows."""
    for k in range(0, NODES, 4):  # four rows in one loop, since with few states a loop costs more than its body
        row = first + k
        w0, w1, w2, w3 = weights[part, k], weights[part, k + 1], weights[part, k + 2], weights[part, k + 3]
        for i in range(out.shape[1]):
            out[place, i] += w0 * table[row, i] + w1 * table[row + 1, i] + w2 * table[row + 2, i] + w3 * table[row + 3, i]


@compiled_sum
def _scatter(adjoint: Array, first: int, count: int, by_factor: Array, place: int) -> None:
    """The adjoint of :func:`_combine`."""
    for row in range(first, first + count):
        for i in range(by_factor.shape[1]):
            adjoint[row, i] += by_factor[place, i]


@compiled_sum
def _scatter_part(adjoint: Array, first: int, weights: Array, part: int, by_factor: Array, place: int) -> None:
    """The adjoint of :func:`_combine_part`."""
    for k in range(0, NODES, 4):
        row = first + k
        w0, w1, w2, w3 = weights[part, k], weights[part, k + 1], weights[part, k + 2], weights[part, k + 3]
        for i in range(by_factor.shape[1]):
            value = by_factor[place, i]
            adjoint[row, i] += w0 * value
            adjoint[row + 1, i] += w1 * value
            adjoint[row + 2, i] += w2 * value
            adjoint[row + 3, i] += w3 * value


@compiled_sum
def _multiply(weights: Array, factors: Array, row: int) -> float:
    """Multiply the states' weights by a row of factors; returns their new sum."""
    total = 0.0
    for i in range(weights.size):
        weights[i] *= factors[row, i]
        total += weights[i]
    return total


@compiled
def _divide(weights: Array, factors: Array, place: int) -> None:
    """The posterior divided by one of its factors, in the factor's place; zero where the factor has underflown."""
    for i in range(weights.size):
        factor = factors[place, i]
        factors[place, i] = weights[i] / factor if factor > 0.0 else 0.0


@compiled_sum
def _dot(a: Array, row: int, b: Array, other_row: int) -> float:
    total = 0.0
    for i in range(a.shape[1]):
        total += a[row, i] * b[other_row, i]
    return total


@compiled_sum
def sum_states(chunk: Chunk, fields: Array, row_weights: Array, factors: Factors, sums: Sums) -> None:
    """Sum over the hidden states of every row of a chunk.

    ``fields`` are the coefficients of h in minus the energy, from hidden biases and observed cells.
    """
    # Names of their own: handing whole tuples to the small functions above would cost more than their work.
    first_cell, shared, column, parts, whole = chunk.first_cell, chunk.shared, chunk.column, chunk.parts, chunk.whole
    part_row, part_weights, part_error, part_length = chunk.part_row, chunk.part_weights, chunk.part_error, chunk.part_length
    shared_factors, table, errors = factors.shared, factors.table, factors.errors
    expected, occupancy, adjoint = sums.expected, sums.occupancy, sums.adjoint
    n_rows, n_states = fields.shape[0], shared_factors.shape[1]
    most_cells = 0
    for row in range(n_rows):
        most_cells = max(most_cells, first_cell[row + 1] - first_cell[row])
    cell_factors = np.empty((most_cells, n_states))
    weights, work = np.empty(n_states), np.empty(n_states)
    with_posterior, with_gradient = sums.posterior.shape[0] > 0, occupancy.shape[0] > 0
    for row in range(n_rows):
        begin, end = first_cell[row], first_cell[row + 1]
        sums.flag[row] = SUMMED
        if begin == end and not with_posterior:
            sums.log_mass[row] = _closed_form(fields, row, expected)
            continue

        log_scale = _state_weights(fields, row, weights)
        total = weights.sum() if begin == end else 0.0
        for cell in range(begin, end):
            if shared[cell] >= 0:
                log_scale += factors.shared_scale[shared[cell]]
                total = _multiply(weights, shared_factors, shared[cell])
            else:
                log_scale += factors.table_scale[column[cell]]
                place = cell - begin
                _combine(table, whole[cell, 0], whole[cell, 1], cell_factors, place)
                for side in range(2):
                    part = parts[cell, side]
                    if part >= 0:
                        _combine_part(table, part_row[part], part_weights, part, cell_factors, place)
                total = _multiply(weights, cell_factors, place)
        if not total > _SMALLEST_SUM:
            sums.flag[row] = UNDERFLOWN
            continue
        inverse = 1.0 / total
        for i in range(n_states):
            weights[i] *= inverse

        error = 0.0
        for cell in range(begin, end):
            if shared[cell] < 0:
                place = cell - begin
                _divide(weights, cell_factors, place)
                for side in range(2):
                    part = parts[cell, side]
                    if part >= 0:
                        error += part_length[part] * _dot(cell_factors, place, errors, part_error[part])
                if chunk.error[cell] >= 0:
                    error += _dot(cell_factors, place, errors, chunk.error[cell])
        if not error <= _TOLERANCE:
            sums.flag[row] = INACCURATE
            continue
        sums.log_mass[row] = log(total) + log_scale
        _expected_hidden(weights, work, row, expected)
        if with_posterior:
            for i in range(n_states):
                sums.posterior[row, i] = weights[i]
        if not with_gradient:
            continue

        row_weight = row_weights[row]
        for cell in range(begin, end):
            if shared[cell] >= 0:
                for i in range(n_states):
                    occupancy[shared[cell], i] += row_weight * weights[i]
            else:
                place = cell - begin
                for i in range(n_states):
                    cell_factors[place, i] *= row_weight
                _scatter(adjoint, whole[cell, 0], whole[cell, 1], cell_factors, place)
                for side in range(2):
                    part = parts[cell, side]
                    if part >= 0:
                        _scatter_part(adjoint, part_row[part], part_weights, part, cell_factors, place)
