"""The one place where predictions of a model meet what happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import MetricWarning, silenced
from harmonium.metrics.brier import integrated
from harmonium.metrics.calibration import DCalibration, calibration
from harmonium.metrics.competing import is_prevented
from harmonium.metrics.competing_evaluation import competing_row
from harmonium.metrics.concordance import harrell, uno
from harmonium.metrics.metric_intervals import with_intervals
from harmonium.metrics.observed import (
    Estimate,
    Observed,
    counts_of,
    interval_censored,
    mean_of,
    place_of,
    right_censored,
    something_observed,
)
from harmonium.metrics.predictions import Predictions, in_unit_of
from harmonium.metrics.times import CENTRAL, grid_of
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import Endpoints
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array

__all__ = ["endpoint_log_likelihood", "evaluate", "evaluation_row", "mean_log_likelihood"]


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    endpoints: Any = None,
    times: Any = CENTRAL,
    y_train: Any = None,
    given: Any = None,
    n_bins: int = 10,
    likelihood: bool = True,
    sample_weight: Any = None,
    interval: float | None = None,
) -> pd.DataFrame:
    """Compare the predictions of a model with what happened: discrimination, accuracy and calibration of every endpoint.

    Parameters
    ----------
    model : object
        Fitted. Asked for ``prognosis(X, given=)`` if it has that; otherwise for ``predict(X, endpoint=, given=)`` and
        ``predict_survival_function(X, endpoint=, times=, given=, return_array=True)``, where ``given`` is left out if there is none.
    X : DataFrame or array
        Covariates of subjects that were not used for training; others flatter the model.
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time).
    endpoints : str or list of str, optional
        By default all in ``y``.
    times : "central" or array_like
        Over which the Brier score is integrated. By default 60 equally spaced times between the 10 % and 90 % quantiles of the
        endpoint's event times in ``y`` (:func:`harmonium.metrics.central_times`).
    y_train : DataFrame or structured array, optional
        Where the distribution of the censoring and the Kaplan-Meier curve are estimated; by default in ``y`` itself.
    given : DataFrame, optional
        What is known of the endpoints when the predictions are made.
    n_bins : int
        Of D-calibration.
    likelihood : bool
        Whether the log-likelihood is found, which takes long for a model whose answers are sampled.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row of ``y`` stands, 0 for none. Standard errors take the sum for the number of subjects. The
        distribution of the censoring and the Kaplan-Meier curve count weights too, unless ``y_train`` is given.
    interval : float, optional
        Probability of intervals, such as 0.95, over subjects like these; the model stays as it is. Two models are compared by
        :func:`harmonium.compare`, whose differences are paired.

    Returns
    -------
    pandas.DataFrame
        A row for each endpoint, with the columns

        * ``rows`` in which something is known of the endpoint, and ``events``, those that lie between two times among them;
        * ``concordance``, ``concordance_ipcw``: Harrell's index and Uno's;
        * ``integrated_brier_score``, and ``kaplan_meier_ibs``, that of the Kaplan-Meier curve for everybody or, if a terminal event may
          prevent the endpoint, of the Aalen-Johansen estimate;
        * ``d_calibration``, ``d_calibration_p``: its statistic and p-value;
        * ``log_likelihood``: mean over rows of ln p of this endpoint alone, the others being unknown. NaN if the model has none, if it
          was not asked for, if something is ``given``, or if an endpoint is terminal;
        * with ``_se``, standard errors over subjects: of the indices by the infinitesimal jackknife, of means by the standard deviation.
          Weights for the censoring are taken as known;
        * with ``_lower`` and ``_upper``, intervals if they are asked for: of indices as log odds, of scores as logarithms.

        A metric that the rows do not define is NaN, with a :class:`harmonium.errors.MetricWarning`.

    Notes
    -----
    Subjects that entered late are compared with the prediction given that there was no event until entry, S(t) / S(entry), and count
    from entry on. Rows whose event lies between two times count in the log-likelihood alone; where there are
    any, D-calibration is NaN.

    Where a terminal event may prevent an endpoint, predictions are cumulative incidences, those who have had the terminal event are known
    to remain without the other, and D-calibration, which has no meaning there, is NaN.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.load_nvalt8()
    >>> model = hm.SurvivalHarmonium(n_hidden=1, random_state=0).fit(X, y)
    >>> found = evaluate(model, X, y)
    >>> found[["rows", "events"]]
              rows  events
    endpoint
    os         200      84
    rfs        197     106
    >>> bool((found["integrated_brier_score"] < found["kaplan_meier_ibs"]).all())
    True
    """
    known = in_unit_of(model, y)
    train = None if y_train is None else in_unit_of(model, y_train)
    names = known.names if endpoints is None else (endpoints,) if isinstance(endpoints, str) else tuple(endpoints)
    places = [place_of(known.names, name) for name in names]
    predictions = Predictions(model, X, given)
    with_likelihood = likelihood and given is None and not known.terminal and hasattr(model, "log_likelihood")
    rows = []
    for e, name in zip(places, names, strict=True):
        if is_prevented(known, name):
            rows.append(
                competing_row(known, e, train, predictions, times, sample_weight) | _columns("log_likelihood", Estimate(np.nan, np.nan))
            )
            continue
        observed = right_censored(known, name, sample_weight=sample_weight)
        own_train, grid = observed if train is None else right_censored(train, name), grid_of(observed, times)
        brier = integrated(observed, own_train, predictions.survival(observed, grid), grid)
        risk, own_survival = predictions.risk(observed), predictions.own_survival(observed)
        row = evaluation_row(known, e, observed, own_train, grid, n_bins, risk, own_survival, brier) | counts_of(known, e, sample_weight)
        values = endpoint_log_likelihood(model, X, y, known, e) if with_likelihood else None
        rows.append(row | _columns("log_likelihood", mean_log_likelihood(known, e, values, sample_weight)))
    found = pd.DataFrame(rows, index=pd.Index(names, name="endpoint"))
    return found if interval is None else with_intervals(found, interval)


def evaluation_row(
    known: Endpoints,
    e: int,
    observed: Observed,
    train: Observed,
    grid: Array,
    n_bins: int,
    risk: Array,
    own_survival: Array,
    brier: Estimate,
) -> dict[str, float]:
    """Of one endpoint, all but the likelihood; ``risk`` and ``own_survival`` are of all rows."""
    calibrated = calibration(observed, own_survival, n_bins)
    if interval_censored(known)[:, e].any():  # of these rows without the events that were left out, fewer had one than predicted
        value = undefined(f"D-calibration of {observed.name!r}", "some events lie between two times")
        calibrated = DCalibration(value, np.nan, calibrated.proportions)
    return {
        **counts_of(known, e),
        **_columns("concordance", harrell(observed, risk, with_error=True)),
        **_columns("concordance_ipcw", uno(observed, train, risk, with_error=True)),
        **_columns("integrated_brier_score", brier),
        "kaplan_meier_ibs": _kaplan_meier_ibs(observed, train, grid),
        "d_calibration": calibrated.statistic,
        "d_calibration_p": calibrated.p_value,
    }


def _columns(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_se": found.standard_error}


def _kaplan_meier_ibs(observed: Observed, train: Observed, grid: Array) -> float:
    """The integrated Brier score of the Kaplan-Meier curve."""
    curve, entry = train.kaplan_meier(), observed.in_table(observed.entry)
    survival = curve.between(entry[:, None], grid) if observed.has_late_entry else curve.at(grid)
    with silenced(MetricWarning):  # the same as those of the model's own score
        return integrated(observed, train, np.broadcast_to(survival, (entry.size, grid.size)), grid).value


def endpoint_log_likelihood(model: Any, X: Any, y: Any, known: Endpoints, e: int) -> Array:
    """Of one endpoint in all rows, the others being unknown."""
    names = getattr(model, "endpoint_names_", None) or getattr(model, "endpoint_names", known.names)
    only = _only(known, e, names, getattr(y, "index", getattr(X, "index", None)))
    return np.asarray(model.log_likelihood(X, only), dtype=np.float64)


def mean_log_likelihood(known: Endpoints, e: int, of_rows: Array | None, sample_weight: Any = None) -> Estimate:
    """The mean over rows in which something is known of an endpoint; NaN if it was not asked for."""
    if of_rows is None:
        return Estimate(np.nan, np.nan)
    weights = parse_weights(sample_weight, of_rows.size)
    rows = something_observed(known)[:, e] & (True if weights is None else weights > 0.0)
    values = of_rows[rows]
    if not values.size or np.isnan(values).any():
        reason = "it is missing for some rows" if values.size else "there are no rows"
        return Estimate(undefined(f"the mean log-likelihood of {known.names[e]!r}", reason), np.nan)
    if not np.isfinite(values).all():
        return Estimate(float(values.mean()), np.nan)
    return mean_of(values, None if weights is None else weights[rows])


def _only(known: Endpoints, e: int, names: Any, index: Any) -> pd.DataFrame:
    """All endpoints of a model in its order, of which only one is known."""
    n_rows = known.lower.shape[0]
    columns: dict[tuple[str, str], Array] = {}
    for name in names:
        own = name == known.names[e]
        columns[name, "lower"] = known.lower[:, e] if own else np.zeros(n_rows)
        columns[name, "upper"] = known.upper[:, e] if own else np.full(n_rows, np.inf)
        if own and (known.entry[:, e] > 0.0).any():
            columns[name, "entry"] = known.entry[:, e]
    return pd.DataFrame(columns, index=index)
