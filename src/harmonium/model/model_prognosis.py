"""The prognosis of one model: averages over its hidden states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.model.deviations import Movable, Question, deviations_along, displaced_along
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

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.cells.n_rows

    def moved(self, step: Array) -> ModelPrognosis:
        """Of the same rows, by a model whose natural parameters are further along by a step."""
        parameters = moved(self.parameters, step)
        out = type(self)(self.encoding, parameters, self.cells, self.known, self._seed, self._n_threads, self.units)
        out.warns = False
        return out

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Prognoses whose biases direct effects move, and the cells whose covariates they follow."""
        return [(self, self.cells)]

    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, and how far it deviates along each direction of the model's spread."""
        spread = None if self.spreading is None else self.spreading.value
        return deviations_along(spread, self, question, thorough=thorough)

    def displacement(self, question: Question, covariate: int) -> Array:
        """How far the answer to a question moves with the displacement by shrinkage of one covariate."""
        return displaced_along(None if self.spreading is None else self.spreading.value, self, question, covariate)

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
        return Answer(*(_in_order(places, array) for array in (found.mean, found.standard_error, found.r_hat)))

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
        return self._each(lambda rows: question(rows, columns, positions).mean)


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
