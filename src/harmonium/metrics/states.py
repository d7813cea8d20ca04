"""How far predicted probabilities of states are from where subjects were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harmonium.metrics.brier import inverse_probability
from harmonium.table.course import Course
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.histories import histories_of
from harmonium.table.product_limit import ProductLimit
from harmonium.table.row_weights import parse_weights
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
        Between 0 and 2; lower is better.
    """
    known = parse_endpoints(y)
    weights = parse_weights(sample_weight, len(known.lower))
    if not known.terminal:
        raise ValueError('there are no states unless an endpoint is terminal: harmonium.endpoints(..., terminal="death")')
    course, at = Course(known.names, known.terminal), np.atleast_1d(np.asarray(times, dtype=np.float64))
    found = histories_of(course, known)
    labels = [course.label(path) for path in course.paths]
    if set(probabilities) != set(labels):
        raise ValueError(f"probabilities must be of the states {', '.join(map(repr, labels))}; found {', '.join(map(repr, probabilities))}")
    where = np.zeros((len(labels), len(known.lower), at.size))
    remaining = np.ones((len(known.lower), at.size))
    place = {path: number for number, path in enumerate(course.paths)}
    for step in range(found.kind.shape[1]):
        rows = np.flatnonzero(found.kind[:, step] >= 0)
        left = (at >= found.upper[rows, step, None]).astype(np.float64)
        for row, own in zip(rows, left, strict=True):
            state, kind = int(found.source[row, step]), int(found.kind[row, step])
            where[place[state, -1], row] += remaining[row] - own
            remaining[row] = own
            if course.is_terminal(kind):
                where[place[state, kind], row] += own
    rows = np.flatnonzero(found.ended < 0)
    for row in rows:
        where[place[int(found.state[row]), -1], row] += remaining[row]
    ended = found.ended >= 0
    counted = slice(None) if weights is None else weights > 0.0
    positive = None if weights is None else weights[counted]
    censoring = ProductLimit.of_censoring(found.until[counted], ended[counted], weights=positive)
    over = ended[:, None] & (found.until[:, None] <= at)
    still = np.where(found.until[:, None] > at, inverse_probability(censoring.at(at)), 0.0)
    weight = np.where(over, inverse_probability(censoring.at(found.until))[:, None], still)
    predicted = np.stack([np.asarray(probabilities[label], dtype=np.float64) for label in labels])
    losses = weight * ((where - predicted) ** 2).sum(axis=0)
    return np.asarray(np.average(losses[counted], axis=0, weights=positive))
