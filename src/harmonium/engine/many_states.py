"""A sum of log masses with many hidden states, by halves of the hidden units.

The same sums as :mod:`harmonium.engine.state_sum` makes with few states, where tables of all nodes and states are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.factor_kernels import SharedCells, evaluate_shared, free_from_integral, integrate_free, subtract_cell
from harmonium.engine.factors import FactorPlan
from harmonium.engine.half_cells import Places, doubtful_rows
from harmonium.engine.half_groups import sum_groups
from harmonium.engine.half_parts import n_kinds
from harmonium.engine.half_sum import sum_by_halves
from harmonium.engine.half_tables import HalfTables, fill_halves, fill_panels, fill_suffixes
from harmonium.engine.parameters import Natural
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
    occupancy : ndarray of shape (n_shared, n_states)
        How often each state occurs with each shared cell, added up over rows.
    mapped : callable
        Applies a function to some items, in order, on several threads where that helps.
    """

    plan: FactorPlan
    natural: Natural
    factors: Factors
    means: Array
    tables: HalfTables
    occupancy: Array
    mapped: Mapped
    _filled: list[bool] = field(default_factory=list)  # something in it: integrals over single panels are there

    @classmethod
    def evaluate(cls, plan: FactorPlan, natural: Natural, spare: list[HalfTables], mapped: Mapped) -> ManyStates:
        """Evaluate all factors, in one of the ``spare`` tables if there are any."""
        n_states, n_columns = 1 << natural.n_hidden, plan.layout.n_columns
        factors = Factors(
            shared=np.empty((plan.n_shared, n_states)),
            shared_scale=np.empty(plan.n_shared),
            table=np.empty((0, n_states)),
            table_scale=np.zeros(n_columns),
            errors=np.empty((0, n_states)),
            tabulated_free=np.ones(n_columns, dtype=np.bool_),
        )
        shape = 1 << max(natural.n_hidden - _LOW_UNITS, 0), 1 << min(_LOW_UNITS, natural.n_hidden)
        tables = spare.pop() if spare else _empty_tables(plan, *shape)
        if (tables.high.shape[0], tables.low.shape[1]) != shape:
            tables = _empty_tables(plan, *shape)
        out = cls(plan, natural, factors, np.empty((plan.n_means, n_states)), tables, np.zeros((plan.n_shared, n_states)), mapped)
        out._fill_tables()
        out._evaluate_shared()
        return out

    def _fill_tables(self) -> None:
        described, tables, natural, factors = self.plan.tables, self.tables, self.natural, self.factors
        n_nodes, n_tables, n_high = described.log_nodes.size, described.column.size, self.tables.high.shape[0]
        by_node, coupling = np.empty((n_tables * n_nodes, n_high)), np.ascontiguousarray(natural.coupling)
        for k, (column, first, last) in enumerate(zip(described.column, described.first, described.last, strict=True)):
            own, at_nodes = slice(first, last), described.at_nodes[k, : last - first]
            scale = fill_halves(natural.bias[own], coupling[own], described.log_nodes, at_nodes, k * n_nodes, by_node, tables)
            factors.table_scale[column] = factors.shared_scale[described.free_row[k]] = scale
        tables.high[:] = by_node.T
        list(self.mapped(lambda part: fill_suffixes(described.half_widths, n_tables, part[0], part[1], tables), _ranges(n_high)))

    def _fill_panels(self) -> None:
        """Integrals over single panels, once they are needed."""
        if not self._filled:
            half_widths, n_tables = self.plan.tables.half_widths, self.plan.tables.column.size
            ranges = _ranges(self.tables.high.shape[0])
            list(self.mapped(lambda part: fill_panels(half_widths, n_tables, part[0], part[1], self.tables), ranges))
            self._filled.append(True)

    def _evaluate_shared(self) -> None:
        described, factors, n_panels, cells = self.plan.tables, self.factors, self.plan.grid.n_panels, self.plan.cells
        bias, coupling = self.natural.bias, np.ascontiguousarray(self.natural.coupling)
        whole, errors = self._by_row()
        for k, (column, row, place) in enumerate(zip(described.column, described.free_row, described.place, strict=True)):
            suffix = n_panels * (2 * k + 1)
            integral = whole[suffix, 0]
            factors.tabulated_free[column] = free_from_integral(integral, errors[suffix], row, factors)
            if factors.tabulated_free[column]:
                own = slice(place, place + described.last[k] - described.first[k])
                self.means[own] = whole[suffix, 1 : 1 + described.last[k] - described.first[k]] / np.maximum(integral, 1e-300)
            else:
                integrate_free(bias, coupling, described, k, factors, self.means)
        parts = [SharedCells(*(values[begin:end] for values in cells)) for begin, end in _ranges(cells.code.size)]  # type: ignore[arg-type]
        list(self.mapped(lambda part: evaluate_shared(bias, coupling, part, factors, self.means), parts))

    def _by_row(self) -> tuple[Array, Array]:
        """Integrals over whole panels, (rows, the integrand and times its statistics, states), and errors (rows, states)."""
        n_states, n_kinds = self.occupancy.shape[1], 1 + self.tables.statistics.shape[0]
        return self.tables.whole.reshape(-1, n_kinds, n_states), self.tables.errors.reshape(-1, n_states)

    def add_up(self, chunk: Chunk, at: Places, weights: Array, energy: Energy, empty: Callable[[], Sums]) -> Sums:
        """Sum over the hidden states of all rows of a chunk."""
        sums, described = empty(), self.plan.tables
        if at.n_between:
            self._fill_panels()
        doubtful: Booleans = np.asarray(self.tables.doubtful.any(axis=1))
        in_doubt = doubtful_rows(chunk, at, doubtful, self.plan.grid.n_panels)

        def add_up(rows: tuple[Integers, Integers]) -> Sums:
            own = empty()._replace(log_mass=sums.log_mass, flag=sums.flag)
            given = (weights, in_doubt, energy, self.factors, self.tables, described.first, described.last)
            sum_groups(chunk, at, rows[0], *given, own)
            sum_by_halves(chunk, at, rows[1], *given, own)
            return own

        cost = np.cumsum(0.01 + at.n_tabulated[at.others])
        cuts = np.searchsorted(cost, cost[-1:] * np.arange(1, _SLICES) / _SLICES) if cost.size else np.zeros(_SLICES - 1, np.int64)
        slices = zip(np.array_split(at.grouped, _SLICES), np.split(at.others, cuts), strict=True)
        for part in self.mapped(add_up, list(slices)):
            for total, addend in zip(sums[3:], part[3:], strict=True):
                np.add(total, addend, out=total)
        self.occupancy[:] += sums.occupancy
        return sums

    def pull_back(self, bias: Array, coupling: Array) -> None:
        """Add what the shared cells contribute to the gradient, whose couplings are by hidden unit (eq. 11)."""
        described, cells = self.plan.tables, self.plan.cells
        shared = [zip(described.free_row, described.place, described.first, described.last, strict=True)]
        shared += [zip(cells.row, cells.place, cells.first, cells.last, strict=True)]
        for row, place, first, last in (cell for some in shared for cell in some):
            subtract_cell(self.occupancy, row, self.means, place, first, last, bias, coupling)

    def blamed(self, blame: Integers) -> Booleans:
        """Panels that were not accurate enough for some row, given how often each row of the error table was to blame."""
        grid, n_tables = self.plan.grid, self.plan.tables.column.size
        whole, errors = self._by_row()
        parts = zip(np.split(blame, n_tables), np.split(errors[:-1], n_tables), np.split(whole[:-1, 0], n_tables), strict=True)
        out: Booleans = np.any([grid.blamed(counts, error, own[grid.n_panels :]) for counts, error, own in parts], axis=0)
        return out


def _empty_tables(plan: FactorPlan, n_high: int, n_low: int) -> HalfTables:
    described = plan.tables
    n_nodes, n_rows = described.column.size * described.log_nodes.size, plan.n_error_rows + 1
    n_statistics = n_kinds(plan) - 1
    out = HalfTables(
        low=np.empty((n_nodes, n_low)),
        high=np.empty((n_high, n_nodes)),
        statistics=np.zeros((n_statistics, n_nodes)),
        whole=np.empty((n_rows * (1 + n_statistics) * n_high, n_low)),
        errors=np.empty((n_rows * n_high, n_low)),
        doubtful=np.zeros((n_rows, n_high), np.bool_),
    )
    out.whole[-(1 + n_statistics) * n_high :] = out.errors[-n_high:] = 0.0
    return out


def _ranges(n: int) -> list[tuple[int, int]]:
    """Slices of so many high states."""
    edges = np.linspace(0, n, min(_SLICES, n) + 1).astype(np.int64)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
