"""All of a value and gradient in one compiled call, for tables that are one strip of rows.

With few rows, calls from Python would take as long as the work that they ask for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.block_sum import sum_blocks
from harmonium.engine.factor_kernels import SharedCells, Tables, evaluate_factors, pull_back_factors
from harmonium.engine.factors import FactorPlan
from harmonium.engine.panels import NODES
from harmonium.engine.parameters import Natural
from harmonium.engine.row_blocks import RowBlocks
from harmonium.engine.state_sum import Energy, Factors, Sums
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array

__all__ = ["Strip", "add_up_strip", "strip_of", "sum_strip"]


class Strip(NamedTuple):
    """All that compiled code needs of the rows, beginning with numbers of shared cells, of means of their statistics and of columns."""

    n_shared: int
    n_means: int
    n_columns: int
    cells: SharedCells
    tables: Tables
    rows: RowBlocks


def strip_of(plan: FactorPlan, rows: RowBlocks) -> Strip:
    """Of rows that were laid out."""
    return Strip(plan.n_shared, plan.n_means, plan.layout.n_columns, plan.cells, plan.tables, rows)


def sum_strip(strip: Strip, natural: Natural, total_weight: float) -> tuple[float, Natural] | None:
    """The sum and its gradient by natural parameters; None if some row cannot be summed with these tables."""
    bias, coupling, hidden = np.empty(natural.bias.size), np.empty(natural.coupling.shape), np.empty(natural.n_hidden)
    energy = (natural.bias, np.ascontiguousarray(natural.coupling), natural.hidden_bias, natural.constant)
    value, complete = add_up_strip(strip, energy, bias, coupling, hidden)
    return (value, Natural(bias, coupling, hidden, -total_weight)) if complete else None


@compiled()
def _empty_factors(n_shared: int, n_columns: int, n_tables: int, n_panels: int, n_states: int) -> Factors:
    """Room for factors."""
    return Factors(
        np.empty((n_shared, n_states)),
        np.empty(n_shared),
        np.empty((n_tables * (NODES + 2) * n_panels, n_states)),
        np.zeros(n_columns),
        np.empty((n_tables * 2 * n_panels, n_states)),
        np.ones(n_columns, np.bool_),
    )


@compiled()
def add_up_strip(
    strip: Strip, natural: tuple[Array, Array, Array, float], bias: Array, coupling: Array, hidden: Array
) -> tuple[float, bool]:
    """Fill in the gradient by natural parameters; returns the value, and whether all rows were summed."""
    n_shared, n_means, n_columns, cells, tables, rows = strip
    n_statistics, n_hidden = natural[1].shape
    n_states = 1 << n_hidden
    factors = _empty_factors(n_shared, n_columns, tables.column.size, tables.half_widths.size, n_states)
    means, by_unit = np.empty((n_means, n_states)), np.zeros((n_hidden, n_statistics))
    evaluate_factors(natural[0], natural[1], cells, tables, factors, means)
    energy = Energy(natural[0], np.ascontiguousarray(natural[1].T), natural[2], natural[3])
    flag, occupancy, adjoint = np.zeros(rows.weights.size, np.int8), np.zeros((n_shared, n_states)), np.zeros(factors.table.shape)
    value, blame = np.zeros(1), np.zeros(factors.errors.shape[0], np.int64)
    bias[:] = 0.0
    hidden[:] = 0.0
    sums = Sums(np.empty(0), np.empty((0, n_states)), flag, value, bias, by_unit, hidden, occupancy, adjoint, blame)
    sum_blocks(rows, energy, factors, sums)
    complete = not flag.any()
    if complete:
        pull_back_factors(cells, tables, factors, means, occupancy, adjoint, bias, by_unit)
        for d in range(n_statistics):
            for j in range(n_hidden):
                coupling[d, j] = by_unit[j, d]
    return float(value[0]), complete
