"""The models that are compared, each with its search space (the paper's appendix) and one way to ask for predictions.

Further models come from a file: any Python file with a mapping ``RIVALS`` of names to objects of :class:`Rival` will do. The forest and
the support vector machine of scikit-survival, which is licensed under the GPL and no dependency of ours, are in ``benchmarks/rivals.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from harmonium.estimator import SurvivalHarmonium
from harmonium.search import SurvivalHarmoniumCV
from harmonium.studies.cox import fit_cox
from harmonium.table.endpoints import parse_endpoints
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.typing import Array

__all__ = ["RIVALS", "Rival", "Settings", "Standardised", "first_endpoint", "load_rivals", "log_uniform"]

Settings = dict[str, Any]
_MOST_EPOCHS = 100_000


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between two."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


class Rival(ABC):
    """A kind of model: draws settings, fits, predicts.

    ``complete`` kinds take only columns without missing values and the first endpoint; the others take everything and can use what is
    known of the other endpoints. ``searched`` kinds are tuned by random search.
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
class Standardised:
    """A model with the means and scales of its columns."""

    mean: Any
    scale: Any
    model: Any

    @classmethod
    def of(cls, X: pd.DataFrame) -> Standardised:
        """Those of a training table; the model is still to be fitted."""
        scale = X.std(ddof=0).replace(0.0, 1.0)
        return cls(X.mean(), scale, None)

    def __call__(self, X: pd.DataFrame) -> Any:
        """Columns in these means and scales."""
        return ((X - self.mean) / self.scale).to_numpy(float)


def first_endpoint(y: pd.DataFrame) -> tuple[Array, Any]:
    """Times, none of them zero, and events."""
    known = parse_endpoints(y)
    return np.maximum(known.lower[:, 0], 1e-3), known.event[:, 0]


class Cox(Rival):
    """Cox regression of lifelines with elastic net."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals."""
        return {"penalizer": log_uniform(rng, 1e-5, 1e3), "l1_ratio": log_uniform(rng, 1e-5, 1.0)}

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """On standardised columns."""
        scaled = Standardised.of(X)
        time, event = first_endpoint(y)
        frame = pd.DataFrame(scaled(X)).assign(time=time, event=event)
        scaled.model = fit_cox(frame, **settings)
        return scaled

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """By Breslow's baseline."""
        return np.asarray(model.model.predict_survival_function(pd.DataFrame(model(X)), times=times), dtype=float).T

    def risk(self, model: Any, X: pd.DataFrame, time: float, given: Any) -> Array:
        """The linear predictor."""
        return np.asarray(model.model.predict_log_partial_hazard(pd.DataFrame(model(X))), dtype=float)


class _Harmonium(Rival):
    complete: ClassVar[bool] = False

    def survival(self, model: Any, X: pd.DataFrame, times: Array, given: Any) -> Array | None:
        """Of the first endpoint, given what is known of the others."""
        return np.asarray(model.predict_survival_function(X, times=times, given=given, return_array=True))


class ExactHarmonium(_Harmonium):
    """Our harmonium, trained by exact likelihood."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """Sizes, objectives and penalties around the defaults."""
        return {
            "n_hidden": int(rng.integers(1, 7)),
            "objective": float(rng.choice([1.0, 0.98, 0.95, 0.8])),
            "l2": "auto" if rng.random() < 0.5 else log_uniform(rng, 0.3, 100.0),
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """With two starts, since many candidates are tried."""
        trainer = Exact(l2=settings["l2"], n_starts=2)
        chosen = {name: settings[name] for name in ("n_hidden", "objective")}
        return SurvivalHarmonium(**chosen, trainer=trainer, random_state=seed, n_jobs=1).fit(X, y)


class PaperHarmonium(_Harmonium):
    """The paper's harmonium: joint likelihood by contrastive divergence on the linear time scale."""

    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """The paper's intervals, with its exceptions for three studies."""
        most_epochs = 50_000 if study in ("democracy", "ncctg") else _MOST_EPOCHS
        return {
            "n_hidden": round(log_uniform(rng, 1.0, 128.0)),
            "learning_rate": log_uniform(rng, 1e-5, 0.0125 if study == "nvalt8" else 5e-2),
            "n_epochs": round(log_uniform(rng, 500.0, most_epochs)),
            "batch_size": round(log_uniform(rng, 25.0, 1000.0)),
            "l2": log_uniform(rng, 1e-5, 1e-1),
            "momentum": float(rng.uniform(0.0, 0.9)),
            "persistent": bool(rng.random() < 0.5),
        }

    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """With one Gibbs step."""
        trainer = Contrastive(**{name: value for name, value in settings.items() if name != "n_hidden"}, n_steps=1)
        model = SurvivalHarmonium(
            settings["n_hidden"], objective="joint", time_scale="linear", trainer=trainer, random_state=seed, n_jobs=1
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
    "paper-harmonium": PaperHarmonium(),
    "harmonium": ExactHarmonium(),
    "harmonium-default": DefaultHarmonium(),
    "harmonium-cv": DefaultHarmonium(cross_validated=True),
}
"""All kinds, by the names that the command line knows."""


@lru_cache(maxsize=8)
def load_rivals(path: str | None) -> None:
    """Add the models of a file to :data:`RIVALS`; once in each process."""
    if path is None:
        return
    spec = spec_from_file_location("harmonium_rivals", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"there is no Python file {path} to take models from")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    RIVALS.update(module.RIVALS)
