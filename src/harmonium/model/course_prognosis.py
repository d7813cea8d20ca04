"""The prognosis of a model that has a harmonium for each endpoint of a course.

Rows whose covariates and course are known are answered by these; others, in which something has to be integrated out, by the harmonium of
whole courses (:mod:`harmonium.model.episode_prognosis`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM
from harmonium.model.course_curves import CourseCurves
from harmonium.model.deviations import Movable, Question, deviations_along, displaced_along
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.episode_prognosis import EpisodePrognosis
from harmonium.typing import Array, Booleans, Integers

__all__ = ["CoursePrognosis"]


class CoursePrognosis(EpisodePrognosis):
    """An :class:`~harmonium.model.episode_prognosis.EpisodePrognosis` with models of all endpoints."""

    models: EndpointModels
    _moving: tuple[int, int | None] | None = None  # the endpoint and state whose parameters are moved; otherwise those of whole courses
    _curves: tuple[Integers, CourseCurves] | None = None

    # --- which rows are whose ---

    @property
    def _covariates(self) -> Array:
        """As they are known, (rows, columns); NaN where they are not."""
        lower, upper = self.cells.bounds()
        return np.where(lower == upper, lower, np.nan)[:, : len(self.encoding.modelled)]

    @property
    def _answered(self) -> Booleans:
        """Rows that the models of endpoints answer."""
        if not hasattr(self, "_kept_answered"):
            self._kept_answered = self.models.answer_for(self._covariates, self.histories)
        return self._kept_answered

    def _own(self) -> tuple[Integers, CourseCurves]:
        """Rows that the models of endpoints answer, ready to be asked."""
        if self._curves is None:
            rows = np.flatnonzero(self._answered)
            curves = CourseCurves(self.models, self.encoding, self._covariates[rows], self.histories.part(rows), self._n_threads)
            self._curves = rows, curves
        return self._curves

    @property
    def methods(self) -> Any:
        """How each row is answered."""
        out = np.full(self.n_rows, CLOSED_FORM, dtype="<U11")
        if not self._answered.all():
            out[~self._answered] = super().methods[~self._answered]
        return out

    # --- answers ---

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        return self._joined(lambda own: own.probabilities(times), partial(super()._paths, times), rows)

    def _rates(self, times: Array, rows: Integers | None = None) -> Array:
        return self._joined(lambda own: own.rates(times), partial(super()._rates, times), rows)

    def _both(self, e: int, end: int, first: Array, last: Array, rows: Integers | None = None) -> Array:
        others = partial(super()._both, e, end, first, last)
        found = self._joined(lambda own: own.both(first, last)[None], lambda chosen: others(chosen)[None], rows)
        return np.asarray(found[0])

    def _after(self, state: int, e: int, times: Array, rows: Integers | None = None) -> Array:
        others = partial(super()._after, state, e, times)
        return np.asarray(self._joined(lambda own: own.after(times)[None], lambda chosen: others(chosen)[None], rows)[0])

    def _joined(
        self, question: Callable[[CourseCurves], Array], others: Callable[[Integers], Array], rows: Integers | None = None
    ) -> Array:
        """Answers (anything, rows, ...) of both kinds of rows."""
        chosen = np.arange(self.n_rows) if rows is None else rows
        answered = self._answered[chosen]
        if not answered.any():
            return others(chosen)
        own = question(self._asked_of(chosen[answered]))
        if answered.all():
            return own
        out = np.empty((len(own), chosen.size, *own.shape[2:]))
        out[:, answered], out[:, ~answered] = own, others(chosen[~answered])
        return out

    def _asked_of(self, chosen: Integers) -> CourseCurves:
        rows, curves = self._own()
        if np.array_equal(rows, chosen):
            return curves
        return CourseCurves(self.models, self.encoding, self._covariates[chosen], self.histories.part(chosen), self._n_threads)

    # --- how far they may be off ---

    def moved(self, step: Array) -> CoursePrognosis:
        """Of the same rows, by a model some of whose natural parameters are further along by a step."""
        if self._moving is None:
            found = super().moved(step)
            assert isinstance(found, CoursePrognosis)
            found.models = self.models
            return found
        out = self._facing(None)
        out.models, out._curves = self.models.moved(*self._moving, step), None
        return out

    def _facing(self, moving: tuple[int, int | None] | None) -> CoursePrognosis:
        """The same, of which other parameters are moved."""
        out = copy(self)
        out._moving, out.warns = moving, False
        return out

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Prognoses whose biases direct effects move, and the cells whose covariates they follow: one for each state."""
        if self._moving is None:
            return super().affected()
        e, _ = self._moving
        model, entered, out = self.models.models[e], self.histories.entered, []
        for state in (state for state, scale in enumerate(model.scales) if scale is not None):
            when = np.where(self.histories.state == state, entered, np.nan)
            values = model.covariates(self.encoding, self._covariates, state, when)
            out.append((self._facing((e, state)), model.encoding.cells(values)))
        return out

    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question; it deviates along the directions of every endpoint's model, and of whole courses where these answer."""
        base = question(self)
        parts = [deviations_along(spread, one, question, thorough=thorough)[1] for spread, one in self._movable()]
        return base, (deviation for part in parts for deviation in part)

    def displacement(self, question: Question, covariate: int) -> Array:
        """How far the answer to a question moves with the displacements by shrinkage of one covariate in all models."""
        name = self.encoding.modelled[covariate].name
        total = np.zeros(1)
        for spread, one in self._movable():
            own = self.encoding if one._moving is None else self.models.models[one._moving[0]].encoding
            place = [column.name for column in own.modelled].index(name)
            total = total + displaced_along(spread, one, question, place)
        return total

    def _movable(self) -> Iterator[tuple[Any, CoursePrognosis]]:
        """Spreads, and prognoses whose parameters can be moved along them."""
        if not self._answered.all():
            yield (None if self.spreading is None else self.spreading.value), self._facing(None)
        if self._answered.any():
            for e, model in enumerate(self.models.models):
                yield model.spread, self._facing((e, None))
