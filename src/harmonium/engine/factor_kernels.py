"""Factors of unobserved cells for every hidden state, and their adjoint, each in one compiled pass over all units (eq. 5, eq. 11).

Natural parameters by state are made once, by doubling. Shared cells of any unit are integrated through the units' own compiled functions
(:func:`harmonium.units.registry.integrate`), which return log masses and means of statistics together; the means are kept for the way back.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from harmonium.engine.panels import fill_table, pull_back_table
from harmonium.engine.state_sum import Factors, add_up
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers
from harmonium.units.registry import integrate

__all__ = [
    "SharedCells",
    "Tables",
    "evaluate_factors",
    "evaluate_shared",
    "free_from_integral",
    "integrate_free",
    "pull_back_factors",
    "subtract",
    "subtract_cell",
]

_TOLERANCE = 1e-11  # relative, of integrals over (0, 1]


class SharedCells(NamedTuple):
    """Distinct unobserved cells of columns without a table.

    For each: its unit's number, its statistics ``first`` to ``last``, bounds, its row among the shared factors, and where the means of its
    statistics are kept.
    """

    code: Integers
    first: Integers
    last: Integers
    lower: Array
    upper: Array
    row: Integers
    place: Integers


class Tables(NamedTuple):
    """Columns with a table, and what their tables depend on.

    For each column: its number, its unit's number, its statistics ``first`` to ``last``, the bounds and the shared row of a free cell, and
    where the means of its statistics are kept should its table not do. ``at_nodes`` (tables, statistics, nodes) are the statistics at the
    grid's nodes, of which ``log_nodes`` and ``half_widths`` are the grid's own.
    """

    column: Integers
    code: Integers
    first: Integers
    last: Integers
    lower: Array
    upper: Array
    free_row: Integers
    place: Integers
    at_nodes: Array
    log_nodes: Array
    half_widths: Array


@compiled()
def _by_state(bias: Array, coupling: Array, first: int, last: int, out: Array) -> None:
    """Natural parameters of some statistics in all states, by doubling."""
    for d in range(first, last):
        out[d, 0] = bias[d]
        half = 1
        for j in range(coupling.shape[1]):
            for i in range(half):
                out[d, half + i] = out[d, i] + coupling[d, j]
            half *= 2


@compiled()
def _scaled(log_factor: Array, row: int, factors: Factors) -> None:
    """A shared row from the logarithm of its factors, the largest of which becomes one."""
    highest = log_factor[0]
    for i in range(log_factor.size):
        highest = max(highest, log_factor[i])
    factors.shared_scale[row] = highest
    for i in range(log_factor.size):
        factors.shared[row, i] = exp(log_factor[i] - highest)


@compiled()
def free_from_integral(integral: Array, error: Array, row: int, factors: Factors) -> bool:
    """Take the factor of a free cell from the integral over all of its column's table, if that is accurate in every state."""
    for i in range(integral.size):
        if not error[i] <= _TOLERANCE * integral[i]:
            return False
        factors.shared[row, i] = integral[i]
    return True


@compiled()
def integrate_free(bias: Array, coupling: Array, tables: Tables, k: int, factors: Factors, means: Array) -> None:
    """The factor of a free cell, and the means of its statistics, without its column's table."""
    n_states, first, last = factors.shared.shape[1], tables.first[k], tables.last[k]
    natural, log_factor = np.empty((bias.size, n_states)), np.empty(n_states)
    _by_state(bias, coupling, first, last, natural)
    integrate(tables.code[k], natural, first, last, tables.lower[k], tables.upper[k], log_factor, means, tables.place[k])
    _scaled(log_factor, tables.free_row[k], factors)


@compiled()
def evaluate_shared(bias: Array, coupling: Array, cells: SharedCells, factors: Factors, means: Array) -> None:
    """Fill in the factors of shared cells of columns without a table, and the means of their statistics."""
    n_states = factors.shared.shape[1]
    natural, log_factor = np.empty((bias.size, n_states)), np.empty(n_states)
    for c in range(cells.code.size):
        first, last = cells.first[c], cells.last[c]
        _by_state(bias, coupling, first, last, natural)
        integrate(cells.code[c], natural, first, last, cells.lower[c], cells.upper[c], log_factor, means, cells.place[c])
        _scaled(log_factor, cells.row[c], factors)


