"""The exact engine: log masses and their gradient by summing over all hidden states (eq. 5 and eq. 10).

Everything asked of a model is a signed sum of log masses: the joint likelihood is the mass of the recorded cells minus that of
free ones, the conditional likelihood frees only the endpoints, and so on (docs/model.md, section 3). :class:`LogMassSum` is such
a sum, prepared once for its cells and evaluated for many parameters. docs/engine.md tells how it works and how fast it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.block_sum import sum_blocks
from harmonium.engine.enumeration import Expectations, expectations, row_groups, state_probabilities
from harmonium.engine.factors import FactorPlan
from harmonium.engine.one_strip import Strip, sum_strip
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.prepared import Piece, Prepared, Term, Unrepresented, cut_into_pieces, cut_into_strips, merged
from harmonium.engine.state_sum import INACCURATE, SUMMED, Energy, Factors, Sums, sum_states
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.typing import Array, Booleans, Integers

__all__ = ["LogMassSum", "Term", "log_mass", "posterior"]

_TABLE_BYTES = 100_000_000  # the tables of a refined grid; each slice of rows has an adjoint of the same size
_TOLERATED_SHARE = 1e-4  # of rows that may go through enumeration before the grid is refined; it is a thousand times slower
_PATIENCE = 300  # evaluations before the coarsest grid is tried again
_WORTH_THREADS = 200_000  # rows times states
_SLICES, _FEW_SLICES = 8, 2  # of rows that threads share, whose order of additions must not depend on threads; each has tables of its own
_MOST_FOR_ONE_STRIP = 8  # hidden units, whose states fit into the cache of compiled code that does all of the work
_FEW_ROWS = 4  # for which preparing shared integrals would take longer than one integral for each cell and state

Result = TypeVar("Result")
Item = TypeVar("Item")
Added: TypeAlias = tuple[Sums, list[Unrepresented], Callable[[Array, Array], None], Callable[[], Booleans]]


class LogMassSum:
    r"""The sum :math:`\sum_n r_n M(o_n)` of weighted log masses, for given cells and many parameters.

    Parameters
    ----------
    terms : sequence of Term
        Tables of cells of one layout with their rows' weights r.
    n_threads : int, optional
        How many threads may share the work; as in :func:`harmonium.engine.threads.thread_count`. The result does not depend on it.

    Examples
    --------
    The joint log-likelihood of two rows, as recorded against all free:

    >>> import numpy as np
    >>> from harmonium.cells import Layout
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
        if not terms or any(term.cells.layout != terms[0].cells.layout for term in terms):
            raise ValueError("a sum of log masses needs at least one term, and all terms must have the same layout")
        self._sizes = [term.cells.n_rows for term in terms]
        self._given, self._terms = list(terms), merged(terms)
        self._layout = terms[0].cells.layout
        self._n_threads = thread_count(n_threads)
        self._n_rows = sum(self._sizes)
        self._total_weight = float(sum(term.weights.sum() for term in self._terms))
        plan = FactorPlan.of_cells(self._layout, [term.cells for term in self._terms])
        self._prepared = Prepared(cut_into_pieces(self._terms), cut_into_strips(terms), plan)
        self._coarsest = plan.grid
        self._patience = _PATIENCE

    def value_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The sum and its gradient by the parameters (eq. 10).

        Returns
        -------
        value : float
        gradient : Parameters
            In the same form as the parameters.
        """
        parameters.check(self._layout)
        value, gradient = self.value_and_natural_gradient(parameters.natural())
        return value, parameters.pull_back(gradient)

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum and its gradient, both in terms of natural parameters (eq. 11)."""
        found = None
        while found is None:
            strip = self.one_strip(natural.n_hidden)
            self.count_uses(1)
            found = None if strip is None else sum_strip(strip, natural, self._total_weight)
            found = self._without_strip(natural) if found is None else found
        return found

    def one_strip(self, n_hidden: int) -> Strip | None:
        """For compiled code that finds value and gradient by itself: the rows, if they are one strip and hidden units few.

        Such code tells by :meth:`count_uses` how often it did.
        """
        self._try_coarser()
        few = n_hidden <= _MOST_FOR_ONE_STRIP and len(self._prepared.strips) == 1
        return self._prepared.strip(n_hidden) if few else None

    def count_uses(self, n_evaluations: int) -> None:
        """The grid has served for some more evaluations."""
        self._prepared.n_uses += n_evaluations

    def _without_strip(self, natural: Natural) -> tuple[float, Natural] | None:
        """Value and gradient of any rows; None if the grid had to be refined."""
        prepared = self._prepared
        sums, unrepresented, pull_back, blamed = self._add_up(prepared, natural)
        n_inaccurate = sum(rows.n_inaccurate for rows in unrepresented)
        if self._refine(prepared, n_inaccurate, natural.n_hidden, blamed):
            return None
        for part in self._map(lambda rows: self._enumerated_sums(natural, rows), unrepresented, natural.n_hidden):
            for total, addend in zip(_totals(sums)[:4], part, strict=True):
                np.add(total, addend, out=total)
        pull_back(sums.bias, sums.coupling)
        gradient = Natural(sums.bias, np.ascontiguousarray(sums.coupling.T), sums.hidden_bias, -self._total_weight)
        return float(sums.value[0]), gradient

    def reweigh(self, weights: Sequence[Array]) -> None:
        """Give the rows of each term other weights; terms must have been made with arrays of weights of their own."""
        for term, own in zip(self._given, weights, strict=True):
            term.weights[:] = own
        if len(self._terms) < len(self._given):
            self._terms[0].weights[:] = np.concatenate(weights)
        self._total_weight = float(sum(term.weights.sum() for term in self._terms))
        self._prepared.reweigh()

    def log_masses(self, parameters: Parameters) -> list[Array]:
        """The log mass of every row, for each term."""
        return self._by_rows(parameters, with_posterior=False)

    def posteriors(self, parameters: Parameters) -> list[Array]:
        """p(h | row) of every hidden state (eq. 7), for each term."""
        return self._by_rows(parameters, with_posterior=True)

    # --- one pass over all rows -------------------------------------------------------------------------------------

    def _add_up(self, prepared: Prepared, natural: Natural) -> Added:
        """Sum over rows, but for those that the tables cannot represent.

        Slices and their order depend on the data only, so the result does not depend on threads. With the sums and the rows left out come a
        function that adds what the unobserved cells contribute to a gradient, and one that tells which panels were not accurate enough.
        """
        plan = prepared.plan
        factors, means = plan.factors(natural)
        numbers = np.arange(len(prepared.strips))
        slices = np.array_split(numbers, self._n_slices(numbers.size, natural.n_hidden))
        energy = _energy(natural)
        parts = self._map(lambda part: _add_up_strips(prepared, energy, factors, part), slices, natural.n_hidden)
        sums, unrepresented = next(parts)
        for more, more_unrepresented in parts:
            unrepresented += more_unrepresented
            for total, addend in zip(_totals(sums), _totals(more), strict=True):
                np.add(total, addend, out=total)
        pull_back = partial(plan.pull_back, factors, means, sums.occupancy, sums.adjoint)
        return sums, unrepresented, pull_back, partial(_blamed, plan, factors, sums.blame)

    def _enumerated_sums(self, natural: Natural, rows: Unrepresented) -> tuple[Array, Array, Array, Array]:
        """What rows that the tables cannot represent add to value, bias, coupling and hidden bias, summed in log space."""
        value, bias = np.zeros(1), np.zeros(natural.bias.size)
        coupling, hidden_bias = np.zeros(natural.coupling.T.shape), np.zeros(natural.n_hidden)
        for group, exact in self._enumerated(natural, rows.piece, rows.flag):
            weight = rows.piece.weights[group]
            value[0] += np.sum(weight * exact.log_mass)
            bias -= np.sum(weight[:, None] * exact.statistics, axis=0)
            coupling -= np.sum(weight[:, None, None] * exact.products, axis=0).T
            hidden_bias -= np.sum(weight[:, None] * exact.hidden, axis=0)
        return value, bias, coupling, hidden_bias

    def _enumerated(self, natural: Natural, piece: Piece, flag: NDArray[np.int8]) -> Iterator[tuple[Integers, Expectations]]:
        """Flagged rows of a piece and what enumeration says of them."""
        flagged = np.flatnonzero(flag != SUMMED)
        for group in row_groups(flagged.size, self._layout.n_statistics << natural.n_hidden):
            bounds = piece.term.cells.bounds(piece.start + flagged[group])
            yield flagged[group], expectations(natural, self._layout, *bounds)

    def _by_rows(self, parameters: Parameters, with_posterior: bool) -> list[Array]:
        """Log masses or posteriors of all rows, for each term."""
        parameters.check(self._layout)
        natural = parameters.natural()
        energy, n_states = _energy(natural), 1 << natural.n_hidden
        out = {id(term): np.empty((term.cells.n_rows, n_states) if with_posterior else term.cells.n_rows) for term in self._terms}
        while True:
            prepared = self._prepared
            factors, _ = prepared.plan.factors(natural)
            empty = _empty_sums(energy, factors, with_gradient=False)

            def one(number: int, prepared: Prepared = prepared, factors: Factors = factors, empty: Sums = empty) -> tuple[Sums, Piece]:
                piece = prepared.pieces[number]
                own = out[id(piece.term)][piece.start : piece.stop]
                sums = empty._replace(flag=np.empty(piece.n_rows, np.int8), blame=np.zeros_like(empty.blame))
                sums = sums._replace(posterior=own, log_mass=np.empty(piece.n_rows)) if with_posterior else sums._replace(log_mass=own)
                sum_states(prepared.chunk(number), energy, factors, sums)
                return sums, piece

            found = list(self._map(one, range(len(prepared.pieces)), natural.n_hidden))
            n_inaccurate = sum(int(np.count_nonzero(sums.flag == INACCURATE)) for sums, _ in found)
            blame = np.sum([sums.blame for sums, _ in found], axis=0)
            if not self._refine(prepared, n_inaccurate, natural.n_hidden, partial(_blamed, prepared.plan, factors, blame)):
                break
        for sums, piece in found:
            for rows, exact in self._enumerated(natural, piece, sums.flag):
                (sums.posterior if with_posterior else sums.log_mass)[rows] = exact.posterior if with_posterior else exact.log_mass
        parts = list(out.values())
        return np.split(np.concatenate(parts), np.cumsum(self._sizes)[:-1]) if len(parts) < len(self._sizes) else parts

    def _refine(self, prepared: Prepared, n_inaccurate: int, n_hidden: int, blamed: Callable[[], Booleans]) -> bool:
        """Halve the panels because of which too many rows could not rely on the grid, if memory allows."""
        if n_inaccurate <= _TOLERATED_SHARE * self._n_rows:
            return False
        grid = prepared.plan.grid
        finer = prepared.plan.on(grid.halved(blamed()))
        if finer.grid is grid or finer.n_table_rows << (3 + n_hidden) > _TABLE_BYTES:
            return False
        self._prepared = prepared.on(finer.grid)
        return True

    def _try_coarser(self) -> None:
        """Once a finer grid has served for a while, see whether it is still needed; wait longer each time it is."""
        prepared = self._prepared
        if prepared.plan.grid is not self._coarsest and prepared.n_uses > self._patience:
            self._patience *= 2
            self._prepared = prepared.on(self._coarsest)

    # --- threads ----------------------------------------------------------------------------------------------------

    def _n_slices(self, n_strips: int, n_hidden: int) -> int:
        """Into how many independent sums the rows are cut; each has an adjoint of its own."""
        most = _SLICES if n_hidden <= _MOST_FOR_ONE_STRIP else _FEW_SLICES
        return max(1, min(most, n_strips)) if self._work(n_hidden) >= _WORTH_THREADS else 1

    def _work(self, n_hidden: int) -> int:
        return self._n_rows << n_hidden

    def _map(self, function: Callable[[Item], Result], items: Sequence[Item], n_hidden: int) -> Iterator[Result]:
        """Apply in order, on several threads where that helps."""
        return map_in_order(function, items, self._n_threads if self._work(n_hidden) >= _WORTH_THREADS else 1)


