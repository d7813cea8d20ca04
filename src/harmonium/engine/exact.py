"""The exact engine: log masses and their gradient by summing over all hidden states (eq. 3 and 4).

Everything asked of a model is a signed sum of log masses: the joint likelihood is the mass of the recorded cells minus that of
free ones, the conditional likelihood frees only the endpoints, and so on (docs/model.md, section 3). :class:`LogMassSum` is such
a sum, prepared once for its cells and evaluated for many parameters. docs/engine.md tells how it works and how fast it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells, Layout
from harmonium.engine.assembly import Chunk, assemble
from harmonium.engine.enumeration import expectations, row_groups
from harmonium.engine.factors import FactorPlan
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.state_sum import INACCURATE, SUMMED, Factors, Sums, sum_states
from harmonium.engine.states import hidden_states
from harmonium.engine.threads import available_cores
from harmonium.units.contract import Array

__all__ = ["LogMassSum", "Term", "log_mass", "posterior"]

_CHUNK_ROWS = 2048
_KEPT_BYTES = 48_000_000  # assembled chunks are kept up to this much memory and made anew beyond it
_FINEST_LEVEL = 4
_TOLERATED_SHARE = 0.01  # of rows that may go through enumeration before the grid is refined
_WORTH_THREADS = 200_000  # rows times states

Result = TypeVar("Result")
Item = TypeVar("Item")


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

    @classmethod
    def uniform(cls, cells: Cells, weight: float) -> Term:
        """Every row with the same weight."""
        return cls(cells, np.broadcast_to(np.float64(weight), (cells.n_rows,)))


@dataclass(frozen=True)
class _Piece:
    """Rows start to stop of a term."""

    term: int
    start: int
    stop: int


@dataclass
class _Totals:
    """A signed sum of log masses with its gradient by the natural parameters, and the adjoints still to be pulled back."""

    value: float
    gradient: Natural
    occupancy: Array
    adjoint: Array
    n_inaccurate: int

    def add(self, other: _Totals) -> None:
        self.value += other.value
        self.gradient.bias[:] += other.gradient.bias
        self.gradient.coupling[:] += other.gradient.coupling
        self.gradient.hidden_bias[:] += other.gradient.hidden_bias
        self.occupancy += other.occupancy
        self.adjoint += other.adjoint
        self.n_inaccurate += other.n_inaccurate


class LogMassSum:
    r"""The sum :math:`\sum_n r_n M(o_n)` of weighted log masses, for given cells and many parameters.

    Parameters
    ----------
    terms : sequence of Term
        Tables of cells of one layout with their rows' weights r.
    n_threads : int, optional
        How many threads may share the work; by default as many as there are cores. The result does not depend on it.

    Examples
    --------
    The joint log-likelihood of two rows, as recorded against all free:

    >>> import numpy as np
    >>> from harmonium.units import TruncatedGamma
    >>> layout = Layout([TruncatedGamma()])
    >>> cells = Cells.from_bounds(layout, [[0.5], [0.25]], [[0.5], [1.0]])
    >>> flat = Parameters(layout, np.zeros(0), ({"W": np.zeros((1, 0)), "V": np.zeros((1, 0)), "a": np.zeros(1), "c": np.zeros(1)},))
    >>> likelihood = LogMassSum([Term.uniform(cells, 1.0), Term.uniform(Cells.all_free(layout), -2.0)])
    >>> value, gradient = likelihood.value_and_gradient(flat)
    >>> round(float(np.exp(value)), 12)
    0.75
    >>> gradient.blocks[0]["a"].round(6)
    array([-0.125])
    """

    def __init__(self, terms: Sequence[Term], n_threads: int | None = None) -> None:
        self._terms = list(terms)
        self._layout = terms[0].cells.layout
        self._n_threads = n_threads or available_cores()
        self._pieces = [
            _Piece(number, start, min(start + _CHUNK_ROWS, term.cells.n_rows))
            for number, term in enumerate(self._terms)
            for start in range(0, term.cells.n_rows, _CHUNK_ROWS)
        ]
        self._plan = FactorPlan.of_cells(self._layout, [term.cells for term in self._terms])
        self._n_rows = sum(term.cells.n_rows for term in self._terms)
        self._total_weight = float(sum(term.weights.sum() for term in self._terms))
        self._kept: dict[int, Chunk] = {}
        self._kept_bytes = 0

    def value_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The sum and its gradient by the parameters.

        Returns
        -------
        value : float
        gradient : Parameters
            In the same form as the parameters.
        """
        natural = parameters.natural()
        while True:
            factors = self._plan.factors(natural)
            totals = self._totals(natural, factors)
            if not self._refine(totals.n_inaccurate):
                break
        self._plan.pull_back(natural, factors, totals.occupancy, totals.adjoint, totals.gradient)
        return totals.value, parameters.pull_back(replace(totals.gradient, constant=-self._total_weight))

    def log_masses(self, parameters: Parameters) -> list[Array]:
        """The log mass of every row, for each term."""
        out = [np.empty(term.cells.n_rows) for term in self._terms]
        natural = parameters.natural()

        def store(piece: _Piece, rows: _Rows) -> None:
            out[piece.term][piece.start : piece.stop] = rows.log_mass

        self._by_rows(natural, store, with_posterior=False)
        return out

    def posteriors(self, parameters: Parameters) -> list[Array]:
        """p(h | row) of every hidden state, for each term."""
        natural = parameters.natural()
        out = [np.empty((term.cells.n_rows, 2**natural.n_hidden)) for term in self._terms]

        def store(piece: _Piece, rows: _Rows) -> None:
            out[piece.term][piece.start : piece.stop] = rows.posterior

        self._by_rows(natural, store, with_posterior=True)
        return out

    # --- one pass over all rows -------------------------------------------------------------------------------------

    def _totals(self, natural: Natural, factors: Factors) -> _Totals:
        """Sum over rows; slices and their order depend on the data only, so the result does not depend on threads."""
        slices = np.array_split(np.arange(len(self._pieces)), self._n_slices(natural.n_hidden))
        totals: _Totals | None = None
        for part in self._map(lambda numbers: self._sum_pieces(natural, factors, numbers), slices, natural.n_hidden):
            if totals is None:
                totals = part
            else:
                totals.add(part)
        assert totals is not None
        return totals

    def _sum_pieces(self, natural: Natural, factors: Factors, numbers: Iterable[int]) -> _Totals:
        totals = _empty_totals(natural, factors)
        for number in numbers:
            piece = self._pieces[number]
            chunk = self._chunk(number)
            weights = self._terms[piece.term].weights[piece.start : piece.stop]
            rows = _sum_rows(chunk, natural, factors, weights, totals.occupancy, totals.adjoint, with_posterior=False)
            totals.n_inaccurate += int(np.count_nonzero(rows.flag == INACCURATE))
            missed = np.flatnonzero(rows.flag != SUMMED)
            if missed.size:
                self._enumerate(natural, piece, missed, weights, totals)
                weights = np.where(rows.flag == SUMMED, weights, 0.0)
            totals.value += float(weights @ rows.log_mass)
            weighted = rows.expected * weights[:, None]
            totals.gradient.bias[:] -= chunk.statistics.T @ weights
            totals.gradient.coupling[:] -= chunk.statistics.T @ weighted
            totals.gradient.hidden_bias[:] -= weighted.sum(axis=0)
        return totals

    def _enumerate(self, natural: Natural, piece: _Piece, missed: NDArray[np.int64], weights: Array, totals: _Totals) -> None:
        """Rows that the tables cannot represent, in log space."""
        states = hidden_states(natural.n_hidden)
        for group in row_groups(missed.size, self._layout.n_statistics * states.shape[0]):
            rows = missed[group]
            exact = expectations(natural, self._layout, *self._terms[piece.term].cells.bounds(piece.start + rows))
            weight = weights[rows]
            totals.value += float(weight @ exact.log_mass)
            totals.gradient.bias[:] -= weight @ exact.statistics
            totals.gradient.coupling[:] -= np.tensordot(weight, exact.products, axes=1)
            totals.gradient.hidden_bias[:] -= (weight @ exact.posterior) @ states

    def _by_rows(self, natural: Natural, store: Callable[[_Piece, _Rows], None], with_posterior: bool) -> None:
        """Sum over states and hand over the results of each piece."""
        while True:
            factors = self._plan.factors(natural)

            def one(number: int, factors: Factors = factors) -> int:
                piece, chunk = self._pieces[number], self._chunk(number)
                nothing = np.zeros((0, 2**natural.n_hidden))
                rows = _sum_rows(chunk, natural, factors, np.zeros(piece.stop - piece.start), nothing, nothing, with_posterior)
                missed = np.flatnonzero(rows.flag != SUMMED)
                for group in row_groups(missed.size, self._layout.n_statistics * 2**natural.n_hidden):
                    bounds = self._terms[piece.term].cells.bounds(piece.start + missed[group])
                    exact = expectations(natural, self._layout, *bounds)
                    rows.log_mass[missed[group]] = exact.log_mass
                    if with_posterior:
                        rows.posterior[missed[group]] = exact.posterior
                store(piece, rows)
                return int(np.count_nonzero(rows.flag == INACCURATE))

            n_inaccurate = sum(self._map(one, range(len(self._pieces)), natural.n_hidden))
            if not self._refine(n_inaccurate):
                return

    def _refine(self, n_inaccurate: int) -> bool:
        """Halve the grid's panels if too many rows could not rely on it."""
        if n_inaccurate <= max(8, _TOLERATED_SHARE * self._n_rows) or self._plan.grid.level >= _FINEST_LEVEL:
            return False
        self._plan = self._plan.refined()
        self._kept.clear()
        self._kept_bytes = 0
        return True

    def _chunk(self, number: int) -> Chunk:
        """The assembled rows of a piece, kept while memory allows."""
        chunk = self._kept.get(number)
        if chunk is None:
            piece = self._pieces[number]
            lower, upper = self._terms[piece.term].cells.bounds(slice(piece.start, piece.stop))
            chunk = assemble(self._layout, lower, upper, self._plan.grid, self._plan.table_row, self._plan.error_row, self._plan.sharing)
            if self._kept_bytes + chunk.n_bytes <= _KEPT_BYTES:
                self._kept_bytes += chunk.n_bytes
                self._kept[number] = chunk
        return chunk

    # --- threads ----------------------------------------------------------------------------------------------------

    def _n_slices(self, n_hidden: int) -> int:
        """Into how many independent sums the rows are cut; each has an adjoint of its own, which is large for many states."""
        most = 8 if n_hidden <= 8 else 4 if n_hidden <= 11 else 2
        return max(1, min(most, len(self._pieces))) if self._work(n_hidden) >= _WORTH_THREADS else 1

    def _work(self, n_hidden: int) -> int:
        return self._n_rows * 2**n_hidden

    def _map(self, function: Callable[[Item], Result], items: Sequence[Item] | range, n_hidden: int) -> Iterable[Result]:
        """Apply in order, on several threads where that helps."""
        if self._n_threads == 1 or len(items) == 1 or self._work(n_hidden) < _WORTH_THREADS:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(self._n_threads) as pool:
            yield from pool.map(function, items)


