"""Endpoints one by one, given the state that a subject is in.

Where endpoints know each other, a table of one of them has a row for every state that a subject has been in and in which the endpoint could
happen: how long the subject was in that state until the endpoint happened, or until it no longer could. Recurrence and death:

===============================  ========================  ================================  ====================================
what was seen                    recurrence                death, event-free                 death, after a recurrence at r
===============================  ========================  ================================  ====================================
nothing until c                  (c, inf)                  (c, inf)                          no row
recurrence at r, alive at c      r                         (r, inf)                          (c - r, inf)
recurrence at r, death at d      r                         (r, inf)                          d - r
death at d without recurrence    (d, inf)                  d                                 no row
===============================  ========================  ================================  ====================================

These are the tables of cause-specific hazards. Of a recurrence between two visits, the state is taken to have lasted until the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array, Integers

__all__ = ["EndpointRows", "endpoint_rows"]


@dataclass(frozen=True)
class EndpointRows:
    """The table of one endpoint.

    Attributes
    ----------
    endpoint : int
    rows, state : ndarray of int
        The row of the study, and the state, of each row.
    entered : ndarray
        When the state was entered.
    times : Endpoints
        Of the endpoint alone, since then.
    """

    endpoint: int
    rows: Integers
    state: Integers
    entered: Array
    times: Endpoints


def endpoint_rows(graph: StateGraph, found: Histories, y: Endpoints, endpoint: int) -> EndpointRows:
    """The table of one endpoint of histories that were seen to their end, or until some time.

    Examples
    --------
    Recurrence at 8 and alive at 12; dead at 9 without recurrence:

    >>> from harmonium.table.histories import histories_of
    >>> graph = StateGraph(("recurrence", "death"), ("death",))
    >>> y = Endpoints(graph.names, np.array([[8.0, 12.0], [9.0, 9.0]]), np.array([[8.0, np.inf], [np.inf, 9.0]]), np.zeros((2, 2)))
    >>> death = endpoint_rows(graph, histories_of(graph, y), y, 1)
    >>> np.column_stack([death.rows, death.state, death.times.lower, death.times.upper])
    array([[ 0.,  0.,  8., inf],
           [ 1.,  0.,  9.,  9.],
           [ 0.,  1.,  4., inf]])
    """
    parts = [_in_state(graph, found, endpoint, state) for state in graph.states if endpoint in graph.options(state)]
    rows, state, entered, lower, upper = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    entry = np.where(state == 0, y.entry.max(axis=1)[rows], 0.0)
    times = Endpoints((graph.names[endpoint],), lower[:, None], upper[:, None], np.minimum(entry, lower)[:, None])
    return EndpointRows(endpoint, rows, state, entered, times)


def _in_state(graph: StateGraph, found: Histories, endpoint: int, state: int) -> tuple[Integers, Integers, Array, Array, Array]:
    """Rows, state, when it was entered, and bounds of the time until the endpoint, of all subjects who have been in a state."""
    left, step = np.nonzero(found.source == state)
    kind = found.kind[left, step]
    ended = np.isin(kind, [graph.names.index(name) for name in graph.terminal])
    start, lower, upper = (bound[left, step] for bound in (found.origin, found.lower, found.upper))
    last = np.where(kind == endpoint, lower, np.where(ended, lower, upper))
    first = np.where(kind == endpoint, upper, np.inf)
    here = np.flatnonzero((found.state == state) & (found.ended < 0))
    rows = np.concatenate([left, here])
    origin = np.concatenate([start, found.entered[here]])
    until = np.concatenate([last, found.until[here]])
    happened = np.concatenate([first, np.full(here.size, np.inf)])
    order = np.argsort(rows, kind="stable")
    bounds = (np.maximum(bound - origin, 0.0)[order] for bound in (until, happened))
    return rows[order], np.full(rows.size, state), origin[order], *bounds
