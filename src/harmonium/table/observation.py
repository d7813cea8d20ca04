"""How the subjects of a training table were observed: until when, given their covariates, and which event ends the observation of what.

Who was included late was followed for a shorter time, so follow-up may depend on covariates such as the year; death ends the observation
of a recurrence. A synthetic cohort that is censored otherwise is recognised by that.

The time until the end of follow-up is normal on the scale of its own quantiles, with a mean that is linear in the covariates. Where an
event has ended observation, follow-up would have been longer: a regression with censored values, by expectation and maximisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from harmonium.numerics.normal_quantile import normal_quantile
from harmonium.table.columns import Column
from harmonium.table.endpoints import Endpoints
from harmonium.table.learned_endpoint import FollowUp, follow_up_at
from harmonium.table.product_limit import ProductLimit
from harmonium.table.rules import Finite, NotNegative
from harmonium.typing import Array, Booleans

__all__ = ["Observation", "observation_of"]

_SAME = 1e-6  # relative difference of times
_MOSTLY, _ENOUGH = 0.9, 5  # a rule is one if it holds in so many of the rows that can tell, and so many can
_PRIOR = 20.0  # rows that say of every covariate that follow-up does not depend on it
_MOST_ROWS = 20_000
_ITERATIONS = 30
_FURTHEST, _NARROWEST = 4.0, 1e-3  # scores of follow-up, and their spread


@dataclass(frozen=True)
class Observation:
    """How subjects were observed.

    Attributes
    ----------
    follow_up : FollowUp or None
        Until when, if that is the same for all endpoints.
    ended_by : tuple of tuple of int
        For each endpoint, those whose event ends its observation.
    weights : tuple of tuple of float
        For each covariate in the layout's order: by how much the score of follow-up changes with a number's own score, or with each level.
    start, spread : float
        Mean score where all these are 0, and standard deviation around the mean.
    """

    follow_up: FollowUp | None
    ended_by: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[Finite, ...], ...]
    start: Finite
    spread: NotNegative

    def probabilities(self, covariates: Array, rng: np.random.Generator) -> Array:
        """Drawn probabilities of the distribution of follow-up, given encoded covariates without missing values."""
        from scipy.special import ndtr  # noqa: PLC0415 - takes long to import, and summaries do without

        score = self.start + self.spread * rng.standard_normal(len(covariates))
        for values, weights in zip(covariates.T, self.weights, strict=True):
            score += values * weights[0] if len(weights) == 1 else np.array(weights)[values.astype(int)]
        return np.asarray(ndtr(score))

    def ends(self, times: Array, follow_up: Array) -> Array:
        """Until when each endpoint is observed, (rows, endpoints), given event times and the ends of follow-up."""
        seen = np.where(times <= follow_up, times, np.inf)
        return np.column_stack(
            [np.minimum(follow_up[:, e], seen[:, list(by)].min(axis=1, initial=np.inf)) for e, by in enumerate(self.ended_by)]
        )


def observation_of(columns: Sequence[Column], covariates: Array, y: Endpoints, weights: Array | None = None) -> Observation:
    """Learn it from a training table with encoded covariates.

    Parameters
    ----------
    columns : sequence of Column
        In the layout's order.
    covariates : ndarray of shape (n_rows, n_columns)
    y : Endpoints
    weights : ndarray of shape (n_rows,), optional
        Of the rows.
    """
    step = max(1, len(covariates) // _MOST_ROWS)
    covariates, lower, upper = covariates[::step], y.lower[::step], y.upper[::step]
    count = None if weights is None else weights[::step]
    time = np.where(np.isfinite(upper), upper, lower)
    event = np.isfinite(upper)
    last = time.max(axis=1)
    goes_on = (event & (time >= last[:, None] * (1.0 - _SAME))).any(axis=1)  # an event was seen last: follow-up might have been longer
    known = last > 0.0
    own = None if count is None else count[known]
    curve = ProductLimit.of_censoring(last[known], goes_on[known], weights=own)
    table, widths = _design(columns, covariates[known])
    slopes, start, spread = _regression(table, _scores(curve, last[known]), goes_on[known], own)
    common = _is_common(time, event, count)
    return Observation(
        follow_up_at(curve.times, curve.survival) if common and known.any() else None,
        tuple(tuple(f for f in range(time.shape[1]) if f != e and _ends(time, event, f, e, count)) for e in range(time.shape[1])),
        tuple(tuple(map(float, own)) for own in np.split(slopes, np.cumsum(widths)[:-1])) if widths else (),
        start,
        spread,
    )


def _is_common(time: Array, event: Booleans, count: Array | None) -> bool:
    """Whether endpoints that were all censored were so at the same time."""
    rows = ~event.any(axis=1) & (time > 0.0).all(axis=1)
    same = np.ptp(time[rows], axis=1) <= _SAME * time[rows].max(axis=1)
    return time.shape[1] == 1 or _is_rule(same, None if count is None else count[rows])


def _ends(time: Array, event: Booleans, first: int, second: int, count: Array | None) -> bool:
    """Whether an event of the first endpoint ends the observation of the second, if that has had none."""
    rows = event[:, first] & ~event[:, second] & (time[:, second] > 0.0)
    ended = time[rows, second] <= time[rows, first] * (1.0 + _SAME)
    return _is_rule(ended, None if count is None else count[rows])


def _is_rule(holds: Booleans, count: Array | None) -> bool:
    """Whether something holds in nearly all of enough rows."""
    if count is None:
        return holds.size >= _ENOUGH and bool(holds.mean() >= _MOSTLY)
    total = float(count.sum())
    return total >= _ENOUGH and bool(count[holds].sum() >= _MOSTLY * total)


def _design(columns: Sequence[Column], covariates: Array) -> tuple[Array, list[int]]:
    """Scores of numbers, and a column for each level; 0 where a number is missing, and everywhere where a level is."""
    parts = [np.empty((len(covariates), 0))]
    for column, values in zip(columns, covariates.T, strict=True):
        numeric = column.role == "numeric"
        parts.append(np.nan_to_num(values)[:, None] if numeric else (values[:, None] == np.arange(len(column.levels))).astype(np.float64))
    return np.concatenate(parts, axis=1), [part.shape[1] for part in parts[1:]]


def _scores(curve: ProductLimit, last: Array) -> Array:
    """Normal quantiles of the probability that follow-up ends before, half of those who ended at the same time included."""
    after = curve.at(last)
    before = curve.at(np.nextafter(last, -np.inf))
    return np.clip(normal_quantile(np.clip(1.0 - 0.5 * (before + after), 1e-9, 1.0 - 1e-9)), -_FURTHEST, _FURTHEST)


def _regression(table: Array, score: Array, goes_on: Booleans, count: Array | None = None) -> tuple[Array, float, float]:
    """Weights, start and spread of scores, which are lower bounds where follow-up might have gone on; mean 0 and variance 1 over rows.

    ``count`` says for how many subjects each row stands.
    """
    from scipy.special import log_ndtr  # noqa: PLC0415 - as above

    weights, start, spread = np.zeros(table.shape[1]), 0.0, 1.0
    if not score.size or goes_on.all():
        return weights, start, spread
    mean_of = partial(np.average, axis=0, weights=count) if count is not None else partial(np.mean, axis=0)
    centre = mean_of(table)
    inner = table - centre
    counted = inner.T if count is None else inner.T * count
    solve = np.linalg.inv(counted @ inner + _PRIOR * np.eye(table.shape[1])) @ counted
    for _ in range(_ITERATIONS):
        mean = start + inner @ weights
        z = np.where(goes_on, (score - mean) / spread, 0.0)
        ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(-z))  # of the density to what is beyond
        filled = np.where(goes_on, mean + spread * ratio, score)
        beyond = np.where(goes_on, spread**2 * np.maximum(1.0 + z * ratio - ratio**2, 0.0), 0.0)
        start = float(mean_of(filled))
        weights = solve @ (filled - start)
        spread = max(float(np.sqrt(mean_of((filled - start - inner @ weights) ** 2 + beyond))), _NARROWEST)
    fitted = inner @ weights
    total = float(np.sqrt((np.var(fitted) if count is None else mean_of((fitted - mean_of(fitted)) ** 2)) + spread**2))
    weights = weights / total
    return weights, -float(centre @ weights), spread / total
