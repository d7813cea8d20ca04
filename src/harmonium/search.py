"""Choosing the number of hidden units and the objective by cross-validation, in the manner of ``LassoCV``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from harmonium.errors import IdentifierWarning, LeakageWarning, RangeWarning, SubjectWarning, UnseenLevelWarning, silenced
from harmonium.estimator import SurvivalHarmonium
from harmonium.metrics.observed import mean_of
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.model.explanation import code_names
from harmonium.model.fitted import Fitted
from harmonium.model.fitting import Recipe, encode_training_table, fit_model
from harmonium.model.survival_model import SurvivalModel
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import to_pandas
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array

__all__ = ["SurvivalHarmoniumCV"]


class SurvivalHarmoniumCV(SurvivalModel, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A harmonium whose number of hidden units and objective are chosen by cross-validated conditional log-likelihood.

    Parameters
    ----------
    n_hidden : sequence of int
        Candidates.
    objective : sequence of "conditional", "joint" or float
        Candidates.
    cv : int or splitter
        A number makes folds with equal fractions of every endpoint's events (:class:`harmonium.metrics.MultiEndpointStratifiedKFold`), to
        which rows are dealt in turn: tables are often in the order of accrual.
    estimator : SurvivalHarmonium, optional
        Holds all other settings.
    n_jobs : int, optional
        Processes, through joblib.

    Attributes
    ----------
    fitted_ : Fitted
        The chosen candidate, fitted to all rows.
    cv_results_ : DataFrame
        Mean and standard error of the out-of-fold log-likelihood of every candidate.
    best_params_ : dict
        Of the candidate with the highest mean.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.make_three_way(150, random_state=0)
    >>> quick = hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=1), random_state=0)
    >>> search = hm.SurvivalHarmoniumCV(n_hidden=(0, 2), cv=2, estimator=quick).fit(X, y)
    >>> sorted(search.best_params_)
    ['n_hidden', 'objective']
    """

    def __init__(
        self,
        n_hidden: Sequence[int] = (1, 2, 4, 6),
        *,
        objective: Sequence[str | float] = ("conditional", 0.9),
        cv: Any = 5,
        estimator: SurvivalHarmonium | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.objective = objective
        self.cv = cv
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SurvivalHarmoniumCV:
        """Compare the candidates and fit the chosen one to all rows.

        Parameters
        ----------
        X : DataFrame or array
        y : DataFrame or structured array
        sample_weight : array_like of shape (n_rows,), optional
            For how many subjects each row stands, in training and in the comparison.
        groups : array_like of shape (n_rows,), optional
            Rows of one group, such as a hospital's, are in one fold.

        Returns
        -------
        self
        """
        frame = to_pandas(X)
        parse_endpoints(y)
        weights = parse_weights(sample_weight, len(frame), getattr(X, "index", None))
        candidates: list[dict[str, Any]] = [{"n_hidden": h, "objective": o} for h in self.n_hidden for o in self.objective]
        if not candidates:
            raise ValueError("at least one candidate for n_hidden and one for objective is needed")
        base = self._base()
        table = encode_training_table(base.recipe(), frame, y, sample_weight=weights)
        likelihood, counted = self._out_of_fold(frame, y, weights, groups)
        found = [mean_of(column, counted) for column in likelihood.T]
        mean = np.array([own.value for own in found])
        best = int(np.argmax(mean))
        self.best_params_ = candidates[best]
        self.cv_results_ = pd.DataFrame(candidates).assign(mean=mean, standard_error=[own.standard_error for own in found])
        recipe = _recipe(base, **candidates[best])
        self.fitted_ = fit_model(recipe, table, random_state=base.random_state, n_jobs=base.n_jobs)[0]
        return self

    def _out_of_fold(self, frame: pd.DataFrame, y: Any, weights: Array | None, groups: Any) -> tuple[Array, Array | None]:
        """Out-of-fold log-likelihoods of all candidates, (rows, candidates), and the rows' weights; rows of weight zero are left out."""
        cv = MultiEndpointStratifiedKFold(self.cv) if isinstance(self.cv, int) else check_cv(self.cv)
        tasks = [(h, train, test) for train, test in cv.split(frame, y, groups) for h in self.n_hidden]
        parts = [[_part(frame, y, weights, rows) for rows in (train, test)] for _, train, test in tasks]
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(_out_of_fold)(self._base(), h, self.objective, *part) for (h, _, _), part in zip(tasks, parts, strict=True)
        )
        likelihood = np.full((len(frame), len(self.n_hidden) * len(self.objective)), np.nan)
        for (h, _, test), columns in zip(tasks, done, strict=True):
            first = list(self.n_hidden).index(h) * len(self.objective)
            likelihood[test, first : first + len(self.objective)] = columns
        kept = ~np.isnan(likelihood).any(axis=1) & (True if weights is None else weights > 0.0)
        return np.asarray(likelihood[kept]), None if weights is None else weights[kept]

    def _base(self) -> SurvivalHarmonium:
        return clone(self.estimator) if self.estimator is not None else SurvivalHarmonium()

    @property
    def fitted(self) -> Fitted:
        """The fitted model that answers."""
        check_is_fitted(self, "fitted_")
        model: Fitted = self.fitted_
        return model

    @property
    def endpoint_names_(self) -> tuple[str, ...]:
        """In the order of the training table."""
        return self.fitted_.encoding.endpoint_names

    @property
    def n_features_in_(self) -> int:
        """Covariates in training."""
        return len(self.fitted_.encoding.columns)

    def transform(self, X: Any, *, given: Any = None) -> Array:
        """Latent codes of the chosen candidate, (rows, hidden units)."""
        return super().transform(X, given=given)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the latent codes: hidden0, hidden1, ..."""
        return code_names(self.fitted)


def _part(frame: pd.DataFrame, y: Any, weights: Array | None, rows: Any) -> tuple[Any, Any, Array | None]:
    return frame.iloc[rows], y.iloc[rows] if hasattr(y, "iloc") else y[rows], None if weights is None else weights[rows]


def _recipe(base: SurvivalHarmonium, n_hidden: int, objective: Any) -> Recipe:
    """Of a candidate; covariate units go with the conditional objective only."""
    n_units = base.n_covariate_units if objective in ("conditional", 1.0) else "auto"
    return replace(base.recipe(), n_hidden=n_hidden, objective=objective, n_covariate_units=n_units)


def _out_of_fold(
    base: SurvivalHarmonium, n_hidden: int, objectives: Sequence[Any], train: tuple[Any, Any, Any], test: tuple[Any, Any, Any]
) -> Array:
    """Held-out log-likelihoods of all objectives, each fit beginning where the last one ended."""
    columns: list[Array] = []
    model: Fitted | None = None
    with silenced(IdentifierWarning, LeakageWarning, SubjectWarning):  # the whole table has been looked at
        table = encode_training_table(base.recipe(), train[0], train[1], sample_weight=train[2])
    for objective in objectives:
        recipe = _recipe(base, n_hidden=n_hidden, objective=objective)
        model, _ = fit_model(recipe, table, start=model, random_state=base.random_state, n_jobs=base.n_jobs)
        with silenced(UnseenLevelWarning, RangeWarning):  # a fold may lack a rare level, or a large value
            columns.append(model.log_likelihood(test[0], test[1]))
    return np.column_stack(columns)