def log_mass(parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
    """Log mass of every row (eq. 3).

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    n_threads : int, optional
        As in :class:`LogMassSum`.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    The mass of a coin about which nothing is known, with equal energies, is that of two outcomes:

    >>> import numpy as np
    >>> from harmonium.units import Bernoulli
    >>> layout = Layout([Bernoulli()])
    >>> coin = Parameters(layout, np.zeros(0), ({"W": np.zeros((1, 0)), "a": np.zeros(1)},))
    >>> np.exp(log_mass(coin, Cells.all_free(layout)))
    array([2.])
    """
    return LogMassSum([Term.uniform(cells, 1.0)], n_threads).log_masses(parameters)[0]


def posterior(parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
    """p(h | row) of every hidden state, states numbered as in :func:`harmonium.engine.states.hidden_states`.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    n_threads : int, optional
        As in :class:`LogMassSum`.

    Returns
    -------
    ndarray of shape (n_rows, 2 ** n_hidden)
    """
    return LogMassSum([Term.uniform(cells, 1.0)], n_threads).posteriors(parameters)[0]


class _Rows(Sums):
    """Results of one chunk, with the observed cells' part of the log mass added."""


def _sum_rows(
    chunk: Chunk, natural: Natural, factors: Factors, weights: Array, occupancy: Array, adjoint: Array, with_posterior: bool
) -> _Rows:
    n_rows = chunk.statistics.shape[0]
    fields = -(chunk.statistics @ natural.coupling + natural.hidden_bias)
    rows = _Rows(
        log_mass=np.zeros(n_rows),
        expected=np.zeros((n_rows, natural.n_hidden)),
        posterior=np.empty((n_rows if with_posterior else 0, 2**natural.n_hidden)),
        occupancy=occupancy,
        adjoint=adjoint,
        flag=np.empty(n_rows, np.int8),
    )
    sum_states(chunk, fields, np.array(weights), factors, Sums(*rows))
    rows.log_mass[:] -= chunk.statistics @ natural.bias + natural.constant
    return rows


def _empty_totals(natural: Natural, factors: Factors) -> _Totals:
    gradient = Natural(np.zeros_like(natural.bias), np.zeros_like(natural.coupling), np.zeros_like(natural.hidden_bias), 0.0)
    return _Totals(0.0, gradient, np.zeros_like(factors.shared), np.zeros_like(factors.table), 0)

