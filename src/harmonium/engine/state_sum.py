"""The sum over hidden states of assembled rows, one by one (eq. 5). For its adjoint see :mod:`harmonium.engine.block_sum`.

For each row the weights of all states are built by doubling from the H fields, multiplied by the factor of every unobserved
cell, and summed. Everything is scaled so that no factor exceeds one; a row whose sum gets too small for that, or for which an
endpoint's table is not accurate enough, is flagged and left to :mod:`harmonium.engine.enumeration`. Nothing is dropped.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.engine.assembly import Chunk
from harmonium.engine.panels import NODES
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers

__all__ = [
    "INACCURATE",
    "SMALLEST_SUM",
    "SUMMED",
    "TOLERANCE",
    "UNDERFLOWN",
    "WORTH_BLAME",
    "Energy",
    "Factors",
    "Sums",
    "add_up",
    "fields_of",
    "most_cells",
    "state_weights",
    "sum_states",
    "visible_energy",
]

SUMMED, UNDERFLOWN, INACCURATE = 0, 1, 2

SMALLEST_SUM = 1e-200  # contributions lost to underflow are below 1e-308
WORTH_BLAME = 1e-11  # an error in a row's log mass that makes a panel worth halving, if the row's errors together are too large
TOLERANCE = 1e-9  # of a row's log mass; trailing coefficients overstate the error by about a factor of twenty


class Factors(NamedTuple):
    """Factors of unobserved cells for all states, from the current parameters.

    ``shared`` has a row for each shared cell, ``table`` the rows of all endpoints' tables, ``errors`` their error rows; the
    logarithms of what was divided out are in ``shared_scale`` (by row) and ``table_scale`` (by column of the data).
    ``tabulated_free`` tells for which columns the factor of a free cell comes from the table.
    """

    shared: Array
    shared_scale: Array
    table: Array
    table_scale: Array
    errors: Array
    tabulated_free: Booleans


class Energy(NamedTuple):
    """The natural parameters, with the couplings by hidden unit: ``coupling`` has shape (n_hidden, n_statistics)."""

    bias: Array
    coupling: Array
    hidden_bias: Array
    constant: float


class Sums(NamedTuple):
    """Where results go.

    ``log_mass`` is by row, and so are ``posterior``, which may have no rows if it is not wanted, and ``flag``: a row whose flag is
    not :data:`SUMMED` has no result. The others add up over rows, times the rows' weights, and stay untouched if ``value`` is
    empty: ``value`` itself, the observed cells' part of the gradient (in the form of :class:`Energy`), ``occupancy`` (shared rows
    by states) and ``adjoint`` (table rows by states). ``blame`` counts how often a row of the error table was the reason for a flag.
    """

    log_mass: Array
    posterior: Array
    flag: NDArray[np.int8]
    value: Array
    bias: Array
    coupling: Array
    hidden_bias: Array
    occupancy: Array
    adjoint: Array
    blame: Integers


@compiled(sums=True, inline=True)
def fields_of(statistics: Array, row: int, coupling: Array, hidden_bias: Array, out: Array) -> None:
    """Coefficients of h in minus the energy, from hidden biases and observed cells: minus the fields of eq. 2."""
    for j in range(out.size):
        field = -hidden_bias[j]
        for d in range(statistics.shape[1]):
            field -= statistics[row, d] * coupling[j, d]
        out[j] = field


@compiled(sums=True, inline=True)
def visible_energy(statistics: Array, row: int, bias: Array) -> float:
    """The part of the energy that does not depend on h."""
    energy = 0.0
    for d in range(statistics.shape[1]):
        energy += statistics[row, d] * bias[d]
    return energy


@compiled(inline=True)
def closed_form(fields: Array, expected: Array) -> float:
    """A row with nothing unobserved: sum of softplus(fields) (eq. 6); p(h = 1) in ``expected`` (eq. 2)."""
    total = 0.0
    for j in range(fields.size):
        field = fields[j]
        small = exp(-abs(field))
        total += max(field, 0.0) + log1p(small)
        expected[j] = (1.0 if field > 0.0 else small) / (1.0 + small)
    return total


@compiled(inline=True)
def state_weights(fields: Array, out: Array) -> float:
    """e^(fields . h) of all states by doubling, the largest scaled to 1; returns the logarithm of the scale."""
    log_scale = 0.0
    out[0] = 1.0
    half = 1
    for j in range(fields.size):
        field = fields[j]
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


@compiled(sums=True, inline=True)
def add_up(values: Array, start: int, stop: int) -> float:
    """A sum in a loop of its own.

    In a loop that also stores, the order of additions would depend on where the arrays lie in memory: the compiler guards vector
    instructions by a comparison of addresses.
    """
    total = 0.0
    for i in range(start, stop):
        total += values[i]
    return total


@compiled(sums=True, inline=True)
def _combine(table: Array, first: int, count: int, out: Array, place: int) -> None:
    """Start a tabulated cell's factor, in row ``place`` of ``out``, with the sum of its whole rows of the table."""
    for i in range(out.shape[1]):
        out[place, i] = table[first, i] if count > 0 else 0.0
    for row in range(first + 1, first + count):
        for i in range(out.shape[1]):
            out[place, i] += table[row, i]


