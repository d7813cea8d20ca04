"""Completed tables and synthetic cohorts, in the user's columns, types and units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells
from harmonium.engine.states import EXACT_LIMIT
from harmonium.errors import GenerationWarning, warn
from harmonium.model.answering import Answering, Purpose
from harmonium.model.course_draws import DrawnCourses, drawn_courses
from harmonium.model.matching import has_numbers_to_match, matched_numbers, matched_positions
from harmonium.table.encoding import NARROWEST, Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.episodes import Episodes
from harmonium.table.frames import to_pandas
from harmonium.typing import Array, Booleans

__all__ = ["draw_times", "impute", "sample"]

_N_REFERENCE = 20_000  # subjects whose values tell how a model distributes them
_MOST_ATTEMPTS = 100  # to draw a course that agrees with what is known
_MOST_AT_ONCE = 50_000  # subjects drawn again: several attempts together are quick, but take memory


def impute(
    fitted: Answering,
    X: Any,
    y: Any,
    covariates: Array,
    known: Endpoints | None,
    n_draws: int,
    within_range: bool,
    rng: np.random.Generator,
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """See :meth:`harmonium.SurvivalHarmonium.impute`; ``covariates`` and ``known`` are the encoded tables."""
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; found {n_draws}")
    if np.isnan(covariates).any():
        _warn_if_covariates_are_not_modelled(fitted, "impute covariates")
    frame, encoding = to_pandas(X), fitted.encoding
    known = known or Endpoints.nothing(encoding.endpoint_names, len(frame))
    cells = _draw_from(encoding, covariates, known, within_range)
    index = frame.index if y is None or not hasattr(y, "index") else y.index
    return [
        (_completed(encoding, frame, values), _drawn_endpoints(encoding, values, known).to_frame(index))
        for values in _possible(fitted, cells, known, n_draws, rng, "imputation")
    ]


def sample(
    fitted: Answering, covariates: Array, known: Endpoints | None, n_samples: int, censored: bool, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """See :meth:`harmonium.SurvivalHarmonium.sample`; so many subjects for every row of encoded covariates."""
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; found {n_samples}")
    if np.isnan(covariates).any():
        _warn_if_covariates_are_not_modelled(fitted, "draw covariates")
    encoding = fitted.encoding
    known = (known or Endpoints.nothing(encoding.endpoint_names, len(covariates))).repeated(n_samples)
    given = np.repeat(covariates, n_samples, axis=0)
    values = next(_possible(fitted, _draw_from(encoding, given, known, within_range=True), known, 1, rng, "cohort"))
    values = _matched(fitted, np.isnan(given), values, known)
    drawn = values[:, : len(encoding.modelled)]
    endpoints = _drawn_endpoints(encoding, values, known, encoding.draw_follow_up(drawn, rng) if censored else None)
    return encoding.decode_covariates(drawn), endpoints.to_frame()


def _matched(fitted: Answering, missing: Booleans, values: Array, known: Endpoints) -> Array:
    """Drawn values whose numbers, and times of subjects of whom no time is known, are distributed as in the study."""
    encoding, n = fitted.encoding, missing.shape[1]
    free = missing.any(axis=1) & (known.lower == 0.0).all(axis=1) & np.isinf(known.upper).all(axis=1)
    of_times = encoding.episodes is None and bool(free.any())
    if fitted.n_hidden > EXACT_LIMIT or not (of_times or has_numbers_to_match(encoding, missing)):  # a draw is a chain of its own there
        return values
    reference, out = _reference_cohort(fitted), values.copy()
    out[:, :n] = matched_numbers(encoding, reference[:, :n], values[:, :n], missing)
    if of_times:
        out[free, n:] = matched_positions(encoding, reference, values[free, n:], fitted.seed)
    return out


def _reference_cohort(fitted: Answering) -> Array:
    """Subjects of whom nothing is known, always the same, whose values tell how a model distributes them."""
    encoding = fitted.encoding
    nothing = Endpoints.nothing(encoding.endpoint_names, _N_REFERENCE)
    cells = _draw_from(encoding, np.full((_N_REFERENCE, len(encoding.modelled)), np.nan), nothing, within_range=True)
    return next(fitted.draw(cells, nothing, 1, np.random.default_rng(fitted.seed), "cohort"))


def draw_times(fitted: Answering, covariates: Array, known: Endpoints | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Event times drawn given encoded covariates and what else is known, (draws, rows, endpoints)."""
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; found {n_draws}")
    encoding = fitted.encoding
    known = known or Endpoints.nothing(encoding.endpoint_names, len(covariates))
    tables = _possible(fitted, _known_cells(encoding, covariates, known), known, n_draws, rng, "prediction")
    return np.stack([_drawn_times(encoding, values, known) for values in tables])


def _possible(
    fitted: Answering, cells: Cells, known: Endpoints, n_draws: int, rng: np.random.Generator, purpose: Purpose
) -> Iterator[Array]:
    """Completed tables; courses that do not agree with what is known of a subject are drawn again."""
    episodes = fitted.encoding.episodes
    for values in fitted.draw(cells, known, n_draws, rng, purpose):
        if episodes is not None:
            _draw_again(fitted, episodes, cells, known, values, rng, purpose)
        yield values


