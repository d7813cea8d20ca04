"""Factors of unobserved cells for every hidden state, and the way back from their adjoints to the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harmonium.cells import Block, Cells, Layout
from harmonium.engine.assembly import Sharing
from harmonium.engine.panels import Grid, fill_table, pull_back_table
from harmonium.engine.parameters import Natural
from harmonium.engine.state_sum import Factors
from harmonium.engine.states import hidden_states
from harmonium.typing import Array, Integers

__all__ = ["FactorPlan"]

_TOLERANCE = 1e-11  # relative, of integrals over (0, 1]


@dataclass(frozen=True)
class _SharedCells:
    """The distinct unobserved cells of a block, and the shared rows they have."""

    block: Block
    columns: Integers  # within the block
    lower: Array
    upper: Array
    rows: slice

    def _natural(self, natural: Natural) -> Array:
        """Natural parameters, (states, cells, statistics)."""
        own = self.block.statistics
        by_state = natural.bias[own] + hidden_states(natural.n_hidden) @ natural.coupling[own].T
        return by_state.reshape(by_state.shape[0], self.block.n_columns, -1)[:, self.columns]

    def log_mass(self, natural: Natural) -> Array:
        """Log masses, (cells, states)."""
        return self.block.unit.log_mass(self._natural(natural), self.lower, self.upper).T

    def pull_back(self, natural: Natural, occupancy: Array, gradient: Natural) -> None:
        """Add the cells' part of the gradient (eq. 11); ``occupancy`` (cells, states) are their states' weighted probabilities."""
        expected = occupancy.T[:, :, None] * self.block.unit.mean_statistics(self._natural(natural), self.lower, self.upper)
        bias = gradient.bias[self.block.statistics].reshape(self.block.n_columns, -1)
        coupling = gradient.coupling[self.block.statistics].reshape(*bias.shape, natural.n_hidden)
        np.subtract.at(bias, self.columns, expected.sum(axis=0))
        np.subtract.at(coupling, self.columns, np.einsum("scd,sh->cdh", expected, hidden_states(natural.n_hidden)))


@dataclass(frozen=True)
class _TableOfColumn:
    """Where a tabulated column's table, errors, free cell and statistics are."""

    column: int
    statistics: slice
    rows: slice
    error_rows: slice
    free_row: int
    at_nodes: Array


