r"""Sums of log masses by integration: what the exact trainer maximises beyond the hidden units that can be enumerated.

The counterpart of :class:`harmonium.engine.exact.LogMassSum`. Rows that leave the same cells unobserved, such as the free endpoints of a
denominator, share axes and their exponentials; panels are halved where any of them needs it, and the next evaluation begins with the
panels of the last one. The gradient is that of eq. 11, with expectations from eq. 29.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.axes import Axis
from harmonium.engine.integrand import Integral, Integrand, Observed
from harmonium.engine.integration import MOST_EVENT_TIMES, MOST_LEVELS, Unobserved, affordable, refined, unobserved_groups
from harmonium.engine.parameters import Natural
from harmonium.engine.prepared import Term
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.typing import Array

__all__ = ["IntegratedLogMassSum"]

_MOST_ROUNDS = 12


class _Group:
    """Rows of a term that leave the same cells unobserved."""

    def __init__(self, cells: Cells, weights: Array, unobserved: Unobserved) -> None:
        self.cells = cells.part(unobserved.rows)
        self.weights = np.array(weights[unobserved.rows])
        self.unobserved = unobserved
        self.axes: list[Axis] | None = None
        self.resolved = True

    def integrate(self, natural: Natural, observed: Observed) -> tuple[Integrand, list[Integral]]:
        """All rows on axes that serve each of them, as far as that is affordable."""
        axes = self.axes or self.unobserved.axes(natural, observed.row(0))
        if axes is None:
            raise ValueError("no window was found for an unobserved number: its distribution is wider than can be integrated")
        for _ in range(_MOST_ROUNDS):
            integrand = Integrand(natural, axes)
            found = [integrand.integrate(observed.row(k)) for k in range(self.weights.size)]
            finer = refined(self.unobserved.layout, found, curves=False)
            self.resolved = finer is None
            if finer is None or not affordable(finer, natural.n_hidden):
                break
            axes = finer
        if not self.unobserved.on_a_line:  # a window moves with the parameters
            self.axes = axes
        return integrand, found

    def add_up(self, natural: Natural) -> tuple[float, Array, Array, Array]:
        """What the rows add to value, bias, coupling and hidden bias (eq. 11)."""
        observed = Observed.of(natural, self.cells)
        integrand, found = self.integrate(natural, observed)
        places = integrand.places
        value, bias = 0.0, np.zeros(natural.bias.size)
        coupling, hidden_bias = np.zeros(natural.coupling.shape), np.zeros(natural.n_hidden)
        for k, (weight, integral) in enumerate(zip(self.weights, found, strict=True)):
            moments = integrand.moments(observed.row(k), integral.log_mass)
            value += weight * integral.log_mass
            bias -= weight * observed.statistics[k]
            bias[places] -= weight * moments.statistics
            coupling -= weight * np.outer(observed.statistics[k], moments.hidden)
            coupling[places] -= weight * moments.products
            hidden_bias -= weight * moments.hidden
        return value, bias, coupling, hidden_bias


class IntegratedLogMassSum:
    r"""The sum :math:`\sum_n r_n M(o_n)` of weighted log masses by integration (eq. 28), for given cells and many parameters.

    Parameters
    ----------
    terms : sequence of Term
        Tables of cells of one layout with their rows' weights r. Every row must be integrable, or this is refused.
    n_hidden : int
        Hidden units of the parameters to come.
    n_threads : int, optional
        As in :class:`harmonium.engine.exact.LogMassSum`. The result does not depend on it.

    Attributes
    ----------
    n_unresolved : int
        Rows whose integral had not converged within what is affordable, in the last evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import TruncatedGamma
    >>> layout = Layout([TruncatedGamma()])
    >>> cells = Cells.from_bounds(layout, [[0.5], [0.25]], [[0.5], [1.0]])
    >>> likelihood = IntegratedLogMassSum([Term.uniform(cells, 1.0), Term.uniform(Cells.all_free(layout), -2.0)], n_hidden=20)
    >>> flat = Natural(np.zeros(2), np.zeros((2, 20)), np.zeros(20), 0.0)
    >>> value, gradient = likelihood.value_and_natural_gradient(flat)
    >>> round(float(np.exp(value)), 12), gradient.bias.round(6)[0]
    (0.75, np.float64(-0.125))
    """

    def __init__(self, terms: Sequence[Term], n_hidden: int, n_threads: int | None = None) -> None:
        self._groups: list[_Group] = []
        for term in terms:
            for unobserved in sorted(unobserved_groups(term.cells), key=lambda group: int(group.rows[0])):
                if not unobserved.integrable(n_hidden):
                    raise ValueError(_refusal(unobserved, n_hidden))
                alone = [unobserved.rows] if not unobserved.on_a_line else [unobserved.rows[k : k + 1] for k in range(unobserved.rows.size)]
                self._groups.extend(_Group(term.cells, term.weights, unobserved.of_rows(rows)) for rows in alone)
        self._total_weight = float(sum(term.weights.sum() for term in terms))
        self._n_threads = thread_count(n_threads)
        self.n_unresolved = 0

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum and its gradient, both in terms of natural parameters (eq. 11)."""
        value, bias = 0.0, np.zeros(natural.bias.size)
        coupling, hidden_bias = np.zeros(natural.coupling.shape), np.zeros(natural.n_hidden)
        for part in map_in_order(lambda group: group.add_up(natural), self._groups, self._n_threads):
            value += part[0]
            bias += part[1]
            coupling += part[2]
            hidden_bias += part[3]
        self.n_unresolved = sum(group.weights.size for group in self._groups if not group.resolved)
        return value, Natural(bias, coupling, hidden_bias, -self._total_weight)


def _refusal(unobserved: Unobserved, n_hidden: int) -> str:
    """Which row cannot be integrated, and why."""
    columns = sorted([*(c for c, *_ in unobserved.event_times), *(c for c, *_ in unobserved.on_a_line), *(c for c, _ in unobserved.levels)])
    names = ", ".join(f"{column} ({unobserved.layout.units[column].name})" for column in columns)
    return (
        f"with {n_hidden} hidden units a log mass is integrated over what is not observed, which takes at most {MOST_EVENT_TIMES} event "
        f"times, one other number, and {MOST_LEVELS} combinations of levels per row; row {unobserved.rows[0]} leaves unobserved: column "
        f"{names}"
    )
