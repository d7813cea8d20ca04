"""What a sum of log masses knows before it sees any parameters: its terms, cut into pieces, and their rows made ready for one grid."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.assembly import Chunk, assemble
from harmonium.engine.factors import FactorPlan
from harmonium.engine.one_strip import Strip, strip_of
from harmonium.engine.panels import Grid
from harmonium.engine.row_blocks import RowBlocks, on_grid, row_blocks
from harmonium.engine.state_sum import INACCURATE
from harmonium.typing import Array, Integers

__all__ = ["Piece", "Prepared", "Term", "Unrepresented", "cut_into_pieces", "cut_into_strips", "merged"]

_CHUNK_ROWS = 2048
_ROWS_TO_LOOK_AT, _FEW_ENOUGH = 2000, 0.8  # equal rows are sought in all of a table if so many of these are distinct, at most
_KEPT_BYTES = 512_000_000  # assembled chunks of one sum are kept up to this much memory; beyond, they are assembled at every use
_KEPT_BY_ALL = 1_500_000_000  # the same of all sums in a process: a worker of a cluster has one for each of its partitions


@dataclass(frozen=True)
class Term:
    """A table of cells and the weights with which its rows' log masses enter a sum.

    Parameters
    ----------
    cells : Cells
    weights : ndarray of shape (n_rows,)
        Of any sign.
    """

    cells: Cells
    weights: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        if self.weights.shape != (self.cells.n_rows,):
            raise ValueError(f"a term needs one weight per row, {self.cells.n_rows}; found shape {self.weights.shape}")

    @classmethod
    def uniform(cls, cells: Cells, weight: float) -> Term:
        """Every row with the same weight."""
        return cls(cells, np.broadcast_to(np.float64(weight), (cells.n_rows,)))

    def distinct(self) -> Term:
        """The same sum with equal rows taken together, where a look at some of the rows says that this is worth while.

        Tables of categories, and the denominators of training on them, have few distinct rows.

        Examples
        --------
        >>> from harmonium.cells import Layout
        >>> from harmonium.units import Bernoulli
        >>> cells = Cells.from_bounds(Layout([Bernoulli()]), [[1.0], [0.0], [1.0]])
        >>> Term.uniform(cells, 1.0).distinct().weights
        array([1., 2.])
        """
        n_rows = self.cells.n_rows
        look = self.cells.part(slice(0, _ROWS_TO_LOOK_AT))
        if n_rows < 2 or len(_distinct_rows(look)[0]) > _FEW_ENOUGH * look.n_rows:
            return self
        first, place = _distinct_rows(self.cells)
        weights = np.bincount(place, weights=self.weights, minlength=first.size)
        return Term(self.cells.part(first), np.asarray(weights, dtype=np.float64))


def _distinct_rows(cells: Cells) -> tuple[Integers, Integers]:
    """The first row of each distinct kind, and which kind each row is."""
    table = np.ascontiguousarray(np.concatenate(cells.bounds(), axis=1))
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


@dataclass(frozen=True)
class Piece:
    """Rows start to stop of a term."""

    term: Term
    start: int
    stop: int

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.stop - self.start

    @property
    def weights(self) -> Array:
        """Of its rows."""
        return np.array(self.term.weights[self.start : self.stop])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Of its rows' cells."""
        return self.term.cells.bounds(slice(self.start, self.stop))


@dataclass(frozen=True)
class Unrepresented:
    """Flags of a piece's rows, some of which the tables cannot represent."""

    piece: Piece
    flag: NDArray[np.int8]

    @property
    def n_inaccurate(self) -> int:
        """Rows that a finer grid could represent."""
        return int(np.count_nonzero(self.flag == INACCURATE))


@dataclass
class _Kept:
    """How many bytes are kept."""

    n_bytes: int = 0


_BY_ALL = _Kept()


def _give_back(own: _Kept) -> None:
    """Of a sum that is no more."""
    _BY_ALL.n_bytes -= own.n_bytes


