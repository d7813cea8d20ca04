"""Turning rows of cells into what the sum over states needs.

Observed cells become statistics, which enter linearly. Every unobserved cell becomes a factor for each hidden state, and is
written down as where that factor is found: in a *shared* row, when the same cell stands in many rows (a free cell, a repeated
interval), or as a combination of rows of an endpoint's table (:mod:`harmonium.engine.panels`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.panels import NODES, Grid, part_of_panel
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.registry import write_statistics

__all__ = ["Chunk", "Sharing", "TableCells", "assemble", "place_cells"]

_UNRESOLVED = -2  # an interval on a column without a table, whose shared row is looked up after compiled code


class Chunk(NamedTuple):
    """Some rows, assembled. A cell of an endpoint's table is the sum of up to two parts of panels and some whole rows.

    Attributes
    ----------
    statistics : ndarray of shape (n_rows, n_statistics)
        Of observed cells; zero where not observed.
    first_cell : ndarray of shape (n_rows + 1,)
        Where each row's unobserved cells begin.
    shared : ndarray of shape (n_cells,)
        The cell's shared row, or -1.
    column : ndarray of shape (n_cells,)
        The cell's column.
    parts : ndarray of shape (n_cells, 2)
        Up to two parts of panels, or -1.
    whole : ndarray of shape (n_cells, 2)
        First whole row and how many.
    error : ndarray of shape (n_cells,)
        Row of the error table for the whole rows, or -1.
    part_row, part_error : ndarray of shape (n_parts,)
        First node row and error row of each part.
    part_length : ndarray of shape (n_parts,)
        Its length in ln x.
    part_weights : ndarray of shape (n_parts, NODES)
        Weights of its panel's nodes.
    """

    statistics: Array
    first_cell: Integers
    shared: Integers
    column: Integers
    parts: Integers
    whole: Integers
    error: Integers
    part_row: Integers
    part_error: Integers
    part_length: Array
    part_weights: Array

    @property
    def n_bytes(self) -> int:
        """Memory taken."""
        return sum(array.nbytes for array in self)


class TableCells(NamedTuple):
    """Where the factors of cells of endpoints' tables are found; as in :class:`Chunk`."""

    whole: Integers
    error: Integers
    parts: Integers
    part_row: Integers
    part_error: Integers
    part_length: Array
    part_weights: Array


class _Room(NamedTuple):
    """Working memory for the parts of one cell."""

    means: Array
    weights: Array
    lengths: Array


@dataclass(frozen=True)
class Sharing:
    """Which cells have shared rows.

    Attributes
    ----------
    free_row : ndarray of shape (n_columns,)
        The shared row of a free cell of each column.
    interval_row : dict
        (column, lower, upper) to shared row, for intervals on columns without a table.
    """

    free_row: Integers
    interval_row: dict[tuple[int, float, float], int]


@compiled()
def _is_free(lower: float, upper: float, lowest: float, highest: float) -> bool:
    return np.isnan(lower) or (lower <= lowest and upper >= highest)


@compiled()
def _count(lower: Array, upper: Array, domain: Array, tabulated: Booleans) -> tuple[int, int]:
    """Unobserved cells, and how many parts of panels they can need."""
    n_cells = n_parts = 0
    for row in range(lower.shape[0]):
        for column in range(lower.shape[1]):
            low, high = lower[row, column], upper[row, column]
            if low != high:
                n_cells += 1
                if tabulated[column] and not _is_free(low, high, domain[column, 0], domain[column, 1]):
                    n_parts += 1 if low <= domain[column, 0] or high >= domain[column, 1] else 2
    return n_cells, n_parts


