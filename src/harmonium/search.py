"""Choosing the number of hidden units and the objective by cross-validation, in the manner of ``LassoCV``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from harmonium.estimator import SurvivalHarmonium
from harmonium.metrics.orderings import global_concordance
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.model.predictions import as_step_functions
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import to_pandas
from harmonium.typing import Array

__all__ = ["SurvivalHarmoniumCV"]

_EM_STEPS = 200


class SurvivalHarmoniumCV(BaseEstimator):  # type: ignore[misc]
    """A harmonium whose number of hidden units and objective are chosen by cross-validated conditional log-likelihood.

    Parameters
    ----------
    n_hidden : sequence of int
        Candidates.
    objective : sequence of "conditional", "joint" or float
        Candidates.
    stack : bool
        Average all candidates' predictions with weights that maximise the out-of-fold likelihood, instead of choosing one.
    cv : int or splitter
        A number makes folds with equal shares of every endpoint's events (:class:`harmonium.metrics.MultiEndpointStratifiedKFold`), to
        which rows are dealt in turn: tables are often in the order of accrual.
    estimator : SurvivalHarmonium, optional
        Holds all other settings.
    n_jobs : int, optional
        Processes, through joblib.

    Attributes
    ----------
    cv_results_ : DataFrame
        Mean and standard error of the out-of-fold log-likelihood of every candidate, and its weight.
    best_params_ : dict
        Of the candidate with the highest mean.
    best_estimator_ : SurvivalHarmonium
        Fitted to all rows.
    estimators_, weights_
        What predictions are averaged over; only the best one without stacking.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.make_three_way(150, random_state=0)
    >>> search = hm.SurvivalHarmoniumCV(n_hidden=(0, 2), cv=2, estimator=hm.SurvivalHarmonium(n_starts=1, random_state=0)).fit(X, y)
    >>> sorted(search.best_params_)
    ['n_hidden', 'objective']
    """

    def __init__(
        self,
        n_hidden: Sequence[int] = (1, 2, 4, 6),
        objective: Sequence[str | float] = ("conditional", 0.9),
        *,
        stack: bool = False,
        cv: Any = 5,
        estimator: SurvivalHarmonium | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.objective = objective
        self.stack = stack
        self.cv = cv
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> SurvivalHarmoniumCV:
        """Compare the candidates and fit the chosen one, or all of them, to all rows."""
        frame = to_pandas(X)
        parse_endpoints(y)
        candidates = [{"n_hidden": h, "objective": o} for h in self.n_hidden for o in self.objective]
        if not candidates:
            raise ValueError("at least one candidate for n_hidden and one for objective is needed")
        cv = MultiEndpointStratifiedKFold(self.cv) if isinstance(self.cv, int) else check_cv(self.cv)
        splits = list(cv.split(frame, y))
        tasks = [(h, train, test) for train, test in splits for h in self.n_hidden]
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(_out_of_fold)(self._base(), h, self.objective, _rows(frame, train), _rows(y, train), _rows(frame, test), _rows(y, test))
            for h, train, test in tasks
        )
        likelihood = np.full((len(frame), len(candidates)), np.nan)
        for (h, _, test), columns in zip(tasks, done, strict=True):
            first = list(self.n_hidden).index(h) * len(self.objective)
            likelihood[test, first : first + len(self.objective)] = columns
        likelihood = likelihood[~np.isnan(likelihood).any(axis=1)]
        weights = _stacking_weights(likelihood) if self.stack else np.eye(len(candidates))[int(np.argmax(likelihood.mean(axis=0)))]
        self.best_params_ = candidates[int(np.argmax(likelihood.mean(axis=0)))]
        self.cv_results_ = pd.DataFrame(candidates).assign(
            mean=likelihood.mean(axis=0), standard_error=likelihood.std(axis=0, ddof=1) / np.sqrt(len(likelihood)), weight=weights
        )
        chosen = [(c, w) for c, w in zip(candidates, weights, strict=True) if w > 1e-3]
        self.weights_ = np.array([w for _, w in chosen]) / sum(w for _, w in chosen)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(delayed(_fit)(self._base(), c, frame, y) for c, _ in chosen)
        best = [c for c, _ in chosen].index(self.best_params_) if self.best_params_ in [c for c, _ in chosen] else None
        self.best_estimator_ = self.estimators_[best] if best is not None else _fit(self._base(), self.best_params_, frame, y)
        self.endpoint_names_ = self.best_estimator_.endpoint_names_
        return self

    def _base(self) -> SurvivalHarmonium:
        return clone(self.estimator) if self.estimator is not None else SurvivalHarmonium()

    def predict_survival_function(
        self, X: Any, endpoint: str | None = None, times: Any = None, *, given: Any = None, return_array: bool = False
    ) -> Any:
        """As :meth:`SurvivalHarmonium.predict_survival_function`, averaged over the chosen candidates."""
        check_is_fitted(self, "estimators_")
        if times is None:
            times = self.best_estimator_.event_times_[endpoint or self.endpoint_names_[0]]
        curves = [m.predict_survival_function(X, endpoint, times, given=given, return_array=True) for m in self.estimators_]
        array = np.einsum("mn,mnt->nt", self._weights(X, given, len(curves[0])), curves)
        return array if return_array else as_step_functions(times, array)

    def predict(self, X: Any, endpoint: str | None = None, *, given: Any = None) -> Array:
        """Risk, averaged over the chosen candidates."""
        check_is_fitted(self, "estimators_")
        risks = np.stack([m.predict(X, endpoint, given=given) for m in self.estimators_])
        return np.asarray(np.sum(self._weights(X, given, risks.shape[1]) * risks, axis=0))

    def _weights(self, X: Any, given: Any, n_rows: int) -> Array:
        """Weights of the candidates for every row: each counts by how likely it had found what is given."""
        if given is None or len(self.estimators_) == 1:
            return np.repeat(self.weights_[:, None], n_rows, axis=1)
        likelihood = np.stack([m.log_likelihood_of_given(X, given) for m in self.estimators_])
        weights = self.weights_[:, None] * np.exp(likelihood - likelihood.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))

    def log_likelihood(self, X: Any, y: Any) -> Array:
        """Conditional ln p of every row under the average."""
        check_is_fitted(self, "estimators_")
        parts = [np.log(w) + m.log_likelihood(X, y) for w, m in zip(self.weights_, self.estimators_, strict=True)]
        mixture: Array = np.logaddexp.reduce(parts)
        return mixture

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index of the averaged risk, averaged over endpoints."""
        check_is_fitted(self, "estimators_")
        return global_concordance(y, np.column_stack([self.predict(X, name) for name in self.endpoint_names_]))


def _rows(table: Any, rows: Any) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _fit(model: SurvivalHarmonium, candidate: dict[str, Any], X: Any, y: Any) -> SurvivalHarmonium:
    model.set_params(**candidate).fit(X, y)
    return model


def _out_of_fold(model: SurvivalHarmonium, n_hidden: int, objectives: Sequence[Any], X: Any, y: Any, X_test: Any, y_test: Any) -> Array:
    """Held-out log-likelihoods of all objectives, each fit beginning where the last one ended."""
    columns = []
    for i, objective in enumerate(objectives):
        model.set_params(n_hidden=n_hidden, objective=objective, warm_start=i > 0).fit(X, y)
        columns.append(model.log_likelihood(X_test, y_test))
    return np.column_stack(columns)


def _stacking_weights(likelihood: Array) -> Array:
    """Weights of a mixture of the candidates that maximise its likelihood, by expectation maximisation."""
    density = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    weights = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1])
    for _ in range(_EM_STEPS):
        share = density * weights
        weights = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(weights, dtype=np.float64)
