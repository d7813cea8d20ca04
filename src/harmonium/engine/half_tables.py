r"""Endpoints' tables for many hidden states, by halves of the hidden units.

At a node the integrand is a product over hidden units. With the units cut in two halves, *low* and *high*, all states of a node are an
outer product of two short vectors, so that nothing of the size nodes times states is ever stored: what a row needs of a panel is put
together for one high state at a time, in the nearest cache, or has a closed form (:mod:`harmonium.engine.half_parts`). Integrals over whole
panels are not products and are kept for all states, together with those of the integrand times each statistic, so that the gradient needs
no way back through the tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.panels import NODES, TO_LAST, TO_LAST_BUT_ONE, WEIGHTS, fill_nodes, scaled_pairs, take_off
from harmonium.engine.state_sum import TOLERANCE
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans

__all__ = ["HalfTables", "fill_halves", "fill_panels", "fill_suffixes"]


class HalfTables(NamedTuple):
    """The tables of all endpoints, one after the other.

    Attributes
    ----------
    low : ndarray of shape (n_nodes, n_low_states)
    high : ndarray of shape (n_high_states, n_nodes)
    statistics : ndarray of shape (n_statistics, n_nodes)
    whole : ndarray of shape ((2 * n_panels + 1) * (1 + n_statistics) * n_high_states, n_low_states)
        For each endpoint the integrals over its panels, then those from each panel's lower edge to 1; last of all zeros. Each is followed
        by the same integrals of the integrand times its statistics.
    errors : ndarray of shape ((2 * n_panels + 1) * n_high_states, n_low_states)
        Interpolation errors of each panel, then integration errors from each edge to 1; last of all zeros.
    doubtful : ndarray of shape (2 * n_panels + 1, n_high_states)
        Where an error may matter in some state, whatever a row makes of that state, to an integral that extends to 1.
    """

    low: Array
    high: Array
    statistics: Array
    whole: Array
    errors: Array
    doubtful: Booleans


@compiled()
def fill_halves(bias: Array, coupling: Array, log_nodes: Array, statistics: Array, first: int, by_node: Array, tables: HalfTables) -> float:
    """All of an endpoint's table that belongs to nodes, which begin with node ``first``; returns the logarithm of the factor left out.

    What high states have at nodes goes to ``by_node``.
    """
    n_hidden, n_nodes, n_low = coupling.shape[1], log_nodes.size, 0
    last = first + n_nodes
    bases, exponents = log_nodes.copy(), np.zeros((n_hidden, n_nodes))  # dx = x dy
    for d in range(coupling.shape[0]):
        take_off(bias[d], coupling[d], statistics[d], bases, exponents)
        tables.statistics[d, first:last] = statistics[d]
    off, on = np.empty((n_hidden, n_nodes)), np.empty((n_hidden, n_nodes))
    scale = scaled_pairs(exponents, bases, off, on)
    while (1 << n_low) < tables.low.shape[1]:
        n_low += 1
    fill_nodes(np.ones(n_nodes), off[:n_low], on[:n_low], tables.low[first:last])
    fill_nodes(bases, off[n_low:], on[n_low:], by_node[first:last])
    return scale


@compiled(sums=True, inline=True)
def _combine(c: Array, low: Array, first: int, start: Array, row: int, out: Array, place: int) -> None:
    """A combination of a panel's nodes, added to row ``row`` of ``start``: all in one loop, since few states leave a loop little to do."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11]
    for i in range(out.shape[1]):
        begin = c0 * low[first, i] + c1 * low[first + 1, i] + c2 * low[first + 2, i] + c3 * low[first + 3, i]
        middle = c4 * low[first + 4, i] + c5 * low[first + 5, i] + c6 * low[first + 6, i] + c7 * low[first + 7, i]
        end = c8 * low[first + 8, i] + c9 * low[first + 9, i] + c10 * low[first + 10, i] + c11 * low[first + 11, i]
        out[place, i] = start[row, i] + (begin + middle + end)


@compiled(inline=True)
def _weighted(weights: Array, factor: float, high: Array, b: int, node: int, out: Array) -> None:
    for k in range(NODES):
        out[k] = factor * weights[k] * high[b, node + k]


@compiled(inline=True)
def _times_statistic(statistics: Array, d: int, node: int, c: Array, out: Array) -> None:
    for k in range(NODES):
        out[k] = c[k] * statistics[d, node + k]


@compiled(sums=True, inline=True)
def _count_doubtful(
    errors: Array, row: int, factor: float, low: Array, node: int, first: float, last: float, width: float, whole: Array, above: int
) -> int:
    """In how many states a panel's interpolation error matters both to its integrand, at either end, and to all that is above it."""
    count = 0
    for i in range(low.shape[1]):
        smallest = min(first * low[node, i], last * low[node + NODES - 1, i])
        error = factor * errors[row, i]
        count += not (error <= smallest or error * width <= whole[above, i])
    return count