class Prepared:
    """Everything about the cells that does not depend on the parameters, for one grid. Shared by threads; only rows are added.

    Parameters
    ----------
    pieces : list of Piece
        All rows.
    strips : list of tuple of Piece
        All rows again; two pieces side by side where their rows differ in the outcomes only.
    plan : FactorPlan
    before : dict, optional
        Rows of strips that were laid out for another grid, by strip and number of hidden units; they are used up.
    """

    def __init__(
        self,
        pieces: list[Piece],
        strips: list[tuple[Piece, ...]],
        plan: FactorPlan,
        before: dict[tuple[int, ...], RowBlocks] | None = None,
    ) -> None:
        self.pieces = pieces
        self.strips = strips
        self.plan = plan
        self.n_uses = 0
        self._kept: dict[tuple[int, ...], Any] = {}
        self._bytes = _Kept()
        weakref.finalize(self, _give_back, self._bytes)
        self._before = before or {}
        self._strips: dict[int, Strip] = {}

    def on(self, grid: Grid) -> Prepared:
        """The same on another grid."""
        laid_out = self._before | {key: rows for key, rows in self._kept.items() if isinstance(rows, RowBlocks)}
        return Prepared(self.pieces, self.strips, self.plan.on(grid), laid_out)

    def reweigh(self) -> None:
        """Take over the weights of all terms after these have changed; the layout of the rows stays."""
        for (number, _), rows in [item for held in (self._kept, self._before) for item in held.items() if len(item[0]) == 2]:
            weights = np.stack([piece.weights for piece in self.strips[number]])
            n_rows = weights.shape[1]
            rows.weights.reshape(len(weights), -1)[:, :n_rows] = weights[:, rows.row.ravel()[:n_rows]]

    def chunk(self, number: int) -> Chunk:
        """The assembled rows of a piece, kept while memory allows."""
        chunk: Chunk = self._kept_or_made((number,), lambda: self._assembled(self.pieces[number]))
        return chunk

    def row_blocks(self, number: int, n_hidden: int) -> RowBlocks:
        """The rows of a strip laid out for few hidden states, kept while memory allows."""
        rows: RowBlocks = self._kept_or_made((number, n_hidden), lambda: self._laid_out(number, n_hidden))
        return rows

    def strip(self, n_hidden: int) -> Strip:
        """The first strip for compiled code that does all of the work, kept as long as its rows are."""
        found = self._strips.get(n_hidden)
        if found is None:
            found = strip_of(self.plan, self.row_blocks(0, n_hidden))
            if (0, n_hidden) in self._kept:
                self._strips[n_hidden] = found
        return found

    def _kept_or_made(self, key: tuple[int, ...], make: Callable[[], Any]) -> Any:
        found = self._kept.get(key)
        if found is None:
            found = make()
            if self._bytes.n_bytes + found.n_bytes <= _KEPT_BYTES and _BY_ALL.n_bytes + found.n_bytes <= _KEPT_BY_ALL:
                self._bytes.n_bytes += found.n_bytes
                _BY_ALL.n_bytes += found.n_bytes
                self._kept[key] = found
        return found

    def _assembled(self, piece: Piece) -> Chunk:
        plan = self.plan
        return assemble(plan.layout, *piece.bounds, plan.grid, plan.table_row, plan.error_row, plan.sharing)

    def _laid_out(self, number: int, n_hidden: int) -> RowBlocks:
        strip, before = self.strips[number], self._before.pop((number, n_hidden), None)
        if before is not None:
            return on_grid(before, self.plan.grid, self.plan.table_row, self.plan.error_row)
        chunks, bounds = [self._assembled(piece) for piece in strip], [piece.bounds for piece in strip]
        return row_blocks(self.plan.layout, chunks, bounds, np.stack([piece.weights for piece in strip]), n_hidden)


def merged(terms: Sequence[Term]) -> list[Term]:
    """Small terms as one, which saves calls; large ones as they are."""
    if len(terms) < 2 or sum(term.cells.n_rows for term in terms) > _CHUNK_ROWS:
        return list(terms)
    lower, upper = zip(*(term.cells.bounds() for term in terms), strict=True)
    layout = terms[0].cells.layout
    low, high = np.concatenate(lower), np.concatenate(upper)
    parts = [tuple(bounds[:, block.columns] for block in layout.blocks) for bounds in (low, high)]
    return [Term(Cells(layout, parts[0], parts[1]), np.concatenate([term.weights for term in terms]))]


def cut_into_pieces(terms: Sequence[Term]) -> list[Piece]:
    """Rows in pieces that are worked on at once."""
    return [
        Piece(term, start, min(start + _CHUNK_ROWS, term.cells.n_rows))
        for term in terms
        for start in range(0, term.cells.n_rows, _CHUNK_ROWS)
    ]


def cut_into_strips(terms: Sequence[Term]) -> list[tuple[Piece, ...]]:
    """Rows in pieces, two of them side by side where terms have the same covariates, as numerator and denominator of training do."""
    left, strips = list(terms), []
    while left:
        first = left.pop(0)
        second = next((term for term in left if _differ_in_outcomes_only(first.cells, term.cells)), None)
        if second is not None:
            left = [term for term in left if term is not second]
            strips += list(zip(cut_into_pieces([first]), cut_into_pieces([second]), strict=True))
    paired = {id(piece.term) for strip in strips for piece in strip}
    others = merged([term for term in terms if id(term) not in paired])
    return strips + [(piece,) for piece in cut_into_pieces(others)]


def _differ_in_outcomes_only(recorded: Cells, other: Cells) -> bool:
    """Whether tables share the arrays of their covariates, and the second has no outcomes that were observed.

    Without covariates, rows are equal as soon as their outcomes are free, and the second table may have fewer.
    """
    layout = recorded.layout
    pairs = zip(layout.blocks, recorded.lower, other.lower, recorded.upper, other.upper, strict=True)
    return (
        bool(layout.n_outcomes)
        and recorded.n_rows == other.n_rows
        and all(
            not (low == high).any() if block.outcome else old_low is low and old_high is high
            for block, old_low, low, old_high, high in pairs
        )
    )