def _draw_again(
    fitted: Answering, episodes: Episodes, cells: Cells, known: Endpoints, values: Array, rng: np.random.Generator, purpose: Purpose
) -> None:
    """Replace courses that are not possible, by the first of more and more that is; the last if none of many is."""
    encoding, attempts, size = fitted.encoding, 0, 1
    left = np.flatnonzero(~_courses(encoding, episodes, values, known).possible)
    while left.size and attempts < _MOST_ATTEMPTS:
        repeated = np.repeat(left, size)
        drawn = next(fitted.draw(cells.part(repeated), known.part(repeated), 1, rng, purpose))
        possible = _courses(encoding, episodes, drawn, known.part(repeated)).possible.reshape(left.size, size)
        found = possible.any(axis=1)
        values[left] = drawn.reshape(left.size, size, -1)[np.arange(left.size), np.where(found, possible.argmax(axis=1), size - 1)]
        left, attempts = left[~found], attempts + size
        size = max(1, min(4 * size, _MOST_ATTEMPTS - attempts, _MOST_AT_ONCE // max(left.size, 1)))


def _courses(encoding: Encoding, episodes: Episodes, values: Array, known: Endpoints) -> DrawnCourses:
    return drawn_courses(episodes, values[:, len(encoding.modelled) :], known)


def _warn_if_covariates_are_not_modelled(fitted: Answering, purpose: str) -> None:
    if any(model.generator is None and model.training.settings.get("objective") in ("conditional", 1.0) for _, model in fitted.components):
        warn(
            "the model was trained in parts, by partial_fit, to predict endpoints given covariates, and has not learned how covariates are "
            f'distributed; to {purpose}, fit it to a whole table, or in parts with objective="joint"',
            GenerationWarning,
        )


def _draw_from(encoding: Encoding, covariates: Array, known: Endpoints, within_range: bool) -> Cells:
    """Cells of known values; missing numbers become intervals if draws are to stay within range."""
    cells = _known_cells(encoding, covariates, known)
    if not within_range:
        return cells
    lower, upper = cells.bounds()
    for c, column in enumerate(encoding.modelled):
        if column.scale is not None:
            missing = np.isnan(lower[:, c])
            lower[missing, c], upper[missing, c] = column.scale.plausible_scores
    return Cells.from_bounds(cells.layout, lower, upper)


def _known_cells(encoding: Encoding, covariates: Array, known: Endpoints) -> Cells:
    """Cells of known values; the state in which a row was last seen that died later, nobody knows how, has ended by then."""
    cells, episodes = encoding.cells(covariates, known), encoding.episodes
    if episodes is None:
        return cells
    found = episodes.histories(known)
    dead = np.flatnonzero(np.isfinite(found.dead))
    if not dead.size:
        return cells
    lower, upper = cells.bounds()
    for state in np.unique(found.state[dead]):
        rows, place = dead[found.state[dead] == state], len(encoding.modelled) + state
        scale = episodes.durations[state].scale
        since = np.nan_to_num(lower[rows, place])
        lower[rows, place] = since
        upper[rows, place] = np.maximum(scale.to_unit(found.dead[rows] - found.entered[rows]), since + NARROWEST)
    return Cells.from_bounds(cells.layout, lower, upper)


def _drawn_times(encoding: Encoding, values: Array, known: Endpoints) -> Array:
    """Drawn event times in the user's unit, never outside what is known of them; infinite beyond follow-up, or after a terminal event."""
    if encoding.episodes is not None:
        return _courses(encoding, encoding.episodes, values, known).times
    times = encoding.decode_times(np.minimum(values[:, len(encoding.modelled) :], 1.0 - 1e-12))
    at_zero = known.upper == 0.0
    upper = np.where(at_zero, [endpoint.first_time for endpoint in encoding.endpoints], known.upper)
    return np.where(known.event & ~at_zero, known.lower, np.clip(times, np.nextafter(known.lower, np.inf), upper))


def _drawn_endpoints(encoding: Encoding, values: Array, known: Endpoints, until: Array | None = None) -> Endpoints:
    """Drawn endpoints, censored where observation ends if follow-up is given."""
    if encoding.episodes is not None:
        drawn = _courses(encoding, encoding.episodes, values, known).endpoints(encoding.episodes.course, until)
        return replace(drawn, unit=encoding.unit)
    times = _drawn_times(encoding, values, known)
    if until is not None and encoding.observation is not None:
        until = encoding.observation.ends(times, until)
    return _events_at(encoding, times, known.lower, until)


def _events_at(encoding: Encoding, times: Array, since: Array, ends: Array | None = None) -> Endpoints:
    """Endpoints with events at given times, or censored at the end of observation, beyond which there are no times of events."""
    last = np.maximum([scale.end for scale in encoding.scales], since)
    end = np.where(np.isinf(times), last, np.inf) if ends is None else ends
    last = np.minimum(times, end)
    return Endpoints(encoding.endpoint_names, last, np.where(times <= end, last, np.inf), np.zeros_like(times), unit=encoding.unit)


def _completed(encoding: Encoding, frame: pd.DataFrame, values: Array) -> pd.DataFrame:
    """The user's table with its missing values filled in."""
    decoded = encoding.decode_covariates(values[:, : len(encoding.modelled)], frame.index)
    out = frame.copy()
    for name in decoded.columns.intersection(frame.columns):
        series = frame[name]
        missing = series.isna().to_numpy()
        if missing.any():
            out[name] = _filled(series, missing, decoded[name])
    return out


def _filled(series: pd.Series, missing: Any, drawn: pd.Series) -> pd.Series:
    """A column with its missing values filled in, of its own type if that can hold the values."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        out = series.astype(drawn.dtype) if isinstance(drawn.dtype, pd.CategoricalDtype) else series.astype(object)
    else:
        out = series.copy()
    values = drawn[missing] if isinstance(out.dtype, pd.CategoricalDtype) else drawn[missing].to_numpy()
    try:
        out[missing] = values
    except (TypeError, ValueError):  # whole numbers here, but not in training
        out = out.astype(drawn.dtype)
        out[missing] = values
    return out
