"""Finding what answers about some rows are made of: the method that each row allows, in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM, INTEGRATE, SAMPLE, methods_of
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.model.known_rows import KnownRows
from harmonium.model.rows import Rows
from harmonium.typing import Integers

__all__ = ["FoundRows", "find_rows"]

_KEPT = 1 << 25  # probabilities of states (rows times states) that are kept between questions; beyond, they are found for each
_KEPT_INTEGRALS = 1 << 12  # rows, of some twenty kilobytes each


@dataclass(frozen=True)
class FoundRows:
    """Some rows of a table, ready to be asked.

    Attributes
    ----------
    rows : Rows
    places : ndarray of int
        Which rows of the table they are.
    methods : ndarray of str
        By which method each is answered.
    may_be_kept : bool
        Whether all rows of the table together are small enough to be kept between questions.
    """

    rows: Rows
    places: Integers
    methods: NDArray[np.str_]
    may_be_kept: bool

    def part(self, number: Integers) -> FoundRows:
        """Those whose number is not negative, which is the place that they have among others."""
        chosen = number >= 0
        return FoundRows(self.rows.part(chosen), number[chosen], self.methods[chosen], self.may_be_kept)


def find_rows(
    parameters: Parameters, cells: Cells, seed: int, n_threads: int | None = None, units: CovariateUnits | None = None
) -> Iterator[FoundRows]:
    """All rows of a table in parts, each answered by one kind of method; the seed matters to sampled rows only."""
    methods = methods_of(cells, parameters.n_hidden)
    if parameters.n_hidden <= EXACT_LIMIT or not cells.n_rows:
        yield from _by_states(parameters, cells, np.arange(cells.n_rows), methods, seed, n_threads, units)
        return
    left = np.flatnonzero(methods == SAMPLE)
    chosen = np.flatnonzero((methods == INTEGRATE) | (methods == CLOSED_FORM))
    for start in range(0, chosen.size, _KEPT_INTEGRALS):
        places = chosen[start : start + _KEPT_INTEGRALS]
        rows, could = IntegratedRows.of(parameters, cells.part(places), n_threads)
        left = np.union1d(left, places[~could])
        if could.any():
            yield FoundRows(rows, places[could], methods[places[could]], chosen.size <= _KEPT_INTEGRALS)
    methods[left] = SAMPLE
    if left.size:
        yield from _by_states(parameters, cells.part(left), left, methods[left], seed, n_threads)


def _by_states(
    parameters: Parameters,
    cells: Cells,
    places: Integers,
    methods: NDArray[np.str_],
    seed: int,
    n_threads: int | None,
    units: CovariateUnits | None = None,
) -> Iterator[FoundRows]:
    """Rows whose hidden states are enumerated or drawn."""
    may_be_kept = cells.n_rows << min(parameters.n_hidden, EXACT_LIMIT) <= _KEPT
    start = 0
    for rows in KnownRows.of(parameters, cells, np.random.default_rng(seed), n_threads, units):
        part = slice(start, start + rows.cells.n_rows)
        yield FoundRows(rows, places[part], methods[part], may_be_kept)
        start += rows.cells.n_rows
