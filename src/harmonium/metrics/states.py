"""How far predicted probabilities of states are from where subjects were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.brier import inverse_probability
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.histories import Histories, histories_of
from harmonium.table.product_limit import ProductLimit
from harmonium.table.row_weights import parse_weights
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array

__all__ = ["state_brier_score"]


def state_brier_score(y: Any, probabilities: Mapping[str, Any], times: Any, *, sample_weight: Any = None) -> Array:
    """Sum over states of squared differences between predicted probabilities and where subjects were, weighted for the censoring.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns, of which an endpoint is terminal.
    probabilities : mapping of str to array_like of shape (n_rows, n_times)
        What ``predict_state_probabilities`` returns.
    times : array_like of shape (n_times,)
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands.

    Returns
    -------
    ndarray of shape (n_times,)
        Between 0 and 2; lower is better. NaN, with a warning, from the end of follow-up on.
    """
    known = parse_endpoints(y)
    weights = parse_weights(sample_weight, len(known.lower))
    if not known.terminal:
        raise ValueError('there are no states unless an endpoint is terminal: harmonium.endpoints(..., terminal="death")')
    if (known.entry > 0.0).any():
        raise ValueError("states cannot be scored where subjects entered late")
    graph, at = StateGraph(known.names, known.terminal), np.atleast_1d(np.asarray(times, dtype=np.float64))
    found, predicted = histories_of(graph, known), _predicted(graph, probabilities, (len(known.lower), at.size))
    ended = found.ended >= 0
    counted = np.ones(ended.size, dtype=bool) if weights is None else weights > 0.0
    positive = None if weights is None else weights[counted]
    censoring = ProductLimit.of_censoring(found.until[counted], ended[counted], weights=positive)
    over = ended[:, None] & (found.until[:, None] <= at)
    still = np.where(found.until[:, None] > at, inverse_probability(censoring.at(at)), 0.0)
    weight = np.where(over, inverse_probability(censoring.at(found.until))[:, None], still)
    losses = weight * ((_where(graph, found, at) - predicted) ** 2).sum(axis=0)
    scores = np.average(losses[counted], axis=0, weights=positive)
    last = float(found.until[counted].max())
    if (at >= last).any():
        warn(f"the Brier score of states leaves out {(at >= last).sum()} of {at.size} times: follow-up ends at {last:g}", MetricWarning)
    return np.where(at < last, scores, np.nan)


def _predicted(graph: StateGraph, probabilities: Mapping[str, Any], shape: tuple[int, int]) -> Array:
    """Probabilities as an array (states, rows, times)."""
    labels = [graph.label(path) for path in graph.paths]
    if set(probabilities) != set(labels):
        raise ValueError(f"probabilities must be of the states {', '.join(map(repr, labels))}; found {', '.join(map(repr, probabilities))}")
    out = [np.asarray(probabilities[label], dtype=np.float64) for label in labels]
    wrong = [(label, values.shape) for label, values in zip(labels, out, strict=True) if values.shape != shape]
    if wrong:
        raise ValueError(f"the probability of {wrong[0][0]!r} must have {shape[0]} rows and {shape[1]} times; found {wrong[0][1]}")
    return np.stack(out)


def _where(graph: StateGraph, found: Histories, at: Array) -> Array:
    """1 where a subject was in a state at a time, as far as it was observed; (states, rows, times)."""
    place = {path: number for number, path in enumerate(graph.paths)}
    out, remaining = np.zeros((len(place), len(found.kind), at.size)), np.ones((len(found.kind), at.size))
    for step in range(found.kind.shape[1]):
        for state, kind in {*zip(found.source[:, step].tolist(), found.kind[:, step].tolist(), strict=True)}:
            rows = np.flatnonzero((found.source[:, step] == state) & (found.kind[:, step] == kind))
            if kind < 0:
                continue
            left = (at >= found.upper[rows, step, None]).astype(np.float64)
            out[place[state, -1], rows] += remaining[rows] - left
            remaining[rows] = left
            if graph.is_terminal(kind):
                out[place[state, kind], rows] += left
    for state in np.unique(found.state[found.ended < 0]).tolist():
        rows = np.flatnonzero((found.ended < 0) & (found.state == state))
        out[place[state, -1], rows] += remaining[rows]
    return out
