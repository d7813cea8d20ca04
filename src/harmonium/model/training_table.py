"""Training tables: encoded, with their rows in memory or elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from harmonium.model.endpoint_tables import EndpointSettings, EndpointTable, endpoint_tables
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.ties import ties_as_intervals
from harmonium.typing import Array

__all__ = ["Encoded", "TrainingTable"]


class TrainingTable(Protocol):
    """An encoded training table, wherever its rows are."""

    @property
    def encoding(self) -> Encoding:
        """What was learned from it."""

    @property
    def n_rows(self) -> int:
        """How many rows."""

    def objective(self, conditional: float) -> Any:
        """What the trainer maximises; where endpoints are ordered, of covariates alone."""

    def endpoint_tables(self, settings: EndpointSettings) -> list[EndpointTable]:
        """Where endpoints are ordered, the table of each of them."""

    def subjects(self, most: int) -> Encoded:
        """The rows in memory: all of them if they are there, and otherwise about so many."""


@dataclass(frozen=True)
class Encoded:
    """A training table, encoded."""

    encoding: Encoding
    covariates: Array
    known: Endpoints
    weights: RowWeights = UNWEIGHTED

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.covariates)

    def objective(self, conditional: float) -> Objective:
        """The objective of training, in which tied event times are intervals."""
        cells = self.encoding.cells(self.covariates, self.known, partial(ties_as_intervals, weights=self.weights))
        entry, subjects = self.encoding.entry(self.known), self.weights.values
        if subjects is None:
            return Objective(cells, entry, conditional)
        return WeightedObjective(cells, entry, conditional, weights=subjects, subjects=subjects)

    def endpoint_tables(self, settings: EndpointSettings) -> list[EndpointTable]:
        """Where endpoints are ordered, the table of each of them."""
        return endpoint_tables(self.encoding, self.covariates, self.known, self.weights, settings)

    def subjects(self, most: int) -> Encoded:
        """Itself."""
        return self
