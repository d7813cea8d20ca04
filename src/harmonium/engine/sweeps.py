"""Gibbs sweeps of a block of chains, compiled.

Chains of a block move together: arrays are (what, chains), so that fields, exponentials and uniform numbers come from vector
instructions over chains, whatever the number of hidden units. A chain draws from a stream of its own all the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.streams import fill_uniform
from harmonium.typing import Array, Integers
from harmonium.units.registry import draw, write_statistics

__all__ = ["CHAINS_PER_BLOCK", "add_products", "draw_given", "sweep_block"]

CHAINS_PER_BLOCK = 64
"""Few enough for a block's fields to stay in a core's cache."""


@compiled(sums=True)
def add_products(weights: Array, terms: Array, places: Integers, out: Array, rows: Integers) -> None:
    """out[j] += sum over places d of weights[d, j] terms[d], for given rows j; four places at a time, since memory is what limits."""
    n, n_full = out.shape[1], places.size - places.size % 4
    for j in rows:
        for k in range(0, n_full, 4):
            d0, d1, d2, d3 = places[k], places[k + 1], places[k + 2], places[k + 3]
            w0, w1, w2, w3 = weights[d0, j], weights[d1, j], weights[d2, j], weights[d3, j]
            for i in range(n):
                out[j, i] += w0 * terms[d0, i] + w1 * terms[d1, i] + w2 * terms[d2, i] + w3 * terms[d3, i]
        for k in range(n_full, places.size):
            d0 = places[k]
            w0 = weights[d0, j]
            for i in range(n):
                out[j, i] += w0 * terms[d0, i]


@compiled()
def _read_bounds(first: int, rows: Integers, lower: Array, upper: Array, domains: Array, low: Array, high: Array) -> None:
    """Bounds of the block's cells as (columns, chains), within the domains of the columns' units."""
    for c in range(low.shape[0]):
        lowest, highest = domains[c, 0], domains[c, 1]
        for i in range(low.shape[1]):
            low[c, i], high[c, i] = lower[rows[first + i], c], upper[rows[first + i], c]
            if np.isnan(low[c, i]):
                low[c, i], high[c, i] = lowest, highest
            else:
                low[c, i], high[c, i] = max(low[c, i], lowest), min(high[c, i], highest)


@compiled()
def _coupled_places(coupling: Array, first: int, last: int, out: Integers, n: int) -> int:
    """Append the statistics on which hidden units act to a list that holds n of them; returns how many it holds then."""
    for d in range(first, last):
        for j in range(coupling.shape[1]):
            if coupling[d, j] != 0.0:
                out[n] = d
                n += 1
                break
    return n


@compiled()
def _draw_hidden(fields: Array, hidden: Array, uniforms: Array, streams: NDArray[np.uint64]) -> None:
    """h_j = 1 with probability 1 / (1 + e^field) (eq. 2)."""
    exponentials(fields.ravel(), hidden.ravel())
    fill_uniform(streams, uniforms)
    for j in range(fields.shape[0]):
        for i in range(fields.shape[1]):
            hidden[j, i] = 1.0 if uniforms[j, i] * (1.0 + hidden[j, i]) < 1.0 else 0.0


@compiled()
def draw_given(
    first: int,
    last: int,
    rows: Integers,
    lower: Array,
    upper: Array,
    domains: Array,
    codes: Integers,
    offsets: Integers,
    natural: Array,
    values: Array,
    streams: NDArray[np.uint64],
) -> None:
    """Draw every unobserved value of chains ``first`` to ``last`` given its natural parameters (statistics, chains)."""
    n, n_columns = last - first, codes.size
    low, high = np.empty((n_columns, n)), np.empty((n_columns, n))
    _read_bounds(first, rows, lower, upper, domains, low, high)
    own_natural, own_streams = natural[:, first:last].copy(), streams[:, first:last].copy()
    for c in range(n_columns):
        x = low[c].copy()
        draw(codes[c], own_natural, offsets[c], offsets[c + 1], low[c], high[c], own_streams, x)
        values[c, first:last] = x
    streams[:, first:last] = own_streams


@compiled()
def sweep_block(
    first: int,
    last: int,
    rows: Integers,
    lower: Array,
    upper: Array,
    domains: Array,
    codes: Integers,
    offsets: Integers,
    bias: Array,
    coupling: Array,
    hidden_bias: Array,
    n_sweeps: int,
    values: Array,
    streams: NDArray[np.uint64],
    statistics: Array,
    fields: Array,
) -> None:
    """Sweep chains ``first`` to ``last`` in place; leaves their statistics and the fields on the hidden units.

    ``values`` are (columns, chains), ``statistics`` (statistics, chains), ``fields`` (hidden, chains) and ``streams`` (4, chains);
    ``rows`` tells the row of ``lower`` and ``upper`` (rows, columns) to which a chain belongs.
    """
    n, n_columns, n_hidden = last - first, codes.size, hidden_bias.size
    low, high = np.empty((n_columns, n)), np.empty((n_columns, n))
    _read_bounds(first, rows, lower, upper, domains, low, high)
    x, s = np.empty((n_columns, n)), np.empty((bias.size, n))
    observed, unobserved = np.empty(bias.size, np.int64), np.empty(bias.size, np.int64)
    drawn = np.empty(n_columns, np.int64)
    n_observed = n_unobserved = n_drawn = 0
    for c in range(n_columns):
        complete = True
        for i in range(n):
            is_point = low[c, i] == high[c, i]
            x[c, i] = low[c, i] if is_point else values[c, first + i]
            complete &= is_point
        write_statistics(codes[c], x[c], s, offsets[c], offsets[c + 1])
        if complete:
            n_observed = _coupled_places(coupling, offsets[c], offsets[c + 1], observed, n_observed)
        else:
            n_unobserved = _coupled_places(coupling, offsets[c], offsets[c + 1], unobserved, n_unobserved)
            drawn[n_drawn] = c
            n_drawn += 1
    every_unit = np.arange(n_hidden)
    fixed = np.repeat(hidden_bias, n).reshape(n_hidden, n)
    add_products(coupling, s, observed[:n_observed], fixed, every_unit)
    field = fixed.copy()
    add_products(coupling, s, unobserved[:n_unobserved], field, every_unit)
    if n_drawn and n_sweeps:
        own_streams = streams[:, first:last].copy()
        hidden, uniforms = np.empty((n_hidden, n)), np.empty((n_hidden, n))
        natural = np.empty((bias.size, n))
        for _ in range(n_sweeps):
            _draw_hidden(field, hidden, uniforms, own_streams)
            for d in range(bias.size):
                natural[d] = bias[d]
            add_products(coupling.T, hidden, every_unit, natural, unobserved[:n_unobserved])
            for c in drawn[:n_drawn]:
                draw(codes[c], natural, offsets[c], offsets[c + 1], low[c], high[c], own_streams, x[c])
                write_statistics(codes[c], x[c], s, offsets[c], offsets[c + 1])
            field[:] = fixed
            add_products(coupling, s, unobserved[:n_unobserved], field, every_unit)
        streams[:, first:last] = own_streams
    values[:, first:last] = x
    statistics[:, first:last] = s
    fields[:, first:last] = field
