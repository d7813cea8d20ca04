"""Concordance of one endpoint: Harrell's, and Uno's, which does not depend on the censoring. Computed by scikit-survival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sksurv.exceptions import NoComparablePairException
from sksurv.metrics import concordance_index_censored
from sksurv.metrics import concordance_index_ipcw as sksurv_ipcw

from harmonium.metrics.recordings import Recordings, as_predictions, ignore_entry, right_censored
from harmonium.metrics.undefined import caution, undefined
from harmonium.table.endpoints import Endpoints, parse_endpoints

__all__ = ["concordance_index", "concordance_index_ipcw", "harrell"]


def concordance_index(y: Any, risk: Any, *, endpoint: str | None = None) -> float:
    """Harrell's concordance index: how often, of two subjects, the one with the higher risk has the event first.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). Rows unknown for the endpoint, and those whose
        event lies between two times, do not count; late entry is ignored (see ``harmonium.metrics.recordings``).
    risk : array_like of shape (n_rows,)
        Higher means sooner.
    endpoint : str, optional
        May be left out if there is only one.

    Returns
    -------
    float
        Between 0 and 1, where 0.5 is chance; NaN, with a warning, if no two subjects can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0)], dtype=[("event", bool), ("time", float)])
    >>> concordance_index(y, [0.9, 0.1, 0.9])
    0.75
    """
    table = parse_endpoints(y)
    ignore_entry(table)
    return harrell(table, risk, endpoint)


def harrell(table: Endpoints, risk: Any, endpoint: str | None) -> float:
    """Harrell's index, of endpoints that have been read."""
    known = right_censored(table, endpoint)
    risk = as_predictions(risk, known.rows.size)[known.rows]
    metric = f"the concordance index of {known.name!r}"
    reason = _obstacle(known, risk)
    if reason:
        return undefined(metric, reason)
    return _concordance(metric, lambda: concordance_index_censored(known.event, known.time, risk))


def concordance_index_ipcw(y: Any, risk: Any, *, endpoint: str | None = None, y_train: Any = None, tau: float | None = None) -> float:
    """Uno's concordance index: pairs are weighted by the inverse probability of not being censored.

    Parameters
    ----------
    y : DataFrame or structured array
        As in :func:`concordance_index`.
    risk : array_like of shape (n_rows,)
        Higher means sooner.
    endpoint : str, optional
        May be left out if there is only one.
    y_train : DataFrame or structured array, optional
        Where the distribution of censoring is estimated; by default in ``y`` itself.
    tau : float, optional
        Only events before this time count. Events beyond the reach of the censoring estimate (its last time, or before it if its
        last subject was censored) never do; a warning says so.

    Returns
    -------
    float
        NaN, with a warning, if no two subjects can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0), (False, 6.0)], dtype=[("event", bool), ("time", float)])
    >>> round(concordance_index_ipcw(y, [0.9, 0.1, 0.1, 0.9]), 4)
    0.4762
    """
    table = parse_endpoints(y)
    ignore_entry(table)
    known = right_censored(table, endpoint)
    train = known if y_train is None else right_censored(parse_endpoints(y_train), endpoint)
    risk = as_predictions(risk, known.rows.size)[known.rows]
    metric = f"Uno's concordance index of {known.name!r}"
    reason = _obstacle(known, risk)
    if reason:
        return undefined(metric, reason)
    if not train.event.any():
        return undefined(metric, "there are no events where the censoring is estimated")
    end = np.inf if tau is None else float(tau)
    beyond = known.event & (known.time < end) & (known.time >= _reach(train))
    if beyond.any():
        end = _reach(train)
        caution(f"{metric} leaves out {beyond.sum()} events: nothing is known of the censoring from {train.time.max():g} on")
    if not (known.event & (known.time < end)).any():
        return undefined(metric, f"there are no events before {end:g}")
    return _concordance(metric, lambda: sksurv_ipcw(train.structured(), known.structured(), risk, tau=end))


def _obstacle(known: Recordings, risk: Any) -> str:
    """Why nothing can be computed, if so."""
    if known.time.size < 2:
        return "there are fewer than two subjects"
    if not known.event.any():
        return "there are no events"
    return "" if np.isfinite(risk).all() else "predictions are missing or infinite"


def _reach(train: Recordings) -> float:
    """The estimated probability of being uncensored is positive before this time."""
    last = train.time.max()
    ends_with_events = train.event[train.time == last].all()
    return float(np.nextafter(last, np.inf) if ends_with_events else last)


def _concordance(metric: str, compute: Callable[[], Any]) -> float:
    try:
        with np.errstate(invalid="ignore"):  # no pairs: scikit-survival raises, or divides zero by zero
            index = float(compute()[0])
    except NoComparablePairException:
        index = np.nan
    return undefined(metric, "no two subjects can be compared") if np.isnan(index) else index
