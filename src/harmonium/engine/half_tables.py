r"""Endpoints' tables for many hidden states, by halves of the hidden units.

At a node the integrand is a product over hidden units. With the units cut in two halves, *low* and *high*, all states of a node are an
outer product of two short vectors, so that nothing of the size nodes times states is ever stored: what a row needs of a panel is put
together for one high state at a time, in the nearest cache. Integrals over whole panels are not products and are kept for all states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.panels import NODES, TO_LAST, TO_LAST_BUT_ONE, WEIGHTS, fill_nodes, scaled_pairs, take_off
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array

__all__ = ["HalfTables", "add_nodes", "fill_halves", "fill_whole", "pull_back_panel"]


class HalfTables(NamedTuple):
    """The tables of all endpoints, one after the other.

    Attributes
    ----------
    low : ndarray of shape (n_nodes, n_low_states)
    high : ndarray of shape (n_high_states, n_nodes)
    whole : ndarray of shape (n_high_states, 2 * n_panels + 1, n_low_states)
        For each endpoint the integrals over its panels, then those from each panel's lower edge to 1; last of all a row of zeros.
    errors : ndarray of the same shape
        Interpolation errors of each panel, then integration errors from each edge to 1.
    """

    low: Array
    high: Array
    whole: Array
    errors: Array


@compiled()
def fill_halves(bias: Array, coupling: Array, log_nodes: Array, statistics: Array, low: Array, high: Array) -> float:
    """The two halves of an endpoint's table, ``high`` by node; returns the logarithm of the factor left out."""
    n_hidden, n_nodes = coupling.shape[1], log_nodes.size
    bases, exponents = log_nodes.copy(), np.zeros((n_hidden, n_nodes))  # dx = x dy
    for d in range(coupling.shape[0]):
        take_off(bias[d], coupling[d], statistics[d], bases, exponents)
    off, on = np.empty((n_hidden, n_nodes)), np.empty((n_hidden, n_nodes))
    scale = scaled_pairs(exponents, bases, off, on)
    n_low = 0
    while (1 << n_low) < low.shape[1]:
        n_low += 1
    fill_nodes(np.ones(n_nodes), off[:n_low], on[:n_low], low)
    fill_nodes(bases, off[n_low:], on[n_low:], high)
    return scale


@compiled(sums=True, inline=True)
def add_nodes(c: Array, low: Array, first: int, out: Array, place: int) -> None:
    """Add a combination of a panel's nodes to row ``place`` of ``out``, all in one loop, since few states leave a loop little to do."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11]
    for i in range(out.shape[1]):
        begin = c0 * low[first, i] + c1 * low[first + 1, i] + c2 * low[first + 2, i] + c3 * low[first + 3, i]
        middle = c4 * low[first + 4, i] + c5 * low[first + 5, i] + c6 * low[first + 6, i] + c7 * low[first + 7, i]
        end = c8 * low[first + 8, i] + c9 * low[first + 9, i] + c10 * low[first + 10, i] + c11 * low[first + 11, i]
        out[place, i] += begin + middle + end


@compiled(sums=True, inline=True)
def start_with_nodes(c: Array, low: Array, first: int, whole: Array, row: int, b: int, out: Array, place: int) -> None:
    """As :func:`add_nodes`, added to an integral over whole panels instead of what was there."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11]
    for i in range(out.shape[1]):
        begin = c0 * low[first, i] + c1 * low[first + 1, i] + c2 * low[first + 2, i] + c3 * low[first + 3, i]
        middle = c4 * low[first + 4, i] + c5 * low[first + 5, i] + c6 * low[first + 6, i] + c7 * low[first + 7, i]
        end = c8 * low[first + 8, i] + c9 * low[first + 9, i] + c10 * low[first + 10, i] + c11 * low[first + 11, i]
        out[place, i] = whole[b, row, i] + (begin + middle + end)


@compiled(inline=True)
def _keep_panel(half_width: float, total: Array, last: Array, last_but_one: Array, row: int, b: int, whole: Array, errors: Array) -> None:
    for i in range(total.size):
        interpolation = abs(last[i]) + 0.0625 * abs(last_but_one[i])
        whole[b, row, i] = total[i]
        errors[b, row, i] = interpolation
        # Coefficients fall geometrically; a Gauss rule first errs at twice the degree, so at the square of the fall.
        last[i] = 4.0 * half_width * half_width * interpolation * interpolation / (total[i] + 1e-300)