@compiled(sums=True, inline=True)
def _combine_part(table: Array, first: int, weights: Array, part: int, out: Array, place: int) -> None:
    """Add part of a panel: a combination of its nodes' rows, six at a time, since the compiler cannot tell more arrays apart."""
    for k in range(0, NODES, 6):
        row, w0, w1, w2 = first + k, weights[part, k], weights[part, k + 1], weights[part, k + 2]
        w3, w4, w5 = weights[part, k + 3], weights[part, k + 4], weights[part, k + 5]
        for i in range(out.shape[1]):
            low = w0 * table[row, i] + w1 * table[row + 1, i] + w2 * table[row + 2, i]
            out[place, i] += low + w3 * table[row + 3, i] + w4 * table[row + 4, i] + w5 * table[row + 5, i]


@compiled(sums=True, inline=True)
def _multiply(weights: Array, factors: Array, row: int) -> float:
    """Multiply the states' weights by a row of factors; returns their new sum."""
    for i in range(weights.size):
        weights[i] *= factors[row, i]
    return add_up(weights, 0, weights.size)


@compiled(inline=True)
def _scale(values: Array, factor: float) -> None:
    for i in range(values.size):
        values[i] *= factor


@compiled(inline=True)
def _divide(weights: Array, factors: Array, place: int) -> None:
    """The posterior divided by one of its factors, in the factor's place; zero where the factor has underflown."""
    for i in range(weights.size):
        factor = factors[place, i]
        factors[place, i] = weights[i] / factor if factor != 0.0 else 0.0


@compiled(sums=True, inline=True)
def _dot(a: Array, row: int, b: Array, other_row: int) -> float:
    """Sum of |a| b; an interpolated factor that has come out negative must not hide its error."""
    total = 0.0
    for i in range(a.shape[1]):
        total += abs(a[row, i]) * b[other_row, i]
    return total


@compiled(sums=True, inline=True)
def _cell_factor(
    whole: Integers, parts: Integers, part_row: Integers, part_weights: Array, cell: int, table: Array, out: Array, place: int
) -> None:
    """The factor of a tabulated cell for all states."""
    _combine(table, whole[cell, 0], whole[cell, 1], out, place)
    for side in range(2):
        part = parts[cell, side]
        if part >= 0:
            _combine_part(table, part_row[part], part_weights, part, out, place)


@compiled(sums=True, inline=True)
def _cell_error(
    error: Integers, parts: Integers, part_error: Integers, part_length: Array, cell: int, errors: Array, by_factor: Array, place: int
) -> float:
    """How wrong the row's log mass may be because of this cell's table."""
    total = 0.0
    for side in range(2):
        part = parts[cell, side]
        if part >= 0:
            total += part_length[part] * _dot(by_factor, place, errors, part_error[part])
    if error[cell] >= 0:
        total += _dot(by_factor, place, errors, error[cell])
    return total


