"""Rows of a chunk as tables by halves see them, and the loops over low states that both sweeps over such rows are made of.

The sweeps are :mod:`harmonium.engine.half_sum` and :mod:`harmonium.engine.half_adjoint`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.panels import NODES
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = [
    "Places",
    "RowTotals",
    "add_whole",
    "coefficients",
    "copied",
    "n_units",
    "places",
    "product",
    "scaled",
    "times_cell",
    "times_shared",
]


class RowTotals(NamedTuple):
    """What the first sweep tells the second about each row of a chunk.

    Attributes
    ----------
    low, high : ndarray of shape (n_rows, n_low_states) and (n_rows, n_high_states)
        Weights of the states from the fields, as an outer product.
    share : ndarray of shape (n_rows,)
        The row's weight over its sum, zero for a row that was not summed or has nothing tabulated.
    """

    low: Array
    high: Array
    share: Array


class Places(NamedTuple):
    """Where :class:`HalfTables` have what a chunk refers to, and the chunk's parts of panels in the order of panels.

    Attributes
    ----------
    node : ndarray of shape (n_parts + 1,)
        The first node of each part.
    weights : ndarray of shape (n_parts + 1, NODES)
        Weights of its panel's nodes, as in the chunk; the last part is an empty one.
    parts : ndarray of shape (n_cells, 2)
        Each cell's parts of panels as in the chunk, but a single one first, and an empty one for a cell that has none.
    whole, error : ndarray of shape (n_cells,)
        The first whole row of each cell and its row of the error table; a row of zeros where there is none.
    n_tabulated : ndarray of shape (n_rows,)
        How many tabulated cells each row has.
    number : ndarray of shape (n_cells,)
        Tabulated cells counted from zero.
    order : ndarray of shape (n_parts,)
        Parts sorted by panel.
    owner : ndarray of shape (n_parts,)
        The number of the cell to which each part belongs.
    first : ndarray of shape (n_panels of all tables + 1,)
        Where each panel's parts begin in ``order``.
    """

    node: Integers
    weights: Array
    parts: Integers
    whole: Integers
    error: Integers
    n_tabulated: Integers
    number: Integers
    order: Integers
    owner: Integers
    first: Integers


def places(chunk: Chunk, n_panels: int, n_tables: int) -> Places:
    """Translate from tables that have all nodes, panels and suffixes of an endpoint together."""
    n_rows = (NODES + 2) * n_panels
    node = chunk.part_row - 2 * n_panels * (chunk.part_row // n_rows)
    parts = np.where(chunk.parts[:, :1] >= 0, chunk.parts, chunk.parts[:, ::-1])
    parts[parts[:, 0] < 0, 0] = node.size
    weights = np.concatenate([chunk.part_weights, np.zeros((1, NODES))])
    zeros = 2 * n_panels * n_tables
    whole = np.where(chunk.whole[:, 1] > 0, chunk.whole[:, 0] - NODES * n_panels * (chunk.whole[:, 0] // n_rows + 1), zeros)
    error = np.where(chunk.error >= 0, chunk.error, zeros)
    counted = np.concatenate([[0], np.cumsum(chunk.shared < 0)])
    number, n_tabulated = counted[1:] - 1, np.diff(counted[chunk.first_cell])
    owner, order = np.empty(node.size, np.int64), np.argsort(node, kind="stable")
    for side in range(2):
        cells = np.flatnonzero((chunk.parts[:, side] >= 0) & (chunk.shared < 0))
        owner[chunk.parts[cells, side]] = number[cells]
    first = np.searchsorted(node[order], NODES * np.arange(n_panels * n_tables + 1))
    return Places(np.append(node, 0), weights, parts, whole, error, n_tabulated, number, order, owner, first)


# These take arrays, not the tuples that hold them: inside a loop, taking an array out of a tuple costs more than the work.
# For the same reason both sweeps spell out how a cell's factor is put together: as a function with branches it would count references.


@compiled(inline=True)
def scaled(low: Array, row: int, high: float, out: Array) -> None:
    """The states' weights that a row's fields give, for one high state."""
    for i in range(out.size):
        out[i] = high * low[row, i]


@compiled(inline=True)
def times_shared(factors: Array, row: int, b: int, out: Array) -> None:
    """Multiply by the factor of a shared cell."""
    for i in range(out.size):
        out[i] *= factors[row, b, i]


@compiled(inline=True)
def coefficients(weights: Array, part: int, high: Array, b: int, node: int, out: Array) -> None:
    """Weights of a panel's nodes in a part of it, for one high state."""
    for k in range(NODES):
        out[k] = weights[part, k] * high[b, node + k]


@compiled(inline=True)
def add_whole(whole: Array, row: int, b: int, out: Array, place: int) -> None:
    """Add an integral over whole panels to a cell's factor."""
    for i in range(out.shape[1]):
        out[place, i] += whole[b, row, i]


@compiled(inline=True)
def copied(weights: Array, out: Array, number: int) -> None:
    """Weights as they are, in row ``number``."""
    for i in range(weights.size):
        out[number, i] = weights[i]


@compiled(inline=True)
def times_cell(factors: Array, place: int, out: Array, number: int) -> None:
    """Multiply row ``number`` by the factor of a tabulated cell."""
    for i in range(out.shape[1]):
        out[number, i] *= factors[place, i]


@compiled(inline=True)
def product(weights: Array, factors: Array, place: int, out: Array, number: int) -> None:
    """Weights times the factor of a tabulated cell, in row ``number``."""
    for i in range(weights.size):
        out[number, i] = weights[i] * factors[place, i]


@compiled(inline=True)
def n_units(n_states: int) -> int:
    """So many hidden units have so many states."""
    n = 0
    while (1 << n) < n_states:
        n += 1
    return n