@compiled(inline=True)
def _keep_running(values: Array, above: int, row: int, b: int, out: Array) -> None:
    """The sum of a panel's values and those of all panels above it."""
    for i in range(values.size):
        out[b, row, i] = values[i] + (out[b, above, i] if above >= 0 else 0.0)


@compiled()
def fill_whole(half_widths: Array, first_high: int, last_high: int, tables: HalfTables) -> None:
    """Integrals over whole panels and errors, for some of the high states."""
    low, high, whole, errors = tables
    n_panels, n_low = half_widths.size, low.shape[1]
    found, c = np.empty((3, n_low)), np.empty(NODES)
    total, last, last_but_one = found[0], found[1], found[2]
    for b in range(first_high, last_high):
        for row in range(whole.shape[1] - n_panels - 2, -1, -1):
            panel = row % (2 * n_panels)
            if panel >= n_panels:
                continue
            node = NODES * (n_panels * (row // (2 * n_panels)) + panel)
            found[:] = 0.0
            for k in range(NODES):
                c[k] = half_widths[panel] * WEIGHTS[k] * high[b, node + k]
            add_nodes(c, low, node, found, 0)
            for k in range(NODES):
                c[k] = TO_LAST[k] * high[b, node + k]
            add_nodes(c, low, node, found, 1)
            for k in range(NODES):
                c[k] = TO_LAST_BUT_ONE[k] * high[b, node + k]
            add_nodes(c, low, node, found, 2)
            _keep_panel(half_widths[panel], total, last, last_but_one, row, b, whole, errors)
            above = row + n_panels + 1 if panel + 1 < n_panels else -1
            _keep_running(total, above, row + n_panels, b, whole)
            _keep_running(last, above, row + n_panels, b, errors)


@compiled(sums=True, inline=True)
def _shares(by_node: Array, k: int, by_whole: Array, row: int, w: Array, h: Array, low: Array, node: int, out: Array) -> None:
    """How much four nodes weigh in each low state."""
    w0, w1, w2, w3, h0, h1, h2, h3 = w[k], w[k + 1], w[k + 2], w[k + 3], h[k], h[k + 1], h[k + 2], h[k + 3]
    for i in range(out.shape[1]):
        whole = by_whole[row, i]
        out[0, i] = (by_node[k, i] + w0 * whole) * (h0 * low[node, i])
        out[1, i] = (by_node[k + 1, i] + w1 * whole) * (h1 * low[node + 1, i])
        out[2, i] = (by_node[k + 2, i] + w2 * whole) * (h2 * low[node + 2, i])
        out[3, i] = (by_node[k + 3, i] + w3 * whole) * (h3 * low[node + 3, i])


@compiled(sums=True, inline=True)
def _add_shares(shares: Array, statistics: Array, d: int, own: int, b: int, out: Array) -> None:
    s0, s1, s2, s3 = statistics[d, own], statistics[d, own + 1], statistics[d, own + 2], statistics[d, own + 3]
    for i in range(shares.shape[1]):
        out[d, b, i] += (s0 * shares[0, i] + s1 * shares[1, i]) + (s2 * shares[2, i] + s3 * shares[3, i])


@compiled()
def pull_back_panel(
    tables: HalfTables,
    table: int,
    panel: int,
    b: int,
    half_widths: Array,
    statistics: Array,
    by_node: Array,
    by_whole: Array,
    shares: Array,
    out: Array,
) -> None:
    """Push the adjoint of one panel of an endpoint's table, for one high state, back to the natural parameters.

    ``by_node`` (nodes, low states) and ``by_whole`` (as ``whole``, without the high states) are the adjoint, of which the second is used
    up; panels must come in ascending order. Adds to ``out`` (statistics, high states, low states) the expected statistics, which are minus
    the gradient.
    """
    low, high, n_panels = tables.low, tables.high, half_widths.size
    row = 2 * n_panels * table + panel
    suffix = row + n_panels
    for i in range(shares.shape[1]):
        if panel > 0:
            by_whole[suffix, i] += by_whole[suffix - 1, i]
        by_whole[row, i] += by_whole[suffix, i]
    first = NODES * n_panels * table + NODES * panel
    w, h = half_widths[panel] * WEIGHTS, high[b, first : first + NODES]
    for k in range(0, NODES, 4):
        _shares(by_node, k, by_whole, row, w, h, low, first + k, shares)
        for d in range(statistics.shape[0]):
            _add_shares(shares, statistics, d, NODES * panel + k, b, out)
