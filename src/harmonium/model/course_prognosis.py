"""The prognosis of a model that has a harmonium for each endpoint of a course.

Rows whose course is known until some time are answered by these, as averages over what missing covariates may be; others by the harmonium
of whole courses (:mod:`harmonium.model.episode_prognosis`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM
from harmonium.model.completions import Completions
from harmonium.model.course_curves import CourseCurves
from harmonium.model.deviations import Movable, Question, deviations_along, linear_along
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.episode_prognosis import EpisodePrognosis
from harmonium.typing import Array, Booleans, Integers

__all__ = ["CoursePrognosis"]


class CoursePrognosis(EpisodePrognosis):
    """An :class:`~harmonium.model.episode_prognosis.EpisodePrognosis` with models of all endpoints."""

    models: EndpointModels
    _moving: tuple[int, int | None] | None = None  # the endpoint and state whose parameters are moved; otherwise those of whole courses
    _curves: tuple[Integers, Completions, CourseCurves] | None = None

    _roughly = False  # differences between answers are asked for, in which errors of integrals cancel

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
            self._kept_answered = self.models.answer_for(self.histories)
        return self._kept_answered

    def _curves_of(self, rows: Integers) -> tuple[Completions, CourseCurves]:
        """What rows may be that the models of endpoints answer, and their curves; kept for all of them."""
        if self._curves is not None and np.array_equal(self._curves[0], rows):
            return self._curves[1:]
        found = Completions.of(self.parameters, self.units, self.cells.part(rows), self._n_threads)
        covariates, known = found.covariates, self.histories.part(rows[found.rows])
        curves = CourseCurves(self.models, self.encoding, covariates, known, self._n_threads, self._roughly)
        if rows.size == np.count_nonzero(self._answered):
            self._curves = rows, found, curves
        return found, curves

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
        found, curves = self._curves_of(chosen[answered])
        own = np.swapaxes(found.averaged(np.swapaxes(question(curves), 0, 1)), 0, 1)
        if answered.all():
            return own
        out = np.empty((len(own), chosen.size, *own.shape[2:]))
        out[:, answered], out[:, ~answered] = own, others(chosen[~answered])
        return out

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
        out._moving, out._curves, out._roughly, out.warns = moving, None, True, False
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

    def hurried(self, endpoint: int, hazard_ratio: float) -> CoursePrognosis:
        """Of the same rows, with a factor of the hazard of the endpoint that this prognosis faces."""
        assert self._moving is not None, "whole courses have no hazards of endpoints"
        out = self._facing(None)
        out.models, out._curves = self.models.hurried(*self._moving, hazard_ratio), None
        return out

    def _standing_for(self, found: Completions) -> Self:
        out = super()._standing_for(found)
        out.models = self.models
        return out

    def _deviations(self, question: Question, thorough: bool) -> tuple[Array, Iterator[Array]]:
        """The answer to a question; it deviates along the directions of every endpoint's model, and of whole courses where these answer."""
        base = question(self)
        parts = [deviations_along(spread, one, question, thorough=thorough)[1] for spread, one in self._movable()]
        return base, (deviation for part in parts for deviation in part)

    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with what shrinkage has taken from all models."""
        return np.asarray(np.sum([linear_along(spread, one, question) for spread, one in self._movable()], axis=0))

    def _movable(self) -> Iterator[tuple[Any, CoursePrognosis]]:
        """Spreads, and prognoses whose parameters can be moved along them."""
        if not self._answered.all():
            yield (None if self.spreading is None else self.spreading.value), self._facing(None)
        if self._answered.any():
            for e, model in enumerate(self.models.models):
                yield model.spread, self._facing((e, None))
