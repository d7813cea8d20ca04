r"""Integrating x instead of summing over h: rows of which little is unobserved, for any number of hidden units.

With everything observed but a few cells, the sum over hidden states has a closed form at every value of those cells, and the log mass is
an integral over them alone (eq. 28):

.. math:: M(o) = \ln \int \mathrm{d}x_{unobserved}\; e^{-E_{visible}(x)} \prod_j \bigl(1 + e^{-\phi_j(x)}\bigr) .

That is linear in the number of hidden units and exponential in the number of unobserved cells. The integral is a sum over the nodes of
Gauss-Legendre panels; panels are halved until trailing Legendre coefficients of the marginals say that it has converged. Each row has
panels of its own, which depend on nothing but the row and the parameters: an answer is the same to the last bit alone and in any table.
docs/engine.md has accuracy and cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.axes import Axis, admitted_levels, event_panels, level_axis, ruled_axis
from harmonium.engine.integrand import Integral, Integrand, Observed
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.engine.window import line_axis
from harmonium.typing import Array, Booleans, Integers

__all__ = [
    "MOST_EVENT_TIMES",
    "MOST_LEVELS",
    "MOST_NODES",
    "MOST_ON_A_LINE",
    "MOST_WORK",
    "Unobserved",
    "affordable",
    "expected_hidden",
    "integrable",
    "integrals",
    "integrated_log_mass",
    "refined",
    "unobserved_groups",
]

MOST_EVENT_TIMES = 2
"""Tabulated cells that may be unobserved in a row."""

MOST_ON_A_LINE = 1
"""Other continuous cells that may be unobserved in a row."""

MOST_LEVELS = 64
"""Combinations of levels that the unobserved discrete cells of a row may have."""

MOST_NODES = 1 << 23
"""Nodes of the tensor grid, all unobserved cells together."""

MOST_WORK = 1 << 30
"""Nodes times hidden units: about half a second."""

_USUAL_EVENT_NODES, _USUAL_LINE_NODES = 132, 30  # of a cell, before any panel is halved
_MOST_ROUNDS = 12


@dataclass(frozen=True)
class Unobserved:
    """What some rows leave unobserved, the same columns within the same bounds: event times, cells on a line, levels.

    Attributes
    ----------
    layout : Layout
    rows : ndarray of int
        The rows.
    event_times, on_a_line : tuple of (int, float, float)
        Columns and their bounds.
    levels : tuple of (int, ndarray)
        Columns and the levels that they admit.
    """

    layout: Layout
    rows: Integers
    event_times: tuple[tuple[int, float, float], ...]
    on_a_line: tuple[tuple[int, float, float], ...]
    levels: tuple[tuple[int, Array], ...]

    @classmethod
    def of(cls, layout: Layout, rows: Integers, columns: Integers, lower: Array, upper: Array) -> Unobserved:
        """The given unobserved columns of rows with these bounds."""
        times: list[tuple[int, float, float]] = []
        line: list[tuple[int, float, float]] = []
        levels = []
        for column, low, high in zip(columns, lower, upper, strict=True):
            unit = layout.units[column]
            if unit.discrete:
                levels.append((int(column), admitted_levels(unit, low, high)))
                continue
            lowest, highest = unit.domain
            bounds = (lowest, highest) if np.isnan(low) else (max(low, lowest), min(high, highest))
            (times if unit.tabulated else line).append((int(column), float(bounds[0]), float(bounds[1])))
        return cls(layout, rows, tuple(times), tuple(line), tuple(levels))

    def of_rows(self, rows: Integers) -> Unobserved:
        """Of some of the rows."""
        return replace(self, rows=rows)

    @property
    def n_levels(self) -> int:
        """Combinations of levels."""
        return int(np.prod([levels.size for _, levels in self.levels], dtype=np.float64).clip(max=1e9))

    def integrable(self, n_hidden: int) -> bool:
        """Whether these cells are few enough, before any parameter is known."""
        if len(self.event_times) > MOST_EVENT_TIMES or len(self.on_a_line) > MOST_ON_A_LINE or self.n_levels > MOST_LEVELS:
            return False
        usual = _USUAL_EVENT_NODES ** len(self.event_times) * _USUAL_LINE_NODES ** len(self.on_a_line) * self.n_levels
        return _affordable(usual, n_hidden)

    def axes(self, natural: Natural, row: Observed | None) -> list[Axis] | None:
        """Where to begin; ``row`` is needed for cells on a line, for which there may be no window (None)."""
        axes = [ruled_axis(self.layout, column, event_panels(low, high)) for column, low, high in self.event_times]
        levels = [level_axis(self.layout, *zip(*self.levels, strict=True))] if self.levels else []
        for column, low, high in self.on_a_line:
            assert row is not None
            line = line_axis(natural, self.layout, column, (low, high), [*axes, *levels], row)
            if line is None:
                return None
            axes.append(line)
        return [*axes, *levels]


def unobserved_groups(cells: Cells) -> Iterator[Unobserved]:
    """Rows that leave the same columns unobserved within the same bounds, group by group."""
    lower, upper = cells.bounds()
    groups: dict[bytes, list[int]] = {}
    hole = lower != upper
    known = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(lower), np.inf, upper)  # NaN has several bit patterns
    for row in range(cells.n_rows):
        key = hole[row].tobytes() + known[0][row, hole[row]].tobytes() + known[1][row, hole[row]].tobytes()
        groups.setdefault(key, []).append(row)
    for rows in groups.values():
        columns = np.flatnonzero(hole[rows[0]])
        yield Unobserved.of(cells.layout, np.array(rows), columns, lower[rows[0], columns], upper[rows[0], columns])


def integrable(cells: Cells, n_hidden: int) -> Booleans:
    """Which rows leave few enough cells unobserved to be integrated.

    Up to two event times, one other continuous cell, and discrete cells with up to 64 combinations of levels; and no more nodes than
    :data:`MOST_NODES` and :data:`MOST_WORK` allow.

    Parameters
    ----------
    cells : Cells
    n_hidden : int

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.units import Gaussian, TruncatedGamma
    >>> layout = Layout([Gaussian(), Gaussian(), TruncatedGamma()])
    >>> integrable(Cells.from_bounds(layout, [[0.3, np.nan, np.nan], [np.nan, np.nan, 0.5]]), n_hidden=40)
    array([ True, False])
    """
    out = np.empty(cells.n_rows, dtype=bool)
    for group in unobserved_groups(cells):
        out[group.rows] = group.integrable(n_hidden)
    return out


def integrals(natural: Natural, cells: Cells, *, curves: bool = False, n_threads: int | None = None) -> list[Integral | None]:
    """Every row integrated on panels of its own (eq. 28); None where there is too much to integrate, or too much detail.

    Parameters
    ----------
    natural : Natural
    cells : Cells
    curves : bool
        Whether marginals will be read between nodes, which asks for narrower panels than the mass.
    n_threads : int, optional
        As in :func:`harmonium.engine.threads.thread_count`. The result does not depend on it.
    """
    observed = Observed.of(natural, cells)
    out: list[Integral | None] = [None] * cells.n_rows
    tasks: list[tuple[int, Unobserved, Integrand | None]] = []
    for group in unobserved_groups(cells):
        if group.integrable(natural.n_hidden):
            shared = None if group.on_a_line else _integrand(natural, group.axes(natural, None))
            tasks.extend((int(row), group, shared) for row in group.rows)

    def integrate(task: tuple[int, Unobserved, Integrand | None]) -> None:
        number, group, begin = task
        row = observed.row(number)
        if group.on_a_line:
            begin = _integrand(natural, group.axes(natural, row))
        out[number] = None if begin is None else _converged(natural, group, begin, row, curves)

    for _ in map_in_order(integrate, tasks, thread_count(n_threads)):
        pass
    return out


def integrated_log_mass(parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
    """Log mass of every row (eq. 28); NaN where a row cannot be integrated.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    n_threads : int, optional

    Examples
    --------
    With couplings of zero each of twenty hidden units doubles the mass of a time that is equally likely everywhere:

    >>> import numpy as np
    >>> from harmonium.units import TruncatedGamma
    >>> layout, one = Layout([TruncatedGamma()]), np.zeros((1, 20))
    >>> flat = Parameters(layout, np.zeros(20), ({"W": one, "V": one, "a": np.zeros(1), "c": np.zeros(1)},))
    >>> cells = Cells.from_bounds(layout, [[np.nan], [0.25], [0.5]], [[np.nan], [1.0], [0.5]])
    >>> np.exp(integrated_log_mass(flat, cells) - 20.0 * np.log(2.0)).round(12)
    array([1.  , 0.75, 1.  ])
    """
    parameters.check(cells.layout)
    found = integrals(parameters.natural(), cells, n_threads=n_threads)
    return np.array([np.nan if row is None else row.log_mass for row in found])


def expected_hidden(natural: Natural, cells: Cells, found: Sequence[Integral]) -> Array:
    """p(h_j = 1 | row) of rows that have been integrated (eq. 29), (rows, hidden)."""
    observed = Observed.of(natural, cells)
    means = [Integrand(natural, row.axes).moments(observed.row(k), row.log_mass).hidden for k, row in enumerate(found)]
    return np.stack(means) if means else np.empty((0, natural.n_hidden))


def refined(layout: Layout, found: Sequence[Integral], *, curves: bool) -> list[Axis] | None:
    """The axes with better rules where any of some rows on the same axes needs it; None if none does."""
    axes, changed = list(found[0].axes), False
    for k, axis in enumerate(axes):
        rule = None if axis.rule is None else axis.rule.improved([(row.log_marginals[k], row.log_mass) for row in found], curves=curves)
        if rule is not None:
            axes[k], changed = ruled_axis(layout, axis.columns[0], rule), True
    return axes if changed else None


def _converged(natural: Natural, group: Unobserved, integrand: Integrand, row: Observed, curves: bool) -> Integral | None:
    """The integral once no panel has to be halved any more; None if that takes too long."""
    for _ in range(_MOST_ROUNDS):
        found = integrand.integrate(row)
        axes = refined(group.layout, [found], curves=curves)
        if axes is None:
            return found
        finer = _integrand(natural, axes)
        if finer is None:
            return None
        integrand = finer
    return None


def _integrand(natural: Natural, axes: list[Axis] | None) -> Integrand | None:
    """On these axes, if they are not too long."""
    return None if axes is None or not affordable(axes, natural.n_hidden) else Integrand(natural, axes)


def affordable(axes: Sequence[Axis], n_hidden: int) -> bool:
    """Whether a grid of these axes has no more nodes than it may have."""
    return _affordable(float(np.prod([float(axis.n_nodes) for axis in axes])), n_hidden)


def _affordable(n_nodes: float, n_hidden: int) -> bool:
    return n_nodes <= MOST_NODES and n_nodes * max(n_hidden, 1) <= MOST_WORK