def log_mass(parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
    """Log mass of every row (eq. 5).

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
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Bernoulli
    >>> layout = Layout([Bernoulli()])
    >>> coin = Parameters(layout, np.zeros(0), ({"W": np.zeros((1, 0)), "a": np.zeros(1)},))
    >>> np.exp(log_mass(coin, Cells.all_free(layout)))
    array([2.])
    """
    return LogMassSum([Term.uniform(cells, 1.0)], n_threads).log_masses(parameters)[0]


def posterior(parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
    """p(h | row) of every hidden state (eq. 7), states numbered as in :func:`harmonium.engine.states.hidden_states`.

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
    if cells.n_rows <= _FEW_ROWS:
        parameters.check(cells.layout)
        return state_probabilities(parameters.natural(), cells.layout, *cells.bounds())
    return LogMassSum([Term.uniform(cells, 1.0)], n_threads).posteriors(parameters)[0]


def _add_up_strips(prepared: Prepared, energy: Energy, factors: Factors, numbers: Iterable[int]) -> tuple[Sums, list[Unrepresented]]:
    """Sum over the hidden states of the rows of some strips."""
    sums = _empty_sums(energy, factors)
    unrepresented = []
    for number in numbers:
        strip = prepared.strips[number]
        sums = sums._replace(flag=np.zeros(len(strip) * strip[0].n_rows, np.int8))
        sum_blocks(prepared.row_blocks(number, energy.hidden_bias.size), energy, factors, sums)
        if sums.flag.any():
            unrepresented += [Unrepresented(piece, flag) for piece, flag in zip(strip, np.split(sums.flag, len(strip)), strict=True)]
    return sums, unrepresented


def _blamed(plan: FactorPlan, factors: Factors, blame: Integers) -> Booleans:
    """Panels that were not accurate enough for some row."""
    grid, n_columns = plan.grid, plan.tabulated_columns.size
    parts = zip(*(np.split(part, n_columns) for part in (blame, factors.errors, factors.table)), strict=True)
    out: Booleans = np.any([grid.blamed(counts, errors, table[grid.first_suffix_row :]) for counts, errors, table in parts], axis=0)
    return out


def _energy(natural: Natural) -> Energy:
    return Energy(natural.bias, np.ascontiguousarray(natural.coupling.T), natural.hidden_bias.copy(), natural.constant)


def _empty_sums(energy: Energy, factors: Factors, with_gradient: bool = True) -> Sums:
    return Sums(
        log_mass=np.empty(0),
        posterior=np.empty((0, factors.shared.shape[1])),
        flag=np.empty(0, np.int8),
        value=np.zeros(1 if with_gradient else 0),
        bias=np.zeros(energy.bias.size),
        coupling=np.zeros(energy.coupling.shape),
        hidden_bias=np.zeros(energy.hidden_bias.size),
        occupancy=np.zeros(factors.shared.shape if with_gradient else (0, 0)),
        adjoint=np.zeros(factors.table.shape if with_gradient else (0, 0)),
        blame=np.zeros(factors.errors.shape[0], np.int64),
    )


def _totals(sums: Sums) -> tuple[Array | Integers, ...]:
    """The parts that add up over rows."""
    return sums.value, sums.bias, sums.coupling, sums.hidden_bias, sums.occupancy, sums.adjoint, sums.blame
