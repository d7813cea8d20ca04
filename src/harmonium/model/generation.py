"""Completed tables and synthetic cohorts, in the user's columns, types and units.

Drawn cohorts matched to the study: numbers that are distributed as in training, and times that are, where both are censored alike.

Whoever looks at a cohort sees its columns and, of its times, what censoring leaves. A Gaussian unit follows scores, but not to the last
hump; and where follow-up depends on covariates, such as the year of inclusion, Kaplan and Meier's curve of censored times is another than
that of all drawn times. So a reference cohort is drawn: what comes out is a quantile of the model, which becomes that of the study.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells
from harmonium.engine.states import EXACT_LIMIT
from harmonium.errors import GenerationWarning, warn
from harmonium.model.answering import Answering
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import to_pandas
from harmonium.table.numeric_scale import NumericScale
from harmonium.table.product_limit import ProductLimit
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Booleans

__all__ = ["draw_times", "has_numbers_to_match", "impute", "matched_numbers", "matched_positions", "sample"]

_ROUNDS = 3  # times move, and with them who is censored
_CHANCE, _FEW = 0.02, 0.01  # difference of two curves, and share of subjects still observed
_FOLLOWED = 3  # follow-ups drawn for each subject of a reference cohort: late, few of them are observed


def has_numbers_to_match(encoding: Encoding, missing: Booleans) -> bool:
    """Whether :func:`matched_numbers` changes anything."""
    return any(missing[:, c].any() for c in _in_scores(encoding))


def matched_numbers(encoding: Encoding, reference: Array, drawn: Array, missing: Booleans) -> Array:
    """Covariates (rows, columns) whose drawn numbers are as probable as their ranks in training are; those not missing stay."""
    out, rank = drawn.copy(), (np.arange(len(reference)) + 0.5) / len(reference)
    for c, scale in _in_scores(encoding).items():
        probability = np.interp(drawn[missing[:, c], c], np.sort(reference[:, c]), rank)
        out[missing[:, c], c] = scale.of_probability(probability)
    return out


def _in_scores(encoding: Encoding) -> dict[int, NumericScale]:
    """Columns that are modelled by their scores, and their scales."""
    scales = {c: column.scale for c, column in enumerate(encoding.modelled)}
    return {c: scale for c, scale in scales.items() if scale is not None and scale.name == "scores"}


def matched_positions(encoding: Encoding, reference: Array, drawn: Array, seed: int) -> Array:
    """Positions of drawn times (rows, endpoints) such that a reference cohort, censored as in the study, has the study's curves.

    Times of an endpoint stay as they are if the curves agree already, but for what chance does to a reference cohort, and if its scale was
    not calibrated: then the study's curve is not what it should agree with.

    Parameters
    ----------
    encoding : Encoding
        Of endpoints that are free of each other.
    reference : ndarray of shape (n_reference, n_columns)
        Values of all columns, drawn as those that are to be matched.
    drawn : ndarray of shape (n_rows, n_endpoints)
        Positions on time scales.
    seed : int
        Of the follow-up of the reference cohort.
    """
    n, out = len(encoding.modelled), drawn.copy()
    numbers = matched_numbers(encoding, reference[:, :n], reference[:, :n], np.ones((len(reference), n), dtype=bool))
    until = encoding.draw_follow_up(np.tile(numbers, (_FOLLOWED, 1)), np.random.default_rng(seed))
    positions = np.tile(reference[:, n:], (_FOLLOWED, 1))
    for place, (study, shares) in _observed_shares(encoding, positions, until).items():
        order = np.argsort(positions[:, place], kind="stable")
        share = np.interp(drawn[:, place], positions[order, place], shares[order])
        out[:, place] = study.position_on(encoding.timed[place].scale, share)
    return out


def _observed_shares(encoding: Encoding, positions: Array, until: Array) -> dict[int, tuple[TimeScale, Array]]:
    """Of endpoints to match: the study's share of events by time, and the share that belongs to each position of a cohort."""
    trained, observation = encoding.in_training().timed, encoding.observation
    studies = {
        place: own.calibration.observed
        for place, own in enumerate(encoding.timed)
        if own.calibration is not None and own.scale != trained[place].scale
    }
    times, shares = encoding.decode_times(positions), dict[int, Array]()
    for number in range(_ROUNDS):
        ends = until if observation is None else observation.ends(times, until)
        shares = {place: _shares(times[:, place], ends[:, place], positions[:, place]) for place in studies}
        if not number:
            studies = {place: own for place, own in studies.items() if _differ(own, times[:, place], ends[:, place], shares[place])}
        for place, study in studies.items():
            times[:, place] = study.from_unit(shares[place])
    return {place: (study, shares[place]) for place, study in studies.items()}


def _differ(study: TimeScale, times: Array, ends: Array, shares: Array) -> bool:
    """Whether a curve is further from the study's than chance may bring it, up to when few are still observed."""
    early = times <= np.quantile(np.minimum(times, ends), 1.0 - _FEW)
    return bool(np.abs(shares - study.to_unit(times))[early].max(initial=0.0) > _CHANCE)


