"""What a fitted model offers to everything that is asked of it, by one harmonium of all endpoints or one for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.model.draws import DrawnHistories
from harmonium.model.generating import Generator
from harmonium.model.prognosis import Prognosis
from harmonium.model.spread import Spread
from harmonium.model.training_summary import TrainingSummary
from harmonium.model.transitions import Transitions
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["Answering", "Harmonium", "Purpose"]

Purpose = Literal["prediction", "imputation", "cohort"]
"""What draws are for: predictions come from the prognostic part, imputations and cohorts from its joint continuation."""


class Harmonium(Protocol):
    """Everything that a model file keeps of one harmonium."""

    @property
    def encoding(self) -> Encoding:
        """Roles and encodings of columns, time scales of endpoints."""

    @property
    def training(self) -> TrainingSummary:
        """How the model came about."""

    @property
    def parameters(self) -> Parameters:
        """Of the prognostic units; where endpoints are ordered, those of the study are of the covariates alone."""

    @property
    def covariate_units(self) -> CovariateUnits | None:
        """How covariates are distributed, where that was learned beside the parameters."""

    @property
    def generator(self) -> Generator | None:
        """What imputations and cohorts are drawn from, if that is not the parameters."""

    @property
    def spread(self) -> Spread | None:
        """How far the parameters may be from where they are, if that is known."""


class Answering(Harmonium, Protocol):
    """A fitted model, seen by the functions that answer questions with it."""

    @property
    def whole_parameters(self) -> Parameters:
        """Of the prognostic units and, after them, the covariate units."""

    @property
    def transitions(self) -> Transitions | None:
        """Where an endpoint is terminal, a harmonium of each endpoint."""

    @property
    def n_hidden(self) -> int:
        """How many prognostic units, at most in one harmonium."""

    @property
    def n_covariate_units(self) -> int:
        """How many units couple to covariates only."""

    @property
    def n_jobs(self) -> int | None:
        """Threads that answer."""

    @property
    def seed(self) -> int:
        """Of random numbers where answers need them: the same at every call."""

    def ask(self, covariates: Array, known: Endpoints | None) -> Prognosis:
        """The prognosis of encoded covariates."""

    def log_likelihood_of(self, covariates: Array, known: Endpoints, kind: str) -> Array:
        """Ln p of every row."""

    def draw(self, cells: Cells, n_draws: int, rng: np.random.Generator, purpose: Purpose) -> Iterator[Array]:
        """Completed tables (rows, columns) where endpoints have no order."""

    def draw_histories(
        self, cells: Cells, known: Endpoints, n_draws: int, rng: np.random.Generator, purpose: Purpose
    ) -> Iterator[tuple[Array, DrawnHistories]]:
        """Completed covariates and event histories where endpoints are ordered."""

    def with_evaluation(self, method: str, scores: Mapping[str, Mapping[str, float]]) -> Any:
        """The same model, which now knows how well it predicts."""
