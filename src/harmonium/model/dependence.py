"""Dependence between two endpoints: Kendall's tau under the model.

Two subjects in states h and h' are concordant with a probability that is known for each endpoint, and endpoints are independent given the
states, so tau is a sum over pairs of states (eq. 25).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Enumerated
from harmonium.model.known_rows import KnownRows
from harmonium.numerics.quadrature import panel_nodes
from harmonium.typing import Array

__all__ = ["kendall_tau"]

_N_PANELS, _N_NODES = 64, 8
_MOST_STATES = 1024  # whose pairs are tabulated; with more states, they are drawn
_N_DRAWS = 64


class _Pairs(NamedTuple):
    """An endpoint pair in all states: the first endpoint's shapes and rates, and the second's."""

    first: EndpointStates
    second: EndpointStates

    def both_earlier(self) -> Array:
        """P(both events are earlier in state h than in state h'), (states, states)."""
        return _earlier(self.first) * _earlier(self.second)


def kendall_tau(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """Kendall's tau (eq. 25) of two columns between all rows, and among subjects with the same cells, averaged over rows.

    ``chunks`` are parts of the rows; both columns are to be free. ``rng`` is used if there are many hidden states.
    """
    hidden = chunks[0].hidden
    if not isinstance(hidden, Enumerated) or len(hidden.states) > _MOST_STATES:
        return _tau_of_draws(chunks, columns, rng)
    both = _pair(chunks[0], columns, hidden.states).both_earlier()
    overall, among_equal, n_rows = np.zeros(len(hidden.states)), 0.0, 0
    for chunk in chunks:
        weights = chunk.hidden.weights  # type: ignore[union-attr]
        overall += weights.sum(axis=0)
        among_equal += float(np.sum((weights @ both) * weights))
        n_rows += len(weights)
    mean = overall / n_rows
    return 4.0 * float(mean @ both @ mean) - 1.0, 4.0 * among_equal / n_rows - 1.0


def _tau_of_draws(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """As :func:`kendall_tau`, from states drawn for every row."""
    parts, among_equal = [], []
    n_rows = sum(chunk.cells.n_rows for chunk in chunks)
    for drawn in _drawn_pairs(chunks, columns, rng):
        among_equal.append(_mean_of_pairs(drawn.both_earlier()))
        kept = slice(None) if n_rows < _N_DRAWS else slice(0, 1)
        parts.append(_Pairs(*(EndpointStates(states.shape[kept], states.rate[kept]) for states in drawn)))
    everybody = _Pairs(*(_joined([part[k] for part in parts]) for k in range(2)))
    chosen = rng.permutation(everybody.first.shape.size)[:_MOST_STATES]
    sample = _Pairs(*(EndpointStates(states.shape[chosen], states.rate[chosen]) for states in everybody))
    return 4.0 * _mean_of_pairs(sample.both_earlier()) - 1.0, 4.0 * float(np.mean(among_equal)) - 1.0


def _drawn_pairs(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> Iterator[_Pairs]:
    """Of every row, both endpoints in some states drawn for it."""
    for chunk in chunks:
        draws = np.stack([chunk.hidden.draw(rng) for _ in range(_N_DRAWS)], axis=1)  # (rows, draws, hidden)
        for own in draws:
            yield _pair(chunk, columns, own)


def _pair(rows: KnownRows, columns: tuple[int, int], states: Array) -> _Pairs:
    """Both endpoints in some states."""
    first, second = (rows.endpoint(c, states) for c in columns)
    return _Pairs(first, second)


def _joined(parts: Sequence[EndpointStates]) -> EndpointStates:
    return EndpointStates(np.concatenate([part.shape for part in parts]), np.concatenate([part.rate for part in parts]))


def _mean_of_pairs(both: Array) -> float:
    """The mean over pairs of different draws."""
    n = len(both)
    return float(both.sum() - np.trace(both)) / (n * (n - 1))


def _earlier(endpoint: EndpointStates) -> Array:
    """P(x < x' | h, h') (eq. 25): the density in h times survival in h', integrated."""
    positions, weights = panel_nodes(np.linspace(0.0, 1.0, _N_PANELS + 1), _N_NODES)
    out: Array = (endpoint.density(positions) * weights) @ endpoint.survival(positions).T
    return 0.5 * (out + 1.0 - out.T)  # P(x < x') and P(x' < x) add up to one
