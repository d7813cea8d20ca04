"""A random survival forest of scikit-survival, for ``harmonium compare --rivals benchmarks/forest.py``: a forest for each endpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sksurv.ensemble import RandomSurvivalForest
from sksurv.util import Surv

from harmonium.metrics.observed import right_censored
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["MODELS"]


class Forest:
    """Text becomes indicators, and missing values become medians."""

    def __init__(self, n_trees: int = 300, min_samples_leaf: int = 10) -> None:
        self._settings = {"n_estimators": n_trees, "min_samples_leaf": min_samples_leaf, "random_state": 0, "n_jobs": -1}

    def fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Forest:
        """A forest for each endpoint; who may no longer have it is censored."""
        known, fitted = parse_endpoints(y), Forest()
        fitted.columns, fitted.medians = _indicators(X).columns, _indicators(X).median()
        features = fitted.features(X)
        fitted.forests = {}
        for name in known.names:
            observed = right_censored(known, name, quiet=True)
            target = Surv.from_arrays(observed.event, observed.time)
            fitted.forests[name] = RandomSurvivalForest(**self._settings).fit(features[observed.rows], target)
        return fitted

    def features(self, X: pd.DataFrame) -> Array:
        """As numbers."""
        filled = _indicators(X).reindex(columns=self.columns, fill_value=0.0).fillna(self.medians)
        return np.asarray(filled.to_numpy(float))

    def predict(self, X: pd.DataFrame, *, endpoint: str) -> Any:
        """Risk."""
        return self.forests[endpoint].predict(self.features(X))

    def predict_survival_function(self, X: pd.DataFrame, *, endpoint: str, times: Array, return_array: bool = True) -> Array:
        """Survival at some times."""
        forest = self.forests[endpoint]
        curves, last = forest.predict_survival_function(self.features(X)), forest.unique_times_[-1]
        return np.array([curve(np.clip(times, curve.x[0], last)) for curve in curves])

    columns: Any
    medians: Any
    forests: dict[str, Any]


def _indicators(X: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(X, dtype=float).astype(float)


MODELS = {"random survival forest": Forest()}
"""Models by name."""