@compiled()
def evaluate_factors(bias: Array, coupling: Array, cells: SharedCells, tables: Tables, factors: Factors, means: Array) -> None:
    """Fill in all factors and the means of shared cells' statistics."""
    n_tables, n_panels = tables.column.size, tables.half_widths.size
    for k in range(n_tables):
        n_rows, n_errors = factors.table.shape[0] // n_tables, factors.errors.shape[0] // n_tables
        table, errors = factors.table[k * n_rows : (k + 1) * n_rows], factors.errors[k * n_errors : (k + 1) * n_errors]
        first, last, row = tables.first[k], tables.last[k], tables.free_row[k]
        scale = fill_table(bias[first:last], coupling[first:last], tables.log_nodes, tables.at_nodes[k], tables.half_widths, table, errors)
        factors.table_scale[tables.column[k]] = scale
        resolved = free_from_integral(table[tables.log_nodes.size + n_panels], errors[n_panels], row, factors)
        factors.tabulated_free[tables.column[k]] = resolved
        factors.shared_scale[row] = scale
        if not resolved:
            integrate_free(bias, coupling, tables, k, factors, means)
    evaluate_shared(bias, coupling, cells, factors, means)


@compiled()
def subtract(expected: Array, d: int, bias: Array, coupling: Array) -> None:
    """Take a statistic's expectation, by state, off the gradient; ``expected`` is used up."""
    half = expected.size
    for j in range(coupling.shape[0] - 1, -1, -1):
        half //= 2
        coupling[j, d] -= add_up(expected, half, 2 * half)
        for i in range(half):
            expected[i] += expected[half + i]
    bias[d] -= expected[0]


@compiled()
def subtract_cell(occupancy: Array, row: int, means: Array, place: int, first: int, last: int, bias: Array, coupling: Array) -> None:
    """What a shared cell takes off the gradient: its mean statistics, weighted by how often each state occurs (eq. 11)."""
    expected = np.empty(occupancy.shape[1])
    for d in range(first, last):
        for i in range(expected.size):
            expected[i] = occupancy[row, i] * means[place + d - first, i]
        subtract(expected, d, bias, coupling)


@compiled()
def pull_back_factors(
    cells: SharedCells, tables: Tables, factors: Factors, means: Array, occupancy: Array, adjoint: Array, bias: Array, coupling: Array
) -> None:
    """Add what the unobserved cells contribute to the gradient (eq. 11), which is by hidden unit: ``coupling`` (hidden, statistics).

    ``occupancy`` holds the weighted posterior probability of each shared cell's states; ``adjoint``, which is used up, the derivative by
    each table row.
    """
    n_states, n_tables, n_panels = factors.shared.shape[1], tables.column.size, tables.half_widths.size
    for k in range(n_tables):
        n_rows = factors.table.shape[0] // n_tables
        table, by_row = factors.table[k * n_rows : (k + 1) * n_rows], adjoint[k * n_rows : (k + 1) * n_rows]
        first, last, row = tables.first[k], tables.last[k], tables.free_row[k]
        if factors.tabulated_free[tables.column[k]]:
            whole = by_row[tables.log_nodes.size + n_panels]
            for i in range(n_states):
                factor = factors.shared[row, i]
                if factor > 0.0:
                    whole[i] += occupancy[row, i] / factor
        else:
            subtract_cell(occupancy, row, means, tables.place[k], first, last, bias, coupling)
        expected = np.zeros((last - first, n_states))
        pull_back_table(table, by_row, tables.at_nodes[k, : last - first], tables.half_widths, expected)
        for d in range(first, last):
            subtract(expected[d - first], d, bias, coupling)
    for c in range(cells.code.size):
        subtract_cell(occupancy, cells.row[c], means, cells.place[c], cells.first[c], cells.last[c], bias, coupling)
