"""A mixture of fitted models that answers as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harmonium.cells import Cells
from harmonium.model.answering import Purpose
from harmonium.model.calibrating import mixed_scales
from harmonium.model.episode_prognosis import EpisodeMixture
from harmonium.model.fitted import Fitted
from harmonium.model.mixture_prognosis import MixturePrognosis
from harmonium.model.survival_model import SurvivalModel
from harmonium.model.training_summary import TrainingSummary
from harmonium.model.words import model_words
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(SurvivalModel):
    """Models of one encoding, each with a weight; as immutable as they are.

    Attributes
    ----------
    models : tuple of Fitted
    weights : tuple of float
        Positive; they add up to one.
    """

    models: tuple[Fitted, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.models or len(self.models) != len(self.weights):
            raise ValueError(f"a mixture needs as many weights as models; found {len(self.weights)} and {len(self.models)}")
        if min(self.weights) <= 0.0 or abs(sum(self.weights) - 1.0) > 1e-9:
            raise ValueError(f"weights must be positive and add up to one; found {self.weights}")
        if any(model.encoding != self.encoding for model in self.models):
            raise ValueError("all models of a mixture must have the same encoding")

    @classmethod
    def of(cls, models: Sequence[Fitted], weights: Sequence[float]) -> Mixture:
        """Of models that were trained on one table, each with time scales of its own: the mixture's are calibrated once more."""
        first, *others = (model.encoding.in_training() for model in models)
        if any(encoding != first for encoding in others):
            raise ValueError("all models of a mixture must have been fitted to one table, with the same scales")
        encoding = mixed_scales([model.encoding for model in models], weights)
        return cls(tuple(replace(model, encoding=encoding) for model in models), tuple(weights))

    def __repr__(self) -> str:
        return model_words(self, f"Mixture of {len(self.models)}")

    @property
    def fitted(self) -> Mixture:
        """Itself."""
        return self

    @property
    def encoding(self) -> Encoding:
        """Of all models."""
        return self.models[0].encoding

    @property
    def components(self) -> tuple[tuple[float, Fitted], ...]:
        """Weights and models."""
        return tuple(zip(self.weights, self.models, strict=True))

    @property
    def training(self) -> TrainingSummary:
        """Of the model with the largest weight."""
        return self.models[int(np.argmax(self.weights))].training

    @property
    def n_hidden(self) -> int:
        """The largest number of hidden units of a model."""
        return max(model.n_hidden for model in self.models)

    @property
    def n_covariate_units(self) -> int:
        """The largest number of covariate units of a model."""
        return max(model.n_covariate_units for model in self.models)

    @property
    def n_jobs(self) -> int | None:
        """Threads that answer."""
        return self.models[0].n_jobs

    @property
    def seed(self) -> int:
        """Of random numbers where answers need them."""
        return self.models[0].seed

    def with_jobs(self, n_jobs: int | None) -> Mixture:
        """The same model, answering with another number of threads."""
        return replace(self, models=tuple(model.with_jobs(n_jobs) for model in self.models))

    def with_evaluation(self, method: str, scores: Mapping[str, Mapping[str, float]]) -> Mixture:
        """The same model, which now knows how well it predicts."""
        return replace(self, models=tuple(model.with_evaluation(method, scores) for model in self.models))

    def ask(self, covariates: Array, known: Endpoints | None) -> MixturePrognosis:
        """The prognosis of encoded covariates."""
        parts = [model.ask(covariates, known) for model in self.models]
        kind = MixturePrognosis if self.encoding.episodes is None else EpisodeMixture
        return kind(parts, self._weights(covariates, known))

    def log_likelihood_of(self, covariates: Array, known: Endpoints, kind: str) -> Array:
        """Ln p of every row under the mixture."""
        parts = [np.log(weight) + model.log_likelihood_of(covariates, known, kind) for weight, model in self.components]
        mixture: Array = np.logaddexp.reduce(parts)
        return mixture

    def draw(self, cells: Cells, known: Endpoints, n_draws: int, rng: np.random.Generator, purpose: Purpose) -> Iterator[Array]:
        """Completed tables (rows, columns); for each row and table a component is drawn first."""
        lower, upper = cells.bounds()
        n_covariates = len(self.encoding.modelled)
        observed = np.where(lower == upper, lower, np.nan)[:, :n_covariates]
        cumulative = np.cumsum(self._weights(observed, known), axis=0)
        for tables in zip(*(model.draw(cells, known, n_draws, rng, purpose) for model in self.models), strict=True):
            chosen = np.argmax(rng.random(cells.n_rows) * cumulative[-1] < cumulative, axis=0)
            yield np.stack(tables)[chosen, np.arange(cells.n_rows)]

    def _weights(self, covariates: Array, known: Endpoints | None) -> Array:
        """Weights (components, rows): each component counts by how likely it found what is known."""
        weights = np.repeat(np.array(self.weights)[:, None], len(covariates), axis=1)
        if known is None or len(self.models) == 1:
            return weights
        likelihood = np.stack([model.log_likelihood_of(covariates, known, "conditional") for model in self.models])
        weights = weights * np.exp(likelihood - likelihood.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))
