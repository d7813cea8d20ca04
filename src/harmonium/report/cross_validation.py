"""How well a model predicts subjects that it has not seen: every row is predicted by a model fitted to other folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from harmonium.metrics.brier import integrated_brier_score
from harmonium.metrics.calibration import d_calibration
from harmonium.metrics.concordance import concordance_index
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import product_limit
from harmonium.typing import Array

__all__ = ["OutOfFold", "cross_validated", "endpoint_scores"]


@dataclass(frozen=True)
class OutOfFold:
    """Models of all folds, each of which predicts the rows that it was not fitted to; asked like one model."""

    models: list[Any]
    fold: NDArray[np.int64]

    @property
    def endpoint_names_(self) -> tuple[str, ...]:
        """Of the models."""
        names: tuple[str, ...] = self.models[0].endpoint_names_
        return names

    @property
    def event_times_(self) -> dict[str, Array]:
        """Of the first model."""
        times: dict[str, Array] = self.models[0].event_times_
        return times

    def predict_survival_function(
        self, X: Any, endpoint: str | None = None, times: Any = None, *, given: Any = None, return_array: bool = False
    ) -> Array:
        """Curves of all rows, in the order of the table that was cross-validated."""

        def curves(model: Any, rows: NDArray[np.int64]) -> Array:
            known = None if given is None else given.iloc[rows]
            found: Array = model.predict_survival_function(X.iloc[rows], endpoint, times, given=known, return_array=return_array)
            return found

        return self._by_fold(curves)

    def predict(self, X: Any, endpoint: str | None = None) -> Array:
        """Risks of all rows."""
        return self._by_fold(lambda model, rows: model.predict(X.iloc[rows], endpoint))

    def _by_fold(self, function: Callable[[Any, NDArray[np.int64]], Array]) -> Array:
        out: Array | None = None
        for k, model in enumerate(self.models):
            rows = np.flatnonzero(self.fold == k)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*was not seen in training", UserWarning)  # a fold may lack a rare level
                part = np.asarray(function(model, rows))
            out = np.empty((self.fold.size, *part.shape[1:]), dtype=part.dtype) if out is None else out
            out[rows] = part
        assert out is not None
        return out


def cross_validated(model: Any, X: pd.DataFrame, y: pd.DataFrame, n_folds: int, done: Callable[[], None] = lambda: None) -> OutOfFold:
    """Fit a copy of the model for each fold."""
    fold = np.empty(len(X), dtype=np.int64)
    models = []
    for k, (train, test) in enumerate(MultiEndpointStratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y)):
        fold[test] = k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold may lack a rare level; the fit to all rows has told what there is to tell
            models.append(clone(model).fit(X.iloc[train], y.iloc[train]))
        done()
    return OutOfFold(models, fold)


def endpoint_scores(predicted: Any, X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """Concordance, integrated Brier score (and that of Kaplan-Meier) and calibration of each endpoint."""
    known = parse_endpoints(y)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # undefined metrics are shown as such
        for e, name in enumerate(known.names):
            recorded = known.lower[known.lower[:, e] > 0.0, e]
            times = np.linspace(*np.percentile(recorded, [10.0, 90.0]), 40)  # type: ignore[call-overload]
            alive = predicted.predict_survival_function(X, name, times, return_array=True)
            own = predicted.predict_survival_function(X, name, np.maximum(known.lower[:, e], 0.0), return_array=True)
            steps = np.unique(known.lower[:, e])
            surviving = np.concatenate([[1.0], product_limit(known.lower[:, e], known.event[:, e], steps)])
            reference = np.repeat(surviving[None, np.searchsorted(steps, times, side="right")], len(X), axis=0)
            rows.append(
                {
                    "endpoint": name,
                    "C-index": concordance_index(y, predicted.predict(X, name), endpoint=name),
                    "integrated Brier": integrated_brier_score(y, alive, times, endpoint=name),
                    "that of Kaplan-Meier": integrated_brier_score(y, reference, times, endpoint=name),
                    "D-calibration p": d_calibration(y, own.diagonal(), endpoint=name).p_value,
                }
            )
    return pd.DataFrame(rows)
