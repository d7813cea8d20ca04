"""What a table with terminal endpoints says of whole subjects: the graph of their states, and how long they were followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.errors import EndpointWarning, warn
from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories, histories_of
from harmonium.table.learned_endpoint import FollowUp, follow_up_of
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.state_graph import StateGraph

__all__ = ["OrderedEndpoints", "OrderedSummary", "conclude_ordered", "summarise_ordered"]


@dataclass(frozen=True)
class OrderedEndpoints:
    """Endpoints some of which are terminal.

    Attributes
    ----------
    graph : StateGraph
    follow_up : FollowUp
        How long subjects were observed.
    """

    graph: StateGraph
    follow_up: FollowUp

    def histories(self, y: Endpoints) -> Histories:
        """What is known of the event history of each row."""
        if y.terminal and set(y.terminal) != set(self.graph.terminal):
            raise ValueError(
                f"the model was fitted with terminal={self.graph.terminal!r}; found a table of endpoints with terminal={y.terminal!r}"
            )
        return histories_of(self.graph, y)


@dataclass(frozen=True)
class OrderedSummary:
    """Summary of a table or a part of it; summaries of several parts can be merged.

    Attributes
    ----------
    graph : StateGraph
    subjects : EndpointSummary
        Of whole subjects, whose observation ends with any terminal event.
    happened, followed : frozenset of str
        Intermediate events that were observed before any other, and those after which somebody was followed.
    """

    graph: StateGraph
    subjects: EndpointSummary
    happened: frozenset[str]
    followed: frozenset[str]

    def merged(self, other: OrderedSummary) -> OrderedSummary:
        """Summary of the rows of both, which have the same endpoints."""
        return OrderedSummary(
            self.graph, self.subjects.merged(other.subjects), self.happened | other.happened, self.followed | other.followed
        )


def summarise_ordered(y: Endpoints, weights: RowWeights = UNWEIGHTED) -> OrderedSummary | None:
    """Summary of a table; None if no endpoint is terminal."""
    if not y.terminal:
        return None
    graph = StateGraph(y.names, y.terminal)
    known = histories_of(graph, y)
    ends = [graph.names.index(name) for name in graph.terminal]
    upper = y.upper[:, ends].min(axis=1)
    subjects = EndpointSummary.of("subjects", np.minimum(y.lower.max(axis=1), upper), upper, weights=weights)
    happened, followed = set[str](), set[str]()
    for event in graph.intermediate:
        after = graph.after(0, graph.names.index(event))
        here = (known.state == after) & (known.ended < 0)
        if here.any() or (known.source == after).any():
            happened.add(event)
        if (known.source == after).any() or (known.until > known.entered)[here].any():
            followed.add(event)
    return OrderedSummary(graph, subjects, frozenset(happened), frozenset(followed))


def conclude_ordered(found: OrderedSummary | None, horizon: Any) -> OrderedEndpoints | None:
    """What is learned from a summary."""
    if found is None:
        return None
    if isinstance(horizon, Mapping):
        raise ValueError("where an endpoint is terminal, the horizon must be one time for all endpoints; found a mapping")
    graph = found.graph
    for event in (event for event in graph.intermediate if event in found.happened - found.followed):
        ends = " or ".join(map(repr, graph.terminal))
        warn(
            f"nobody was observed after {event!r}: the risk of {ends} after it cannot be estimated. If observation ended with {event!r}, "
            f"write terminal={(event, *graph.terminal)} (or add --terminal {event})",
            EndpointWarning,
        )
    return OrderedEndpoints(graph, follow_up_of(found.subjects))
