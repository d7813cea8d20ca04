"""Rows made ready for sums over few hidden states, which run over rows in their innermost loops.

With few states a loop over them costs more than its body. Rows therefore stand side by side, padded to whole blocks, statistics one row of
the array each. Two terms that differ in the outcomes only, as numerator and denominator of the conditional likelihood do, are two *sides*
of the same rows: the second has the covariates' statistics alone. A row has the factors of

* a *pattern*, its shared cells, whose product is found once for all rows that have them;
* cells of endpoints' tables. Those of a batch of rows are evaluated together, each distinct one once, in the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Layout
from harmonium.engine.assembly import Chunk, place_cells
from harmonium.engine.panels import Grid
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["CLOSED", "MIXED", "ROWS", "UNIFORM", "RowBlocks", "on_grid", "row_blocks"]

ROWS = 32
"""Rows of a block."""

CLOSED, UNIFORM, MIXED = 0, 1, 2
"""Kinds of blocks: nothing is unobserved; the same shared cells are, in all rows; anything else."""

_BATCH_NUMBERS = 32_768  # factors of one batch's cells, which should stay in the second cache
_LARGEST_BATCH = 256

Places = NDArray[np.int32]


class RowBlocks(NamedTuple):
    """Some rows; a multiple of :data:`ROWS`, of which those in excess have no weight.

    Attributes
    ----------
    kind : ndarray of shape (n_sides, n_blocks)
    row : ndarray of shape (n_blocks, ROWS)
        Which row of the piece each is, -1 if none.
    statistics : ndarray
        Of observed cells, (places, rows) for each batch of rows, one after the other.
    place : ndarray of shape (n_statistics + 1,)
        Where each statistic, and one that is always 1, is among the places. Outcomes come last; other places are zero.
    n_places, n_common : int
        Places, and those that both sides have; multiples of four.
    weights : ndarray of shape (n_sides, n_blocks, ROWS)
    pattern : ndarray of shape (n_sides, n_blocks, ROWS)
        0 is the pattern without cells.
    cells : ndarray of shape (n_sides, most_cells, n_blocks, ROWS)
        The cells of tables, -1 where a row has fewer.
    pattern_first, pattern_shared : ndarray
        The shared rows of each pattern.
    batch : int
        Blocks of a batch.
    batch_first : ndarray of shape (n_batches + 1,)
        Where each batch's cells begin.
    lower, upper : ndarray of shape (n_cells,)
        Bounds of the distinct cells of tables.
    column, whole, error, parts, part_row, part_error, part_length, part_weights : ndarray
        As in :class:`harmonium.engine.assembly.Chunk`, for distinct cells.
    """

    kind: Places
    row: Integers
    statistics: Array
    place: Integers
    n_places: int
    n_common: int
    weights: Array
    pattern: Places
    cells: Places
    pattern_first: Integers
    pattern_shared: Integers
    batch: int
    batch_first: Integers
    lower: Array
    upper: Array
    column: Integers
    whole: Integers
    error: Integers
    parts: Integers
    part_row: Integers
    part_error: Integers
    part_length: Array
    part_weights: Array

    @property
    def n_bytes(self) -> int:
        """Memory taken."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))


@compiled()
def _number_patterns(first_cell: Integers, shared: Integers, keys: Integers, first: Integers, members: Integers, out: Places) -> int:
    """Number the combinations of shared cells that rows have; returns how many there are. ``keys`` is working memory."""
    n_patterns, keys[0], first[0], first[1] = 1, 0, 0, 0
    for row in range(out.size):
        key, n = np.int64(0), 0
        for cell in range(first_cell[row], first_cell[row + 1]):
            if shared[cell] >= 0:
                key = key * np.int64(1_000_003) + shared[cell] + 1
                n += 1
        found = -1
        for pattern in range(n_patterns):
            if keys[pattern] == key and first[pattern + 1] - first[pattern] == n:
                k, same = first[pattern], True
                for cell in range(first_cell[row], first_cell[row + 1]):
                    if shared[cell] >= 0:
                        same = same and members[k] == shared[cell]
                        k += 1
                if same:
                    found = pattern
                    break
        if found < 0:
            found = n_patterns
            k = first[n_patterns]
            for cell in range(first_cell[row], first_cell[row + 1]):
                if shared[cell] >= 0:
                    members[k] = shared[cell]
                    k += 1
            keys[n_patterns] = key
            n_patterns += 1
            first[n_patterns] = k
        out[row] = found
    return n_patterns


