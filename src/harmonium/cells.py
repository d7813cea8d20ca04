"""Cells: what is known about every value of a table.

A cell is a **point** (the value was observed), an **interval** (lower, upper] (a censored time: the value lies in there) or
**free** (nothing is known). Censoring and missingness are the same thing; both are integrated out (docs/model.md, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.errors import first_offender
from harmonium.typing import Array
from harmonium.units.contract import Unit
from harmonium.units.registry import unit_code

__all__ = ["Block", "Cells", "Layout"]


_SMALLEST_BOUND = 1e-200  # of an event time; below, ln x leaves the range in which integrals are tabulated


@dataclass(frozen=True)
class Block:
    """Neighbouring columns of equal unit: their place among the columns and among the statistics."""

    unit: Unit
    columns: slice
    statistics: slice

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return int(self.columns.stop) - int(self.columns.start)


@dataclass(frozen=True)
class Layout:
    """The units of a table's columns, in order; neighbours of equal unit form a block.

    Parameters
    ----------
    units : sequence of Unit
        One for each column.

    Examples
    --------
    >>> from harmonium.units import Bernoulli, TruncatedGamma
    >>> layout = Layout([Bernoulli(), TruncatedGamma(), TruncatedGamma()])
    >>> [block.n_columns for block in layout.blocks]
    [1, 2]
    >>> layout.n_statistics
    5
    """

    units: Sequence[Unit]

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", tuple(self.units))
        for unit in self.units:
            if isinstance(unit, type) or not hasattr(unit, "log_mass"):
                raise TypeError(f"a layout is made of units such as TruncatedGamma(); found {unit!r}")

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return len(self.units)

    @property
    def n_statistics(self) -> int:
        """How many statistics all columns have together."""
        return int(self.offsets[-1])

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each column's statistics begin, and where the last one's end."""
        return np.concatenate([[0], np.cumsum([unit.n_statistics for unit in self.units], dtype=np.int64)]).astype(np.int64)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The columns' units as compiled code knows them."""
        return np.array([unit_code(unit) for unit in self.units], dtype=np.int64)

    @cached_property
    def domains(self) -> Array:
        """The units' domains, (columns, 2)."""
        return np.array([unit.domain for unit in self.units], dtype=np.float64).reshape(-1, 2)

    @cached_property
    def tabulated(self) -> NDArray[np.bool_]:
        """Which columns share their integrals on a grid."""
        return np.array([unit.tabulated for unit in self.units], dtype=np.bool_)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns grouped into neighbours of equal unit."""
        blocks, start = [], 0
        for unit, group in groupby(self.units):
            stop = start + len(list(group))
            blocks.append(Block(unit, slice(start, stop), slice(int(self.offsets[start]), int(self.offsets[stop]))))
            start = stop
        return tuple(blocks)


@dataclass(frozen=True)
class Cells:
    """A table of cells, stored block by block so that a part of it can be replaced without copying the rest.

    Use :meth:`from_bounds` or :meth:`all_free` to make one.
    """

    layout: Layout
    lower: tuple[Array, ...]
    upper: tuple[Array, ...]

    @classmethod
    def from_bounds(cls, layout: Layout, lower: ArrayLike, upper: ArrayLike | None = None) -> Cells:
        """Cells from two (rows, columns) arrays, checked.

        Parameters
        ----------
        layout : Layout
            The columns' units.
        lower, upper : array_like of shape (n_rows, n_columns)
            Equal: a point. lower < upper: the interval (lower, upper]. NaN: free. Without ``upper`` the cells are points or free.
            Not copied: do not change them afterwards.

        Examples
        --------
        >>> from harmonium.units import Bernoulli, TruncatedGamma
        >>> nan = float("nan")
        >>> cells = Cells.from_bounds(Layout([Bernoulli(), TruncatedGamma()]), [[1, 0.5], [nan, 0.3]], [[1, 0.5], [nan, 1.0]])
        >>> cells.n_rows
        2
        """
        low = np.asarray(lower, dtype=np.float64)
        high = low if upper is None else np.asarray(upper, dtype=np.float64)
        if low.ndim != 2 or low.shape[1] != layout.n_columns or high.shape != low.shape:
            raise ValueError(
                f"lower and upper must be tables with {layout.n_columns} columns each; found shapes {low.shape} and {high.shape}"
            )
        for block in layout.blocks:
            _check(block, low[:, block.columns], high[:, block.columns])
        lowers = tuple(low[:, block.columns] for block in layout.blocks)
        return cls(layout, lowers, lowers if upper is None else tuple(high[:, block.columns] for block in layout.blocks))

    @classmethod
    def all_free(cls, layout: Layout, n_rows: int = 1) -> Cells:
        """Cells about which nothing is known; the log mass of such a row is ln Z. Takes no memory."""
        nothing = tuple(_free(n_rows, block) for block in layout.blocks)
        return cls(layout, nothing, nothing)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.lower[0].shape[0] if self.lower else 0

    def freeing(self, name: str) -> Cells:
        """The same cells with every column of the units called ``name`` free; the other columns are not copied."""
        names = {block.unit.name for block in self.layout.blocks}
        if name not in names:
            raise ValueError(f"no unit of the layout is called {name!r}; there are {', '.join(sorted(names))}")
        nothing = [_free(self.n_rows, block) for block in self.layout.blocks]
        chosen = [block.unit.name == name for block in self.layout.blocks]
        return replace(
            self,
            lower=tuple(n if c else old for c, n, old in zip(chosen, nothing, self.lower, strict=True)),
            upper=tuple(n if c else old for c, n, old in zip(chosen, nothing, self.upper, strict=True)),
        )

    def part(self, rows: slice | NDArray[np.int64]) -> Cells:
        """The cells of some rows; a slice copies nothing."""
        return replace(self, lower=tuple(part[rows] for part in self.lower), upper=tuple(part[rows] for part in self.upper))

    def column(self, column: int) -> tuple[Array, Array]:
        """Bounds of one column, NaN where nothing is known."""
        for block, lower, upper in zip(self.layout.blocks, self.lower, self.upper, strict=True):
            if block.columns.start <= column < block.columns.stop:
                return lower[:, column - block.columns.start], upper[:, column - block.columns.start]
        raise IndexError(f"there is no column {column}; the layout has {self.layout.n_columns}")

    def bounds(self, rows: slice | NDArray[np.int64] = slice(None)) -> tuple[Array, Array]:
        """Two contiguous (rows, columns) arrays of the chosen rows."""
        return _beside(self.lower, rows), _beside(self.upper, rows)


def _beside(parts: tuple[Array, ...], rows: slice | NDArray[np.int64]) -> Array:
    return np.concatenate([part[rows] for part in parts], axis=1)


def _free(n_rows: int, block: Block) -> Array:
    return np.broadcast_to(np.nan, (n_rows, block.n_columns))


def _check(block: Block, lower: Array, upper: Array) -> None:
    """Refuse bounds that no value of the unit can satisfy."""
    lowest, highest = block.unit.domain
    free = np.isnan(lower) & np.isnan(upper)
    _refuse(block, np.isnan(lower) != np.isnan(upper), lower, upper, "both bounds or neither must be NaN")
    _refuse(block, ~free & ~(lower <= upper), lower, upper, "lower must not exceed upper")
    point = lower == upper
    _refuse(block, point & ~np.isfinite(lower), lower, upper, "an observed value must be finite")
    outside = point & ~((lower > lowest) & (lower <= highest))
    _refuse(block, outside, lower, upper, f"an observed value must lie in ({lowest:g}, {highest:g}]")
    if block.unit.discrete:
        _refuse(block, point & (lower != np.round(lower)), lower, upper, "an observed level must be a whole number")
        _refuse(block, ~free & ~point & ~(np.floor(upper) > np.maximum(lower, -1.0)), lower, upper, "no level lies in the interval")
    if block.unit.tabulated:
        tiny = ~free & (((lower > 0.0) & (lower < _SMALLEST_BOUND)) | ((upper > 0.0) & (upper < _SMALLEST_BOUND)))
        _refuse(block, tiny, lower, upper, f"a bound must be 0 or at least {_SMALLEST_BOUND:g}")
    empty = ~free & ~point & ((upper <= lowest) | (lower >= highest))
    _refuse(block, empty, lower, upper, f"the interval must overlap ({lowest:g}, {highest:g}]")


def _refuse(block: Block, wrong: NDArray[np.bool_], lower: Array, upper: Array, rule: str) -> None:
    where = first_offender(wrong)
    if where is not None:
        row, column = where
        raise ValueError(
            f"{rule}; found lower {lower[where]:g}, upper {upper[where]:g} in row {row}, "
            f"column {block.columns.start + column} ({block.unit.name})"
        )
