"""The models that are compared, each with its search space (the paper's appendix) and one way to ask for predictions.

Further models come from a file: any Python file with a mapping ``RIVALS`` of names to objects of
:class:`~harmonium.studies.benchmark.rival.Rival` will do. The forest and the support vector machine of scikit-survival, which is licensed
under the GPL and no dependency of ours, are in ``benchmarks/rivals.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from harmonium.estimator import SurvivalHarmonium
from harmonium.search import SurvivalHarmoniumCV
from harmonium.studies.benchmark.paper_harmonium import PaperHarmonium
from harmonium.studies.benchmark.rival import Prediction, Rival, Settings, Standardised, first_endpoint, log_uniform
from harmonium.studies.cox import fit_cox
from harmonium.studies.files import models_at
from harmonium.training.exact import Exact
from harmonium.typing import Array

__all__ = ["RIVALS", "load_rivals"]


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

    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """The linear predictor, and survival by Breslow's baseline."""
        columns = pd.DataFrame(model(X))
        risk = np.asarray(model.model.predict_log_partial_hazard(columns), dtype=float)
        alive = np.asarray(model.model.predict_survival_function(columns, times=times), dtype=float).T if times.size else None
        return Prediction(risk, alive)


class _Harmonium(Rival):
    complete: ClassVar[bool] = False

    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """Of the first endpoint, given what is known of the others; the risk is that of an event until half of the horizon."""
        at = np.append(times, half)
        alive = np.asarray(model.predict_survival_function(X, times=at, given=given, return_array=True))
        return Prediction(1.0 - alive[:, -1], alive[:, :-1])


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
    if path is not None:
        RIVALS.update(models_at(path, "RIVALS"))
