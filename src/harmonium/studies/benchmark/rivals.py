"""The models that are compared, each with its search space (the paper's appendix) and one way to ask for predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sksurv.ensemble import RandomSurvivalForest
from sksurv.svm import FastSurvivalSVM
from sksurv.util import Surv

from harmonium.estimator import SurvivalHarmonium
from harmonium.search import SurvivalHarmoniumCV
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["RIVALS", "Rival"]

Settings = dict[str, Any]
_MOST_EPOCHS = 100_000


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


class Rival(ABC):
    """A kind of model: draws settings, fits, predicts.

    ``complete`` kinds take only columns without gaps and the first endpoint; the others take everything and may be told what is known of
    the other endpoints. ``searched`` kinds are tuned by random search.
    """

    complete: ClassVar[bool] = True
    searched: ClassVar[bool] = True

    @abstractmethod
    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """Settings of a candidate."""

    @abstractmethod
    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """A fitted model."""

    @abstractmethod
    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """Probabilities of no first event until each time, (rows, times); None if the model has none."""

    def risk(self, model: Any, X: pd.DataFrame, time: float, given: Any) -> Array:
        """Higher means sooner: the probability of an event until a time."""
        alive = self.survival(model, X, np.array([time]), given)
        assert alive is not None
        return 1.0 - alive[:, 0]


@dataclass
class _Standardised:
    """A model with the means and scales of its columns."""

    mean: Any
    scale: Any
    model: Any

    @classmethod
    def of(cls, X: pd.DataFrame) -> _Standardised:
        scale = X.std(ddof=0).replace(0.0, 1.0)
        return cls(X.mean(), scale, None)

    def __call__(self, X: pd.DataFrame) -> Any:
        return ((X - self.mean) / self.scale).to_numpy(float)


def _first_endpoint(y: pd.DataFrame) -> tuple[Array, Any]:
    known = parse_endpoints(y)
    return np.maximum(known.lower[:, 0], 1e-3), known.event[:, 0]


class Cox(Rival):
    """Cox regression of lifelines with elastic net."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals."""
        return {"penalizer": _log_uniform(rng, 1e-5, 1e3), "l1_ratio": _log_uniform(rng, 1e-5, 1.0)}

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """On standardised columns."""
        from lifelines import CoxPHFitter  # noqa: PLC0415 - an optional dependency

        scaled = _Standardised.of(X)
        time, event = _first_endpoint(y)
        frame = pd.DataFrame(scaled(X)).assign(time=time, event=event)
        scaled.model = CoxPHFitter(**settings).fit(frame, "time", "event")
        return scaled

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """By Breslow's baseline."""
        return np.asarray(model.model.predict_survival_function(pd.DataFrame(model(X)), times=times), dtype=float).T

    def risk(self, model: Any, X: pd.DataFrame, time: float, given: Any) -> Array:
        """The linear predictor."""
        return np.asarray(model.model.predict_log_partial_hazard(pd.DataFrame(model(X))), dtype=float)


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
        time, event = _first_endpoint(y)
        return RandomSurvivalForest(**settings, max_depth=7, random_state=seed, n_jobs=1).fit(
            X.to_numpy(float), Surv.from_arrays(event, time)
        )

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """Step functions at the times."""
        curves = model.predict_survival_function(X.to_numpy(float))
        last = model.unique_times_[-1]
        return np.array([curve(np.clip(times, curve.x[0], last)) for curve in curves])

    def risk(self, model: Any, X: pd.DataFrame, time: float, given: Any) -> Array:
        """The forest's own risk score."""
        return np.asarray(model.predict(X.to_numpy(float)))


class SVM(Rival):
    """Fast survival support vector machine of scikit-survival; it has no survival probabilities."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals."""
        return {"alpha": float(2.0 ** rng.uniform(-12, 12)), "rank_ratio": float(rng.integers(0, 21) / 20)}

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """On standardised columns."""
        scaled = _Standardised.of(X)
        time, event = _first_endpoint(y)
        scaled.model = FastSurvivalSVM(**settings, max_iter=100, random_state=seed).fit(scaled(X), Surv.from_arrays(event, time))
        return scaled

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """None."""
        return None

    def risk(self, model: Any, X: pd.DataFrame, time: float, given: Any) -> Array:
        """With any share of regression the machine predicts times, of which an early one is a high risk."""
        predicted = np.asarray(model.model.predict(model(X)))
        return predicted if model.model.rank_ratio == 1.0 else -predicted


class _Harmonium(Rival):
    complete: ClassVar[bool] = False

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """Of the first endpoint, given what is known of the others."""
        return np.asarray(model.predict_survival_function(X, None, times, given=given, return_array=True))


class ExactHarmonium(_Harmonium):
    """Our harmonium, trained by exact likelihood."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """Sizes, objectives and penalties around the defaults."""
        return {
            "n_hidden": int(rng.integers(1, 7)),
            "objective": float(rng.choice([1.0, 0.98, 0.95, 0.8])),
            "l2": "auto" if rng.random() < 0.5 else _log_uniform(rng, 0.3, 100.0),
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """With two starts, since many candidates are tried."""
        return SurvivalHarmonium(**settings, n_starts=2, random_state=seed, n_jobs=1).fit(X, y)


class PaperHarmonium(_Harmonium):
    """The paper's harmonium: joint likelihood by contrastive divergence on the linear time scale."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals, with its exceptions for three studies."""
        most_epochs = 50_000 if study in ("democracy", "ncctg") else _MOST_EPOCHS
        return {
            "n_hidden": round(_log_uniform(rng, 1.0, 128.0)),
            "learning_rate": _log_uniform(rng, 1e-5, 0.0125 if study == "nvalt8" else 5e-2),
            "n_epochs": round(_log_uniform(rng, 500.0, most_epochs)),
            "batch_size": round(_log_uniform(rng, 25.0, 1000.0)),
            "l2": _log_uniform(rng, 1e-5, 1e-1),
            "momentum": float(rng.uniform(0.0, 0.9)),
            "persistent": bool(rng.random() < 0.5),
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """With one Gibbs step."""
        model = SurvivalHarmonium(
            **settings, objective="joint", time_scale="linear", trainer="contrastive", n_steps=1, random_state=seed, n_jobs=1
        )
        return model.fit(X, y)


@dataclass
class DefaultHarmonium(_Harmonium):
    """Our harmonium as it comes, without any search."""

    searched: ClassVar[bool] = False
    cross_validated: bool = field(default=False)

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """Nothing to draw."""
        return {}

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """Defaults, or the variant that chooses its size and objective itself."""
        model = SurvivalHarmonium(random_state=seed, n_jobs=1)
        return SurvivalHarmoniumCV(estimator=model, n_jobs=1).fit(X, y) if self.cross_validated else model.fit(X, y)


RIVALS: dict[str, Rival] = {
    "cox": Cox(),
    "forest": Forest(),
    "svm": SVM(),
    "paper-harmonium": PaperHarmonium(),
    "harmonium": ExactHarmonium(),
    "harmonium-default": DefaultHarmonium(),
    "harmonium-cv": DefaultHarmonium(cross_validated=True),
}
"""All kinds, by the names that the command line knows."""
