"""Samples of a table's rows in which nothing rare is missing.

A plain sample of a large table may have no row of a rare level and hardly an event of a rare endpoint, so what belongs to them would be
undetermined. Here every *kind* of cell, that is every level of a discrete column, and for every other column what is determined, open
(censored) and free, is drawn so often that enough of its rows are in the sample, or all of them. Rows carry weights, the inverse of their
chance, under which sums over the sample estimate sums over the table.

Whether a row is drawn depends on the seed, its number and the counts of its kinds: not on how the table is cut into parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from harmonium.cells import Block, Cells
from harmonium.typing import Array, Integers

__all__ = ["MANY_ROWS", "Drawn", "Kinds", "count_kinds", "draw", "merge_drawn", "merge_kinds", "row_weights", "rows_for_search"]

MANY_ROWS = 100_000
"""Tables with fewer rows are fitted as a whole unless a sample is asked for."""

_FEWEST, _PER_COORDINATE, _SHARE = 20_000, 150, 0.05  # rows of a sample
_WORTH_WHILE = 0.5  # of a table's rows; a larger sample saves too little
_FREE, _OPEN, _DETERMINED = 0, 1, 2  # kinds of cells; levels of discrete columns follow on the last

Kinds = list[Integers]
"""Rows of each kind, for every column."""


class Drawn(NamedTuple):
    """Some rows of a table, the chance that each had of being drawn, and their weights if the table's rows have any."""

    cells: Cells
    entry: Array
    chance: Array
    weights: Array | None = None


def rows_for_search(wanted: str | int | None, n_rows: int, n_coordinates: int) -> int | None:
    """On how many rows the search for an optimum begins; None if the table is not so large that it matters.

    Parameters
    ----------
    wanted : "auto", int or None
        A number is taken as it is, but for the number of rows there are; None means all rows.
    n_rows, n_coordinates : int
        The optimum of a sample of m rows lies about ``n_coordinates / (2 m)`` nats per row below that of the table.

    Examples
    --------
    >>> rows_for_search("auto", 50_000, 84), rows_for_search("auto", 1_000_000, 84), rows_for_search(None, 1_000_000, 84)
    (None, 50000, 1000000)
    """
    if isinstance(wanted, int | np.integer):
        return min(int(wanted), n_rows)
    if n_rows < MANY_ROWS:
        return None
    size = max(_FEWEST, _PER_COORDINATE * n_coordinates, int(_SHARE * n_rows))
    return n_rows if wanted is None or size > _WORTH_WHILE * n_rows else size


def count_kinds(cells: Cells) -> Kinds:
    """How many rows have each kind of cell, for every column.

    Examples
    --------
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Bernoulli, TruncatedGamma
    >>> layout = Layout([Bernoulli(), TruncatedGamma()], n_outcomes=1)
    >>> count_kinds(Cells.from_bounds(layout, [[1.0, 0.5], [0.0, 0.3], [0.0, 0.2]], [[1.0, 1.0], [0.0, 0.3], [0.0, 1.0]]))
    [array([0, 0, 2, 1]), array([0, 2, 1])]
    """
    return [np.bincount(kind, minlength=_n_kinds(block)) for block, kind in _kinds(cells)]


def merge_kinds(parts: Sequence[Kinds]) -> Kinds:
    """Counts of a table from those of its parts."""
    return [np.sum(columns, axis=0) for columns in zip(*parts, strict=True)]


def draw(cells: Cells, entry: Array, kinds: Kinds, size: int, seed: int, first: int = 0, weights: Array | None = None) -> Drawn:
    """Draw about ``size`` rows of a table, and up to as many again so that rare kinds are among them.

    Parameters
    ----------
    cells : Cells
        The table, or a part of it.
    entry : ndarray of shape (n_rows, n_outcomes)
        Entry times.
    kinds : list of ndarray
        Counts of the whole table.
    size : int
    seed : int
    first : int
        Number of the part's first row in the table.
    weights : ndarray of shape (n_rows,), optional
        Of the table's rows; they do not change the chances.
    """
    n_rows = int(kinds[0].sum())
    enough = max(1, size // sum(np.count_nonzero(counts) for counts in kinds))
    chance = np.full(cells.n_rows, min(1.0, size / n_rows))
    for counts, (_, kind) in zip(kinds, _kinds(cells), strict=True):
        np.maximum(chance, np.minimum(1.0, enough / np.maximum(counts, 1))[kind], out=chance)
    stream = np.random.PCG64(seed).advance(first)  # one number for each row of the table
    rows = np.flatnonzero(np.random.Generator(stream).random(cells.n_rows) < chance)
    return Drawn(cells.part(rows), entry[rows], chance[rows], None if weights is None else weights[rows])


def merge_drawn(parts: Sequence[Drawn]) -> Drawn:
    """Rows of several parts of a table, in order."""
    tables = [part.cells for part in parts]
    lower = tuple(np.concatenate(blocks) for blocks in zip(*(cells.lower for cells in tables), strict=True))
    upper = tuple(np.concatenate(blocks) for blocks in zip(*(cells.upper for cells in tables), strict=True))
    cells = replace(tables[0], lower=lower, upper=upper)
    return Drawn(cells, np.concatenate([part.entry for part in parts]), np.concatenate([part.chance for part in parts]))


def row_weights(chance: Array, n_rows: int) -> Array:
    """How many rows of the table each drawn row stands for: one if it was certain to be drawn, and as many as there are in all.

    Examples
    --------
    >>> row_weights(np.array([1.0, 0.5, 0.25]), 13)
    array([1., 4., 8.])
    """
    weights: Array = 1.0 / chance
    uncertain = chance < 1.0
    weights[uncertain] *= (n_rows - np.count_nonzero(~uncertain)) / max(float(weights[uncertain].sum()), 1e-300)
    return weights


def _n_kinds(block: Block) -> int:
    return _DETERMINED + 1 + (int(block.unit.domain[1]) if block.unit.discrete else 0)


def _kinds(cells: Cells) -> list[tuple[Block, Integers]]:
    """The kind of every cell, column by column."""
    out = []
    for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
        highest = block.unit.domain[1]
        for low, high in zip(lower.T, upper.T, strict=True):
            kind = np.full(low.size, _DETERMINED)
            kind[(low < high) & (high >= highest)] = _OPEN
            kind[np.isnan(low)] = _FREE
            if block.unit.discrete:
                level = (kind == _DETERMINED) & (low == high)
                kind[level] += low[level].astype(np.int64)
            out.append((block, kind))
    return out
