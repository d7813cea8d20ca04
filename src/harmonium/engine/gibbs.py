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

from harmonium.cells import Cells, Layout
from harmonium.compilation import compiled
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.exponential import exponentials
from harmonium.streams import open_uniform, spawn
from harmonium.units.contract import Array
from harmonium.units.registry import draw, write_statistics

__all__ = ["Chains", "fill_statistics", "sweep_chains"]

_CHAINS_PER_TASK = 64


@compiled(sums=True, inline=True)
def _add_fields(code: int, x: float, first: int, last: int, coupling: Array, statistics: Array, fields: Array) -> None:
    """Add what one value contributes to the fields on the hidden units."""
    write_statistics(code, x, statistics, first, last)
    for d in range(first, last):
        s = statistics[d]
        if s != 0.0:
            for j in range(fields.size):
                fields[j] += s * coupling[d, j]


@compiled(inline=True)
def _draw_hidden(fields: Array, hidden: Array, work: NDArray[np.int64], stream: NDArray[np.uint64]) -> None:
    exponentials(fields, hidden, work)
    for j in range(fields.size):
        hidden[j] = 1.0 if open_uniform(stream) * (1.0 + hidden[j]) < 1.0 else 0.0


@compiled(sums=True, inline=True)
def _draw_value(
    code: int,
    lower: float,
    upper: float,
    first: int,
    last: int,
    bias: Array,
    coupling: Array,
    hidden: Array,
    natural: Array,
    stream: NDArray[np.uint64],
) -> float:
    """One unobserved value given the hidden units."""
    for d in range(first, last):
        total = bias[d]
        for j in range(hidden.size):
            total += coupling[d, j] * hidden[j]
        natural[d] = total
    return draw(code, natural, first, last, lower, upper, stream)


@compiled(sums=True)
def sweep_chains(
    chains: slice,
    rows: NDArray[np.int64],
    lower: Array,
    upper: Array,
    codes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    bias: Array,
    coupling: Array,
    hidden_bias: Array,
    n_sweeps: int,
    values: Array,
    streams: NDArray[np.uint64],
    fields: Array,
) -> None:
    """Sweep some chains in place; leaves the fields on the hidden units that the final values imply."""
    n_columns, n_hidden = lower.shape[1], hidden_bias.size
    hidden, work = np.empty(n_hidden), np.empty(n_hidden, np.int64)
    fixed = np.empty(n_hidden)
    statistics, natural = np.empty(bias.size), np.empty(bias.size)
    unobserved = np.empty(n_columns, np.int64)
    for chain in range(chains.start, chains.stop):
        row = rows[chain]
        stream, field = streams[chain], fields[chain]
        fixed[:] = hidden_bias
        n_unobserved = 0
        for c in range(n_columns):
            if lower[row, c] == upper[row, c]:
                _add_fields(codes[c], lower[row, c], offsets[c], offsets[c + 1], coupling, statistics, fixed)
                values[chain, c] = lower[row, c]
            else:
                unobserved[n_unobserved] = c
                n_unobserved += 1
        n_draws = n_sweeps if n_unobserved else 0
        for sweep in range(n_draws + 1):
            field[:] = fixed
            for k in range(n_unobserved):
                c = unobserved[k]
                _add_fields(codes[c], values[chain, c], offsets[c], offsets[c + 1], coupling, statistics, field)
            if sweep == n_draws:
                break
            _draw_hidden(field, hidden, work, stream)
            for k in range(n_unobserved):
                c = unobserved[k]
                values[chain, c] = _draw_value(
                    codes[c], lower[row, c], upper[row, c], offsets[c], offsets[c + 1], bias, coupling, hidden, natural, stream
                )


@compiled()
def _draw_all(
    chains: slice,
    rows: NDArray[np.int64],
    lower: Array,
    upper: Array,
    codes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    bias: Array,
    values: Array,
    streams: NDArray[np.uint64],
) -> None:
    """Draw every unobserved value as if no hidden unit were coupled to it."""
    for chain in range(chains.start, chains.stop):
        for c in range(lower.shape[1]):
            bounds = lower[rows[chain], c], upper[rows[chain], c]
            values[chain, c] = draw(codes[c], bias, offsets[c], offsets[c + 1], bounds[0], bounds[1], streams[chain])


@compiled()
def fill_statistics(values: Array, codes: NDArray[np.int64], offsets: NDArray[np.int64], out: Array) -> None:
    """Statistics of some rows of values."""
    for row in range(values.shape[0]):
        target = out[row]
        for c in range(values.shape[1]):
            write_statistics(codes[c], values[row, c], target, offsets[c], offsets[c + 1])