@dataclass(frozen=True)
class FactorPlan:
    """Which factors some tables of cells need; it depends on the cells, not on the parameters."""

    layout: Layout
    grid: Grid
    sharing: Sharing
    shared_cells: tuple[_SharedCells, ...]
    n_shared: int

    @classmethod
    def of_cells(cls, layout: Layout, tables: Sequence[Cells]) -> FactorPlan:
        """Scan the cells for free columns, distinct intervals and the smallest bound of a tabulated column."""
        free_row = np.full(layout.n_columns, -1, dtype=np.int64)
        interval_row: dict[tuple[int, float, float], int] = {}
        shared_cells = []
        smallest, n_shared = 1.0, 0
        for number, block in enumerate(layout.blocks):
            bounds = [(cells.lower[number], cells.upper[number]) for cells in tables]
            if block.unit.tabulated:
                smallest = min([smallest, *(_smallest_bound(lower, upper) for lower, upper in bounds)])
                free_row[block.columns] = np.arange(n_shared, n_shared + block.n_columns)
                n_shared += block.n_columns
                continue
            distinct = sorted(set().union(*(_distinct_unobserved(block, lower, upper) for lower, upper in bounds)), key=repr)
            rows = slice(n_shared, n_shared + len(distinct))
            for row, (column, low, high) in enumerate(distinct, start=n_shared):
                if np.isnan(low):
                    free_row[block.columns.start + column] = row
                else:
                    interval_row[block.columns.start + column, low, high] = row
            n_shared = rows.stop
            if distinct:
                columns, lower, upper = (np.array(part) for part in zip(*distinct, strict=True))
                shared_cells.append(_SharedCells(block, columns, lower, upper, rows))
        return cls(layout, Grid(smallest, 0), Sharing(free_row, interval_row), tuple(shared_cells), n_shared)

    def refined(self) -> FactorPlan:
        """The same plan on a grid of panels half as wide."""
        return replace(self, grid=Grid(self.grid.smallest_bound, self.grid.level + 1))

    @cached_property
    def tabulated_columns(self) -> Integers:
        """Columns with a table."""
        return np.flatnonzero(self.layout.tabulated)

    @property
    def n_table_rows(self) -> int:
        """Rows of all tables."""
        return self.tabulated_columns.size * self.grid.n_rows

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
    def _tables(self) -> list[_TableOfColumn]:
        """The tabulated columns' places."""
        n, n_errors = self.grid.n_rows, self.grid.n_error_rows
        return [
            _TableOfColumn(
                column=int(column),
                statistics=slice(int(self.layout.offsets[column]), int(self.layout.offsets[column + 1])),
                rows=slice(place * n, (place + 1) * n),
                error_rows=slice(place * n_errors, (place + 1) * n_errors),
                free_row=int(self.sharing.free_row[column]),
                at_nodes=self.grid.statistics(self.layout.units[column]),
            )
            for place, column in enumerate(self.tabulated_columns)
        ]

    def factors(self, natural: Natural) -> Factors:
        """Evaluate all factors; each is scaled so that none exceeds one, whatever the state."""
        states = hidden_states(natural.n_hidden)
        n_tables = len(self._tables)
        factors = Factors(
            shared=np.empty((self.n_shared, states.shape[0])),
            shared_scale=np.zeros(self.n_shared),
            table=np.empty((n_tables * self.grid.n_rows, states.shape[0])),
            table_scale=np.zeros(self.layout.n_columns),
            errors=np.empty((n_tables * self.grid.n_error_rows, states.shape[0])),
            tabulated_free=np.ones(self.layout.n_columns, dtype=np.bool_),
        )
        for place in self._tables:
            table, errors = factors.table[place.rows], factors.errors[place.error_rows]
            scale = fill_table(
                natural.bias[place.statistics],
                natural.coupling[place.statistics],
                self.grid.log_nodes,
                place.at_nodes,
                self.grid.half_widths,
                table,
                errors,
            )
            factors.table_scale[place.column] = factors.shared_scale[place.free_row] = scale
            factors.shared[place.free_row] = table[self.grid.first_suffix_row]
            factors.tabulated_free[place.column] = _resolved(table[self.grid.first_suffix_row], errors[self.grid.n_panels])
            if not factors.tabulated_free[place.column]:
                log_factor = self._free_cell(place).log_mass(natural)
                factors.shared_scale[place.free_row] = log_factor.max()
                factors.shared[place.free_row] = np.exp(log_factor - log_factor.max())
        for cells in self.shared_cells:
            log_factor = cells.log_mass(natural)
            factors.shared_scale[cells.rows] = log_factor.max(axis=1)
            factors.shared[cells.rows] = np.exp(log_factor - factors.shared_scale[cells.rows, None])
        return factors

    def pull_back(self, natural: Natural, factors: Factors, occupancy: Array, adjoint: Array, gradient: Natural) -> None:
        """Add what the unobserved cells contribute to the gradient (eq. 11).

        ``occupancy`` holds the weighted posterior probability of each shared cell's states; ``adjoint`` the derivative by each
        table row.
        """
        states = hidden_states(natural.n_hidden)
        for place in self._tables:
            table_adjoint = adjoint[place.rows]
            free, free_factor = occupancy[place.free_row], factors.shared[place.free_row]
            if factors.tabulated_free[place.column]:
                table_adjoint[self.grid.first_suffix_row] += np.divide(free, free_factor, out=np.zeros_like(free), where=free_factor > 0.0)
            else:
                self._free_cell(place).pull_back(natural, free[None, :], gradient)
            expected = np.zeros((place.at_nodes.shape[1], states.shape[0]))
            pull_back_table(factors.table[place.rows], table_adjoint, place.at_nodes, self.grid.half_widths, expected)
            gradient.bias[place.statistics] -= expected.sum(axis=1)
            gradient.coupling[place.statistics] -= expected @ states
        for cells in self.shared_cells:
            cells.pull_back(natural, occupancy[cells.rows], gradient)

    def _free_cell(self, place: _TableOfColumn) -> _SharedCells:
        """A tabulated column's free cell, for the rare case that its table cannot be trusted."""
        block = next(block for block in self.layout.blocks if block.columns.start <= place.column < block.columns.stop)
        nothing = np.full(1, np.nan)
        column = np.array([place.column - block.columns.start])
        return _SharedCells(block, column, nothing, nothing, slice(place.free_row, place.free_row + 1))


def _resolved(integral: Array, error: Array) -> bool:
    """Whether integrals over (0, 1] are accurate in every state."""
    return bool((error <= _TOLERANCE * integral).all())


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
