"""The prognosis of one model: averages over its hidden states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.parameters import Parameters
from harmonium.model.completions import Completions
from harmonium.model.deviations import Movable, Question, deviations_along, linear_along
from harmonium.model.finding import FoundRows, find_rows
from harmonium.model.hidden import Answer, stacked
from harmonium.model.on_demand import OnDemand
from harmonium.model.prognosis import Joint, Prognosis
from harmonium.model.quantiles import invert_survival
from harmonium.model.restricted_mean import restricted_mean
from harmonium.model.rows import Rows
from harmonium.model.spread import Spread, moved
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array, Booleans, Integers

__all__ = ["ModelPrognosis"]


class ModelPrognosis(Prognosis):
    """The prognosis of one model: averages over its hidden states, which are found when first needed and kept."""

    def __init__(
        self,
        encoding: Encoding,
        parameters: Parameters,
        cells: Cells,
        known: Endpoints | None,
        seed: int,
        n_threads: int | None,
        units: CovariateUnits | None = None,
    ) -> None:
        super().__init__(encoding, known)
        self.parameters = parameters
        self.units = units
        self.cells = cells
        self._seed, self._n_threads = seed, n_threads
        self._found: list[FoundRows] | None = None
        self.spreading: OnDemand[Spread] | None = None
        self._hurried: tuple[int | None, float] = (None, 1.0)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.cells.n_rows

    def moved(self, step: Array) -> ModelPrognosis:
        """Of the same rows, by a model whose natural parameters are further along by a step."""
        parameters = moved(self.parameters, step)
        out = type(self)(self.encoding, parameters, self.cells, self.known, self._seed, self._n_threads, self.units)
        out.warns, out.stands_for = False, self.stands_for
        return out

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Prognoses whose biases direct effects move, and the cells whose covariates they follow."""
        return [(self, self.cells)]

    def hurried(self, endpoint: int, hazard_ratio: float) -> ModelPrognosis:
        """Of the same rows, with a factor of the hazard of one endpoint: in survival, incidence and joint survival, which averages are of.

        That others follow the endpoint is left out of joint survival.
        """
        out = copy(self)
        out._hurried, out.warns = (endpoint, hazard_ratio), False
        return out

    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, and how far it deviates along each direction of the model's spread.

        Rows with missing values deviate as the average of what they may be, whose distribution is as it was learned.
        """
        if not incomplete_rows(self.cells).any():
            return self._deviations(question, thorough)
        found = Completions.of(self.parameters, self.units, self.cells, self._n_threads)
        along = self._standing_for(found)._deviations(question, thorough)[1]
        return question(self), (found.averaged(own) for own in along)

    def _standing_for(self, found: Completions) -> Self:
        """Of what rows may be."""
        known = None if self.known is None else self.known.part(found.rows)
        out = type(self)(self.encoding, self.parameters, found.cells, known, self._seed, self._n_threads, self.units)
        out.spreading, out.warns, out.stands_for = self.spreading, False, found.rows
        return out

    def _deviations(self, question: Question, thorough: bool) -> tuple[Array, Iterator[Array]]:
        return deviations_along(self._spread, self, question, thorough=thorough)

    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with the linear effects on the hazards that shrinkage has taken from the model."""
        return linear_along(self._spread, self, question)

    @property
    def _spread(self) -> Spread | None:
        return None if self.spreading is None else self.spreading.value

    @property
    def methods(self) -> Any:
        """How each row is answered."""
        out = np.empty(self.n_rows, dtype="<U11")
        for found in self._parts():
            out[found.places] = found.methods
        return out

    def hidden(self) -> Array:
        """p(h = 1) of every hidden unit (eq. 7), (rows, hidden units)."""
        return self._each(lambda rows: rows.expected_hidden())

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
        return _in_order([places for places, _ in answers], np.concatenate([answer for _, answer in answers]))

    def _survival(self, e: int, positions: Array) -> Answer:
        column = self.encoding.column_of(e)
        answers = [(part.places, part.rows.survival(column, positions)) for part in self._parts()]
        places, found = [place for place, _ in answers], stacked([answer for _, answer in answers])
        answer = Answer(*(_in_order(places, array) for array in (found.mean, found.standard_error, found.r_hat)))
        return replace(answer, mean=answer.mean ** self._hurried[1]) if e == self._hurried[0] else answer

    def _survival_at(self, e: int, positions: Array) -> Array:
        column = self.encoding.column_of(e)
        answers = [(part.places, part.rows.survival_at(column, positions[part.places])) for part in self._parts()]
        return _in_order([places for places, _ in answers], np.concatenate([answer for _, answer in answers]))

    def _density(self, e: int, positions: Array) -> Array:
        column = self.encoding.column_of(e)
        return self._each(lambda rows: rows.density(column, positions).mean)

    def _hazard(self, e: int, positions: Array) -> Array:
        column = self.encoding.column_of(e)
        return self._each(lambda rows: rows.hazard(column, positions))

    def _quantile(self, e: int, level: float) -> Array:
        column = self.encoding.column_of(e)
        return self._each(lambda rows: _quantile(rows, column, level, exact=rows.exact))

    def _restricted_mean(self, e: int, until: float) -> Array:
        column, scale = self.encoding.column_of(e), self._scale(e)
        return self._each(lambda rows: restricted_mean(rows, column, scale, until))

    def _risk(self, e: int) -> Array:
        column = self.encoding.column_of(e)
        return -self._each(lambda rows: rows.mean_position(column).mean[:, 0])

    def _joint(self, question: Joint, places: list[int], positions: list[Array]) -> Array:
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


def _quantile(rows: Rows, column: int, level: float, *, exact: bool) -> Array:
    """Where survival falls to a level; the event itself where it is known."""
    lower, upper = rows.cells.column(column)
    out = np.where(lower == upper, lower, np.nan)
    left = np.isnan(out)
    if left.any():
        unknown = rows if left.all() else rows.part(left)

        def curves(chosen: Booleans, positions: Array) -> tuple[Array, Array]:
            part = unknown if chosen.all() else unknown.part(chosen)
            return part.survival(column, positions).mean, part.density(column, positions).mean

        out[left] = invert_survival(curves, int(left.sum()), level, exact=exact)
    return out
