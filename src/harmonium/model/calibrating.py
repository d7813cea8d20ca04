"""After training: time scales on which a model that knows nothing of a subject says what was observed.

The first duration of a course, like every endpoint that is free of the others, is calibrated by what the model says of a subject of whom
nothing is known. A later duration exists only for those who got there: it is calibrated by the mean over training rows that did, each
given its covariates and what happened before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.finding import find_rows
from harmonium.table.encoding import Encoding
from harmonium.table.episodes import Episodes
from harmonium.training.objective import Objective
from harmonium.typing import Array

__all__ = ["calibrated", "calibrated_to_generate", "mixed_scales"]

_POSITIONS = np.linspace(0.0, 1.0, 129)
_MOST_ROWS, _FEWEST_ROWS = 300, 10  # that began a duration


def calibrated(
    encoding: Encoding, parameters: Parameters, units: CovariateUnits | None, rows: Objective | None, n_threads: int | None = None
) -> Encoding:
    """An encoding with time scales that are calibrated for some parameters, which were learned on the scales of training.

    ``rows`` are of training; without them later durations are left as they are. Beyond enumeration what a model says would be a sample's,
    and all scales are.
    """
    encoding = encoding.in_training()
    places = [place for place, own in enumerate(encoding.timed) if own.calibration is not None]
    if parameters.n_hidden > EXACT_LIMIT or not places:
        return encoding
    ask = partial(_shares, encoding, parameters, units, n_threads)
    episodes = encoding.episodes
    first = places if episodes is None else [place for place in places if place == 0]
    shares = dict(zip(first, ask(first, Cells.all_free(encoding.layout), np.ones(1)), strict=True))
    if episodes is not None and rows is not None:
        for place in places:
            found = _at_beginning(episodes, place, rows) if place else None
            if found is not None:
                shares[place] = ask([place], *found)[0]
    timed = list(encoding.timed)
    for place, share in shares.items():
        calibration = timed[place].calibration
        if calibration is not None:
            timed[place] = replace(timed[place], scale=calibration.bent(_POSITIONS, share))
    return encoding.with_timed(tuple(timed))


def calibrated_to_generate(encoding: Encoding, parameters: Parameters, n_threads: int | None = None) -> Encoding:
    """The same for parameters that cohorts and imputations are drawn with.

    An endpoint whose observation another one ends is left as it is. What is observed of it in a drawn cohort depends on how the two go
    together, and Kaplan and Meier's estimate is not its share of events.
    """
    own = calibrated(encoding, parameters, None, None, n_threads)
    if encoding.observation is None or encoding.episodes is not None:
        return own
    pairs = zip(own.timed, encoding.observation.ended_by, strict=True)
    return own.with_timed(tuple(endpoint.in_training() if ended_by else endpoint for endpoint, ended_by in pairs))


def mixed_scales(encodings: Sequence[Encoding], weights: Sequence[float]) -> Encoding:
    """The encoding of a mixture of calibrated models: its shares are the averages of theirs, which their scales tell."""
    timed = list(encodings[0].in_training().timed)
    for place, own in enumerate(timed):
        if own.calibration is not None:
            shares = [own.calibration.shares_on(encoding.timed[place].scale, _POSITIONS) for encoding in encodings]
            timed[place] = replace(own, scale=own.calibration.bent(_POSITIONS, np.average(shares, axis=0, weights=weights)))
    return encodings[0].with_timed(tuple(timed))


def _shares(
    encoding: Encoding,
    parameters: Parameters,
    units: CovariateUnits | None,
    n_threads: int | None,
    places: Sequence[int],
    known: Cells,
    weights: Array,
) -> list[Array]:
    """The mean share of subjects with an event before each position, for each of some times."""
    alive = np.zeros((len(places), _POSITIONS.size))
    for part in find_rows(parameters, known, 0, n_threads, units):
        for number, place in enumerate(places):
            alive[number] += weights[part.places] @ part.rows.survival(encoding.column_of(place), _POSITIONS).mean
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
