"""Brier score of survival curves, at times and integrated over them. Computed by scikit-survival."""

from __future__ import annotations

from typing import Any

import numpy as np
import sksurv.metrics

from harmonium.metrics.recordings import Recordings, ignore_entry, right_censored
from harmonium.metrics.undefined import caution, undefined
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["brier_score", "integrated_brier_score"]


def brier_score(y: Any, survival: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None) -> Array:
    """Mean squared difference between predicted survival and what happened, weighted for the censoring.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). Rows unknown for the endpoint, and those whose
        event lies between two times, do not count; late entry is ignored (see ``harmonium.metrics.recordings``).
    survival : array_like of shape (n_rows, n_times)
        Predicted probability of no event until each time.
    times : array_like of shape (n_times,)
        In any order.
    endpoint : str, optional
        May be left out if there is only one.
    y_train : DataFrame or structured array, optional
        Where the distribution of censoring is estimated; by default in ``y`` itself.

    Returns
    -------
    ndarray of shape (n_times,)
        Lower is better. NaN, with a warning, at times before the first recording in ``y``, from its last one on, or from the last
        one in ``y_train`` on: there the score cannot be estimated. Subjects watched beyond the last recording in ``y_train`` count
        as being event-free until then.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0), (False, 6.0)], dtype=[("event", bool), ("time", float)])
    >>> brier_score(y, [[0.5, 0.2], [0.9, 0.8], [0.8, 0.5], [0.9, 0.6]], [2.5, 5.0])
    array([0.0775 , 0.16375])
    """
    known, train, survival, times = _inputs(y, survival, times, endpoint, y_train)
    scores = np.full(times.size, np.nan)
    usable = _usable("the Brier score", known, train, survival, times)
    if usable.any():
        distinct, first, places = np.unique(times[usable], return_index=True, return_inverse=True)
        curves = survival[:, usable][:, first]
        scores[usable] = sksurv.metrics.brier_score(train.structured(), known.structured(), curves, distinct)[1][places]
    return scores


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
    metric = "the integrated Brier score"
    known, train, survival, times = _inputs(y, survival, times, endpoint, y_train)
    usable = _usable(metric, known, train, survival, times)
    distinct, first = np.unique(times[usable], return_index=True)
    if distinct.size == 0:
        return float("nan")  # the warning has been given
    if distinct.size == 1:
        return undefined(f"{metric} of {known.name!r}", "only one time is left")
    curves = survival[:, usable][:, first]
    return float(sksurv.metrics.integrated_brier_score(train.structured(), known.structured(), curves, distinct))


def _inputs(y: Any, survival: Any, times: Any, endpoint: str | None, y_train: Any) -> tuple[Recordings, Recordings, Array, Array]:
    table = parse_endpoints(y)
    ignore_entry(table)
    known = right_censored(table, endpoint)
    train = known if y_train is None else right_censored(parse_endpoints(y_train), endpoint)
    times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    survival = np.asarray(survival, dtype=np.float64)
    if times.ndim != 1 or survival.shape != (known.rows.size, times.size):
        found = f"{survival.shape} and {times.shape}"
        raise ValueError(f"survival must have a row for each of {known.rows.size} subjects and a column for each time; found {found}")
    if train.time.size:  # who was watched for longer than anybody in training is known to be event-free until then
        known = known.cut_at(train.time.max())
    return known, train, survival[known.rows], times


def _usable(metric: str, known: Recordings, train: Recordings, survival: Array, times: Array) -> Any:
    """Times at which the score can be estimated; a warning tells if there are others."""
    nowhere = np.zeros(times.size, dtype=bool)
    metric = f"{metric} of {known.name!r}"
    if not (known.event.any() and train.event.any()):
        undefined(metric, "there are no events" if train.event.any() else "there are no events where the censoring is estimated")
        return nowhere
    if not np.isfinite(survival).all():
        undefined(metric, "predictions are missing or infinite")
        return nowhere
    first, last = known.time.min(), known.time.max()
    usable = (times >= first) & (times < last)
    if not usable.any():
        undefined(metric, f"no time lies in the follow-up, from {first:g} until before {last:g}")
    elif not usable.all():
        caution(f"{metric} leaves out {(~usable).sum()} of {times.size} times: they lie outside the follow-up, from {first:g} to {last:g}")
    return usable
