"""Means and scales of a training table's statistics, in a form that those of several parts of a table can be merged into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.cells import Block, Cells
from harmonium.typing import Array

__all__ = ["StatisticsSummary"]

_NO_SPREAD = 1e-8  # a statistic whose standard deviation is below this has none


@dataclass(frozen=True)
class StatisticsSummary:
    """Of a table of cells, or of a part of it.

    Attributes
    ----------
    n : ndarray of shape (n_statistics,)
        Representative values of each statistic, or the weight of their rows.
    mean, spread : ndarray of shape (n_statistics,)
        Their mean, and the sum of their squared deviations from it.
    values, counts : tuple of ndarray, one for each block
        Representative values (values, columns), and for how many rows each stands: every level of a discrete unit, and the mean of any
        other.
    """

    n: Any
    mean: Array
    spread: Array
    values: tuple[Array, ...]
    counts: tuple[Array, ...]

    @classmethod
    def of(cls, cells: Cells, weights: Array | None = None) -> StatisticsSummary:
        """Of a table, whose rows may have weights.

        Examples
        --------
        >>> from harmonium.cells import Layout
        >>> from harmonium.units import Bernoulli
        >>> found = StatisticsSummary.of(Cells.from_bounds(Layout([Bernoulli()]), [[1.0], [0.0], [1.0], [1.0]]))
        >>> found.mean, found.counts[0].ravel()
        (array([0.75]), array([1., 3.]))
        """
        n_statistics = cells.layout.n_statistics
        n = np.empty(n_statistics, dtype=np.int64 if weights is None else np.float64)
        mean, spread = np.empty(n_statistics), np.empty(n_statistics)
        representatives = []
        for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
            values = block.unit.representative_values(lower, upper)
            statistics = block.unit.statistics(values)
            statistics[np.isnan(values)] = np.nan
            with np.errstate(invalid="ignore"):
                found = _moments(statistics.reshape(len(values), n[block.statistics].size), weights)
            n[block.statistics], mean[block.statistics], spread[block.statistics] = found
            representatives.append(_representatives(block, values, weights))
        levels, counts = zip(*representatives, strict=True)
        return cls(n, mean, spread, levels, counts)

    def merged(self, other: StatisticsSummary) -> StatisticsSummary:
        """Of the rows of both (Chan, Golub and LeVeque 1979)."""
        n = self.n + other.n
        part, step = other.n / _at_least_one(n), other.mean - self.mean
        pairs = zip(self.values, other.values, self.counts, other.counts, strict=True)
        values, counts = zip(*(_merged_values(*pair) for pair in pairs), strict=True)
        return StatisticsSummary(n, self.mean + step * part, self.spread + other.spread + step**2 * self.n * part, values, counts)

    @property
    def scale(self) -> Array:
        """Standard deviations; 1 of a statistic without spread or without values."""
        scale = np.sqrt(self.spread / _at_least_one(self.n))
        return np.where(scale > _NO_SPREAD, scale, 1.0)


def _moments(statistics: Array, weights: Array | None = None) -> tuple[Any, Array, Array]:
    """By column, ignoring NaN."""
    seen = np.isfinite(statistics)
    n = _summed(seen, weights)
    filled = np.where(seen, statistics, 0.0)
    mean = _summed(filled, weights) / _at_least_one(n)
    return n, mean, _summed(np.where(seen, (filled - mean) ** 2, 0.0), weights)


def _summed(values: Any, weights: Array | None) -> Any:
    """By column, over rows that may have weights."""
    return values.sum(axis=0) if weights is None else weights @ values


def _at_least_one(n: Any) -> Any:
    """Of rows; a weight may be smaller, but not nothing."""
    return np.maximum(n, 1) if n.dtype.kind == "i" else np.where(n > 0.0, n, 1.0)


def _representatives(block: Block, values: Array, weights: Array | None = None) -> tuple[Array, Array]:
    if block.unit.discrete:
        levels = np.arange(int(block.unit.domain[1]) + 1.0)
        counts = np.stack([_summed(values == level, weights) for level in levels])
        return np.broadcast_to(levels[:, None], counts.shape), counts.astype(np.float64)
    n, mean, _ = _moments(values, weights)
    return mean[None, :], n[None, :].astype(np.float64)


def _merged_values(mine: Array, theirs: Array, n_mine: Array, n_theirs: Array) -> tuple[Array, Array]:
    """The same values with the sum of the counts; means have their weighted mean."""
    total = n_mine + n_theirs
    return mine + (theirs - mine) * (n_theirs / np.maximum(total, 1.0)), total
