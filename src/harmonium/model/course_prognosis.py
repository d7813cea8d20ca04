"""The prognosis of a model that has a harmonium for each endpoint: averages over what rows may be that are not known in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM
from harmonium.model.deviations import Movable, Question, deviations_along, linear_along
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.episode_prognosis import EpisodePrognosis
from harmonium.model.history_completions import HistoryCompletions
from harmonium.model.history_curves import HistoryCurves
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["CoursePrognosis"]


class CoursePrognosis(EpisodePrognosis):
    """An :class:`~harmonium.model.episode_prognosis.EpisodePrognosis` with models of all endpoints."""

    models: EndpointModels
    _moving: tuple[int, int | None] = (0, None)  # the endpoint and state whose parameters are moved
    _completed: HistoryCompletions | None = None
    _curves: HistoryCurves | None = None

    _roughly = False  # differences between answers are asked for, in which errors of integrals cancel

    @property
    def _values(self) -> Array:
        """Covariates as they are known, (rows, columns); NaN where they are not."""
        lower, upper = self.cells.bounds()
        return np.where(lower == upper, lower, np.nan)[:, : len(self.encoding.modelled)]

    @property
    def completed(self) -> HistoryCompletions:
        """What rows may be."""
        if self._completed is None:
            y = self.known or Endpoints.nothing(self.encoding.endpoint_names, self.n_rows)
            parts = self.models, self.encoding, self.parameters, self.units, self._values, y, self._n_threads
            self._completed = HistoryCompletions.of(*parts)
        return self._completed

    def _curves_of(self, rows: Integers | None) -> tuple[HistoryCompletions, HistoryCurves]:
        """What some rows may be, and their curves; kept for all of them."""
        found = self.completed if rows is None else self.completed.part(rows)
        if rows is not None or self._curves is None:
            curves = HistoryCurves(self.models, self.encoding, found.covariates, found.known, self._n_threads, self._roughly)
            if rows is not None:
                return found, curves
            self._curves = curves
        return found, self._curves

    @property
    def methods(self) -> Any:
        """How each row is answered."""
        return np.full(self.n_rows, CLOSED_FORM, dtype="<U11")

    # --- answers ---

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        return self._averaged(lambda own: own.probabilities(times), rows)

    def _rates(self, times: Array, rows: Integers | None = None) -> Array:
        return self._averaged(lambda own: own.rates(times), rows)

    def _both(self, e: int, end: int, first: Array, last: Array, rows: Integers | None = None) -> Array:
        return np.asarray(self._averaged(lambda own: own.both(e, end, first, last)[None], rows)[0])

    def _after(self, state: int, e: int, times: Array, rows: Integers | None = None) -> Array:
        return np.asarray(self._averaged(lambda own: own.after(times)[None], rows)[0])

    def _averaged(self, question: Callable[[HistoryCurves], Array], rows: Integers | None) -> Array:
        """Answers (anything, rows, ...)."""
        found, curves = self._curves_of(rows)
        return np.swapaxes(found.averaged(np.swapaxes(question(curves), 0, 1)), 0, 1)

    # --- how far they may be off ---

    def moved(self, step: Array) -> CoursePrognosis:
        """Of the same rows, by a model some of whose natural parameters are further along by a step."""
        return self._with(self.models.moved(*self._moving, step))

    def hurried(self, endpoint: int, hazard_ratio: float) -> CoursePrognosis:
        """Of the same rows, with a factor of the hazard of the endpoint that this prognosis faces."""
        return self._with(self.models.hurried(*self._moving, hazard_ratio))

    def _with(self, models: EndpointModels) -> CoursePrognosis:
        out = self._facing((0, None))
        out.models = models
        return out

    def _facing(self, moving: tuple[int, int | None]) -> CoursePrognosis:
        """The same, of which other parameters are moved."""
        out = copy(self)
        out._moving, out._completed, out._curves, out._roughly, out.warns = moving, self.completed, None, True, False
        return out

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Prognoses whose biases direct effects move, and the cells whose covariates they follow: one for each state."""
        e, _ = self._moving
        model, known, out = self.models.models[e], self.histories, []
        for state in (state for state, scale in enumerate(model.scales) if scale is not None):
            when = np.where(known.state == state, known.entered, np.nan)
            values = model.covariates(self.encoding, self._values, state, when)
            out.append((self._facing((e, state)), model.encoding.cells(values)))
        return out

    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, and how far it deviates along each direction of every endpoint's model.

        Rows that are not known in full deviate as the average of what they may be, whose distribution is as it was learned.
        """
        found = self.completed
        if found.rows.size == self.n_rows:
            return question(self), self._along(question, thorough)
        along = self._standing_for_these(found)._along(question, thorough)
        return question(self), (found.averaged(own) for own in along)

    def _standing_for_these(self, found: HistoryCompletions) -> Self:
        """Of what rows may be."""
        cells = self.encoding.cells(found.covariates, found.y)
        out = type(self)(self.encoding, self.parameters, cells, found.y, self._seed, self._n_threads, self.units)
        out.models, out.warns, out.stands_for = self.models, False, found.rows
        out._completed = found._replace(rows=np.arange(found.rows.size), weights=np.ones(found.rows.size))
        return out

    def _along(self, question: Question, thorough: bool) -> Iterator[Array]:
        parts = (deviations_along(spread, one, question, thorough=thorough)[1] for spread, one in self._movable())
        return (deviation for part in parts for deviation in part)

    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with what shrinkage has taken from all models."""
        return np.asarray(np.sum([linear_along(spread, one, question) for spread, one in self._movable()], axis=0))

    def _movable(self) -> Iterator[tuple[Any, CoursePrognosis]]:
        """Spreads, and prognoses whose parameters can be moved along them."""
        for e, model in enumerate(self.models.models):
            yield model.spread, self._facing((e, None))

    @property
    def histories(self) -> Histories:
        """What is known of every row's history; of rows that stand for others, all."""
        return self.completed.known if self.completed.rows.size == self.n_rows else super().histories
