r"""Integrals over all intervals of an endpoint at once.

Training asks for the integral of :math:`g_h(x) = e^{-\theta_h \cdot s(x)}` over a different interval in every row, for each of
:math:`2^H` hidden states. All of them are read off one table. The unit interval is cut into panels in :math:`y = \ln x`, where
the integrand is analytic; on each panel it is known at Gauss-Legendre nodes. Then

* the integral over a whole panel, or from a panel's edge to 1, is a fixed sum of node values;
* the integral over part of a panel is a combination of the panel's node values too, with weights that depend on the bounds and
  not on the parameters: the integrals of the Lagrange polynomials.

So an interval is a handful of *table rows* with weights, all states side by side, and its gradient runs the same road
backwards. Trailing Legendre coefficients tell how far the table can be trusted; rows that need more are found by
:mod:`harmonium.engine.state_sum`, and the grid is refined or the row summed without it. docs/engine.md has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, log1p

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.contract import Unit

__all__ = [
    "NODES",
    "TO_LAST",
    "TO_LAST_BUT_ONE",
    "WEIGHTS",
    "Grid",
    "fill_nodes",
    "fill_table",
    "part_of_panel",
    "pull_back_table",
    "scaled_pairs",
    "take_off",
]

NODES = 12
"""Nodes on each panel."""

_WIDEST = 1.0  # of a panel, in y
_WIDEST_IN_X = 1.0 / 16.0
_TAIL_PANELS = (1.0, 2.0, 4.0, 8.0, 16.0)  # below the smallest bound nothing is cut: e^-31 of the first tail panel is left out
_MOST_HALVINGS = 4
_INTEGRATED = 1e-12  # relative error of an integral over a panel that is not worth a finer one

_ABSCISSAE, WEIGHTS = gauss_legendre(NODES)
_LEGENDRE = np.polynomial.legendre.legvander(_ABSCISSAE, NODES - 1)  # [node, degree]
TO_LAST = (NODES - 0.5) * WEIGHTS * _LEGENDRE[:, NODES - 1]  # coefficient of degree NODES - 1 from node values
TO_LAST_BUT_ONE = (NODES - 1.5) * WEIGHTS * _LEGENDRE[:, NODES - 2]
_SYNTHESIS = WEIGHTS[:, None] * _LEGENDRE * (np.arange(NODES) + 0.5)  # Lagrange polynomials as Legendre series
_DEGREES = np.arange(NODES)
_RISE, _FALL = (2 * _DEGREES + 1) / (_DEGREES + 1), _DEGREES / (_DEGREES + 1)  # P_(n+1) = rise z P_n - fall P_(n-1)
_ODD = 1.0 / (2 * _DEGREES + 1)
_NARROW = 0.05  # of a panel, in its coordinates
_SHORT_ABSCISSAE, _SHORT_WEIGHTS = gauss_legendre(NODES // 2)  # exact for polynomials on NODES nodes


@dataclass(frozen=True, eq=False)
class Grid:
    """Panels over (0, 1].

    Attributes
    ----------
    edges : ndarray of shape (n_panels + 1,)
        Panel edges in x, ascending, the last one 1.
    halvings : ndarray of int, shape (n_panels,)
        How often each panel's ancestor was halved.

    Examples
    --------
    >>> grid = Grid.covering(0.01)
    >>> finer = grid.halved(np.arange(grid.n_panels) == 3)
    >>> finer.n_panels - grid.n_panels
    1
    """

    edges: Array
    halvings: Integers

    @classmethod
    def covering(cls, smallest_bound: float) -> Grid:
        """The coarsest grid for intervals none of which begins or ends below a bound, except at 0."""
        y, ys = 0.0, [0.0]
        stop = log(min(smallest_bound, _WIDEST_IN_X))
        while y > stop:
            y -= min(_WIDEST, _WIDEST_IN_X * exp(min(-y, 10.0)))
            ys.append(y)
        for width in _TAIL_PANELS:
            y -= width
            ys.append(y)
        return cls(np.exp(np.array(ys[::-1])), np.zeros(len(ys) - 1, dtype=np.int64))

    def halved(self, chosen: Booleans) -> Grid:
        """The grid with some panels halved in ln x, as far as they may be; itself if none may."""
        chosen = chosen & (self.halvings < _MOST_HALVINGS)
        if not chosen.any():
            return self
        middles = np.sqrt(self.edges[:-1] * self.edges[1:])[chosen]
        halvings = np.repeat(self.halvings + chosen, 1 + chosen)
        return Grid(np.sort(np.concatenate([self.edges, middles])), halvings)

    def blamed(self, counts: Integers, errors: Array, suffixes: Array) -> Booleans:
        """Panels to halve, given how often each row of one column's error table was the reason that a row is inaccurate.

        ``suffixes`` are the integrals from each panel's lower edge to 1.
        """
        n = self.n_panels
        out: Booleans = counts[:n] > 0
        own = errors[n:] - np.vstack([errors[n + 1 :], np.zeros(errors.shape[1])])
        for begin in np.flatnonzero(counts[n:]):  # integrals from here to 1: wherever they are not accurate in some state
            out[begin:] |= (own[begin:] > _INTEGRATED * suffixes[begin]).any(axis=1)
        return out

    @property
    def n_panels(self) -> int:
        """How many panels."""
        return self.edges.size - 1

    @cached_property
    def half_widths(self) -> Array:
        """Half of each panel's width in y."""
        return 0.5 * np.diff(np.log(self.edges))

    @cached_property
    def log_nodes(self) -> Array:
        """Ln x at all nodes, panel after panel."""
        centres = np.log(self.edges[:-1]) + self.half_widths
        return (centres[:, None] + self.half_widths[:, None] * _ABSCISSAE).ravel()

    def statistics(self, unit: Unit) -> Array:
        """The unit's statistics at all nodes, (statistics, nodes)."""
        return np.ascontiguousarray(unit.statistics(np.exp(self.log_nodes)).T)

    # A table has one row for each node, then one for each panel's integral, then the integrals from each edge to 1.

    @property
    def first_suffix_row(self) -> int:
        """Where the rows of integrals from an edge to 1 begin; the first of them is the integral over (0, 1]."""
        return (NODES + 1) * self.n_panels

    @property
    def n_rows(self) -> int:
        """Rows of a table."""
        return (NODES + 2) * self.n_panels

    @property
    def n_error_rows(self) -> int:
        """Rows of an error table: interpolation errors of each panel, then integration errors from each edge to 1."""
        return 2 * self.n_panels


