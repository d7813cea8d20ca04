"""Metrics as scorers of scikit-learn: ``scorer(estimator, X, y)``, greater is better.

Give them to ``cross_validate`` as they are, or with settings through ``functools.partial``::

    scoring = {
        "concordance": scorers.global_concordance,
        "ibs of death": partial(scorers.neg_integrated_brier_score, endpoint="os", times=range(6, 60)),
    }
    cross_validate(model, X, y, scoring=scoring)

Scorers of one endpoint take the mean over all endpoints if none is named; endpoints for which the metric is undefined are left out. As in
scikit-survival, the distribution of censoring is estimated in the test fold, unless ``y_train`` is given.

The estimator is asked for ``predict(X, endpoint=)``, ``predict_survival_function(X, endpoint=, times=, return_array=True)``,
``log_likelihood(X, y)`` or ``draw_times(X, n_draws=, random_state=)``; nothing else is assumed of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from harmonium.metrics.brier import brier_score, integrated_brier_score
from harmonium.metrics.calibration import d_calibration
from harmonium.metrics.concordance import concordance_index as harrells_index
from harmonium.metrics.concordance import concordance_index_ipcw as unos_index
from harmonium.metrics.energy import energy_score
from harmonium.metrics.orderings import global_concordance as between_subjects
from harmonium.metrics.orderings import joint_concordance as of_all_endpoints
from harmonium.metrics.orderings import local_concordance as within_subjects
from harmonium.metrics.orderings import mean_of_defined
from harmonium.metrics.recordings import ignore_entry, place_of, right_censored
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = [
    "concordance_index",
    "concordance_index_ipcw",
    "global_concordance",
    "joint_concordance",
    "local_concordance",
    "log_likelihood",
    "neg_brier_score",
    "neg_d_calibration",
    "neg_energy_score",
    "neg_integrated_brier_score",
]

_N_TIMES = 60
"""Times over which curves are integrated if none are given."""


def concordance_index(estimator: Any, X: Any, y: Any, *, endpoint: str | None = None) -> float:
    """Harrell's concordance index of ``predict``; see :func:`harmonium.metrics.concordance_index`.

    Examples
    --------
    >>> import harmonium as hm
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, n_starts=1, max_iter=5, random_state=0)
    >>> cross_validate(model, X, y, scoring=concordance_index, cv=2)["test_score"].shape
    (2,)
    """
    return _each(y, endpoint, lambda name: harrells_index(y, estimator.predict(X, endpoint=name), endpoint=name))


def concordance_index_ipcw(
    estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, y_train: Any = None, tau: float | None = None
) -> float:
    """Uno's concordance index of ``predict``; see :func:`harmonium.metrics.concordance_index_ipcw`."""

    def score(name: str) -> float:
        return unos_index(y, estimator.predict(X, endpoint=name), endpoint=name, y_train=y_train, tau=tau)

    return _each(y, endpoint, score)


def neg_brier_score(estimator: Any, X: Any, y: Any, *, time: float, endpoint: str | None = None, y_train: Any = None) -> float:
    """Minus the Brier score at a time; see :func:`harmonium.metrics.brier_score`."""

    def score(name: str) -> float:
        curves = _curves(estimator, X, name, np.array([time], dtype=np.float64))
        return -float(brier_score(y, curves, [time], endpoint=name, y_train=y_train)[0])

    return _each(y, endpoint, score)


def neg_integrated_brier_score(
    estimator: Any, X: Any, y: Any, *, times: Any = None, endpoint: str | None = None, y_train: Any = None
) -> float:
    """Minus the integrated Brier score; see :func:`harmonium.metrics.integrated_brier_score`.

    Without ``times``, it is taken between the 10 % and 90 % quantiles of the event times in ``y``, which differ from fold to fold.
    """

    def score(name: str) -> float:
        known = right_censored(parse_endpoints(y), name)
        if times is None and not known.event.any():
            return undefined(f"the integrated Brier score of {name!r}", "there are no events")
        own = _middle(known.time[known.event]) if times is None else np.asarray(times, dtype=np.float64)
        return -integrated_brier_score(y, _curves(estimator, X, name, own), own, endpoint=name, y_train=y_train)

    return _each(y, endpoint, score)


