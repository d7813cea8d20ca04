"""Event histories: the states that each subject has been through, and the one that it is in, as far as they are known.

Rules where bounds of single endpoints do not say it exactly:

* An intermediate event between two times is a step in that interval; what follows is counted from its end, when the event was known.
* If one endpoint was followed for a shorter time than the others, nothing is known of the history beyond that time, but that the subject
  was alive, or dead, later; in training see :mod:`harmonium.table.possible_histories`.
* A terminal event between two times with nothing else seen came without any other.

Endpoints one by one, given the state that a subject is in.

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

from harmonium.errors import TableError
from harmonium.table.endpoints import Endpoints
from harmonium.table.relations import at_or_after, order_problems
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array, Integers

__all__ = ["EndpointRows", "Histories", "endpoint_rows", "histories_of"]


@dataclass(frozen=True)
class Histories:
    """Steps that were taken, (rows, steps) each, and where the rows are now, (rows,) each.

    Attributes
    ----------
    origin, lower, upper : ndarray
        When the state was entered, and between which times it was left; NaN where there was no such step.
    source, kind : ndarray of int
        The state that was left, and the endpoint that happened; -1 where there was no such step.
    state : ndarray of int
        Where the row is, or was when it ended.
    ended : ndarray of int
        The terminal endpoint at the end of a history that is known; otherwise -1.
    entered, until : ndarray
        When the state was entered, and until when the row is known to have been in it.
    alive : ndarray
        Until when no terminal event is known to have happened; not before ``until``.
    dead, cause : ndarray
        When a terminal event had happened, infinite if that is not known, and which, where the history before it is not known.
    """

    origin: Array
    lower: Array
    upper: Array
    source: Integers
    kind: Integers
    state: Integers
    ended: Integers
    entered: Array
    until: Array
    alive: Array
    dead: Array
    cause: Integers

    def part(self, rows: Integers) -> Histories:
        """Of some rows."""
        return Histories(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def histories_of(graph: StateGraph, y: Endpoints) -> Histories:
    """Read the event history of every row from its endpoints, which must be in the order of the graph.

    Examples
    --------
    Recurrence at 8 and alive at 12; dead at 9 without recurrence:

    >>> graph = StateGraph(("recurrence", "death"), ("death",))
    >>> lower, upper = np.array([[8.0, 12.0], [9.0, 9.0]]), np.array([[8.0, np.inf], [np.inf, 9.0]])
    >>> found = histories_of(graph, Endpoints(graph.names, lower, upper, np.zeros((2, 2))))
    >>> found.state, found.ended, found.until
    (array([1, 0]), array([-1,  1]), array([12.,  9.]))
    """
    problems = order_problems(graph.names, y.lower, y.upper, y.entry, graph.terminal)
    if problems:
        raise TableError(problems)
    n, n_steps = len(y.lower), len(graph.intermediate) + 1
    origin, lower, upper = (np.full((n, n_steps), np.nan) for _ in range(3))
    source, kind = (np.full((n, n_steps), -1, dtype=np.int64) for _ in range(2))
    state, ended = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    entered, active = np.zeros(n), np.ones(n, dtype=bool)
    for step in range(n_steps):
        nothing_more = active.copy()
        for number in np.unique(state[active]):
            rows = np.flatnonzero(active & (state == number))
            chosen, certain = _next_events(graph, y, rows, int(number))
            rows, chosen = rows[certain], chosen[certain]
            nothing_more[rows] = False
            origin[rows, step], source[rows, step], kind[rows, step] = entered[rows], number, chosen
            lower[rows, step], upper[rows, step] = y.lower[rows, chosen], y.upper[rows, chosen]
            entered[rows] = y.upper[rows, chosen]
            for e in np.unique(chosen):
                here = rows[chosen == e]
                if graph.is_terminal(int(e)):
                    ended[here] = e
                else:
                    state[here] = graph.after(int(number), int(e))
        active &= ~nothing_more & (ended < 0)
    until, alive, dead, cause = _now(graph, y, state, ended, entered)
    return Histories(origin, lower, upper, source, kind, state, ended, entered, until, alive, dead, cause)


def _next_events(graph: StateGraph, y: Endpoints, rows: Integers, state: int) -> tuple[Integers, Array]:
    """The event that ends a state in each row, and whether it certainly came next."""
    options = np.array(graph.options(state))
    own = y.upper[np.ix_(rows, options)]
    chosen = options[np.argmin(own, axis=1)]  # intermediate events come first, also at the same time
    found = np.isfinite(own.min(axis=1))
    start = y.lower[rows, chosen]
    certain = found
    for e in options:
        if not graph.is_terminal(int(e)):
            certain = certain & ((chosen == e) | at_or_after(y.lower[rows, e], start))
    return chosen, certain


def _now(graph: StateGraph, y: Endpoints, state: Integers, ended: Integers, entered: Array) -> tuple[Array, Array, Array, Integers]:
    """Until when rows are known to be in their state, to be alive, and when they were known to be dead."""
    ends = [graph.names.index(name) for name in graph.terminal]
    dead, cause = np.full(len(state), np.inf), np.full(len(state), -1, dtype=np.int64)
    for e in ends:
        own = (ended < 0) & (y.upper[:, e] < dead)
        dead[own], cause[own] = y.upper[own, e], e
    alive = np.minimum(np.maximum(y.lower.max(axis=1), y.entry.max(axis=1)), dead)
    until = alive.copy()
    for number in np.unique(state):
        rows = state == number
        for e in graph.options(int(number)):
            if not graph.is_terminal(e):
                until[rows] = np.minimum(until[rows], y.lower[rows, e])
    until = np.maximum(until, np.maximum(entered, y.entry.max(axis=1)))
    return np.where(ended < 0, until, entered), np.where(ended < 0, np.maximum(alive, until), entered), dead, cause


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
