"""Event histories drawn from a model of each endpoint, state after state: of the endpoints that may come next, the one that comes first."""

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
    """Replace drawn outcomes by those of drawn event histories.

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
    for step in range(known.kind.shape[1]):
        for before, e in {(int(s), int(k)) for s, k in zip(known.source[:, step], known.kind[:, step], strict=True) if s >= 0}:
            rows = np.flatnonzero((known.source[:, step] == before) & (known.kind[:, step] == e))
            drawing.write(before, rows, known.upper[rows, step] - known.origin[rows, step], np.full(rows.size, e))
    state, entered, since, going = known.state.copy(), known.entered.copy(), known.until - known.entered, known.ended < 0
    for own in sorted(models.course.states, key=int.bit_count):
        rows = np.flatnonzero(going & (state == own))
        if not rows.size:
            continue
        lasted, which = drawing.leave(own, rows, entered[rows], since[rows])
        for e in models.course.options(own):
            gone = rows[np.isfinite(lasted) & (which == e)]
            going[gone] = not models.course.is_terminal(e)
            if not models.course.is_terminal(e):
                state[gone] = models.course.after(own, e)
        entered[rows] += np.where(np.isfinite(lasted), lasted, 0.0)
        since[rows] = 0.0
        going[rows[~np.isfinite(lasted)]] = False


@dataclass(frozen=True)
class _Drawing:
    models: EndpointModels
    encoding: Encoding
    values: Array
    rng: np.random.Generator
    n_threads: int | None

    def leave(self, state: int, rows: Integers, entered: Array, since: Array) -> tuple[Array, Integers]:
        """Draw what ends a state; returns how long it lasted, infinite beyond follow-up, and the endpoint that happened."""
        options = np.array(self.models.course.options(state))
        times = np.column_stack([self._times(int(e), state, rows, entered, since) for e in options])
        first = np.argmin(times, axis=1)
        lasted, which = times[np.arange(rows.size), first], options[first]
        self.write(state, rows, lasted, which)
        return lasted, which

    def write(self, state: int, rows: Integers, lasted: Array, which: Integers) -> None:
        """As the duration of a state, on its scale, and the kind of its end; beyond follow-up, somewhere between the scale's end and 1."""
        assert self.encoding.episodes is not None
        scale, first = self.encoding.episodes.durations[state].scale, len(self.encoding.modelled)
        position = np.where(np.isfinite(lasted), scale.to_unit(np.where(np.isfinite(lasted), lasted, 0.0)), 0.5 * (1.0 + scale.reach))
        self.values[rows, first + state] = position
        options = list(self.models.course.options(state))
        if len(options) > 1:
            kinds = np.searchsorted(np.sort(options), which)
            self.values[rows, first + self.encoding.episodes.kind_place(state)] = np.argsort(options)[kinds]

    def _times(self, e: int, state: int, rows: Integers, entered: Array, since: Array) -> Array:
        """Times since a state was entered at which an endpoint happens, which has not happened until ``since``."""
        model, study = self.models.of(e, state), self.values[rows, : len(self.encoding.modelled)]
        covariates = model.covariates(self.encoding, study, state, entered)
        begun = since > 0.0
        lower = np.where(begun, np.minimum(model.positions(state, since), 1.0 - 1e-9), np.nan)[:, None]
        cells = Cells.joined(model.encoding.layout, covariates, lower, np.where(begun, 1.0, np.nan)[:, None])
        drawn = next(draw_tables(model.parameters, cells, 1, self.rng, self.n_threads))[:, model.encoding.layout.outcomes.start]
        return np.maximum(model.times(state, np.minimum(drawn, _LAST)), np.nextafter(since, np.inf))