def neg_d_calibration(estimator: Any, X: Any, y: Any, *, endpoint: str | None = None, n_bins: int = 10) -> float:
    """Minus the statistic of D-calibration; see :func:`harmonium.metrics.d_calibration`. Late entry is taken into account.

    For a calibrated model it is about 1 - n_bins on average, and closer to 0 the more subjects are censored.
    """
    known = parse_endpoints(y)

    def score(name: str) -> float:
        column = place_of(known.names, name)
        at_entry = _own_survival(estimator, X, name, known.entry[:, column])
        given_entry = np.full(at_entry.size, np.nan)
        np.divide(_own_survival(estimator, X, name, known.lower[:, column]), at_entry, out=given_entry, where=at_entry > 0.0)
        return -d_calibration(y, given_entry, endpoint=name, n_bins=n_bins).statistic

    return _each(y, endpoint, score)


def global_concordance(estimator: Any, X: Any, y: Any) -> float:
    """Concordance between subjects by ``predict``; see :func:`harmonium.metrics.global_concordance`."""
    return between_subjects(y, _risks(estimator, X, y))


def joint_concordance(estimator: Any, X: Any, y: Any) -> float:
    """Concordance of all endpoints at once by ``predict``; see :func:`harmonium.metrics.joint_concordance`."""
    return of_all_endpoints(y, _risks(estimator, X, y))


def local_concordance(estimator: Any, X: Any, y: Any) -> float:
    """Concordance within subjects; see :func:`harmonium.metrics.local_concordance`.

    The predicted time of an event is its mean up to the last recording of any endpoint in ``y``, that is, the area under its
    survival curve until then.
    """
    known = parse_endpoints(y)
    last = np.max(np.where(np.isfinite(known.upper), known.upper, known.lower), initial=0.0)
    grid = np.linspace(0.0, last, _N_TIMES)
    times = [trapezoid(_curves(estimator, X, name, grid), grid, axis=1) for name in known.names]
    return within_subjects(y, np.column_stack(times))


def log_likelihood(estimator: Any, X: Any, y: Any) -> float:
    """Mean log-likelihood of the endpoints, all together, given the covariates, in the unit of the times (eq. 8 and eq. 9)."""
    rows = np.asarray(estimator.log_likelihood(X, y), dtype=np.float64)
    if not rows.size or np.isnan(rows).any():
        return undefined("the mean log-likelihood", "it is missing for some rows" if rows.size else "there are no rows")
    return float(rows.mean())


def neg_energy_score(estimator: Any, X: Any, y: Any, *, n_draws: int = 100, random_state: Any = 0, y_train: Any = None) -> float:
    """Minus the energy score of ``draw_times``; see :func:`harmonium.metrics.energy_score`. Late entry is ignored, with a warning."""
    ignore_entry(parse_endpoints(y))
    draws = estimator.draw_times(X, n_draws=n_draws, random_state=random_state)
    return -energy_score(y, draws, y_train=y_train)


def _each(y: Any, endpoint: str | None, score: Callable[[str], float]) -> float:
    """The score of an endpoint, or the mean over all of them."""
    names = parse_endpoints(y).names if endpoint is None else (endpoint,)
    return mean_of_defined([score(name) for name in names])


def _risks(estimator: Any, X: Any, y: Any) -> Array:
    return np.column_stack([estimator.predict(X, endpoint=name) for name in parse_endpoints(y).names])


def _curves(estimator: Any, X: Any, name: str, times: Array) -> Array:
    return np.asarray(estimator.predict_survival_function(X, endpoint=name, times=times, return_array=True), dtype=np.float64)


def _middle(times: Array) -> Array:
    """From the 10 % to the 90 % quantile."""
    first, last = np.quantile(times, [0.1, 0.9])
    return np.linspace(first, last, _N_TIMES)


def _own_survival(estimator: Any, X: Any, name: str, times: Array) -> Array:
    """Predicted survival of every subject until a time of its own."""
    distinct, places = np.unique(times, return_inverse=True)
    return _curves(estimator, X, name, distinct)[np.arange(times.size), places]