@compiled()
def _split_interval(
    lower: float, upper: float, edges: Array, half_widths: Array, means: Array, weights: Array, lengths: Array
) -> tuple[int, int, int, int]:
    """Cut (lower, upper] at panel edges: (panel of a first part or -1, first whole panel, end of whole panels, last part or -1)."""
    n_panels = half_widths.size
    first = min(int(np.searchsorted(edges, lower, side="right")) - 1, n_panels - 1) if lower > 0.0 else -1
    last = int(np.searchsorted(edges, upper, side="left")) - 1 if upper < 1.0 else n_panels
    if first == last:
        lengths[0] = part_of_panel(edges, half_widths, first, lower, upper, means, weights, 0)
        return first, first + 1, first + 1, -1
    begin = 0
    first_part = -1
    if first >= 0:
        begin = first
        if lower > edges[first]:
            first_part = first
            lengths[0] = part_of_panel(edges, half_widths, first, lower, edges[first + 1], means, weights, 0)
            begin = first + 1
    end = last
    last_part = -1
    if last < n_panels:
        if upper < edges[last + 1]:
            last_part = last
            lengths[1] = part_of_panel(edges, half_widths, last, edges[last], upper, means, weights, 1)
        else:
            end = last + 1
    return first_part, begin, end, last_part


@compiled()
def _place_cell(
    bounds: tuple[float, float],
    starts: tuple[int, int],
    edges: Array,
    half_widths: Array,
    room: _Room,
    cell: int,
    part: int,
    out: TableCells,
) -> int:
    """Write down where the factor of a tabulated cell is found; ``starts`` of its column's table and error table. Returns the next part."""
    whole, error, parts, part_row, part_error, part_length, part_weights = out
    n_panels, rows, errors = half_widths.size, starts[0], starts[1]
    first, begin, end, last = _split_interval(
        max(bounds[0], 0.0), min(bounds[1], 1.0), edges, half_widths, room.means, room.weights, room.lengths
    )
    for side in range(2):
        panel = first if side == 0 else last
        if panel >= 0:
            parts[cell, side] = part
            part_row[part] = rows + NODES * panel
            part_error[part] = errors + panel
            part_length[part] = room.lengths[side]
            part_weights[part] = room.weights[side]
            part += 1
    if end == n_panels and begin < end:
        whole[cell, 0], whole[cell, 1] = rows + (NODES + 1) * n_panels + begin, 1
    elif begin < end:
        whole[cell, 0], whole[cell, 1] = rows + NODES * n_panels + begin, end - begin
    if begin < end:
        error[cell] = errors + n_panels + begin
    return part


@compiled()
def _place_cells(
    column: Integers,
    lower: Array,
    upper: Array,
    table_row: Integers,
    error_row: Integers,
    edges: Array,
    half_widths: Array,
    out: TableCells,
) -> int:
    """Fill the arrays of some tabulated cells; returns the number of parts used."""
    room, part = _Room(np.empty(NODES), np.empty((2, NODES)), np.empty(2)), 0
    for cell in range(column.size):
        starts = (table_row[column[cell]], error_row[column[cell]])
        part = _place_cell((lower[cell], upper[cell]), starts, edges, half_widths, room, cell, part, out)
    return part


def place_cells(column: Integers, lower: Array, upper: Array, grid: Grid, table_row: Integers, error_row: Integers) -> TableCells:
    """Where the factors of some tabulated cells are found, given their columns and bounds."""
    n = column.size
    out = TableCells(
        whole=np.zeros((n, 2), np.int64),
        error=np.full(n, -1, np.int64),
        parts=np.full((n, 2), -1, np.int64),
        part_row=np.empty(2 * n, np.int64),
        part_error=np.empty(2 * n, np.int64),
        part_length=np.empty(2 * n),
        part_weights=np.empty((2 * n, NODES)),
    )
    used = _place_cells(column, lower, upper, table_row, error_row, grid.edges, grid.half_widths, out)
    return out._replace(**{name: array[:used] for name, array in out._asdict().items() if name.startswith("part_")})


