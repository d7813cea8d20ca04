"""Which factors some tables of cells need: a plan that depends on the cells, not on the parameters.

Evaluating the factors, and the way back from their adjoints to the parameters, is :mod:`harmonium.engine.factor_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harmonium.cells import Block, Cells, Layout
from harmonium.engine.assembly import Sharing
from harmonium.engine.factor_kernels import SharedCells, Tables, evaluate_factors, pull_back_factors
from harmonium.engine.panels import Grid
from harmonium.engine.parameters import Natural
from harmonium.engine.state_sum import Factors
from harmonium.engine.states import hidden_states
from harmonium.typing import Array, Integers

__all__ = ["FactorPlan"]


@dataclass(frozen=True)
class FactorPlan:
    """Which factors some tables of cells need; it depends on the cells, not on the parameters.

    Attributes
    ----------
    layout : Layout
    grid : Grid
        Of the columns with tables.
    sharing : Sharing
        Which shared row a cell has.
    cells : SharedCells
        The shared cells of columns without tables, for compiled code.
    n_shared : int
        Shared rows, free cells of columns with tables included.
    """

    layout: Layout
    grid: Grid
    sharing: Sharing
    cells: SharedCells
    n_shared: int

    @classmethod
    def of_cells(cls, layout: Layout, tables: Sequence[Cells]) -> FactorPlan:
        """Scan the cells for free columns, distinct intervals and the smallest bound of a tabulated column."""
        free_row = np.full(layout.n_columns, -1, dtype=np.int64)
        interval_row: dict[tuple[int, float, float], int] = {}
        shared: list[tuple[int, float, float, int]] = []
        smallest, n_shared = 1.0, 0
        for number, block in enumerate(layout.blocks):
            bounds = [(cells.lower[number], cells.upper[number]) for cells in tables]
            if block.unit.tabulated:
                smallest = min([smallest, *(_smallest_bound(lower, upper) for lower, upper in bounds)])
                free_row[block.columns] = np.arange(n_shared, n_shared + block.n_columns)
                n_shared += block.n_columns
                continue
            distinct = sorted(set().union(*(_distinct_unobserved(block, lower, upper) for lower, upper in bounds)), key=repr)
            for row, (column, low, high) in enumerate(distinct, start=n_shared):
                if np.isnan(low):
                    free_row[block.columns.start + column] = row
                else:
                    interval_row[block.columns.start + column, low, high] = row
                shared.append((block.columns.start + column, low, high, row))
            n_shared += len(distinct)
        return cls(layout, Grid.covering(smallest), Sharing(free_row, interval_row), _compiled_cells(layout, shared), n_shared)

    def on(self, grid: Grid) -> FactorPlan:
        """The same plan on another grid."""
        return replace(self, grid=grid)

    @cached_property
    def tabulated_columns(self) -> Integers:
        """Columns with a table."""
        return np.flatnonzero(self.layout.tabulated)

    @property
    def n_table_rows(self) -> int:
        """Rows of all tables."""
        return self.tabulated_columns.size * self.grid.n_rows

    @property
    def n_error_rows(self) -> int:
        """Rows of all error tables."""
        return self.tabulated_columns.size * self.grid.n_error_rows

    @cached_property
    def table_row(self) -> Integers:
        """Where each column's table begins, -1 if it has none."""
        return self._starts(self.grid.n_rows)

    @cached_property
    def error_row(self) -> Integers:
        """Where each column's error table begins, -1 if it has none."""
        return self._starts(self.grid.n_error_rows)

    def _starts(self, step: int) -> Integers:
        starts = np.full(self.layout.n_columns, -1, dtype=np.int64)
        starts[self.tabulated_columns] = step * np.arange(self.tabulated_columns.size)
        return starts

    @cached_property
    def _first_free_mean(self) -> int:
        """Where the means of free cells' statistics begin, after those of cells without a table."""
        return int((self.cells.last - self.cells.first).sum())

    @property
    def n_means(self) -> int:
        """Rows that the means of all shared cells' statistics take."""
        return self._first_free_mean + int(self.tables.at_nodes.shape[1]) * self.tabulated_columns.size

    @cached_property
    def tables(self) -> Tables:
        """The columns with a table, for compiled code."""
        columns, layout, grid = self.tabulated_columns, self.layout, self.grid
        first, last = layout.offsets[columns], layout.offsets[columns + 1]
        widest = int((last - first).max(initial=0))
        at_nodes = np.zeros((columns.size, widest, grid.log_nodes.size))
        by_unit = {unit: grid.statistics(unit) for unit in {layout.units[column] for column in columns}}
        for k, column in enumerate(columns):
            statistics = by_unit[layout.units[column]]
            at_nodes[k, : statistics.shape[0]] = statistics
        places = self._first_free_mean + widest * np.arange(columns.size)
        lower, upper = np.ascontiguousarray(layout.domains[columns, 0]), np.ascontiguousarray(layout.domains[columns, 1])
        free_row = self.sharing.free_row[columns]
        codes = layout.codes[columns]
        return Tables(columns, codes, first, last, lower, upper, free_row, places, at_nodes, grid.log_nodes, grid.half_widths)

    def factors(self, natural: Natural) -> tuple[Factors, Array]:
        """Evaluate all factors, each scaled so that none exceeds one, whatever the state; with the means that the way back needs."""
        n_states, tables = len(hidden_states(natural.n_hidden)), self.tables
        n_tables = tables.column.size
        factors = Factors(
            shared=np.empty((self.n_shared, n_states)),
            shared_scale=np.empty(self.n_shared),
            table=np.empty((n_tables * self.grid.n_rows, n_states)),
            table_scale=np.zeros(self.layout.n_columns),
            errors=np.empty((n_tables * self.grid.n_error_rows, n_states)),
            tabulated_free=np.ones(self.layout.n_columns, dtype=np.bool_),
        )
        means = np.empty((self.n_means, n_states))
        evaluate_factors(natural.bias, np.ascontiguousarray(natural.coupling), self.cells, tables, factors, means)
        return factors, means

    def pull_back(self, factors: Factors, means: Array, occupancy: Array, adjoint: Array, bias: Array, coupling: Array) -> None:
        """Add what the unobserved cells contribute to the gradient, whose couplings are by hidden unit (eq. 11)."""
        pull_back_factors(self.cells, self.tables, factors, means, occupancy, adjoint, bias, coupling)


