"""Answers of one harmonium of all endpoints: averages over its hidden states.

Each row is answered by the method that it allows (enumeration, integration or sampling), in parts that fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM, INTEGRATE, SAMPLE, methods_of
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.completions import Completions
from harmonium.model.hidden import Answer, stacked
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.model.known_rows import KnownRows
from harmonium.model.on_demand import OnDemand
from harmonium.model.spread import Movable, Question, Spread, deviations_along, linear_along, moved
from harmonium.table.encoding import Encoding, event_position
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array, Booleans, Integers

__all__ = ["CellAnswers", "FoundRows", "Rows", "find_rows"]


class Rows(Protocol):
    """Some rows and what is known of them, of which anything can be asked on the time scale.

    :class:`~harmonium.model.known_rows.KnownRows` averages over hidden states, enumerated or drawn;
    :class:`~harmonium.model.integrated_rows.IntegratedRows` has integrated the unobserved cells.
    """

    @property
    def cells(self) -> Cells:
        """What is known."""

    @property
    def exact(self) -> bool:
        """Whether answers are free of sampling error."""

    def part(self, rows: Booleans) -> Rows:
        """Some of the rows."""

    def expected_hidden(self) -> Array:
        """p(h = 1) of every hidden unit, (rows, hidden)."""

    def survival(self, column: int, positions: Array) -> Answer:
        """P(x > u) of a column, (rows, positions)."""

    def density(self, column: int, positions: Array) -> Answer:
        """Density of a column, (rows, positions); NaN where the event time is known."""

    def hazard(self, column: int, positions: Array) -> Array:
        """Density over survival, (rows, positions)."""

    def mean_position(self, column: int) -> Answer:
        """Mean of a column, (rows, 1)."""

    def joint_survival(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """P(x_1 > u_1, x_2 > u_2, ...), (rows, positions of the first column, of the second, ...)."""

    def joint_density(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """The density at the points of a grid."""


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


Places = tuple[int, ...]


class CellAnswers:
    """An :class:`~harmonium.model.prognosis.Answerer` by hidden states, which are found when first needed and kept."""

    def __init__(
        self,
        encoding: Encoding,
        parameters: Parameters,
        cells: Cells,
        known: Endpoints | None,
        seed: int,
        n_threads: int | None,
        units: CovariateUnits | None = None,
        spreading: OnDemand[Spread] | None = None,
    ) -> None:
        self.encoding, self.known = encoding, known
        self.parameters, self.units, self.cells = parameters, units, cells
        self.spreading, self.stands_for = spreading, None
        self._seed, self._n_threads = seed, n_threads
        self._found: list[FoundRows] | None = None
        self._hurried: tuple[int | None, float] = (None, 1.0)

    stands_for: Integers | None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.cells.n_rows

    @property
    def methods(self) -> Any:
        """How each row is answered."""
        out = np.empty(self.n_rows, dtype="<U11")
        for found in self._parts():
            out[found.places] = found.methods
        return out

    # --- parameter uncertainty ---

    def _of(self, parameters: Parameters, cells: Cells, known: Endpoints | None) -> Self:
        """By other parameters, of other rows."""
        out = type(self)(self.encoding, parameters, cells, known, self._seed, self._n_threads, self.units, self.spreading)
        out.stands_for = self.stands_for
        return out

    def part(self, rows: Integers) -> Self:
        """Of some of the rows, in order; what was found and kept is not found again."""
        if rows.size == self.n_rows:
            return self
        out = self._of(self.parameters, self.cells.part(rows), None if self.known is None else self.known.part(rows))
        out.stands_for = None if self.stands_for is None else self.stands_for[rows]
        out._hurried = self._hurried
        if self._found is not None and rows.size:
            number = np.full(self.n_rows, -1)
            number[rows] = np.arange(rows.size)
            out._found = [own.part(number[own.places]) for own in self._found if (number[own.places] >= 0).any()]
        return out

    def breaks(self, places: Places, until: float) -> Array:
        """Times at which each row's survival has a step or a bend, (rows, times); 0 where there is none before a time."""
        (e,), scale = places, self.encoding.scales[places[0]]
        knots = np.tile(scale.end * np.array((0.0, *scale.knots)), (self.n_rows, 1))
        known = [] if self.known is None else [self.known.lower[:, e], self.known.upper[:, e]]
        found = np.column_stack([knots, *known])
        return np.where(found < until, found, 0.0)

    def moved(self, step: Array) -> Self:
        """Of the same rows, by a model whose natural parameters are further along by a step."""
        return self._of(moved(self.parameters, step), self.cells, self.known)

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Answerers whose biases direct effects move, and the cells whose covariates they follow."""
        return [(self, self.cells)]

    def hurried(self, endpoint: int, hazard_ratio: float) -> Self:
        """Of the same rows, with a factor of the hazard of one endpoint: in survival, incidence and joint survival, which averages are of.

        That others follow the endpoint is left out of joint survival.
        """
        out = copy(self)
        out._hurried = (endpoint, hazard_ratio)
        return out

    def deviations(self, question: Question, *, thorough: bool) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, and how far it deviates along each direction of parameter uncertainty.

        Rows with missing values deviate as the average of their completions, whose distribution is as it was learned.
        """
        if not incomplete_rows(self.cells).any():
            return deviations_along(self._spread, self, question, thorough=thorough)
        found = Completions.of(self.parameters, self.units, self.cells, self._n_threads)
        whole = self._of(self.parameters, found.cells, None if self.known is None else self.known.part(found.rows))
        whole.stands_for = found.rows
        along = deviations_along(whole._spread, whole, question, thorough=thorough)[1]
        return question(self), (found.averaged(own) for own in along)

    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with the linear effects on the hazards that shrinkage has taken from the model."""
        return linear_along(self._spread, self, question)

    @property
    def _spread(self) -> Spread | None:
        return None if self.spreading is None else self.spreading.value

    # --- answers ---

    def survival(self, places: Places, at: Array) -> Answer:
        """Probability of no event until each time."""
        (e,) = places
        column, positions = self.encoding.column_of(e), self.encoding.scales[e].to_unit(at)
        answers = [(part.places, part.rows.survival(column, positions)) for part in self._parts()]
        rows, found = [place for place, _ in answers], stacked([answer for _, answer in answers])
        answer = Answer(*(_in_order(rows, array) for array in (found.mean, found.standard_error, found.r_hat)))
        return replace(answer, mean=answer.mean ** self._hurried[1]) if e == self._hurried[0] else answer

    def density(self, places: Places, at: Array) -> Array:
        """Density of the event time; NaN where it is known, and beyond follow-up."""
        (e,) = places
        column, scale = self.encoding.column_of(e), self.encoding.scales[e]
        positions = event_position(scale.to_unit(at))
        return self._each(lambda rows: rows.density(column, positions).mean) * np.exp(scale.log_slope(at))

    def hazard(self, places: Places, at: Array) -> Array:
        """Density over survival."""
        (e,) = places
        column, scale = self.encoding.column_of(e), self.encoding.scales[e]
        positions = event_position(scale.to_unit(at))
        with np.errstate(invalid="ignore"):
            hazard = self._each(lambda rows: rows.hazard(column, positions)) * np.exp(scale.log_slope(at))
        return np.where((at >= scale.end) & (scale.reach == 1.0), np.inf, hazard)

    def risk(self, places: Places) -> Array:
        """Minus the mean event time on the time scale."""
        column = self.encoding.column_of(places[0])
        return -self._each(lambda rows: rows.mean_position(column).mean[:, 0])

    def joint_survival(self, places: list[int], at: list[Array]) -> Array:
        """No event of any endpoint until its time."""
        positions = [self.encoding.scales[e].to_unit(own) for e, own in zip(places, at, strict=True)]
        return self._joint(lambda rows, columns, at: rows.joint_survival(columns, at), places, positions)

    def joint_density(self, places: list[int], at: list[Array]) -> Array:
        """Density of several event times together."""
        scales = [self.encoding.scales[e] for e in places]
        positions = [event_position(scale.to_unit(own)) for scale, own in zip(scales, at, strict=True)]
        out = self._joint(lambda rows, columns, at: rows.joint_density(columns, at), places, positions)
        for axis, (scale, own) in enumerate(zip(scales, at, strict=True), start=1):
            slope = np.exp(scale.log_slope(own))
            out = out * slope.reshape([-1 if k == axis else 1 for k in range(out.ndim)])
        return out

    def hidden(self) -> Array:
        """p(h = 1) of every hidden unit (eq. 7)."""
        return self._each(lambda rows: rows.expected_hidden())

    # --- how ---

    def _parts(self) -> Iterator[FoundRows]:
        """All rows with what they were found by, in parts that fit into memory; kept if all of them do."""
        if self._found is not None:
            yield from self._found
            return
        kept: list[FoundRows] | None = []
        for part in find_rows(self.parameters, self.cells, self._seed, self._n_threads, self.units):
            yield part
            if kept is not None and part.may_be_kept:
                kept.append(part)
            else:
                kept = None
        self._found = kept

    def _each(self, question: Callable[[Rows], Array]) -> Array:
        """The answers of all parts, in the order of the rows."""
        answers = [(part.places, question(part.rows)) for part in self._parts()]
        return _in_order([rows for rows, _ in answers], np.concatenate([answer for _, answer in answers]))

    def _joint(self, question: Callable[[Rows, list[int], list[Array]], Answer], places: list[int], positions: list[Array]) -> Array:
        columns = [self.encoding.column_of(e) for e in places]
        out, (hurried, hazard_ratio) = self._each(lambda rows: question(rows, columns, positions).mean), self._hurried
        if hurried not in places:
            return out
        axis = places.index(hurried)
        alone = self._each(lambda rows: rows.survival(columns[axis], positions[axis]).mean) ** (hazard_ratio - 1.0)
        return np.asarray(out * alone.reshape(len(out), *(-1 if k == axis else 1 for k in range(len(places)))))


def _in_order(places: list[Integers], answers: Array) -> Array:
    """Answers of all parts in the order of their rows."""
    return answers if len(places) == 1 else np.asarray(answers[np.argsort(np.concatenate(places))])