@compiled()
def _narrow_means(start: float, stop: float, out: Array) -> None:
    """Mean of each Legendre polynomial between two points, by a rule that is exact for them: no difference of nearby numbers."""
    half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
    out[:] = 0.0
    for q in range(_SHORT_ABSCISSAE.size):
        z = middle + half * _SHORT_ABSCISSAE[q]
        before, here = 1.0, z
        weight = 0.5 * _SHORT_WEIGHTS[q]
        out[0] += weight
        out[1] += weight * z
        for n in range(1, NODES - 1):
            before, here = here, _RISE[n] * z * here - _FALL[n] * before
            out[n + 1] += weight * here


@compiled()
def _add_antiderivatives(z: float, factor: float, out: Array) -> None:
    """Add the integral of each Legendre polynomial up to z: (P_(n+1) - P_(n-1)) / (2n + 1)."""
    out[0] += factor * z
    before, here = 1.0, z
    for n in range(1, NODES):
        after = _RISE[n] * z * here - _FALL[n] * before
        out[n] += factor * _ODD[n] * (after - before)
        before, here = here, after


@compiled(sums=True)
def _partial_weights(start: float, stop: float, length: float, means: Array, out: Array, place: int) -> None:
    """Weights of a panel's node values in the integral over part of it, in row ``place`` of ``out``.

    ``start`` and ``stop`` are in the panel's own coordinates (-1 to 1); ``length`` is the part's length in y, passed
    separately because the difference of two nearby coordinates would lose its digits. ``means`` is working memory.
    """
    if stop - start > _NARROW:
        factor = 1.0 / (stop - start)
        means[:] = 0.0
        _add_antiderivatives(stop, factor, means)
        _add_antiderivatives(start, -factor, means)
    else:
        _narrow_means(start, stop, means)
    for j in range(NODES):
        total = 0.0
        for n in range(NODES):
            total += _SYNTHESIS[j, n] * means[n]
        out[place, j] = length * total


@compiled(fused=True)
def take_off(bias: float, coupling: Array, statistic: Array, bases: Array, exponents: Array) -> None:
    """Take what one statistic adds to the energy off ``bases``, and off ``exponents`` (hidden units, nodes)."""
    for node in range(bases.size):
        bases[node] -= bias * statistic[node]
    for j in range(exponents.shape[0]):
        slope = coupling[j]
        for node in range(bases.size):
            exponents[j, node] -= slope * statistic[node]


@compiled()
def scaled_pairs(exponents: Array, bases: Array, off: Array, on: Array) -> float:
    """1 and e^exponents, both divided by the larger one; e^bases, divided by its largest. Returns the logarithm of that."""
    n_hidden, n_nodes = exponents.shape
    power = np.empty(n_nodes)
    for j in range(n_hidden):
        for node in range(n_nodes):
            bases[node] += max(exponents[j, node], 0.0)
            power[node] = -abs(exponents[j, node])
        exponentials(power, off[j])
        for node in range(n_nodes):
            small, grows = off[j, node], exponents[j, node] > 0.0
            on[j, node] = 1.0 if grows else small
            off[j, node] = small if grows else 1.0
    scale = bases[0]
    for node in range(n_nodes):
        scale = max(scale, bases[node])
    for node in range(n_nodes):
        power[node] = bases[node] - scale
    exponentials(power, bases)
    return float(scale)


