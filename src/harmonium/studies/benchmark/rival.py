"""What a model must do to take part: draw settings, fit, predict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["Prediction", "Rival", "Settings", "Standardised", "first_endpoint", "log_uniform"]

Settings = dict[str, Any]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between two."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


@dataclass(frozen=True)
class Prediction:
    """What a model says about some rows.

    Attributes
    ----------
    risk : ndarray
        Higher means sooner, (rows,).
    survival : ndarray or None
        Probabilities of no first event until each time, (rows, times); None if the model has none.
    n_sampled : int
        Rows whose answer is an average over random draws instead of a sum or an integral.
    """

    risk: Array
    survival: Array | None
    n_sampled: int = 0


class Rival(ABC):
    """A kind of model: draws settings, fits, predicts.

    ``complete`` kinds take only columns without missing values and the first endpoint; the others take everything and can use what is
    known of the other endpoints. ``searched`` kinds are tuned by random search. ``tuned_given_all`` kinds have one candidate for all kinds
    of prediction, the best one given everything observed of the other endpoints; the others have one for each kind.
    """

    complete: ClassVar[bool] = True
    searched: ClassVar[bool] = True
    tuned_given_all: ClassVar[bool] = False

    @abstractmethod
    def draw(self, rng: np.random.Generator, study: str) -> Settings:
        """Settings of a candidate."""

    @abstractmethod
    def fit(self, settings: Settings, X: pd.DataFrame, y: pd.DataFrame, seed: int) -> Any:
        """A fitted model."""

    @abstractmethod
    def predict(self, model: Any, X: pd.DataFrame, half: float, times: Array, given: Any) -> Prediction:
        """Risks, at half of the horizon where they depend on a time, and survival at some times, of which there may be none."""

    def cost(self, settings: Settings) -> float:
        """How long a fit takes, in a unit of the model's own: what takes longest begins first, and what is left is estimated."""
        return 1.0


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