@compiled(sums=True, inline=True)
def _count_larger(errors: Array, row: int, factor: float, integrals: Array, other: int) -> int:
    count = 0
    for i in range(errors.shape[1]):
        count += not factor * errors[row, i] <= integrals[other, i]
    return count


@compiled(inline=True)
def _keep_errors(half_width: float, found: Array, errors: Array, row: int, suffix: int, above: int) -> None:
    """Errors of a panel, and of all from there to 1, from its integral and its last two coefficients."""
    for i in range(found.shape[1]):
        interpolation = abs(found[1, i]) + 0.0625 * abs(found[2, i])
        errors[row, i] = interpolation
        # Coefficients fall geometrically; a Gauss rule first errs at twice the degree, so at the square of the fall.
        integration = 4.0 * half_width * half_width * interpolation * interpolation / (found[0, i] + 1e-300)
        errors[suffix, i] = integration + errors[above, i]


@compiled()
def fill_suffixes(half_widths: Array, n_tables: int, first_high: int, last_high: int, tables: HalfTables) -> None:
    """Integrals from each panel's edge to 1, and errors, for some of the high states."""
    low, high, statistics, whole, errors, doubtful = tables
    n_panels, n_high, n_kinds = half_widths.size, high.shape[0], 1 + statistics.shape[0]
    zeros, factor = 2 * n_panels * n_tables, 2.0 * n_tables / TOLERANCE  # a row has no more cells than there are tables
    found, c, own = np.empty((3, low.shape[1])), np.empty(NODES), np.empty(NODES)
    for b in range(first_high, last_high):
        for table in range(n_tables):
            for panel in range(n_panels - 1, -1, -1):
                node, row = NODES * (n_panels * table + panel), 2 * n_panels * table + panel
                suffix = row + n_panels
                above = suffix + 1 if panel + 1 < n_panels else zeros
                _weighted(WEIGHTS, half_widths[panel], high, b, node, c)
                _combine(c, low, node, whole, zeros * n_kinds * n_high + b, found, 0)
                _combine(c, low, node, whole, above * n_kinds * n_high + b, whole, suffix * n_kinds * n_high + b)
                for d in range(1, n_kinds):
                    _times_statistic(statistics, d - 1, node, c, own)
                    _combine(own, low, node, whole, (above * n_kinds + d) * n_high + b, whole, (suffix * n_kinds + d) * n_high + b)
                _weighted(TO_LAST, 1.0, high, b, node, c)
                _combine(c, low, node, whole, zeros * n_kinds * n_high + b, found, 1)
                _weighted(TO_LAST_BUT_ONE, 1.0, high, b, node, c)
                _combine(c, low, node, whole, zeros * n_kinds * n_high + b, found, 2)
                _keep_errors(half_widths[panel], found, errors, row * n_high + b, suffix * n_high + b, above * n_high + b)
                first, last = high[b, node], high[b, node + NODES - 1]
                part, beyond, width = row * n_high + b, above * n_kinds * n_high + b, 2.0 * half_widths[panel]
                doubtful[row, b] = _count_doubtful(errors, part, 2.0 * factor, low, node, first, last, width, whole, beyond) > 0
                doubtful[suffix, b] = _count_larger(errors, suffix * n_high + b, factor, whole, suffix * n_kinds * n_high + b) > 0


@compiled()
def fill_panels(half_widths: Array, n_tables: int, first_high: int, last_high: int, tables: HalfTables) -> None:
    """Integrals over each panel, which only intervals with two ends inside (0, 1) need, for some of the high states."""
    low, high, statistics, whole = tables.low, tables.high, tables.statistics, tables.whole
    n_panels, n_high, n_kinds = half_widths.size, high.shape[0], 1 + statistics.shape[0]
    zeros, c, own = 2 * n_panels * n_tables * n_kinds * n_high, np.empty(NODES), np.empty(NODES)
    for b in range(first_high, last_high):
        for table in range(n_tables):
            for panel in range(n_panels):
                node, row = NODES * (n_panels * table + panel), (2 * n_panels * table + panel) * n_kinds
                _weighted(WEIGHTS, half_widths[panel], high, b, node, c)
                _combine(c, low, node, whole, zeros + b, whole, row * n_high + b)
                for d in range(1, n_kinds):
                    _times_statistic(statistics, d - 1, node, c, own)
                    _combine(own, low, node, whole, zeros + b, whole, (row + d) * n_high + b)
