"""The sampled engine: Gibbs sweeps over the same cells as the exact one.

A sweep draws the hidden units given the visible values (eq. 2), then every value that was not observed given the hidden units:
points stay, intervals and free cells are drawn. A chain belongs to one row of cells and has a random stream of its own, so its
path depends neither on the other chains nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.sweeps import CHAINS_PER_BLOCK, Bounds, bounds_of, couple, draw_given, sweep_and_keep
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.numerics.streams import fill_uniform, spawn
from harmonium.typing import Array

__all__ = ["Chains", "row_contents"]


@dataclass(frozen=True)
class Chains:
    """Gibbs chains over rows of cells. Made by :meth:`start`; :meth:`sweep` moves them in place.

    Attributes
    ----------
    values_by_column : ndarray of shape (n_columns, n_chains)
        The current value of every cell: the observed one at points.
    statistics, fields : ndarray of shape (n_statistics, n_chains) and (n_hidden, n_chains)
        Statistics of the values, and the fields on the hidden units (eq. 2), after the last sweep.

    Examples
    --------
    Draw a missing value three times:

    >>> import numpy as np
    >>> from harmonium.units import Bernoulli, TruncatedGamma
    >>> layout = Layout([Bernoulli(), TruncatedGamma()])
    >>> cells = Cells.from_bounds(layout, [[np.nan, 0.5]], [[np.nan, 1.0]])
    >>> rng = np.random.default_rng(0)
    >>> model = Parameters.initial(layout, np.array([[1.0, 0.5], [0.0, 0.7]]), n_hidden=2, rng=rng)
    >>> chains = Chains.start(model, cells, rng, chains_per_row=3)
    >>> chains.sweep(model, n_sweeps=10)
    >>> bool((chains.values[:, 1] > 0.5).all())
    True
    """

    layout: Layout
    bounds: Bounds
    rows: NDArray[np.int64]
    values_by_column: Array
    streams: NDArray[np.uint64]
    statistics: Array
    fields: Array

    @classmethod
    def start(
        cls,
        parameters: Parameters,
        cells: Cells,
        rng: np.random.Generator | NDArray[np.uint64],
        chains_per_row: int = 1,
        values: Array | None = None,
        n_threads: int | None = None,
    ) -> Chains:
        """Start chains.

        Parameters
        ----------
        parameters : Parameters
        cells : Cells
        rng : numpy.random.Generator or ndarray of uint64, shape (4, n_chains)
            Seeds one stream for each chain, or these streams themselves.
        chains_per_row : int
            Chains of one row stand next to each other.
        values : ndarray of shape (n_chains, n_columns), optional
            Where to begin; by default unobserved cells are drawn from their biases alone. Observed cells keep their values.
        n_threads : int, optional
            As in :meth:`sweep`.
        """
        parameters.check(cells.layout)
        if chains_per_row < 1:
            raise ValueError(f"chains_per_row must be at least 1; found {chains_per_row}")
        bounds = bounds_of(cells)
        rows = np.repeat(np.arange(cells.n_rows), chains_per_row)
        begin = np.empty((rows.size, cells.layout.n_columns)) if values is None else np.array(values, dtype=np.float64)
        if begin.shape != (rows.size, cells.layout.n_columns):
            raise ValueError(f"values must have shape {(rows.size, cells.layout.n_columns)}; found {begin.shape}")
        if values is not None:
            if np.isnan(begin).any():
                raise ValueError("values must not be missing; found NaN")
            Cells.from_bounds(cells.layout, begin)  # refuses what no unit can take
            lower = bounds.lower[rows]
            begin = np.where(lower == bounds.upper[rows], lower, begin)
        streams = rng if isinstance(rng, np.ndarray) else spawn(rng, rows.size)
        by_column = np.ascontiguousarray(begin.T)
        unknown = (np.full((size, rows.size), np.nan) for size in (cells.layout.n_statistics, parameters.n_hidden))
        chains = cls(cells.layout, bounds, rows, by_column, streams, *unknown)
        if values is None:
            chains.draw_given(np.repeat(parameters.natural().bias[:, None], rows.size, axis=1), n_threads)
        return chains

    def draw_given(self, natural: Array, n_threads: int | None = None) -> None:
        """Draw every unobserved value given its natural parameters (statistics, chains), in place."""
        _in_blocks(
            lambda chains: draw_given(self.bounds, self.rows[chains], chains, natural, self.values, self.streams), self.rows.size, n_threads
        )

    @property
    def values(self) -> Array:
        """The current values, (chains, columns)."""
        return self.values_by_column.T

    def sweep(self, parameters: Parameters, n_sweeps: int, n_threads: int | None = None) -> None:
        """Sweep all chains in place.

        Parameters
        ----------
        parameters : Parameters
        n_sweeps : int
            With 0, only the fields are brought up to date.
        n_threads : int, optional
            How many threads share the chains; as in :func:`harmonium.engine.threads.thread_count`. The result does not depend on it.
        """
        parameters.check(self.layout)
        if parameters.n_hidden != self.fields.shape[0]:
            raise ValueError(f"these chains have {self.fields.shape[0]} hidden units; found parameters with {parameters.n_hidden}")
        self.sweep_natural(parameters.natural(), n_sweeps, n_threads)

    def sweep_natural(self, natural: Natural, n_sweeps: int, n_threads: int | None = None) -> None:
        """As :meth:`sweep`, for parameters in natural form."""
        if n_sweeps != int(n_sweeps) or n_sweeps < 0:
            raise ValueError(f"n_sweeps must be a whole number that is not negative; found {n_sweeps}")

        coupled = couple(natural.bias, natural.coupling, natural.hidden_bias)

        def sweep(chains: NDArray[np.int64]) -> None:
            sweep_and_keep(
                self.bounds, self.rows[chains], chains, coupled, n_sweeps, self.values, self.streams, self.statistics, self.fields
            )

        _in_blocks(sweep, self.rows.size, n_threads)

    def uniforms(self, n: int) -> Array:
        """So many uniform numbers from every chain's stream, (n, chains)."""
        out = np.empty((n, self.rows.size))
        fill_uniform(self.streams, out)
        return out

    def expected_hidden(self) -> Array:
        """p(h = 1 | values) of every chain after a sweep, (hidden, chains)."""
        return np.asarray(expit(-self.fields))


def row_contents(cells: Cells) -> list[bytes]:
    """What is known of each row, as bytes that are equal for rows of which the same is known.

    Examples
    --------
    A time that is free, one of which nothing is known but that it lies in (0, 1], and one that is observed:

    >>> import numpy as np
    >>> from harmonium.units import TruncatedGamma
    >>> a, b, c = row_contents(Cells.from_bounds(Layout([TruncatedGamma()]), [[np.nan], [0.0], [0.5]], [[np.nan], [1.0], [0.5]]))
    >>> a == b, a == c
    (True, False)
    """
    bounds = bounds_of(cells)
    low, high = bounds.lower + 0.0, bounds.upper + 0.0  # no minus zero
    return [low[row].tobytes() + high[row].tobytes() for row in range(cells.n_rows)]


def _in_blocks(function: Callable[[NDArray[np.int64]], None], n_chains: int, n_threads: int | None) -> None:
    """Apply to the places of blocks of chains, on several threads if there are several blocks."""
    blocks = [np.arange(first, min(first + CHAINS_PER_BLOCK, n_chains)) for first in range(0, n_chains, CHAINS_PER_BLOCK)]
    for _ in map_in_order(function, blocks, thread_count(n_threads)):
        pass
