"""Gibbs sweeps of a block of chains, compiled.

Chains of a block move together: arrays are (what, chains), so that fields are matrix products, and exponentials and uniform numbers come
from vector instructions over chains, whatever the number of hidden units. A chain draws from a stream of its own all the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.hidden_units import draw_hidden
from harmonium.numerics.compilation import compiled
from harmonium.numerics.products import FEWEST_FOR_BLAS, add_products, product
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.registry import draw, write_statistics

__all__ = [
    "CHAINS_PER_BLOCK",
    "Bounds",
    "Coupled",
    "Swept",
    "bounds_of",
    "couple",
    "draw_given",
    "sweep_and_keep",
    "sweep_block",
]

CHAINS_PER_BLOCK = 128
"""Enough for matrix products to be worth a call, few enough for a block's fields to stay in a core's second cache."""


class Bounds(NamedTuple):
    """Cells as compiled code reads them: ends of intervals, within the domains of the columns' units, column after column in memory.

    ``lower`` and ``upper`` are (rows, columns), ``codes`` and ``offsets`` those of the layout. In ``uniform`` columns all rows are alike,
    as where nothing is known; in ``complete`` rows all cells are points.
    """

    lower: Array
    upper: Array
    uniform: Booleans
    complete: Booleans
    codes: Integers
    offsets: Integers


def bounds_of(cells: Cells) -> Bounds:
    """The bounds of cells; of a free cell, its unit's domain."""
    lower, upper = cells.bounds()
    lowest, highest = cells.layout.domains.T
    free = np.isnan(lower)
    low, high = np.where(free, lowest, np.maximum(lower, lowest)), np.where(free, highest, np.minimum(upper, highest))
    uniform = (low == low[:1]).all(axis=0) & (high == high[:1]).all(axis=0)
    complete = (low == high).all(axis=1)
    return Bounds(np.asfortranarray(low), np.asfortranarray(high), uniform, complete, cells.layout.codes, cells.layout.offsets)


class Coupled(NamedTuple):
    """Natural parameters as sweeps read them.

    Couplings are (statistics + 2, hidden). Two statistics more are always 1: a constant, which has the biases of the hidden units, and a
    filler without any effect. Hidden units without effect make their number a multiple of four, for the sake of products and draws.
    """

    bias: Array
    coupling: Array


@compiled()
def couple(bias: Array, coupling: Array, hidden_bias: Array) -> Coupled:
    """Natural parameters in this form."""
    n_statistics, n_hidden = coupling.shape
    out = np.zeros((n_statistics + 2, n_hidden + -n_hidden % 4))
    for d in range(n_statistics):
        for j in range(n_hidden):
            out[d, j] = coupling[d, j]
    for j in range(n_hidden):
        out[n_statistics, j] = hidden_bias[j]
    return Coupled(bias, out)


class Swept(NamedTuple):
    """A block after its sweeps: statistics, constant and filler, (statistics + 2, chains), and fields, (hidden, chains)."""

    statistics: Array
    fields: Array


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
def _read_column(bounds: Bounds, c: int, rows: Integers, low: Array, high: Array) -> bool:
    """Bounds of a column's cells; returns whether all are points."""
    if bounds.uniform[c]:
        low[:], high[:] = bounds.lower[0, c], bounds.upper[0, c]
        return bool(low[0] == high[0])
    complete = True
    for i in range(rows.size):
        low[i], high[i] = bounds.lower[rows[i], c], bounds.upper[rows[i], c]
        complete &= low[i] == high[i]
    return complete


@compiled()
def _take_streams(streams: NDArray[np.uint64], chains: Integers) -> NDArray[np.uint64]:
    """The streams of some chains."""
    own = np.empty((4, chains.size), np.uint64)
    for k in range(4):
        for i in range(chains.size):
            own[k, i] = streams[k, chains[i]]
    return own


@compiled()
def _put_streams(own: NDArray[np.uint64], streams: NDArray[np.uint64], chains: Integers) -> None:
    for k in range(4):
        for i in range(chains.size):
            streams[k, chains[i]] = own[k, i]


