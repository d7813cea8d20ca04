"""Metrics as scorers of scikit-learn: ``scorer(estimator, X, y)``, greater is better.

Give them to ``cross_validate`` as they are, or with settings through ``functools.partial``::

    scoring = {
        "concordance": scorers.global_concordance_scorer,
        "ibs of death": partial(scorers.neg_integrated_brier_score_scorer, endpoint="os", times=range(6, 60)),
    }
    cross_validate(model, X, y, scoring=scoring)

Scorers of one endpoint are of the first if none is named; ``global_concordance_scorer``, ``joint_concordance_scorer``,
``local_concordance_scorer``, ``log_likelihood_scorer`` and ``neg_energy_score_scorer`` are of all. As in scikit-survival, the
distribution of the censoring is estimated in the test fold, unless ``y_train`` is given. The numbers are those of
:func:`harmonium.evaluate`.

The estimator is asked for ``prognosis(X)`` if it has that, otherwise for ``predict(X, endpoint=)`` and
``predict_survival_function(X, endpoint=, times=, return_array=True)``; further for ``log_likelihood(X, y)`` or ``draw_times(X, n_draws=,
random_state=)`` (with ``given=`` if subjects entered late). Nothing else is assumed of it.

All but that of the energy score take ``sample_weight=``; :func:`harmonium.metrics.weighted_scorer` lets ``cross_validate`` and
``GridSearchCV`` pass it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import trapezoid

from harmonium.metrics.brier import at_times, integrated
from harmonium.metrics.calibration import calibration
from harmonium.metrics.competing import integrated as integrated_competing
from harmonium.metrics.competing import since_the_start, weighted_concordance
from harmonium.metrics.concordance import harrell, uno
from harmonium.metrics.energy import energy_score
from harmonium.metrics.multi_endpoint import global_concordance, joint_concordance, local_concordance
from harmonium.metrics.observed import Observed, observe
from harmonium.metrics.predictions import Predictions, in_unit_of
from harmonium.metrics.times import CENTRAL, grid_of
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array

__all__ = [
    "competing_concordance_scorer",
    "concordance_index_ipcw_scorer",
    "concordance_index_scorer",
    "global_concordance_scorer",
    "joint_concordance_scorer",
    "local_concordance_scorer",
    "log_likelihood_scorer",
    "neg_brier_score_scorer",
    "neg_d_calibration_scorer",
    "neg_energy_score_scorer",
    "neg_integrated_brier_score_scorer",
    "neg_integrated_incidence_brier_score_scorer",
]

_N_TIMES = 60
"""Times over which the area under a curve is found."""


def competing_concordance_scorer(estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, sample_weight: Any = None) -> float:
    """Concordance where a terminal event may prevent the endpoint; see :func:`harmonium.metrics.competing_concordance`."""
    own = since_the_start(in_unit_of(estimator, y), endpoint, sample_weight)
    return weighted_concordance(own, own, Predictions(estimator, X).risk(own.observed))


def neg_integrated_incidence_brier_score_scorer(
    estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, times: Any = CENTRAL, sample_weight: Any = None
) -> float:
    """Minus the integrated Brier score of incidences; see :func:`harmonium.metrics.integrated_incidence_brier_score`."""
    own = since_the_start(in_unit_of(estimator, y), endpoint, sample_weight)
    grid = grid_of(own.observed, times)
    return -integrated_competing(own, own, Predictions(estimator, X).incidence(own.observed, grid), grid).value


def concordance_index_scorer(estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, sample_weight: Any = None) -> float:
    """Harrell's concordance index of ``predict``; see :func:`harmonium.metrics.concordance_index`.

    Examples
    --------
    >>> import harmonium as hm
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, random_state=0)
    >>> cross_validate(model, X, y, scoring=concordance_index_scorer, cv=2)["test_score"].shape
    (2,)
    """
    observed, _ = _observe(estimator, y, endpoint, None, sample_weight)
    return harrell(observed, Predictions(estimator, X).risk(observed)).value


def concordance_index_ipcw_scorer(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    endpoint: str | None = None,
    y_train: Any = None,
    tau: float | None = None,
    sample_weight: Any = None,
) -> float:
    """Uno's concordance index of ``predict``; see :func:`harmonium.metrics.concordance_index_ipcw`."""
    observed, train = _observe(estimator, y, endpoint, y_train, sample_weight)
    return uno(observed, train, Predictions(estimator, X).risk(observed), tau=tau).value


def neg_brier_score_scorer(
    estimator: Any, X: Any, y: Any, *, time: float, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None
) -> float:
    """Minus the Brier score at a time; see :func:`harmonium.metrics.brier_score`."""
    observed, train = _observe(estimator, y, endpoint, y_train, sample_weight)
    at = np.array([time], dtype=np.float64)
    return -float(at_times(observed, train, Predictions(estimator, X).survival(observed, at), at)[0])


