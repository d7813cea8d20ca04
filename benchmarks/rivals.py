"""Rivals from scikit-survival, for ``harmonium benchmark --rivals benchmarks/rivals.py``: a forest and a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sksurv.ensemble import RandomSurvivalForest
from sksurv.svm import FastSurvivalSVM
from sksurv.util import Surv

from harmonium.studies.benchmark.rival import Prediction, Rival, Settings, Standardised, first_endpoint
from harmonium.typing import Array

__all__ = ["RIVALS"]


class Forest(Rival):
    """Random survival forest of scikit-survival, trees of depth 7."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's choices."""
        features = [None, "sqrt", "log2"][int(rng.integers(3))]
        return {
            "n_estimators": int(2 ** rng.integers(0, 11)),
            "min_samples_split": int(2 ** rng.integers(1, 6)),
            "min_samples_leaf": int(2 ** rng.integers(0, 6)),
            "max_features": features,
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """On columns as they are."""
        time, event = first_endpoint(y)
        return RandomSurvivalForest(**settings, max_depth=7, random_state=seed, n_jobs=1).fit(
            X.to_numpy(float), Surv.from_arrays(event, time)
        )

    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """The forest's own risk score, and step functions at the times."""
        columns = X.to_numpy(float)
        risk = np.asarray(model.predict(columns))
        if not times.size:
            return Prediction(risk, None)
        curves, last = model.predict_survival_function(columns), model.unique_times_[-1]
        return Prediction(risk, np.array([curve(np.clip(times, curve.x[0], last)) for curve in curves]))

    def cost(self, settings: Settings) -> float:
        """Trees, of which those that look at all columns take longer, and something for the rest."""
        return float(20 + settings["n_estimators"] * (1.0 if settings["max_features"] else 3.0))


class SVM(Rival):
    """Fast survival support vector machine of scikit-survival; it has no survival probabilities."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals."""
        return {"alpha": float(2.0 ** rng.uniform(-12, 12)), "rank_ratio": float(rng.integers(0, 21) / 20)}

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """On standardised columns."""
        scaled = Standardised.of(X)
        time, event = first_endpoint(y)
        scaled.model = FastSurvivalSVM(**settings, max_iter=100, random_state=seed).fit(scaled(X), Surv.from_arrays(event, time))
        return scaled

    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """With any share of regression the machine predicts times, of which an early one is a high risk."""
        predicted = np.asarray(model.model.predict(model(X)))
        return Prediction(predicted if model.model.rank_ratio == 1.0 else -predicted, None)


RIVALS = {"forest": Forest(), "svm": SVM()}
"""By the names that the command line knows."""