@compiled()
def draw_given(bounds: Bounds, rows: Integers, chains: Integers, natural: Array, values: Array, streams: NDArray[np.uint64]) -> None:
    """Draw every unobserved value of some chains given their natural parameters (statistics, chains)."""
    low, high, x = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
    own_natural, own_streams = np.empty((natural.shape[0], rows.size)), _take_streams(streams, chains)
    for d in range(natural.shape[0]):
        for i in range(rows.size):
            own_natural[d, i] = natural[d, chains[i]]
    for c in range(bounds.codes.size):
        _read_column(bounds, c, rows, low, high)
        x[:] = low
        draw(bounds.codes[c], own_natural, bounds.offsets[c], bounds.offsets[c + 1], low, high, own_streams, x)
        for i in range(rows.size):
            values[chains[i], c] = x[i]
    _put_streams(own_streams, streams, chains)


class _Part(NamedTuple):
    """Some statistics of a block, their number padded to a multiple of four, and if products are large also their couplings."""

    places: Integers
    coupling: Array


@compiled()
def _part(coupling: Array, places: Integers, n_chains: int) -> _Part:
    """Those at some places."""
    padded = np.full(places.size + -places.size % 4, coupling.shape[0] - 1)
    padded[: places.size] = places
    large = padded.size * coupling.shape[1] * n_chains >= FEWEST_FOR_BLAS
    own = np.empty((padded.size if large else 0, coupling.shape[1]))
    for k in range(own.shape[0]):
        for j in range(coupling.shape[1]):
            own[k, j] = coupling[padded[k], j]
    return _Part(padded, own)


@compiled()
def _write_fields(coupling: Array, part: _Part, statistics: Array, fixed: Array, out: Array) -> None:
    """Fields on hidden units: what does not change, which is empty if there is nothing, and a part's contribution."""
    if part.coupling.size:
        terms = np.empty((part.places.size, out.shape[1]))
        for k in range(part.places.size):
            for i in range(out.shape[1]):
                terms[k, i] = statistics[part.places[k], i]
        product(part.coupling.T, terms, out)
        for j in range(fixed.shape[0]):
            for i in range(out.shape[1]):
                out[j, i] += fixed[j, i]
        return
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[j, i] = fixed[j, i] if fixed.size else 0.0
    add_products(coupling.T, np.arange(out.shape[0]), part.places, statistics, out)


@compiled()
def _write_natural(natural: Coupled, part: _Part, hidden: Array, out: Array) -> None:
    """Natural parameters of visible units, of which a part feels the hidden ones."""
    for d in range(natural.bias.size):
        for i in range(out.shape[1]):
            out[d, i] = natural.bias[d]
    if part.coupling.size:
        effects = np.empty((part.places.size, out.shape[1]))
        product(part.coupling, hidden, effects)
        for k in range(part.places.size):
            for i in range(out.shape[1]):
                out[part.places[k], i] += effects[k, i]
    else:
        add_products(natural.coupling, part.places, np.arange(hidden.shape[0]), hidden, out)


class _Begun(NamedTuple):
    """A block before its sweeps.

    Bounds and values (columns, chains); statistics, constant and filler; which columns are drawn; the number of chains up to the last one
    with anything to draw; places of observed and of unobserved statistics on which hidden units act.
    """

    low: Array
    high: Array
    x: Array
    statistics: Array
    drawn: Integers
    n_moving: int
    observed: Integers
    unobserved: Integers


