"""Courses drawn from a model of each endpoint, event after event: of the endpoints that may come next, the one that comes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.cells import Cells
from harmonium.model.draws import draw_tables
from harmonium.model.endpoint_models import EndpointModels
from harmonium.table.encoding import Encoding
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["simulate_courses"]

_LAST = 1.0 - 1e-12  # the last position of a drawn event


def simulate_courses(
    models: EndpointModels, encoding: Encoding, values: Array, known: Histories, rng: np.random.Generator, n_threads: int | None = None
) -> None:
    """Replace drawn outcomes by those of drawn courses, in the rows that the models of endpoints answer.

    Parameters
    ----------
    models : EndpointModels
    encoding : Encoding
        Of the study.
    values : ndarray of shape (n_rows, n_columns)
        Complete tables, whose outcomes, durations and kinds of episodes, are changed.
    known : Histories
        Of each row.
    rng : numpy.random.Generator
    n_threads : int, optional
    """
    drawing = _Drawing(models, encoding, values, rng, n_threads)
    rows = np.flatnonzero(known.state == 0)
    entered = np.array(known.entered)
    since = known.until - known.entered
    after = np.flatnonzero(known.state == 1)
    if rows.size:
        passed = drawing.first_events(rows, since[rows])
        entered[rows] += passed
        new = rows[np.isfinite(passed)]
        since[new] = 0.0
        after = np.union1d(after, new)
    if after.size:
        drawing.last_events(after, entered[after], since[after])


@dataclass(frozen=True)
class _Drawing:
    models: EndpointModels
    encoding: Encoding
    values: Array
    rng: np.random.Generator
    n_threads: int | None

    def first_events(self, rows: Integers, since: Array) -> Array:
        """Draw what happens first; returns when it was the passing event, infinite if it was not."""
        course = self.models.course
        options = course.options(0)
        times = np.column_stack([self._times(e, 0, rows, np.zeros(rows.size), since) for e in options])
        which = np.argmin(times, axis=1)
        first = times[np.arange(rows.size), which]
        self._write(0, rows, first)
        if len(options) > 1:
            assert self.encoding.episodes is not None
            self.values[rows, len(self.encoding.modelled) + self.encoding.episodes.kind_place(0)] = which
        passing = np.isin(np.array(options)[which], [e for e in options if not course.is_terminal(e)])
        return np.where(passing & np.isfinite(first), first, np.inf)

    def last_events(self, rows: Integers, entered: Array, since: Array) -> None:
        """Draw what ends the state after the passing event."""
        (end,) = self.models.course.options(1)
        self._write(1, rows, self._times(end, 1, rows, entered, since))

    def _times(self, e: int, state: int, rows: Integers, entered: Array, since: Array) -> Array:
        """Times since a state was entered at which an endpoint happens, which has not happened until ``since``."""
        model, study = self.models.of(e, state), self.values[rows, : len(self.encoding.modelled)]
        covariates = model.covariates(self.encoding, study, state, entered)
        begun = since > 0.0
        lower = np.where(begun, np.minimum(model.positions(state, since), 1.0 - 1e-9), np.nan)[:, None]
        cells = Cells.joined(model.encoding.layout, covariates, lower, np.where(begun, 1.0, np.nan)[:, None])
        drawn = next(draw_tables(model.parameters, cells, 1, self.rng, self.n_threads))[:, model.encoding.layout.outcomes.start]
        return np.maximum(model.times(state, np.minimum(drawn, _LAST)), np.nextafter(since, np.inf))

    def _write(self, state: int, rows: Integers, times: Array) -> None:
        """As the duration of a state, on its scale; beyond follow-up, somewhere between its end and 1."""
        assert self.encoding.episodes is not None
        scale = self.encoding.episodes.durations[state].scale
        position = np.where(np.isfinite(times), scale.to_unit(np.where(np.isfinite(times), times, 0.0)), 0.5 * (1.0 + scale.reach))
        self.values[rows, len(self.encoding.modelled) + state] = position