def _shares(times: Array, ends: Array, positions: Array) -> Array:
    """The share of subjects with an event before each time, by what is observed until the ends; beyond, as far to 1 as positions are."""
    seen = times <= ends
    curve = ProductLimit.of_events(np.minimum(times, ends), seen)
    share = np.asarray(1.0 - 0.5 * (curve.at(times) + curve.at(np.nextafter(times, -np.inf))))
    later = times > times[seen].max(initial=0.0)
    last, at = (values[~later].max(initial=0.0) for values in (share, positions))
    share[later] = last + (1.0 - last) * (positions[later] - at) / (1.0 - at)
    return share


_N_REFERENCE = 20_000  # subjects whose values tell how a model distributes them


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
        (_completed(encoding, frame, values), endpoints.to_frame(index)) for values, endpoints in _drawn(fitted, cells, known, n_draws, rng)
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
    cells = _draw_from(encoding, given, known, within_range=True)
    if encoding.ordered is None:
        values = _matched(fitted, np.isnan(given), next(fitted.draw(cells, 1, rng, "cohort")), known)
        drawn = values[:, : len(encoding.modelled)]
        endpoints = _drawn_endpoints(encoding, values, known, encoding.draw_follow_up(drawn, rng) if censored else None)
    else:
        covariates, histories = next(fitted.draw_histories(cells, known, 1, rng, "cohort"))
        drawn = _matched(fitted, np.isnan(given), covariates, known)
        endpoints = histories.endpoints(encoding, encoding.draw_follow_up(drawn, rng) if censored else None)
    return encoding.decode_covariates(drawn), endpoints.to_frame()


def _drawn(fitted: Answering, cells: Cells, known: Endpoints, n_draws: int, rng: np.random.Generator) -> Iterator[tuple[Array, Endpoints]]:
    """Imputed tables: covariates, in their first columns, and endpoints."""
    if fitted.encoding.ordered is None:
        for values in fitted.draw(cells, n_draws, rng, "imputation"):
            yield values, _drawn_endpoints(fitted.encoding, values, known)
        return
    for covariates, histories in fitted.draw_histories(cells, known, n_draws, rng, "imputation"):
        yield covariates, histories.endpoints(fitted.encoding)


def _matched(fitted: Answering, missing: Booleans, values: Array, known: Endpoints) -> Array:
    """Drawn values whose numbers, and times of subjects of whom no time is known, are distributed as in the study."""
    encoding, n = fitted.encoding, missing.shape[1]
    free = missing.any(axis=1) & (known.lower == 0.0).all(axis=1) & np.isinf(known.upper).all(axis=1)
    of_times = encoding.ordered is None and bool(free.any())
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
    rng = np.random.default_rng(fitted.seed)
    if encoding.ordered is None:
        return next(fitted.draw(cells, 1, rng, "cohort"))
    return next(fitted.draw_histories(cells, nothing, 1, rng, "cohort"))[0]


def draw_times(fitted: Answering, covariates: Array, known: Endpoints | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Event times drawn given encoded covariates and what else is known, (draws, rows, endpoints)."""
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; found {n_draws}")
    encoding = fitted.encoding
    known = known or Endpoints.nothing(encoding.endpoint_names, len(covariates))
    cells = encoding.cells(covariates, known)
    if encoding.ordered is None:
        return np.stack([_drawn_times(encoding, values, known) for values in fitted.draw(cells, n_draws, rng, "prediction")])
    return np.stack([own.times for _, own in fitted.draw_histories(cells, known, n_draws, rng, "prediction")])


def _warn_if_covariates_are_not_modelled(fitted: Answering, purpose: str) -> None:
    if fitted.generator is None and fitted.training.settings.get("objective") in ("conditional", 1.0):
        warn(
            "the model was trained in parts, by partial_fit, to predict endpoints given covariates, and has not learned how covariates are "
            f'distributed; to {purpose}, fit it to a whole table, or in parts with objective="joint"',
            GenerationWarning,
        )


def _draw_from(encoding: Encoding, covariates: Array, known: Endpoints, within_range: bool) -> Cells:
    """Cells of known values; missing numbers become intervals if draws are to stay within range."""
    cells = encoding.cells(covariates, known)
    if not (within_range and encoding.modelled):
        return cells
    lower, upper = cells.bounds()
    for c, column in enumerate(encoding.modelled):
        if column.scale is not None:
            missing = np.isnan(lower[:, c])
            lower[missing, c], upper[missing, c] = column.scale.plausible_scores
    return Cells.from_bounds(cells.layout, lower, upper)


def _drawn_times(encoding: Encoding, values: Array, known: Endpoints) -> Array:
    """Drawn event times in the user's unit, never outside what is known of them; infinite beyond follow-up."""
    times = encoding.decode_times(np.minimum(values[:, len(encoding.modelled) :], 1.0 - 1e-12))
    at_zero = known.upper == 0.0
    upper = np.where(at_zero, [endpoint.first_time for endpoint in encoding.endpoints], known.upper)
    return np.where(known.event & ~at_zero, known.lower, np.clip(times, np.nextafter(known.lower, np.inf), upper))


def _drawn_endpoints(encoding: Encoding, values: Array, known: Endpoints, until: Array | None = None) -> Endpoints:
    """Drawn endpoints, censored where observation ends if follow-up is given."""
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