@compiled()
def _begin(bounds: Bounds, rows: Integers, natural: Coupled, beginning: Array, beginning_places: Integers) -> _Begun:
    """Read the cells of a block and where its chains begin."""
    n, n_columns, n_statistics = rows.size, bounds.codes.size, natural.bias.size
    low, high, x = np.empty((n_columns, n)), np.empty((n_columns, n)), np.empty((n_columns, n))
    s = np.ones((n_statistics + 2, n))
    observed, unobserved = np.empty(n_statistics, np.int64), np.empty(n_statistics, np.int64)
    drawn = np.empty(n_columns, np.int64)
    n_observed = n_unobserved = n_drawn = n_moving = 0
    for c in range(n_columns):
        start, stop = bounds.offsets[c], bounds.offsets[c + 1]
        if _read_column(bounds, c, rows, low[c], high[c]):
            x[c] = low[c]
            n_observed = _coupled_places(natural.coupling, start, stop, observed, n_observed)
        else:
            for i in range(n):
                if low[c, i] == high[c, i]:
                    x[c, i] = low[c, i]
                else:
                    x[c, i] = beginning[beginning_places[i], c]
                    n_moving = max(n_moving, i + 1)
            n_unobserved = _coupled_places(natural.coupling, start, stop, unobserved, n_unobserved)
            drawn[n_drawn] = c
            n_drawn += 1
        write_statistics(bounds.codes[c], x[c], s, start, stop)
    return _Begun(low, high, x, s, drawn[:n_drawn], n_moving, observed[:n_observed], unobserved[:n_unobserved])


@compiled()
def sweep_block(
    bounds: Bounds,
    rows: Integers,
    chains: Integers,
    natural: Coupled,
    n_sweeps: int,
    beginning: Array,
    beginning_places: Integers,
    values: Array,
    streams: NDArray[np.uint64],
) -> Swept:
    """Sweep some chains, of which values and streams change in place.

    A chain belongs to a row of the bounds and has a place in ``values`` (chains, columns) and ``streams`` (4, chains). It begins at a
    place of ``beginning``, which has the shape of ``values`` and may be the same array. Complete rows cost least if they are the last.
    """
    block = _begin(bounds, rows, natural, beginning, beginning_places)
    n, n_hidden, s = rows.size, natural.coupling.shape[1], block.statistics
    constant = np.full(1, natural.bias.size)
    moved = _part(natural.coupling, block.unobserved, n)
    once = n_sweeps > 1 and block.observed.size > 0  # add up what does not change
    fixed, fields = np.empty((n_hidden if once else 0, n)), np.empty((n_hidden, n))
    felt = moved
    if once:
        _write_fields(natural.coupling, _part(natural.coupling, np.append(block.observed, constant), n), s, fixed[:0], fixed)
    else:
        felt = _part(natural.coupling, np.concatenate((block.observed, block.unobserved, constant)), n)
    if block.n_moving and n_sweeps:
        some = chains[: block.n_moving]
        own_streams, theta = _take_streams(streams, some), np.empty((natural.bias.size + 2, some.size))
        hidden = np.empty((n_hidden, some.size))
        for _ in range(n_sweeps):
            _write_fields(natural.coupling, felt, s, fixed, hidden)
            draw_hidden(hidden, own_streams)
            _write_natural(natural, moved, hidden, theta)
            for c in block.drawn:
                start, stop, x = bounds.offsets[c], bounds.offsets[c + 1], block.x[c][: some.size]
                draw(bounds.codes[c], theta, start, stop, block.low[c][: some.size], block.high[c][: some.size], own_streams, x)
                write_statistics(bounds.codes[c], x, s, start, stop)
        _put_streams(own_streams, streams, some)
        for c in block.drawn:
            for i in range(some.size):
                values[some[i], c] = block.x[c, i]
    _write_fields(natural.coupling, felt, s, fixed, fields)
    return Swept(s, fields)


@compiled()
def sweep_and_keep(
    bounds: Bounds,
    rows: Integers,
    chains: Integers,
    natural: Coupled,
    n_sweeps: int,
    values: Array,
    streams: NDArray[np.uint64],
    statistics: Array,
    fields: Array,
) -> None:
    """Sweep some chains, and keep their statistics (statistics, chains) and fields (hidden, chains)."""
    block = sweep_block(bounds, rows, chains, natural, n_sweeps, values, chains, values, streams)
    for found, kept in ((block.statistics, statistics), (block.fields, fields)):
        for k in range(kept.shape[0]):
            for i in range(chains.size):
                kept[k, chains[i]] = found[k, i]
