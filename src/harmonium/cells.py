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
from numpy.typing import ArrayLike

from harmonium.errors import first_offender
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.contract import Unit
from harmonium.units.registry import unit_code

__all__ = ["Block", "Cells", "Layout"]


_SMALLEST_BOUND = 1e-200  # of an event time; below, ln x leaves the range in which integrals are tabulated


@dataclass(frozen=True)
class Block:
    """Neighbouring columns of equal unit: their place among the columns and among the statistics, and whether they are outcomes."""

    unit: Unit
    columns: slice
    statistics: slice
    outcome: bool = False

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return int(self.columns.stop) - int(self.columns.start)

    @property
    def shape(self) -> tuple[int, int]:
        """Columns, and statistics of each."""
        n_columns = self.n_columns
        return n_columns, (self.statistics.stop - self.statistics.start) // n_columns


@dataclass(frozen=True)
class Layout:
    """The units of a table's columns, in order; neighbours of equal unit form a block.

    Parameters
    ----------
    units : sequence of Unit
        One for each column.
    n_outcomes : int
        So many of the last columns are outcomes, the others covariates. No block holds both.

    Examples
    --------
    >>> from harmonium.units import Bernoulli, TruncatedGamma
    >>> layout = Layout([Bernoulli(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
    >>> [block.n_columns for block in layout.blocks]
    [1, 2]
    >>> layout.n_statistics, layout.outcome_statistics
    (5, slice(1, 5, None))
    """

    units: Sequence[Unit]
    n_outcomes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", tuple(self.units))
        for unit in self.units:
            if isinstance(unit, type) or not hasattr(unit, "log_mass"):
                raise TypeError(f"a layout is made of units, which are instances of a unit's class; found {unit!r}")
        if not 0 <= self.n_outcomes <= len(self.units):
            raise ValueError(f"n_outcomes must lie between 0 and the number of columns, {len(self.units)}; found {self.n_outcomes}")

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return len(self.units)

    @property
    def n_statistics(self) -> int:
        """How many statistics all columns have together."""
        return int(self.offsets[-1])

    @property
    def outcomes(self) -> slice:
        """Which columns are outcomes."""
        return slice(self.n_columns - self.n_outcomes, self.n_columns)

    @property
    def outcome_statistics(self) -> slice:
        """Which statistics belong to outcomes."""
        return slice(int(self.offsets[self.outcomes.start]), self.n_statistics)

    @cached_property
    def offsets(self) -> Integers:
        """Where each column's statistics begin, and where the last one's end."""
        return np.concatenate([[0], np.cumsum([unit.n_statistics for unit in self.units], dtype=np.int64)]).astype(np.int64)

    @cached_property
    def codes(self) -> Integers:
        """The columns' units as compiled code knows them."""
        return np.array([unit_code(unit) for unit in self.units], dtype=np.int64)

    @cached_property
    def domains(self) -> Array:
        """The units' domains, (columns, 2)."""
        return np.array([unit.domain for unit in self.units], dtype=np.float64).reshape(-1, 2)

    @cached_property
    def tabulated(self) -> Booleans:
        """Which columns share their integrals on a grid."""
        return np.array([unit.tabulated for unit in self.units], dtype=np.bool_)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns grouped into neighbours of equal unit, covariates apart from outcomes."""
        blocks, start = [], 0
        kinds = ((unit, column >= self.outcomes.start) for column, unit in enumerate(self.units))
        for (unit, outcome), group in groupby(kinds):
            stop = start + len(list(group))
            blocks.append(Block(unit, slice(start, stop), slice(int(self.offsets[start]), int(self.offsets[stop])), outcome))
            start = stop
        return tuple(blocks)


@dataclass(frozen=True)
class Cells:
    """A table of cells, stored block by block so that a part of it can be replaced without copying the rest.

    Use :meth:`from_bounds`, :meth:`joined` or :meth:`all_free` to make one.
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
    def joined(cls, layout: Layout, covariates: Array, lower: Array, upper: Array) -> Cells:
        """Cells of covariates, observed or NaN, and of outcomes between bounds; neither checked nor copied.

        Parameters
        ----------
        layout : Layout
        covariates : ndarray of shape (n_rows, n_columns - n_outcomes)
        lower, upper : ndarray of shape (n_rows, n_outcomes)
        """
        known = tuple(_part(covariates, block.columns) for block in layout.blocks if not block.outcome)
        return cls(layout, (*known, *_outcome_parts(layout, lower)), (*known, *_outcome_parts(layout, upper)))

    @classmethod
    def all_free(cls, layout: Layout, n_rows: int = 1) -> Cells:
        """Cells about which nothing is known; the log mass of such a row is ln Z. Takes no memory."""
        nothing = tuple(_free(n_rows, block) for block in layout.blocks)
        return cls(layout, nothing, nothing)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.lower[0].shape[0] if self.lower else 0

    @property
    def outcomes(self) -> tuple[Array, Array]:
        """Bounds of the outcomes, (rows, outcomes) each, NaN where nothing is known."""
        columns = range(*self.layout.outcomes.indices(self.layout.n_columns))
        out = np.empty((2, self.n_rows, len(columns)))
        for place, column in enumerate(columns):
            out[:, :, place] = self.column(column)
        return out[0], out[1]

    def observed_events(self) -> Booleans:
        """Which outcomes are known to have happened, (rows, outcomes): at a time, or before one."""
        lower, upper = self.outcomes
        seen: Booleans = (lower == upper) | (upper < self.layout.domains[self.layout.outcomes, 1])
        return seen

    def with_outcomes(self, lower: Array, upper: Array) -> Cells:
        """The same covariates with other bounds of the outcomes, (rows, outcomes) each; nothing is copied."""
        shape = (self.n_rows, self.layout.n_outcomes)
        if lower.shape != shape or upper.shape != shape:
            raise ValueError(f"bounds of outcomes must have shape {shape}; found {lower.shape} and {upper.shape}")
        covariates = [number for number, block in enumerate(self.layout.blocks) if not block.outcome]
        return replace(
            self,
            lower=(*(self.lower[i] for i in covariates), *_outcome_parts(self.layout, lower)),
            upper=(*(self.upper[i] for i in covariates), *_outcome_parts(self.layout, upper)),
        )

    def freeing_outcomes(self) -> Cells:
        """The same cells with every outcome free; the covariates are not copied."""
        return self._freeing(outcome=True)

    def freeing_covariates(self) -> Cells:
        """The same cells with every covariate free; the outcomes are not copied."""
        return self._freeing(outcome=False)

    def _freeing(self, *, outcome: bool) -> Cells:
        lower, upper = (
            tuple(
                _free(self.n_rows, block) if block.outcome == outcome else old for block, old in zip(self.layout.blocks, parts, strict=True)
            )
            for parts in (self.lower, self.upper)
        )
        return replace(self, lower=lower, upper=upper)

    def part(self, rows: slice | Integers) -> Cells:
        """The cells of some rows; a slice copies nothing."""
        return replace(self, lower=tuple(part[rows] for part in self.lower), upper=tuple(part[rows] for part in self.upper))

    def column(self, column: int) -> tuple[Array, Array]:
        """Bounds of one column, NaN where nothing is known."""
        for block, lower, upper in zip(self.layout.blocks, self.lower, self.upper, strict=True):
            if block.columns.start <= column < block.columns.stop:
                return lower[:, column - block.columns.start], upper[:, column - block.columns.start]
        raise IndexError(f"there is no column {column}; the layout has {self.layout.n_columns}")

    def bounds(self, rows: slice | Integers = slice(None)) -> tuple[Array, Array]:
        """Two contiguous (rows, columns) arrays of the chosen rows."""
        return _beside(self.lower, rows), _beside(self.upper, rows)


def _part(table: Array, columns: slice) -> Array:
    """Some columns of a table, or the table itself if they are all of them."""
    return table if columns == slice(0, table.shape[1]) else table[:, columns]


def _outcome_parts(layout: Layout, table: Array) -> tuple[Array, ...]:
    """The columns of a table of outcomes, block by block."""
    first = layout.outcomes.start
    places = (block.columns for block in layout.blocks if block.outcome)
    return tuple(_part(table, slice(columns.start - first, columns.stop - first)) for columns in places)


def _beside(parts: tuple[Array, ...], rows: slice | Integers) -> Array:
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


def _refuse(block: Block, wrong: Booleans, lower: Array, upper: Array, rule: str) -> None:
    where = first_offender(wrong)
    if where is not None:
        row, column = where
        raise ValueError(
            f"{rule}; found lower {lower[where]:g}, upper {upper[where]:g} in row {row}, "
            f"column {block.columns.start + column} ({block.unit.name})"
        )