def neg_integrated_brier_score_scorer(
    estimator: Any, X: Any, y: Any, *, times: Any = CENTRAL, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None
) -> float:
    """Minus the integrated Brier score; see :func:`harmonium.metrics.integrated_brier_score`.

    By default it is taken over :func:`harmonium.metrics.central_times` of ``y``, which differ from fold to fold.
    """
    observed, train = _observe(estimator, y, endpoint, y_train, sample_weight)
    grid = grid_of(observed, times)
    return -integrated(observed, train, Predictions(estimator, X).survival(observed, grid), grid).value


def neg_d_calibration_scorer(
    estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, n_bins: int = 10, sample_weight: Any = None
) -> float:
    """Minus the statistic of D-calibration; see :func:`harmonium.metrics.d_calibration`.

    For a calibrated model it is about 1 - n_bins on average, and closer to 0 the more subjects are censored.
    """
    observed, _ = _observe(estimator, y, endpoint, None, sample_weight)
    return -calibration(observed, Predictions(estimator, X).own_survival(observed), n_bins).statistic


def global_concordance_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Concordance between subjects by ``predict``, averaged over endpoints; see :func:`harmonium.metrics.global_concordance`."""
    return global_concordance(y, _risks(estimator, X, y), sample_weight=sample_weight)


def joint_concordance_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Concordance of all endpoints at once by ``predict``; see :func:`harmonium.metrics.joint_concordance`."""
    return joint_concordance(y, _risks(estimator, X, y), sample_weight=sample_weight)


def local_concordance_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Concordance within subjects; see :func:`harmonium.metrics.local_concordance`.

    The predicted time of an event is its mean up to the last observed time of any endpoint in ``y``, that is, the area under its
    survival curve until then.
    """
    known, predictions = in_unit_of(estimator, y), Predictions(estimator, X)
    last = np.max(np.where(np.isfinite(known.upper), known.upper, known.lower), initial=0.0)
    grid = np.linspace(0.0, last, _N_TIMES)
    curves = (predictions.curves(name, grid, known.entry[:, e]) for e, name in enumerate(known.names))
    return local_concordance(known, np.column_stack([trapezoid(curve, grid, axis=1) for curve in curves]), sample_weight=sample_weight)


def log_likelihood_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Mean log-likelihood of the endpoints, all together, given the covariates, in the unit of the times (eq. 8 and eq. 9)."""
    rows = np.asarray(estimator.log_likelihood(X, y), dtype=np.float64)
    weights = parse_weights(sample_weight, rows.size)
    if weights is not None:
        rows, weights = rows[weights > 0.0], weights[weights > 0.0]
    if not rows.size or np.isnan(rows).any():
        return undefined("the mean log-likelihood", "it is missing for some rows" if rows.size else "there are no rows")
    return float(np.average(rows, weights=weights))


def neg_energy_score_scorer(estimator: Any, X: Any, y: Any, *, n_draws: int = 100, random_state: Any = 0, y_train: Any = None) -> float:
    """Minus the energy score of ``draw_times``; see :func:`harmonium.metrics.energy_score`.

    If subjects entered late, times are drawn given that there was no event until entry.
    """
    known, train = in_unit_of(estimator, y), None if y_train is None else in_unit_of(estimator, y_train)
    given = {"given": _event_free_at_entry(known, getattr(y, "index", getattr(X, "index", None)))} if (known.entry > 0.0).any() else {}
    draws = estimator.draw_times(X, n_draws=n_draws, random_state=random_state, **given)
    return -energy_score(known, draws, y_train=train)


def _observe(estimator: Any, y: Any, endpoint: str | None, y_train: Any, sample_weight: Any) -> tuple[Observed, Observed]:
    """As :func:`harmonium.metrics.observed.observe`, in the unit of the estimator."""
    train = None if y_train is None else in_unit_of(estimator, y_train)
    return observe(in_unit_of(estimator, y), endpoint, train, sample_weight)


def _event_free_at_entry(known: Endpoints, index: Any) -> pd.DataFrame:
    """What is known of every endpoint when its observation begins."""
    columns = {}
    for e, name in enumerate(known.names):
        columns[name, "lower"], columns[name, "upper"] = known.entry[:, e], np.full(len(known.entry), np.inf)
    return pd.DataFrame(columns, index=index)


def _risks(estimator: Any, X: Any, y: Any) -> Array:
    predictions = Predictions(estimator, X)
    return np.column_stack([predictions.risk_of(name) for name in parse_endpoints(y).names])