@compiled()
def _blame(chunk: Chunk, row: int, errors: Array, by_factor: Array, out: Integers) -> None:
    """Count, for each row of the error table, that it is a reason why a row is inaccurate."""
    begin, end = chunk.first_cell[row], chunk.first_cell[row + 1]
    for cell in range(begin, end):
        if chunk.shared[cell] < 0:
            for side in range(2):
                part = chunk.parts[cell, side]
                if part >= 0:
                    error = chunk.part_error[part]
                    out[error] += chunk.part_length[part] * _dot(by_factor, cell - begin, errors, error) > WORTH_BLAME
            if chunk.error[cell] >= 0:
                out[chunk.error[cell]] += _dot(by_factor, cell - begin, errors, chunk.error[cell]) > WORTH_BLAME


@compiled(inline=True)
def most_cells(first_cell: Integers) -> int:
    """The most unobserved cells that a row has."""
    most = 0
    for row in range(first_cell.size - 1):
        most = max(most, first_cell[row + 1] - first_cell[row])
    return most


@compiled(sums=True)
def sum_states(chunk: Chunk, energy: Energy, factors: Factors, sums: Sums) -> None:
    """Sum over the hidden states of all rows of a chunk (eq. 5), with their probabilities (eq. 7) if wanted."""
    # Names of their own: taking an array out of a tuple inside the loop costs more than the loop's work with few states.
    statistics, first_cell, shared, column = chunk.statistics, chunk.first_cell, chunk.shared, chunk.column
    whole, parts, part_row, part_weights = chunk.whole, chunk.parts, chunk.part_row, chunk.part_weights
    error_row, part_error, part_length = chunk.error, chunk.part_error, chunk.part_length
    shared_factors, shared_scale, table, table_scale, errors, _ = factors
    log_mass, posterior, flag, blame = sums.log_mass, sums.posterior, sums.flag, sums.blame
    bias, coupling, hidden_bias, constant = energy
    n_states = shared_factors.shape[1]
    with_posterior = posterior.shape[0] > 0
    cell_factors = np.empty((most_cells(first_cell), n_states))
    weights, fields, expected = np.empty(n_states), np.empty(hidden_bias.size), np.empty(hidden_bias.size)
    for row in range(flag.size):
        begin, end = first_cell[row], first_cell[row + 1]
        flag[row] = SUMMED
        fields_of(statistics, row, coupling, hidden_bias, fields)
        if begin == end and not with_posterior:
            log_sum = closed_form(fields, expected)
        else:
            log_sum = state_weights(fields, weights)
            total = add_up(weights, 0, n_states) if begin == end else 0.0
            for cell in range(begin, end):
                if shared[cell] >= 0:
                    log_sum += shared_scale[shared[cell]]
                    total = _multiply(weights, shared_factors, shared[cell])
                else:
                    log_sum += table_scale[column[cell]]
                    _cell_factor(whole, parts, part_row, part_weights, cell, table, cell_factors, cell - begin)
                    total = _multiply(weights, cell_factors, cell - begin)
            if not total > SMALLEST_SUM:
                flag[row] = UNDERFLOWN
                continue
            log_sum += log(total)
            _scale(weights, 1.0 / total)
            error = 0.0
            for cell in range(begin, end):
                if shared[cell] < 0:
                    _divide(weights, cell_factors, cell - begin)
                    error += _cell_error(error_row, parts, part_error, part_length, cell, errors, cell_factors, cell - begin)
            if not error <= TOLERANCE:
                flag[row] = INACCURATE
                _blame(chunk, row, errors, cell_factors, blame)
                continue
        log_mass[row] = log_sum - visible_energy(statistics, row, bias) - constant
        if with_posterior:
            posterior[row, :] = weights