def row_blocks(layout: Layout, chunks: Sequence[Chunk], bounds: Sequence[tuple[Array, Array]], weights: Array, n_hidden: int) -> RowBlocks:
    """Lay out one chunk or, if the rows of two differ in their outcomes only, both; in an order that does not depend on the grid."""
    n_sides, n_rows = weights.shape
    n, batch = -(-n_rows // ROWS) * ROWS, min(max(_BATCH_NUMBERS >> n_hidden, ROWS), _LARGEST_BATCH)
    first_cell, shared, column, whole, error, parts = _joined(chunks)
    patterns, pattern_first, members = _patterns(first_cell, shared, n_sides)
    tabulated = np.flatnonzero(shared < 0)
    mass = np.repeat(np.arange(n_sides * n_rows), np.diff(first_cell))[tabulated]  # numerators' rows, then denominators'
    n_cells = np.bincount(mass, minlength=n_sides * n_rows)
    known = [np.concatenate(side)[mass, column[tabulated]] for side in zip(*bounds, strict=True)]
    first_lower, first_column = np.full(n_sides * n_rows, -1.0), np.full(n_sides * n_rows, -1)
    first_lower[mass[::-1]], first_column[mass[::-1]] = known[0][::-1], column[tabulated[::-1]]
    order = np.lexsort((first_lower[:n_rows], first_column[:n_rows], n_cells[:n_rows] > 0, *patterns))
    rank = np.argsort(order)
    of_batch = rank[mass % n_rows] // batch
    chosen, number = _distinct(np.stack([of_batch, column[tabulated], *known]))
    cells = np.full((n_sides, int(n_cells.max(initial=0)), n), -1, np.int32)
    cells[mass // n_rows, np.arange(mass.size) - (np.cumsum(n_cells) - n_cells)[mass], rank[mass % n_rows]] = number
    by_row = np.zeros((n_sides, n), np.int32)
    by_row[:, :n_rows], by_row[:, n_rows:] = patterns[:, order], patterns[:, order[-1:]]
    blocks = (n // ROWS, ROWS)
    same = (by_row.reshape(-1, *blocks) == by_row.reshape(-1, *blocks)[:, :, :1]).all(axis=2)
    no_cells = (cells < 0).reshape(n_sides, -1, *blocks).all(axis=(1, 3))
    nothing = by_row.reshape(-1, *blocks)[:, :, 0] == 0
    distinct = tabulated[chosen]
    own_parts, part_row, part_error, part_length, part_weights = _own_parts(chunks, parts[distinct])
    own_weights = np.zeros((n_sides, n))  # in the usual order in memory, as kernels are compiled for every one
    own_weights[:, :n_rows] = weights[:, order]
    return RowBlocks(
        np.where(same & no_cells, np.where(nothing, CLOSED, UNIFORM), MIXED).astype(np.int32),
        np.concatenate([order, np.full(n - n_rows, -1)]).reshape(blocks),
        *_placed(layout, chunks, order, n, batch),
        own_weights.reshape(n_sides, *blocks),
        by_row.reshape(n_sides, *blocks),
        cells.reshape(*cells.shape[:2], *blocks),
        pattern_first,
        members,
        batch // ROWS,
        np.searchsorted(of_batch[chosen], np.arange(-(-n // batch) + 1)),
        known[0][chosen],
        known[1][chosen],
        column[distinct],
        whole[distinct],
        error[distinct],
        own_parts,
        part_row,
        part_error,
        part_length,
        part_weights,
    )


def on_grid(rows: RowBlocks, grid: Grid, table_row: Integers, error_row: Integers) -> RowBlocks:
    """The same rows, in the same order, with tables on another grid."""
    cells = place_cells(rows.column, rows.lower, rows.upper, grid, table_row, error_row)
    return rows._replace(**cells._asdict())


def _patterns(first_cell: Integers, shared: Integers, n_sides: int) -> tuple[Places, Integers, Integers]:
    """The pattern of each row (sides, rows), and the shared rows of each pattern."""
    n = first_cell.size - 1
    patterns, first, members = np.empty(n, np.int32), np.empty(n + 2, np.int64), np.empty(np.count_nonzero(shared >= 0), np.int64)
    n_patterns = _number_patterns(first_cell, shared, np.empty(n + 1, np.int64), first, members, patterns)
    return patterns.reshape(n_sides, -1), first[: n_patterns + 1].copy(), members[: first[n_patterns]].copy()


def _distinct(keys: Array) -> tuple[Integers, Places]:
    """Of columns of numbers, the first of each distinct kind in ascending order, and which kind each is."""
    order = np.lexsort(keys[::-1])
    begins = np.ones(order.size, bool)
    begins[1:] = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
    number = np.empty(order.size, np.int32)
    number[order] = np.cumsum(begins) - 1
    return order[begins], number


def _joined(chunks: Sequence[Chunk]) -> tuple[Integers, ...]:
    """The cells of several chunks, one after the other."""
    n_cells, n_parts = np.cumsum([0, *(chunk.shared.size for chunk in chunks)]), np.cumsum([0, *(chunk.part_row.size for chunk in chunks)])
    first = [chunk.first_cell[:-1] + start for chunk, start in zip(chunks, n_cells[:-1], strict=True)]
    parts = [np.where(chunk.parts >= 0, chunk.parts + start, -1) for chunk, start in zip(chunks, n_parts[:-1], strict=True)]
    shared, column, whole, error = _concatenated(chunks, "shared", "column", "whole", "error")
    return np.concatenate([*first, n_cells[-1:]]), shared, column, whole, error, np.concatenate(parts)


def _concatenated(chunks: Sequence[Chunk], *names: str) -> list[Any]:
    """Arrays of several chunks, one after the other."""
    return [np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in names]


def _own_parts(chunks: Sequence[Chunk], parts: Integers) -> tuple[Integers, Integers, Integers, Array, Array]:
    """The parts that some cells need, in the cells' order, with their new numbers."""
    used = parts[parts >= 0]
    numbers = np.full(parts.shape, -1)
    numbers[parts >= 0] = np.arange(used.size)
    row, error, length, weights = _concatenated(chunks, "part_row", "part_error", "part_length", "part_weights")
    return numbers, row[used], error[used], length[used], weights[used]


def _placed(layout: Layout, chunks: Sequence[Chunk], order: Integers, n: int, batch: int) -> tuple[Array, Integers, int, int]:
    """Statistics by place, where each statistic is, how many places there are, and how many both sides have."""
    n_statistics = layout.n_statistics
    first = layout.outcome_statistics.start if len(chunks) > 1 else n_statistics
    n_common = _up_to_fours(first + 1)
    n_places = n_common + _up_to_fours(n_statistics - first)
    place = np.concatenate([np.arange(first), n_common + np.arange(n_statistics - first), [first]])
    out = np.zeros((n_places, n))
    out[place[:-1], : order.size] = chunks[0].statistics[order].T
    out[first, : order.size] = 1.0
    by_batch = np.concatenate([out[:, start : start + batch].ravel() for start in range(0, n, batch)])
    return by_batch, place, n_places, n_common


def _up_to_fours(n: int) -> int:
    return -(-n // 4) * 4
