"""Harmoniums of all endpoints, one for each: transitions between the states of an event history, given covariates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harmonium.model.endpoint_model import EndpointModel
from harmonium.model.spread import moved
from harmonium.table.encoding import Encoding
from harmonium.table.endpoint_rows import endpoint_rows
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array

__all__ = ["Transitions"]


@dataclass(frozen=True, eq=False)
class Transitions:
    """One harmonium for each endpoint, in the order of the state graph.

    Attributes
    ----------
    graph : StateGraph
    models : tuple of EndpointModel
    by_state : mapping
        Models of single states that differ from these, by endpoint and state: while it is asked how far answers move if only those do.
    """

    graph: StateGraph
    models: tuple[EndpointModel, ...]
    by_state: Mapping[tuple[int, int], EndpointModel] = field(default_factory=dict)

    def of(self, endpoint: int, state: int) -> EndpointModel:
        """The model of an endpoint in a state."""
        return self.by_state.get((endpoint, state), self.models[endpoint])

    @property
    def converged(self) -> bool | None:
        """Whether all fits have converged."""
        found = [model.training.converged for model in self.models]
        return None if None in found else all(found)

    def moved(self, endpoint: int, state: int | None, step: Array) -> Transitions:
        """With parameters of one endpoint, or those in one state alone, that are further along by a step."""
        model = self.models[endpoint]
        return self._with(endpoint, state, replace(model, parameters=moved(model.parameters, step)))

    def hurried(self, endpoint: int, state: int | None, hazard_ratio: float) -> Transitions:
        """With a factor of the hazard of an endpoint, or that in one state alone."""
        return self._with(endpoint, state, replace(self.models[endpoint], hazard_ratio=hazard_ratio))

    def _with(self, endpoint: int, state: int | None, other: EndpointModel) -> Transitions:
        if state is not None:
            return replace(self, by_state={(endpoint, state): other})
        return replace(self, models=tuple(other if e == endpoint else own for e, own in enumerate(self.models)))

    def log_likelihood(self, encoding: Encoding, covariates: Array, y: Endpoints, known: Histories) -> Array:
        """Ln p of the event history of every row given its covariates, in the user's unit of time; of histories that are known."""
        out = np.zeros(len(covariates))
        for e, model in enumerate(self.models):
            own = endpoint_rows(self.graph, known, y, e)
            np.add.at(out, own.rows, model.log_likelihood(encoding, covariates, own))
        return out