def _compiled_cells(layout: Layout, shared: list[tuple[int, float, float, int]]) -> SharedCells:
    """Shared cells (column, lower, upper, shared row) as compiled code takes them; a free cell has its domain's bounds."""
    column = np.array([cell[0] for cell in shared], dtype=np.int64)
    bounds = np.array([cell[1:3] for cell in shared], dtype=np.float64).reshape(-1, 2)
    lowest, highest = layout.domains[column, 0], layout.domains[column, 1]
    free = np.isnan(bounds[:, 0])
    first, last = layout.offsets[column], layout.offsets[column + 1]
    return SharedCells(
        code=layout.codes[column],
        first=first,
        last=last,
        lower=np.where(free, lowest, np.maximum(bounds[:, 0], lowest)),
        upper=np.where(free, highest, np.minimum(bounds[:, 1], highest)),
        row=np.array([cell[3] for cell in shared], dtype=np.int64),
        place=np.cumsum(last - first) - (last - first),
    )


def _smallest_bound(lower: Array, upper: Array) -> float:
    """The smallest positive bound of any interval."""
    interval = lower < upper
    bounds = np.concatenate([lower[interval], upper[interval]])
    return float(np.min(bounds, where=bounds > 0.0, initial=1.0))


def _distinct_unobserved(block: Block, lower: Array, upper: Array) -> set[tuple[int, float, float]]:
    """(column in the block, lower, upper) of all distinct unobserved cells; NaN bounds when free."""
    lowest, highest = block.unit.domain
    distinct: set[tuple[int, float, float]] = set()
    for column in range(block.n_columns):
        low, high = lower[:, column], upper[:, column]
        free = np.isnan(low) | ((low <= lowest) & (high >= highest))
        if free.any():
            distinct.add((column, np.nan, np.nan))
        interval = ~free & (low < high)
        distinct.update((column, float(a), float(b)) for a, b in np.unique(np.stack([low[interval], high[interval]], axis=1), axis=0))
    return distinct
