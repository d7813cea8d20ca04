"""Brier score of survival curves, at times and integrated over them, weighted for the censoring (Graf et al. 1999)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.observed import Estimate, Observed, observe
from harmonium.metrics.undefined import undefined
from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array, Booleans, Integers

__all__ = [
    "IntegratedBrier",
    "at_times",
    "brier_score",
    "check_shape",
    "integrated",
    "integrated_brier_score",
    "inverse_probability",
    "usable_times",
]


def brier_score(y: Any, survival: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None) -> Array:
    r"""Mean squared difference between predicted survival and what happened, weighted for the censoring.

    With G the distribution of the censoring, a subject with an event at :math:`T \le t` contributes :math:`S(t)^2 / G(T)`, one that
    is still under observation :math:`(1 - S(t))^2 / G(t)`, and one that was censored before t nothing. Subjects that entered late count
    at t only if they entered before t; G is then the probability of remaining uncensored since entry.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). Rows unknown for the endpoint, and those whose
        event lies between two times, do not count.
    survival : array_like of shape (n_rows, n_times)
        Predicted probability of no event until each time. For subjects that entered late, given that there was none until entry,
        S(t) / S(entry); what is predicted for times before entry does not count.
    times : array_like of shape (n_times,)
        In any order.
    endpoint : str, optional
        By default the first.
    y_train : DataFrame or structured array, optional
        Where the distribution of the censoring is estimated; by default in ``y`` itself.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row of ``y`` stands; they also count in the distribution of the censoring, unless ``y_train`` is given.

    Returns
    -------
    ndarray of shape (n_times,)
        Lower is better. NaN, with a warning, at times before the first observed time in ``y``, from its last one on, or from the last
        one in ``y_train`` on: there the score cannot be estimated. Subjects observed beyond the last time in ``y_train`` count as
        being event-free until then.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher, Assessment and comparison of prognostic classification schemes for survival data,
    Statistics in Medicine 18 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0), (False, 6.0)], dtype=[("event", bool), ("time", float)])
    >>> brier_score(y, [[0.5, 0.2], [0.9, 0.8], [0.8, 0.5], [0.9, 0.6]], [2.5, 5.0])
    array([0.0775 , 0.16375])
    """
    return at_times(*observe(y, endpoint, y_train, sample_weight), survival, times)


def integrated_brier_score(
    y: Any, survival: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None
) -> float:
    """Mean over time of the Brier score, by the trapezoidal rule.

    Parameters
    ----------
    y, survival, times, endpoint, y_train, sample_weight
        As in :func:`brier_score`. Times at which the Brier score cannot be estimated are left out, with a warning, so that the mean
        is over a shorter range.

    Returns
    -------
    float
        Lower is better. NaN, with a warning, if fewer than two distinct times are left.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0), (False, 6.0)], dtype=[("event", bool), ("time", float)])
    >>> round(integrated_brier_score(y, [[0.5, 0.2], [0.9, 0.8], [0.8, 0.5], [0.9, 0.6]], [2.5, 5.0]), 4)
    0.1206
    """
    return integrated(*observe(y, endpoint, y_train, sample_weight), survival, times).value


def at_times(observed: Observed, train: Observed, survival: Any, times: Any) -> Array:
    """The Brier score at each time; ``survival`` is of all rows of the table."""
    observed, survival, times = _inputs(observed, train, survival, times)
    scores = np.full(times.size, np.nan)
    usable = usable_times("the Brier score", observed, train, times, survival)
    if usable.any():
        losses = _Losses(observed, train.censoring())
        for k in np.flatnonzero(usable):
            squared, counted = losses.at(times[k], survival[:, k])
            scores[k] = squared.sum() / observed.weighted(counted).sum()
    return scores


def integrated(observed: Observed, train: Observed, survival: Any, times: Any, metric: str = "the integrated Brier score") -> Estimate:
    """The integrated Brier score and its standard error; ``survival`` is of all rows of the table.

    The score is a mean over subjects, so its error is the standard deviation of what they contribute, over the root of their number.
    With late entry, it is a ratio at every time, and the error that of its linear approximation. The weights are taken as known.
    """
    survival = np.asarray(survival, dtype=np.float64)
    score = IntegratedBrier.of(observed, train, np.atleast_1d(np.asarray(times, dtype=np.float64)), metric)
    check_shape(observed, survival, score.n_times)
    return score.concluded(observed, *score.losses(observed, survival))


@dataclass(frozen=True)
class IntegratedBrier:
    """The integrated Brier score in steps, for predictions that arrive in parts.

    What depends on all rows is found first; then every part's contributions; then the score.

    Attributes
    ----------
    metric : str
        Its name in warnings.
    n_times : int
        Of the predictions.
    times, columns : ndarray
        Distinct times at which the score can be estimated, and where they are among those of the predictions.
    n_counted : ndarray
        Subjects that count at each of these times, or their weight.
    end : float
        The last time in training: who was observed for longer is known to be event-free until then.
    censoring : ProductLimit
        Its distribution in training.
    """

    metric: str
    n_times: int
    times: Array
    columns: Integers
    n_counted: Any
    end: float
    censoring: ProductLimit

    @classmethod
    def of(cls, observed: Observed, train: Observed, times: Array, metric: str = "the integrated Brier score") -> IntegratedBrier:
        """For the subjects of all parts together."""
        end = float(train.time.max()) if train.time.size else np.inf
        cut = observed.cut_at(end)
        usable = usable_times(metric, cut, train, times)
        distinct, first = np.unique(times[usable], return_index=True)
        if distinct.size == 1:
            undefined(f"{metric} of {observed.name!r}", "only one time is left")
            distinct, first = distinct[:0], first[:0]
        counted = np.array([cut.weighted(cut.entered_before(time)).sum() for time in distinct])
        return cls(metric, times.size, distinct, np.flatnonzero(usable)[first], counted, end, train.censoring())

    def losses(self, observed: Observed, survival: Array) -> tuple[Array, Array]:
        """What each subject of a part contributes to the score, and the sum of squared differences of the part at each time.

        ``survival`` is of all rows of the part's table.
        """
        part = observed.cut_at(self.end)
        survival = survival if part.rows.all() else survival[part.rows]
        own, sums, losses = np.zeros(part.time.size), np.zeros(self.times.size), _Losses(part, self.censoring)
        for k, (time, share, n_counted) in enumerate(zip(self.times, self.shares, self.n_counted, strict=True)):
            squared, _ = losses.at(time, survival[:, self.columns[k]])
            own += (share / n_counted) * squared
            sums[k] = squared.sum()
        return own, sums

    def concluded(self, observed: Observed, own: Array, sums: Array) -> Estimate:
        """The score, from the contributions of all subjects in order, and from the sums of all parts."""
        if not self.times.size:
            return Estimate(np.nan, np.nan)  # the warning has been given
        if not np.isfinite(sums).all():
            return Estimate(undefined(f"{self.metric} of {observed.name!r}", "predictions are missing or infinite"), np.nan)
        scores, influence, cut = sums / self.n_counted, own.copy(), observed.cut_at(self.end)
        for time, share, score, n_counted in zip(self.times, self.shares, scores, self.n_counted, strict=True):
            influence -= (share / n_counted) * score * cut.weighted(cut.entered_before(time))
        n = cut.n_subjects
        influence = cut.per_subject(influence) * (np.sqrt(n / (n - 1)) if n > 1 else np.nan)
        return Estimate(float(self.shares @ scores), float(np.linalg.norm(influence)), influence)

    @property
    def shares(self) -> Array:
        """Weights of the times in the mean over their range."""
        return _trapezoid(self.times) if self.times.size else np.empty(0)


class _Losses:
    """Weighted squared differences of all subjects, time by time, so that memory is linear in their number."""

    def __init__(self, observed: Observed, censoring: ProductLimit) -> None:
        self._observed, self._censoring = observed, censoring
        self._at_event = inverse_probability(censoring.between(observed.entry, observed.time))
        self._entry = observed.entry if observed.has_late_entry else np.zeros(1)

    def at(self, time: float, survival: Array) -> tuple[Array, Booleans]:
        """Contributions at a time, and who counts then."""
        observed = self._observed
        counted = observed.entered_before(time)
        had_event, event_free = observed.event & (observed.time <= time), (observed.time > time) & counted
        weight = inverse_probability(self._censoring.between(self._entry, time))
        squared = np.where(had_event, survival**2 * self._at_event, np.where(event_free, (1.0 - survival) ** 2 * weight, 0.0))
        return observed.weighted(squared), counted


def inverse_probability(probability: Array) -> Array:
    """One over a probability; 0 where that is 0, as nobody can stand for those who were lost."""
    return np.divide(1.0, probability, out=np.zeros_like(probability), where=probability > 0.0)


def _trapezoid(times: Array) -> Array:
    """Weights of ascending times in the mean over their range."""
    steps = np.diff(times)
    out: Array = 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0)) / (times[-1] - times[0])
    return out


def _inputs(observed: Observed, train: Observed, survival: Any, times: Any) -> tuple[Observed, Array, Array]:
    times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    survival = np.asarray(survival, dtype=np.float64)
    check_shape(observed, survival, times.size)
    if train.time.size:  # who was observed for longer than anybody in training is known to be event-free until then
        observed = observed.cut_at(train.time.max())
    return observed, survival if observed.rows.all() else survival[observed.rows], times


def check_shape(observed: Observed, predicted: Array, n_times: int, called: str = "survival") -> None:
    """Refuse predictions that are not of all rows of the table and of all times."""
    n_rows = observed.rows.size
    if predicted.shape != (n_rows, n_times):
        found = f"{predicted.shape} and {(n_times,)}"
        raise ValueError(f"{called} must have a row for each of {n_rows} subjects and a column for each time; found {found}")


def usable_times(metric: str, observed: Observed, train: Observed, times: Array, survival: Array | None = None) -> Booleans:
    """Times at which the score can be estimated; a warning says if there are others."""
    nowhere = np.zeros(times.size, dtype=bool)
    metric = f"{metric} of {observed.name!r}"
    if not (observed.event.any() and train.event.any()):
        undefined(metric, "there are no events" if train.event.any() else "there are no events where the censoring is estimated")
        return nowhere
    if survival is not None and not np.isfinite(survival).all():
        undefined(metric, "predictions are missing or infinite")
        return nowhere
    first, last = observed.time.min(), observed.time.max()
    usable: Booleans = (times >= first) & (times < last)
    if not usable.any():
        undefined(metric, f"no time lies in the follow-up, from {first:g} until before {last:g}")
    elif not usable.all():
        left_out = f"{(~usable).sum()} of {times.size} times"
        warn(f"{metric} leaves out {left_out}: they lie outside the follow-up, from {first:g} to {last:g}", MetricWarning)
    return usable
