"""Models side by side: the same folds, the same metrics, and the differences subject by subject."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.base import clone

from harmonium.errors import CompetingWarning, MetricWarning, RangeWarning, UnseenLevelWarning, silenced
from harmonium.estimator import SurvivalHarmonium
from harmonium.metrics import brier
from harmonium.metrics import competing as prevented
from harmonium.metrics.concordance import harrell
from harmonium.metrics.observed import Estimate, right_censored
from harmonium.metrics.predictions import Predictions
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.metrics.times import grid_of
from harmonium.report.cross_validation import OutOfFold
from harmonium.studies.usual_models import Cox, KaplanMeier, Usual
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.frames import to_pandas

__all__ = ["compare", "usual_models"]

_METRICS = ("concordance", "integrated_brier_score")


def usual_models(roles: Mapping[Any, str] | None = None, **settings: Any) -> dict[str, Any]:
    """A harmonium with some settings, Cox regression and one curve for everybody, by name."""
    own = SurvivalHarmonium(roles=roles, **{"random_state": 0, **settings})
    return {"harmonium": own, "Cox": Cox(dict(roles or {})), "one curve for all": KaplanMeier()}


def compare(
    X: Any,
    y: Any,
    *,
    models: Mapping[str, Any] | None = None,
    n_folds: int = 5,
    times: Any = "central",
    confidence: float = 0.95,
    random_state: Any = 0,
    done: Callable[[], None] = lambda: None,
) -> pd.DataFrame:
    """Compare models in cross-validation, all of them on the same folds.

    Parameters
    ----------
    X : DataFrame
        Covariates.
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    models : mapping, optional
        Names, and objects with ``fit(X, y)``, which returns a fitted model; the first is that with which the others are compared. A model
        answers ``prognosis(X)`` with ``risk(endpoint)`` and ``survival(endpoint, times)``, or ``predict(X, endpoint=)`` and
        ``predict_survival_function(X, endpoint=, times=, return_array=True)``. By default a harmonium, Cox regression (lifelines, lightly
        penalised, missing values replaced by means) and one curve for everybody: Kaplan and Meier's or, where a terminal event may prevent
        an endpoint, Aalen and Johansen's.
    n_folds : int
    times : "central" or array_like
        Over which the Brier score is integrated, as in :func:`harmonium.evaluate`.
    confidence : float
        Of the intervals.
    random_state : int, optional
        For the folds.
    done : callable
        Called after each fit.

    Returns
    -------
    pandas.DataFrame
        A row for each endpoint and model, with the concordance index and the integrated Brier score of predictions for rows that the model
        was not fitted to, their standard errors (``_se``), and how much the first model is better than this one (``_gain``, positive if it
        is), with its standard error over subjects (``_gain_se``) and interval (``_gain_lower``, ``_gain_upper``).

    Notes
    -----
    Differences are of the same subjects, so that their errors are smaller than those of two independent samples. They say how sure the
    difference of these fitted models is, not what another training sample would have given.

    Examples
    --------
    >>> import harmonium as hm
    >>> from harmonium.studies.usual_models import KaplanMeier
    >>> X, y = hm.datasets.load_nvalt8()
    >>> ours = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0)
    >>> found = hm.compare(X, y, models={"ours": ours, "Kaplan-Meier": KaplanMeier()}, n_folds=2)
    >>> found.loc[("os", "Kaplan-Meier"), "concordance"]
    np.float64(0.5)
    """
    frame = to_pandas(X)
    known = parse_endpoints(y)
    chosen = usual_models() if models is None else dict(models)
    folds = list(MultiEndpointStratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(frame, y))
    predicted = {name: _out_of_fold(model, frame, y, folds, done) for name, model in chosen.items()}
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for endpoint in known.names:
        found = {name: _estimates(known, endpoint, Predictions(model, frame), times) for name, model in predicted.items()}
        first = next(iter(found.values()))
        for name, own in found.items():
            rows[endpoint, name] = {
                "rows": int(right_censored(known, endpoint, quiet=True).rows.sum()),
                "events": int(known.event[:, known.names.index(endpoint)].sum()),
            }
            for metric, sign in zip(_METRICS, (1.0, -1.0), strict=True):
                rows[endpoint, name] |= _columns(metric, own[metric], first[metric], sign, confidence)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["endpoint", "model"])


def _out_of_fold(model: Any, X: pd.DataFrame, y: pd.DataFrame, folds: list[tuple[Any, Any]], done: Callable[[], None]) -> OutOfFold:
    fold, models = np.empty(len(X), dtype=np.int64), []
    for k, (train, test) in enumerate(folds):
        fold[test] = k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold may lack a rare level, and other libraries have warnings of their own
            fitted = _new(model).fit(X.iloc[train], y.iloc[train])
        models.append(_answering(getattr(fitted, "fitted_", fitted)))
        done()
    return OutOfFold(models, fold)


def _new(model: Any) -> Any:
    """An unfitted copy, so that each fold has a model of its own."""
    return clone(model) if hasattr(model, "get_params") else deepcopy(model)


class _Endpoints(dict[str, Any]):
    """Every endpoint by its name, each of which asks the model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, endpoint: str) -> Any:
        return _OneEndpoint(self._model, endpoint)


class _OneEndpoint:
    def __init__(self, model: Any, endpoint: str) -> None:
        self._model, self._endpoint = model, endpoint

    def risk(self, X: Any) -> Any:
        return self._model.predict(X, endpoint=self._endpoint)

    def survival(self, X: Any, times: Any) -> Any:
        return self._model.predict_survival_function(X, endpoint=self._endpoint, times=times, return_array=True)


def _answering(model: Any) -> Any:
    return model if hasattr(model, "prognosis") else Usual(_Endpoints(model))


def _estimates(known: Endpoints, endpoint: str, predictions: Predictions, times: Any) -> dict[str, Estimate]:
    """Both metrics of a model, as :func:`harmonium.evaluate` has them."""
    with silenced(MetricWarning, CompetingWarning, UnseenLevelWarning, RangeWarning):
        if prevented.is_prevented(known, endpoint):
            own = prevented.since_the_start(known, endpoint)
            grid = grid_of(own.observed, times)
            incidence = 1.0 - predictions.survival(own.observed, grid)
            concordance = prevented.unweighted_concordance(own, predictions.risk(own.observed))
            return dict(zip(_METRICS, (concordance, prevented.integrated(own, own, incidence, grid)), strict=True))
        observed = right_censored(known, endpoint, quiet=True)
        grid = grid_of(observed, times)
        score = brier.integrated(observed, observed, predictions.survival(observed, grid), grid)
        return dict(zip(_METRICS, (harrell(observed, predictions.risk(observed), with_error=True), score), strict=True))


def _columns(metric: str, own: Estimate, first: Estimate, sign: float, confidence: float) -> dict[str, float]:
    """A metric, and how much better the first model is."""
    gain = sign * (first.value - own.value)
    known = own.influence is not None and first.influence is not None
    error = float(np.linalg.norm(first.influence - own.influence)) if known and first is not own else np.nan  # type: ignore[operator]
    half = float(ndtri(0.5 + confidence / 2.0)) * error
    gains = {"gain": gain, "gain_se": error, "gain_lower": gain - half, "gain_upper": gain + half} if first is not own else {}
    return {metric: own.value, f"{metric}_se": own.standard_error} | {f"{metric}_{name}": value for name, value in gains.items()}
