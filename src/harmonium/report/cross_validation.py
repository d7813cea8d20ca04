"""Models of cross-validation, asked like one: every row is answered by the model that has not seen it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from harmonium.errors import RangeWarning, UnseenLevelWarning, silenced
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array, Integers

__all__ = ["OutOfFold", "cross_validated", "on_the_same_folds"]


@dataclass(frozen=True)
class OutOfFold:
    """Fitted models of all folds, each of which answers for the rows that it was not fitted to.

    Attributes
    ----------
    models : list of Fitted
    fold : ndarray of shape (n_rows,)
        Which model answers for each row of the table that was cross-validated.
    """

    models: list[Any]
    fold: Integers

    @property
    def endpoint_names(self) -> tuple[str, ...]:
        """Of the models."""
        names: tuple[str, ...] = self.models[0].endpoint_names
        return names

    @property
    def fitted(self) -> Any:
        """The first model, for what all of them have in common."""
        return self.models[0]

    def prognosis(self, X: Any, *, given: Any = None) -> _Prognosis:
        """The prognosis of all rows, in the order of the table."""
        parts = []
        for k, model in enumerate(self.models):
            rows = np.flatnonzero(self.fold == k)
            with silenced(UnseenLevelWarning, RangeWarning):  # a fold may lack a rare level, or a large value
                parts.append((rows, model.prognosis(X.iloc[rows], given=None if given is None else given.iloc[rows])))
        return _Prognosis(parts, self.fold.size)

    def log_likelihood(self, X: Any, y: Any) -> Array:
        """Ln p of every row."""
        out = np.empty(self.fold.size)
        for k, model in enumerate(self.models):
            rows = np.flatnonzero(self.fold == k)
            with silenced(UnseenLevelWarning, RangeWarning):  # a fold may lack a rare level, or a large value
                out[rows] = model.log_likelihood(X.iloc[rows], y.iloc[rows])
        return out


@dataclass(frozen=True)
class _Prognosis:
    """Answers of all folds, put in the order of the table."""

    parts: list[tuple[Integers, Any]]
    n_rows: int

    def survival(self, endpoint: str | None = None, times: Any = None) -> Array:
        """Probability of no event until each time, (rows, times)."""
        return self._in_order(lambda part, rows: part.survival(endpoint, times))

    def cumulative_incidence(self, endpoint: str | None = None, times: Any = None) -> Array:
        """Probability that the event has happened until each time, (rows, times)."""
        return self._in_order(lambda part, rows: _incidence(part, endpoint, times))

    def survival_at(self, endpoint: str | None, times: Any) -> Array:
        """Probability of no event until a time of each row's own, (rows,)."""
        own = np.asarray(times, dtype=np.float64)
        return self._in_order(lambda part, rows: part.survival_at(endpoint, own[rows]))

    def risk(self, endpoint: str | None = None) -> Array:
        """Higher means sooner, (rows,)."""
        return self._in_order(lambda part, rows: part.risk(endpoint))

    def _in_order(self, question: Callable[[Any, Integers], Array]) -> Array:
        out: Array | None = None
        for rows, part in self.parts:
            answer = question(part, rows)
            out = np.empty((self.n_rows, *answer.shape[1:])) if out is None else out
            out[rows] = answer
        assert out is not None
        return out


def _incidence(part: Any, endpoint: str | None, times: Any) -> Array:
    """Of a model that may know survival alone, as those of other packages do."""
    if hasattr(part, "cumulative_incidence"):
        return np.asarray(part.cumulative_incidence(endpoint, times))
    return 1.0 - np.asarray(part.survival(endpoint, times))


def cross_validated(
    model: Any,
    X: pd.DataFrame,
    y: pd.DataFrame,
    n_folds: int,
    done: Callable[[], None] = lambda: None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> OutOfFold:
    """Fit a copy of an estimator for each fold; rows may have weights, and those of one group are in one fold."""
    weights = parse_weights(sample_weight, len(X))
    fold = np.empty(len(X), dtype=np.int64)
    models = []
    for k, (train, test) in enumerate(MultiEndpointStratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y, groups)):
        fold[test] = k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold may lack a rare level; the fit to all rows has said what there is to say
            own = {} if weights is None else {"sample_weight": weights[train]}
            models.append(clone(model).set_params(verbose=False).fit(X.iloc[train], y.iloc[train], **own).fitted_)
        done()
    return OutOfFold(models, fold)


def on_the_same_folds(model: Any, X: pd.DataFrame, y: pd.DataFrame, fold: Integers) -> OutOfFold:
    """Another model, whose ``fit(X, y)`` returns something that has a prognosis, fitted to the same parts of the table."""
    models = []
    for k in range(int(fold.max()) + 1):
        train = fold != k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            models.append(model.fit(X[train], y[train]))
    return OutOfFold(models, fold)
