"""After training: time scales on which a model that knows nothing of a subject says what was observed.

The first duration of a course, like every endpoint that is free of the others, is calibrated by what the model says of a subject of whom
nothing is known. A later duration exists only for those who got there: it is calibrated by the mean over training rows that did, each
given its covariates and what happened before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.finding import find_rows
from harmonium.model.fitted import Fitted
from harmonium.table.encoding import Encoding
from harmonium.table.episodes import Episodes
from harmonium.training.objective import Objective
from harmonium.typing import Array

__all__ = ["calibrated", "on_scales"]

_POSITIONS = np.linspace(0.0, 1.0, 129)
_MOST_ROWS, _FEWEST_ROWS = 300, 10  # that began a duration


def calibrated(model: Fitted, rows: Objective) -> Encoding:
    """The model's encoding with time scales that are calibrated; ``rows`` are of training, on the scales of training.

    Beyond enumeration what the model says would be a sample's, and scales stay as they are.
    """
    encoding = model.encoding
    places = [place for place, own in enumerate(encoding.timed) if own.calibration is not None]
    if model.n_hidden > EXACT_LIMIT or not places:
        return encoding
    shares: dict[int, Array] = {}
    first = places if encoding.episodes is None else [place for place in places if place == 0]
    shares.update(zip(first, _shares(model, first, Cells.all_free(encoding.layout), np.ones(1)), strict=True))
    for place in places:
        found = None if encoding.episodes is None or place == 0 else _at_beginning(encoding.episodes, place, rows)
        if found is not None:
            shares[place] = _shares(model, [place], *found)[0]
    timed = list(encoding.timed)
    for place, share in shares.items():
        calibration = timed[place].calibration
        if calibration is not None:
            timed[place] = replace(timed[place], scale=calibration.bent(_POSITIONS, share))
    return encoding.with_timed(tuple(timed))


def _shares(model: Fitted, places: Sequence[int], known: Cells, weights: Array) -> list[Array]:
    """The mean share of subjects with an event before each position, for each of some times."""
    alive = np.zeros((len(places), _POSITIONS.size))
    for part in find_rows(model.parameters, known, model.seed, model.n_jobs, model.covariate_units):
        for number, place in enumerate(places):
            alive[number] += weights[part.places] @ part.rows.survival(model.encoding.column_of(place), _POSITIONS).mean
    return list(1.0 - alive / weights.sum())


def _at_beginning(episodes: Episodes, state: int, rows: Objective) -> tuple[Cells, Array] | None:
    """What is known of subjects when a later duration begins, and their weights; None if too few got there."""
    first, course = rows.layout.outcomes.start, episodes.course
    there = np.flatnonzero(~np.isnan(rows.recorded.column(first + state)[0]) & (rows.row_weights > 0.0))
    if there.size < _FEWEST_ROWS:
        return None
    there = there[np.unique(np.linspace(0, there.size - 1, _MOST_ROWS).astype(int))]
    lower, upper = rows.recorded.bounds(there)
    later = [other for other in course.states if other & state == state]
    places = [*later, *(episodes.kind_place(other) for other in later if other in course.branching)]
    for bound in (lower, upper):
        bound[:, [first + place for place in places]] = np.nan
    return Cells.from_bounds(rows.layout, lower, upper), rows.row_weights[there]


def on_scales(rows: Objective, before: Encoding, after: Encoding) -> Objective:
    """Training rows on other time scales."""
    first = before.layout.outcomes.start
    lower, upper = (bound[:, first:].copy() for bound in rows.recorded.bounds())
    entry = rows.entry.copy()
    for place, (old, new) in enumerate(zip(before.timed, after.timed, strict=True)):
        if new.scale is not old.scale:
            for positions in (lower, upper, entry):
                inside = positions[:, place] < 1.0
                positions[inside, place] = new.scale.to_unit(old.scale.from_unit(np.minimum(positions[inside, place], old.scale.reach)))
    return replace(rows, recorded=rows.recorded.with_outcomes(lower, upper), entry=entry)
