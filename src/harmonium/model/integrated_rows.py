"""Rows whose unobserved cells have been integrated, which answers exactly for any number of hidden units (eq. 30).

The questions are those of :class:`~harmonium.model.known_rows.KnownRows`. Every row has panels and marginals of its own, so that its
answers are the same to the last bit alone and in any table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells
from harmonium.engine.axes import point_axis
from harmonium.engine.integrand import Integral, Integrand, Observed
from harmonium.engine.integration import expected_hidden, integrals
from harmonium.engine.marginals import Marginal, joint_survival
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.hidden import Answer
from harmonium.model.known_rows import own_interval
from harmonium.typing import Array, Booleans

__all__ = ["IntegratedRows"]

_Curve = Callable[[Marginal, Array], Array]


@dataclass(frozen=True)
class IntegratedRows:
    """Some rows, what is known of them, and their integrals, found once for all questions."""

    natural: Natural
    cells: Cells
    found: tuple[Integral, ...]
    exact = True

    @classmethod
    def of(cls, parameters: Parameters, cells: Cells, n_threads: int | None = None) -> tuple[IntegratedRows, Booleans]:
        """Those rows of a table that can be integrated, and which of the rows they are."""
        parameters.check(cells.layout)
        natural = parameters.natural()
        found = integrals(natural, cells, curves=True, n_threads=n_threads)
        could = np.array([row is not None for row in found], dtype=bool)
        rows = cls(natural, cells.part(np.flatnonzero(could)), tuple(row for row in found if row is not None))
        return rows, could

    def part(self, rows: Booleans) -> IntegratedRows:
        """Some of the rows."""
        chosen = np.flatnonzero(rows)
        return IntegratedRows(self.natural, self.cells.part(chosen), tuple(self.found[k] for k in chosen))

    # --- answers ---

    def expected_hidden(self) -> Array:
        """p(h = 1) of every hidden unit (eq. 29), (rows, hidden)."""
        return expected_hidden(self.natural, self.cells, self.found)

    def survival(self, column: int, positions: Array) -> Answer:
        """P(x > u) of a column (eq. 30), (rows, positions)."""
        lower, upper = own_interval(self.cells, column)
        out = np.where(positions < lower[:, None], 1.0, 0.0)
        self._fill(column, positions, Marginal.log_survival, out)
        return Answer.exact(np.where((positions <= lower[:, None]) & (lower < upper)[:, None], 1.0, out))

    def density(self, column: int, positions: Array) -> Answer:
        """Density of a column, (rows, positions); NaN where the event time is known."""
        out = np.full((self.cells.n_rows, positions.size), np.nan)
        self._fill(column, positions, Marginal.log_density_at, out)
        lower, upper = own_interval(self.cells, column)
        outside = (positions <= lower[:, None]) | (positions > upper[:, None])
        return Answer.exact(np.where(outside & (lower < upper)[:, None], 0.0, out))

    def hazard(self, column: int, positions: Array) -> Array:
        """Density over survival, (rows, positions), also where both are too small to be computed one by one."""
        hazard = self.density(column, positions).mean
        lower, upper = own_interval(self.cells, column)
        for row in np.flatnonzero(lower < upper):
            own = self._marginal(int(row), column)
            inside = (positions > lower[row]) & (positions < upper[row])
            hazard[row, inside] = np.exp(own.log_density_at(positions[inside]) - own.log_survival(positions[inside]))
            hazard[row, positions >= upper[row]] = np.inf
        return hazard

    def mean_position(self, column: int) -> Answer:
        """Mean of a column, (rows, 1)."""
        lower, upper = own_interval(self.cells, column)
        known = lower == upper
        mean = [lower[row] if known[row] else self._marginal(row, column).mean for row in range(lower.size)]
        return Answer.exact(np.array(mean).reshape(-1, 1))

    def joint_survival(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """P(x_1 > u_1, x_2 > u_2, ...) given all cells (eq. 30), (rows, positions of the first column, of the second, ...)."""

        def of_known(at: Array, value: float) -> Array:
            return np.where(at < value, 1.0, 0.0)

        return self._on_grid(columns, positions, of_known, self._joint_survival)

    def joint_density(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """The density at the points of a grid, as :meth:`joint_survival`; NaN where an event time is known."""

        def of_known(at: Array, value: float) -> Array:
            return np.full(at.size, np.nan)

        return self._on_grid(columns, positions, of_known, self._joint_density)

    # --- how ---

    @cached_property
    def _observed(self) -> Observed:
        return Observed.of(self.natural, self.cells)

    def _place(self, row: int, column: int) -> int:
        """Which of a row's axes is a column's."""
        return next(k for k, axis in enumerate(self.found[row].axes) if axis.columns == (column,))

    @cached_property
    def _marginals(self) -> dict[tuple[int, int], Marginal]:
        return {}

    def _marginal(self, row: int, column: int) -> Marginal:
        if (row, column) not in self._marginals:
            self._marginals[row, column] = Marginal.of(self.found[row], self._place(row, column))
        return self._marginals[row, column]

    def _fill(self, column: int, positions: Array, curve: _Curve, out: Array) -> None:
        """Fill in the rows in which the column is not known."""
        lower, upper = self.cells.column(column)
        for row in np.flatnonzero(lower != upper):
            out[row] = np.exp(curve(self._marginal(int(row), column), positions))

    def _on_grid(
        self,
        columns: Sequence[int],
        positions: Sequence[Array],
        of_known: Callable[[Array, float], Array],
        of_unknown: Callable[[int, list[int], list[Array]], Array],
    ) -> Answer:
        """Known columns apart, unknown ones together, multiplied."""
        lower, upper = (np.stack(bounds) for bounds in zip(*(self.cells.column(column) for column in columns), strict=True))
        out = np.ones((self.cells.n_rows, *(at.size for at in positions)))
        for row in range(self.cells.n_rows):
            unknown = [k for k in range(len(columns)) if lower[k, row] != upper[k, row]]
            for k in set(range(len(columns))) - set(unknown):
                out[row] *= of_known(positions[k], lower[k, row]).reshape([-1 if i == k else 1 for i in range(len(columns))])
            if unknown:
                together = of_unknown(row, [columns[k] for k in unknown], [positions[k] for k in unknown])
                out[row] *= together.reshape([at.size if k in unknown else 1 for k, at in enumerate(positions)])
        return Answer.exact(out)

    def _joint_survival(self, row: int, columns: list[int], positions: list[Array]) -> Array:
        if len(columns) == 1:
            return np.exp(self._marginal(row, columns[0]).log_survival(positions[0]))
        places = [self._place(row, column) for column in columns]
        order = np.argsort(places)
        ordered = (positions[order[0]], positions[order[1]])
        alive = joint_survival(self.natural, self.found[row], self._observed.row(row), ordered)
        return alive if order[0] == 0 else alive.T

    def _joint_density(self, row: int, columns: list[int], positions: list[Array]) -> Array:
        """The integrand at the positions themselves, the other cells integrated."""
        bounds = [tuple(float(bound[row]) for bound in own_interval(self.cells, column)) for column in columns]
        inside = [(at > low) & (at <= high) for at, (low, high) in zip(positions, bounds, strict=True)]
        axes = list(self.found[row].axes)
        places = [self._place(row, column) for column in columns]
        for place, at, own, (_, high) in zip(places, positions, inside, bounds, strict=True):
            axes[place] = point_axis(self.cells.layout, axes[place].columns[0], np.where(own, at, high))
        integrand, log_mass = Integrand(self.natural, axes), self.found[row].log_mass
        if len(columns) == 1:
            log_density = integrand.integrate(self._observed.row(row)).log_marginals[places[0]]
            return np.where(inside[0], np.exp(log_density - log_mass), 0.0)
        log_density = logsumexp(integrand.log_values(self._observed.row(row)), axis=0)  # (second axis, first axis)
        log_density = log_density.T if places[0] < places[1] else log_density
        return np.where(inside[0][:, None] & inside[1], np.exp(log_density - log_mass), 0.0)
