"""A sum of log masses with many hidden states, by halves of the hidden units.

The same sums as :mod:`harmonium.engine.state_sum` makes with few states, where tables of all nodes and states are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.factor_kernels import evaluate_shared, free_from_integral, integrate_free, subtract, subtract_cell
from harmonium.engine.factors import FactorPlan
from harmonium.engine.half_adjoint import adjoint_by_halves
from harmonium.engine.half_cells import Places, RowTotals, places
from harmonium.engine.half_sum import sum_by_halves
from harmonium.engine.half_tables import HalfTables, fill_halves, fill_whole
from harmonium.engine.parameters import Natural
from harmonium.engine.pattern_sum import sum_patterns
from harmonium.engine.state_sum import Energy, Factors, Sums
from harmonium.typing import Array, Booleans, Integers

__all__ = ["FEWEST_UNITS", "ManyStates"]

FEWEST_UNITS = 9
"""Hidden units from which on sums by halves are quicker."""

_LOW_UNITS = 7  # a loop over fewer states costs more than its body; with more, a panel's nodes leave the nearest cache
_SLICES = 4  # of rows, or of high states, that threads share; the order of additions must not depend on the number of threads

Mapped = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@dataclass(frozen=True)
class ManyStates:
    """All that depends on the parameters, evaluated once, and what sums over rows add up.

    Attributes
    ----------
    plan : FactorPlan
    natural : Natural
    factors : Factors
        Shared cells; the tables are apart.
    means : ndarray
        Of shared cells' statistics, by state.
    tables : HalfTables
    occupancy : ndarray of shape (n_shared, n_high_states, n_low_states)
        How often each state occurs with each shared cell, added up over rows.
    expected : ndarray of shape (n_tables, n_statistics, n_high_states, n_low_states)
        Statistics of tabulated cells, added up over rows.
    mapped : callable
        Applies a function to some items, in order, on several threads where that helps.
    """

    plan: FactorPlan
    natural: Natural
    factors: Factors
    means: Array
    tables: HalfTables
    occupancy: Array
    expected: Array
    mapped: Mapped

    @classmethod
    def evaluate(cls, plan: FactorPlan, natural: Natural, mapped: Mapped) -> ManyStates:
        """Evaluate all factors."""
        n_hidden, described = natural.n_hidden, plan.tables
        n_low = min(_LOW_UNITS, n_hidden)
        n_states, shape = 1 << n_hidden, (1 << (n_hidden - n_low), 1 << n_low)
        n_tables, n_nodes, n_columns = described.column.size, described.log_nodes.size, plan.layout.n_columns
        n_whole = 2 * described.half_widths.size * n_tables
        factors = Factors(
            shared=np.empty((plan.n_shared, n_states)),
            shared_scale=np.empty(plan.n_shared),
            table=np.empty((0, n_states)),
            table_scale=np.zeros(n_columns),
            errors=np.empty((0, n_states)),
            tabulated_free=np.ones(n_columns, dtype=np.bool_),
        )
        means = np.empty((plan.n_means, n_states))
        low, by_node = np.empty((n_tables * n_nodes, shape[1])), np.empty((n_tables * n_nodes, shape[0]))
        coupling = np.ascontiguousarray(natural.coupling)
        for k, (column, first, last) in enumerate(zip(described.column, described.first, described.last, strict=True)):
            own, nodes = slice(first, last), slice(k * n_nodes, (k + 1) * n_nodes)
            at_nodes = described.at_nodes[k, : last - first]
            scale = fill_halves(natural.bias[own], coupling[own], described.log_nodes, at_nodes, low[nodes], by_node[nodes])
            factors.table_scale[column] = factors.shared_scale[described.free_row[k]] = scale
        whole, errors = np.empty((shape[0], n_whole + 1, shape[1])), np.empty((shape[0], n_whole + 1, shape[1]))
        whole[:, -1] = errors[:, -1] = 0.0
        tables = HalfTables(low, np.ascontiguousarray(by_node.T), whole, errors)
        list(mapped(lambda part: fill_whole(described.half_widths, part[0], part[1], tables), _ranges(shape[0])))
        occupancy, expected = np.zeros((plan.n_shared, *shape)), np.zeros((n_tables, described.at_nodes.shape[1], *shape))
        out = cls(plan, natural, factors, means, tables, occupancy, expected, mapped)
        out._evaluate_shared(coupling)
        return out

    def _evaluate_shared(self, coupling: Array) -> None:
        described, factors, n_panels = self.plan.tables, self.factors, self.plan.grid.n_panels
        for k, (column, row) in enumerate(zip(described.column, described.free_row, strict=True)):
            suffix = n_panels * (2 * k + 1)
            integral, error = self.tables.whole[:, suffix].ravel(), self.tables.errors[:, suffix].ravel()
            factors.tabulated_free[column] = free_from_integral(integral, error, row, factors)
            if not factors.tabulated_free[column]:
                integrate_free(self.natural.bias, coupling, described, k, factors, self.means)
        evaluate_shared(self.natural.bias, coupling, self.plan.cells, factors, self.means)

    def add_up(self, chunk: Chunk, weights: Array, energy: Energy, empty: Callable[[], Sums], is_last: bool) -> Sums:
        """Sum over the hidden states of all rows of a chunk, the last of which completes what free cells add to the gradient."""
        sums, shared = empty(), self.factors.shared.reshape(self.occupancy.shape)
        at = places(chunk, self.plan.grid.n_panels, self.expected.shape[0])
        n_rows, (_, n_high, n_low) = weights.size, self.occupancy.shape
        known = RowTotals(np.empty((n_rows, n_low)), np.empty((n_rows, n_high)), np.zeros(n_rows))

        def forward(rows: tuple[Integers, Integers]) -> Sums:
            own = empty()._replace(log_mass=sums.log_mass, flag=sums.flag)
            sum_patterns(chunk, rows[0], weights, energy, self.factors, own)
            sum_by_halves(chunk, at, rows[1], weights, energy, self.factors, self.tables, shared, known, own)
            return own

        slices = zip(np.array_split(chunk.patterns, _SLICES), np.array_split(chunk.others, _SLICES), strict=True)
        for part in self.mapped(forward, list(slices)):
            for total, addend in zip(sums[3:], part[3:], strict=True):
                np.add(total, addend, out=total)
        self.occupancy[:] += sums.occupancy.reshape(self.occupancy.shape)
        self._add_adjoint(chunk, at, shared, known, is_last)
        return sums

    def _add_adjoint(self, chunk: Chunk, at: Places, shared: Array, known: RowTotals, is_last: bool) -> None:
        described = self.plan.tables
        free_row = np.where(is_last & self.factors.tabulated_free[described.column], described.free_row, -1)
        if not at.number.size and not is_last:
            return

        def back(part: tuple[int, int]) -> None:
            rows, into = chunk.others, (self.occupancy, free_row, self.expected)
            given = (self.tables, shared, known, described.half_widths, described.at_nodes)
            adjoint_by_halves(chunk, at, rows, part[0], part[1], *given, *into)

        list(self.mapped(back, _ranges(known.high.shape[1])))

    def pull_back(self, bias: Array, coupling: Array) -> None:
        """Add what the unobserved cells contribute to the gradient, whose couplings are by hidden unit (eq. 11)."""
        described, cells, occupancy = self.plan.tables, self.plan.cells, self.occupancy.reshape(self.factors.shared.shape)
        for k, (column, first, last) in enumerate(zip(described.column, described.first, described.last, strict=True)):
            if not self.factors.tabulated_free[column]:
                subtract_cell(occupancy, described.free_row[k], self.means, described.place[k], first, last, bias, coupling)
            for d in range(first, last):
                subtract(self.expected[k, d - first].ravel(), d, bias, coupling)
        for c in range(cells.code.size):
            subtract_cell(occupancy, cells.row[c], self.means, cells.place[c], cells.first[c], cells.last[c], bias, coupling)

    def blamed(self, blame: Integers) -> Booleans:
        """Panels that were not accurate enough for some row, given how often each row of the error table was to blame."""
        grid, n_tables = self.plan.grid, self.expected.shape[0]
        by_row = (np.moveaxis(table[:, :-1], 1, 0).reshape(blame.size, -1) for table in (self.tables.whole, self.tables.errors))
        whole, errors = (np.split(table, n_tables) for table in by_row)
        parts = zip(np.split(blame, n_tables), errors, whole, strict=True)
        out: Booleans = np.any([grid.blamed(counts, error, own[grid.n_panels :]) for counts, error, own in parts], axis=0)
        return out


def _ranges(n: int) -> list[tuple[int, int]]:
    """Slices of so many high states."""
    edges = np.linspace(0, n, min(_SLICES, n) + 1).astype(np.int64)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
