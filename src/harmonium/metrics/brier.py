"""Brier score of survival curves, at times and integrated over them, weighted for the censoring (Graf et al. 1999)."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.observed import Estimate, Observed, observe
from harmonium.metrics.undefined import undefined
from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array, Booleans

__all__ = ["at_times", "brier_score", "integrated", "integrated_brier_score"]


def brier_score(y: Any, survival: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None) -> Array:
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
    return at_times(*observe(y, endpoint, y_train), survival, times)


def integrated_brier_score(y: Any, survival: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None) -> float:
    """Mean over time of the Brier score, by the trapezoidal rule.

    Parameters
    ----------
    y, survival, times, endpoint, y_train
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
    return integrated(*observe(y, endpoint, y_train), survival, times).value


def at_times(observed: Observed, train: Observed, survival: Any, times: Any) -> Array:
    """The Brier score at each time; ``survival`` is of all rows of the table."""
    observed, survival, times = _inputs(observed, train, survival, times)
    scores = np.full(times.size, np.nan)
    usable = _usable("the Brier score", observed, train, survival, times)
    if usable.any():
        losses = _Losses(observed, train.censoring())
        for k in np.flatnonzero(usable):
            squared, counted = losses.at(times[k], survival[:, k])
            scores[k] = squared.sum() / counted.sum()
    return scores


def integrated(observed: Observed, train: Observed, survival: Any, times: Any, metric: str = "the integrated Brier score") -> Estimate:
    """The integrated Brier score and its standard error; ``survival`` is of all rows of the table.

    The score is a mean over subjects, so its error is the standard deviation of what they contribute, over the root of their number.
    With late entry, it is a ratio at every time, and the error that of its linear approximation. The weights are taken as known.
    """
    observed, survival, times = _inputs(observed, train, survival, times)
    usable = _usable(metric, observed, train, survival, times)
    distinct, first = np.unique(times[usable], return_index=True)
    if distinct.size == 0:
        return Estimate(np.nan, np.nan)  # the warning has been given
    if distinct.size == 1:
        return Estimate(undefined(f"{metric} of {observed.name!r}", "only one time is left"), np.nan)
    columns = np.flatnonzero(usable)[first]
    losses, share = _Losses(observed, train.censoring()), _trapezoid(distinct)
    value, influence = 0.0, np.zeros(observed.time.size)
    for time, part, k in zip(distinct, share, columns, strict=True):
        squared, counted = losses.at(time, survival[:, k])
        n_counted = counted.sum()
        score = float(squared.sum() / n_counted)
        value += part * score
        influence += (part / n_counted) * (squared - score * counted)
    n = influence.size
    error = float(np.sqrt(n / (n - 1)) * np.linalg.norm(influence)) if n > 1 else np.nan
    return Estimate(float(value), error)


class _Losses:
    """Weighted squared differences of all subjects, time by time, so that memory is linear in their number."""

    def __init__(self, observed: Observed, censoring: ProductLimit) -> None:
        self._observed, self._censoring = observed, censoring
        self._at_event = _inverse(censoring.between(observed.entry, observed.time))
        self._entry = observed.entry if observed.has_late_entry else np.zeros(1)

    def at(self, time: float, survival: Array) -> tuple[Array, Booleans]:
        """Contributions at a time, and who counts then."""
        observed = self._observed
        counted = observed.entered_before(time)
        had_event, event_free = observed.event & (observed.time <= time), (observed.time > time) & counted
        weight = _inverse(self._censoring.between(self._entry, time))
        return np.where(had_event, survival**2 * self._at_event, np.where(event_free, (1.0 - survival) ** 2 * weight, 0.0)), counted


def _inverse(probability: Array) -> Array:
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
    n_rows = observed.rows.size
    if times.ndim != 1 or survival.shape != (n_rows, times.size):
        found = f"{survival.shape} and {times.shape}"
        raise ValueError(f"survival must have a row for each of {n_rows} subjects and a column for each time; found {found}")
    if train.time.size:  # who was observed for longer than anybody in training is known to be event-free until then
        observed = observed.cut_at(train.time.max())
    return observed, survival if observed.rows.all() else survival[observed.rows], times


def _usable(metric: str, observed: Observed, train: Observed, survival: Array, times: Array) -> Booleans:
    """Times at which the score can be estimated; a warning says if there are others."""
    nowhere = np.zeros(times.size, dtype=bool)
    metric = f"{metric} of {observed.name!r}"
    if not (observed.event.any() and train.event.any()):
        undefined(metric, "there are no events" if train.event.any() else "there are no events where the censoring is estimated")
        return nowhere
    if not np.isfinite(survival).all():
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