@compiled()
def _write_observed(lower: Array, upper: Array, codes: Integers, offsets: Integers, statistics: Array) -> None:
    """Statistics of observed values, 0 elsewhere, as (rows, statistics)."""
    x = np.empty(lower.shape[0])
    for column in range(codes.size):
        for row in range(x.size):
            x[row] = lower[row, column] if lower[row, column] == upper[row, column] else 1.0
        write_statistics(codes[column], x, statistics.T, offsets[column], offsets[column + 1])
        for row in range(x.size):
            if lower[row, column] != upper[row, column]:
                for d in range(offsets[column], offsets[column + 1]):
                    statistics[row, d] = 0.0


@compiled()
def _assemble(
    lower: Array,
    upper: Array,
    codes: Integers,
    offsets: Integers,
    domain: Array,
    table_row: Integers,
    error_row: Integers,
    free_row: Integers,
    edges: Array,
    half_widths: Array,
    chunk: Chunk,
) -> int:
    """Fill the arrays of a chunk; returns the number of parts used."""
    # Names of their own: taking an array out of a tuple inside the loop costs as much as the work there.
    statistics, first_cell, shared, columns, parts, whole, error, part_row, part_error, part_length, part_weights = chunk
    table_cells = TableCells(whole, error, parts, part_row, part_error, part_length, part_weights)
    room = _Room(np.empty(NODES), np.empty((2, NODES)), np.empty(2))
    cell = part = 0
    _write_observed(lower, upper, codes, offsets, statistics)
    for row in range(lower.shape[0]):
        first_cell[row] = cell
        for column in range(lower.shape[1]):
            low, high = lower[row, column], upper[row, column]
            if low == high:
                continue
            shared[cell] = -1
            columns[cell] = column
            parts[cell, 0] = parts[cell, 1] = -1
            whole[cell, 0] = whole[cell, 1] = 0
            error[cell] = -1
            if _is_free(low, high, domain[column, 0], domain[column, 1]):
                shared[cell] = free_row[column]
            elif table_row[column] < 0:
                shared[cell] = _UNRESOLVED
                whole[cell, 0] = row
            else:
                starts = (table_row[column], error_row[column])
                part = _place_cell((low, high), starts, edges, half_widths, room, cell, part, table_cells)
            cell += 1
    first_cell[lower.shape[0]] = cell
    return part


def assemble(layout: Layout, lower: Array, upper: Array, grid: Grid, table_row: Integers, error_row: Integers, sharing: Sharing) -> Chunk:
    """Assemble rows of cells.

    ``table_row`` and ``error_row`` say where each column's table begins among all table rows (-1: it has none).
    """
    lower, upper = np.ascontiguousarray(lower), np.ascontiguousarray(upper)  # kernels are compiled for every order in memory
    n_cells, n_parts = _count(lower, upper, layout.domains, layout.tabulated)
    integers = np.int64
    chunk = Chunk(
        statistics=np.zeros((lower.shape[0], layout.n_statistics)),
        first_cell=np.empty(lower.shape[0] + 1, integers),
        shared=np.empty(n_cells, integers),
        column=np.empty(n_cells, integers),
        parts=np.empty((n_cells, 2), integers),
        whole=np.empty((n_cells, 2), integers),
        error=np.empty(n_cells, integers),
        part_row=np.empty(n_parts, integers),
        part_error=np.empty(n_parts, integers),
        part_length=np.empty(n_parts),
        part_weights=np.empty((n_parts, NODES)),
    )
    used = _assemble(
        lower,
        upper,
        layout.codes,
        layout.offsets,
        layout.domains,
        table_row,
        error_row,
        sharing.free_row,
        grid.edges,
        grid.half_widths,
        chunk,
    )
    for cell in np.flatnonzero(chunk.shared == _UNRESOLVED):
        row, column = int(chunk.whole[cell, 0]), int(chunk.column[cell])
        chunk.shared[cell] = sharing.interval_row[column, float(lower[row, column]), float(upper[row, column])]
    return chunk._replace(**{name: array[:used] for name, array in chunk._asdict().items() if name.startswith("part_")})