@compiled()
def fill_nodes(bases: Array, off: Array, on: Array, table: Array) -> None:
    """Products over hidden units for all nodes and states, by doubling; every factor is at most one, so that nothing overflows."""
    for node in range(bases.size):
        table[node, 0] = bases[node]
        half = 1
        for j in range(off.shape[0]):
            is_off, is_on = off[j, node], on[j, node]
            for i in range(half):
                value = table[node, i]
                table[node, half + i] = value * is_on
                table[node, i] = value * is_off
            half *= 2


@compiled(sums=True, inline=True)
def _combine_nodes(table: Array, panel: int, weights: Array, scale: float, out: Array) -> None:
    """A combination of a panel's node values for all states; six nodes at a time, since the compiler cannot tell more arrays apart."""
    for i in range(out.size):
        out[i] = 0.0
    for q in range(0, NODES, 6):
        node, w0, w1, w2 = NODES * panel + q, scale * weights[q], scale * weights[q + 1], scale * weights[q + 2]
        w3, w4, w5 = scale * weights[q + 3], scale * weights[q + 4], scale * weights[q + 5]
        for i in range(out.size):
            low = w0 * table[node, i] + w1 * table[node + 1, i] + w2 * table[node + 2, i]
            out[i] += low + w3 * table[node + 3, i] + w4 * table[node + 4, i] + w5 * table[node + 5, i]


@compiled()
def fill_table(bias: Array, coupling: Array, log_nodes: Array, statistics: Array, half_widths: Array, table: Array, errors: Array) -> float:
    """Fill an endpoint's table and its error table; return the logarithm of the factor left out of both."""
    n_hidden, n_panels, n_nodes, n_states = coupling.shape[1], half_widths.size, log_nodes.size, table.shape[1]
    bases, exponents = log_nodes.copy(), np.zeros((n_hidden, n_nodes))  # dx = x dy
    for d in range(coupling.shape[0]):
        take_off(bias[d], coupling[d], statistics[d], bases, exponents)
    off, on = np.empty((n_hidden, n_nodes)), np.empty((n_hidden, n_nodes))
    scale = scaled_pairs(exponents, bases, off, on)
    fill_nodes(bases, off, on, table)
    panel_row, suffix_row = n_nodes, n_nodes + n_panels
    total, last, last_but_one = np.empty(n_states), np.empty(n_states), np.empty(n_states)
    for panel in range(n_panels - 1, -1, -1):
        _combine_nodes(table, panel, WEIGHTS, half_widths[panel], total)
        _combine_nodes(table, panel, TO_LAST, 1.0, last)
        _combine_nodes(table, panel, TO_LAST_BUT_ONE, 1.0, last_but_one)
        is_last = panel + 1 == n_panels
        for i in range(n_states):
            interpolation = abs(last[i]) + 0.0625 * abs(last_but_one[i])
            # Coefficients fall geometrically; a Gauss rule first errs at twice the degree, so at the square of the fall.
            integration = 4.0 * half_widths[panel] ** 2 * interpolation * interpolation / (total[i] + 1e-300)
            errors[panel, i] = interpolation
            errors[n_panels + panel, i] = integration + (0.0 if is_last else errors[n_panels + panel + 1, i])
            table[panel_row + panel, i] = total[i]
            table[suffix_row + panel, i] = total[i] + (0.0 if is_last else table[suffix_row + panel + 1, i])
    return scale


@compiled(sums=True)
def pull_back_table(table: Array, adjoint: Array, statistics: Array, half_widths: Array, out: Array) -> None:
    """Push the adjoint of a table back to the natural parameters of each state; ``adjoint`` is used up.

    Adds to ``out`` (statistics, states) the expected statistics, which are minus the gradient.
    """
    n_statistics, n_nodes = statistics.shape
    n_panels = half_widths.size
    n_states = table.shape[1]
    panel_row, suffix_row = n_nodes, n_nodes + n_panels
    share = np.empty(n_states)
    for panel in range(n_panels):
        suffix, whole = adjoint[suffix_row + panel], adjoint[panel_row + panel]
        for i in range(n_states):
            if panel > 0:
                suffix[i] += adjoint[suffix_row + panel - 1, i]
            whole[i] += suffix[i]
        for j in range(NODES):
            node = NODES * panel + j
            weight = half_widths[panel] * WEIGHTS[j]
            for i in range(n_states):
                share[i] = (adjoint[node, i] + weight * whole[i]) * table[node, i]
            for d in range(n_statistics):
                for i in range(n_states):
                    out[d, i] += share[i] * statistics[d, node]


@compiled()
def part_of_panel(
    edges: Array, half_widths: Array, panel: int, lower: float, upper: float, means: Array, weights: Array, place: int
) -> float:
    """Weights for the part (lower, upper] of a panel, in row ``place``; returns its length in y. ``means`` is working memory."""
    left_edge = edges[panel]
    half = half_widths[panel]
    start = log1p((lower - left_edge) / left_edge) / half - 1.0
    stop = log1p((upper - left_edge) / left_edge) / half - 1.0
    length = log1p((upper - lower) / lower)
    _partial_weights(start, stop, length, means, weights, place)
    return length
