"""Drawn cohorts matched to the study: numbers that are distributed as in training, and times that are, where both are censored alike.

Whoever looks at a cohort sees its columns and, of its times, what censoring leaves. A Gaussian unit follows scores, but not to the last
hump; and where follow-up depends on covariates, such as the year of inclusion, Kaplan and Meier's curve of censored times is another than
that of all drawn times. So a reference cohort is drawn: what comes out is a quantile of the model, which becomes that of the study.
"""

from __future__ import annotations

import numpy as np

from harmonium.table.encoding import Encoding
from harmonium.table.numeric_scale import NumericScale
from harmonium.table.product_limit import ProductLimit
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Booleans

__all__ = ["has_numbers_to_match", "matched_numbers", "matched_positions"]

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