@dataclass(frozen=True)
class Chains:
    """Gibbs chains over rows of cells. Made by :meth:`start`; :meth:`sweep` moves them in place.

    Attributes
    ----------
    values : ndarray of shape (n_chains, n_columns)
        The current value of every cell: the observed one at points.
    fields : ndarray of shape (n_chains, n_hidden)
        The fields on the hidden units (eq. 2) after the last sweep.

    Examples
    --------
    Fill a gap three times:

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
    lower: Array
    upper: Array
    rows: NDArray[np.int64]
    values: Array
    streams: NDArray[np.uint64]
    fields: Array

    @classmethod
    def start(
        cls,
        parameters: Parameters,
        cells: Cells,
        rng: np.random.Generator,
        chains_per_row: int = 1,
        values: Array | None = None,
        n_threads: int | None = None,
    ) -> Chains:
        """Start chains.

        Parameters
        ----------
        parameters : Parameters
        cells : Cells
        rng : numpy.random.Generator
            Seeds one stream for each chain.
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
        lower, upper = cells.bounds()
        rows = np.repeat(np.arange(cells.n_rows), chains_per_row)
        begin = np.empty((rows.size, cells.layout.n_columns)) if values is None else np.array(values, dtype=np.float64)
        if begin.shape != (rows.size, cells.layout.n_columns):
            raise ValueError(f"values must have shape {(rows.size, cells.layout.n_columns)}; found {begin.shape}")
        if values is not None:
            if np.isnan(begin).any():
                raise ValueError("values must not be missing; found NaN")
            Cells.from_bounds(cells.layout, begin)  # refuses what no unit can take
        chains = cls(cells.layout, lower, upper, rows, begin, spawn(rng, rows.size), np.full((rows.size, parameters.n_hidden), np.nan))
        if values is None:
            bias = parameters.natural().bias
            _in_blocks(lambda block: _draw_all(block, *chains._data(), bias, chains.values, chains.streams), rows.size, n_threads)
        return chains

    def sweep(self, parameters: Parameters, n_sweeps: int, n_threads: int | None = None) -> None:
        """Sweep all chains in place.

        Parameters
        ----------
        parameters : Parameters
        n_sweeps : int
            With 0, only the fields are brought up to date.
        n_threads : int, optional
            How many threads share the chains; by default as many as there are cores. The result does not depend on it.
        """
        parameters.check(self.layout)
        if parameters.n_hidden != self.fields.shape[1]:
            raise ValueError(f"these chains have {self.fields.shape[1]} hidden units; found parameters with {parameters.n_hidden}")
        self.sweep_natural(parameters.natural(), n_sweeps, n_threads)

    def sweep_natural(self, natural: Natural, n_sweeps: int, n_threads: int | None = None) -> None:
        """As :meth:`sweep`, for parameters in natural form."""
        if n_sweeps != int(n_sweeps) or n_sweeps < 0:
            raise ValueError(f"n_sweeps must be a whole number that is not negative; found {n_sweeps}")

        def block(chains: slice) -> None:
            sweep_chains(
                chains,
                *self._data(),
                natural.bias,
                natural.coupling,
                natural.hidden_bias,
                n_sweeps,
                self.values,
                self.streams,
                self.fields,
            )

        _in_blocks(block, self.rows.size, n_threads)

    def statistics(self) -> Array:
        """Statistics of every chain's current values, (chains, statistics)."""
        out = np.empty((self.values.shape[0], self.layout.n_statistics))
        fill_statistics(self.values, self.layout.codes, self.layout.offsets, out)
        return out

    def expected_hidden(self) -> Array:
        """p(h = 1 | values) of every chain, after a sweep."""
        return 0.5 - 0.5 * np.tanh(0.5 * self.fields)

    def _data(self) -> tuple[NDArray[np.int64], Array, Array, NDArray[np.int64], NDArray[np.int64]]:
        return self.rows, self.lower, self.upper, self.layout.codes, self.layout.offsets


def _in_blocks(function: Callable[[slice], None], n_chains: int, n_threads: int | None) -> None:
    """Apply to blocks of chains, on several threads if there are several blocks."""
    blocks = [slice(start, min(start + _CHAINS_PER_TASK, n_chains)) for start in range(0, n_chains, _CHAINS_PER_TASK)]
    for _ in map_in_order(function, blocks, thread_count(n_threads)):
        pass
