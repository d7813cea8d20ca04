"""Dependence between two endpoints: Kendall's tau under the model.

Two subjects in states h and h' are concordant with a probability that is known for each endpoint, and endpoints are independent given the
states, so tau is a sum over pairs of states (eq. 25). The states of several components of a mixture are simply more states.
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

Component = tuple[Array, KnownRows]
"""Weights of a component, one per row, and its rows."""


class _Pairs(NamedTuple):
    """An endpoint pair in all states: the first endpoint's shapes and rates, and the second's."""

    first: EndpointStates
    second: EndpointStates

    def both_earlier(self) -> Array:
        """P(both events are earlier in state h than in state h'), (states, states)."""
        return _earlier(self.first) * _earlier(self.second)


def kendall_tau(chunks: Sequence[Sequence[Component]], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """Kendall's tau (eq. 25) of two columns between all rows, and among subjects with the same cells, averaged over rows.

    ``chunks`` are parts of the rows, each with all components of the model; both columns are to be free. ``rng`` is used if there are
    many hidden states.
    """
    components = chunks[0]
    n_states = sum(len(rows.hidden.states) if isinstance(rows.hidden, Enumerated) else _MOST_STATES + 1 for _, rows in components)
    if n_states > _MOST_STATES:
        return _tau_of_draws(chunks, columns, rng)
    states = [rows.hidden.states for _, rows in components if isinstance(rows.hidden, Enumerated)]
    both = _pair([rows for _, rows in components], columns, states).both_earlier()
    overall, among_equal, n_rows = np.zeros(n_states), 0.0, 0
    for chunk in chunks:
        weights = np.concatenate([weight[:, None] * rows.hidden.weights for weight, rows in chunk], axis=1)  # type: ignore[union-attr]
        overall += weights.sum(axis=0)
        among_equal += float(np.sum((weights @ both) * weights))
        n_rows += len(weights)
    mean = overall / n_rows
    return 4.0 * float(mean @ both @ mean) - 1.0, 4.0 * among_equal / n_rows - 1.0


def _tau_of_draws(chunks: Sequence[Sequence[Component]], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """As :func:`kendall_tau`, from states drawn for every row."""
    parts, among_equal = [], []
    n_rows = sum(chunk[0][1].cells.n_rows for chunk in chunks)
    for drawn in _drawn_pairs(chunks, columns, rng):
        among_equal.append(_mean_of_pairs(drawn.both_earlier()))
        kept = slice(None) if n_rows < _N_DRAWS else slice(0, 1)
        parts.append(_Pairs(*(EndpointStates(states.shape[kept], states.rate[kept]) for states in drawn)))
    everybody = _Pairs(*(_joined([part[k] for part in parts]) for k in range(2)))
    chosen = rng.permutation(everybody.first.shape.size)[:_MOST_STATES]
    sample = _Pairs(*(EndpointStates(states.shape[chosen], states.rate[chosen]) for states in everybody))
    return 4.0 * _mean_of_pairs(sample.both_earlier()) - 1.0, 4.0 * float(np.mean(among_equal)) - 1.0


def _drawn_pairs(chunks: Sequence[Sequence[Component]], columns: tuple[int, int], rng: np.random.Generator) -> Iterator[_Pairs]:
    """Of every row, both endpoints in some states drawn from its components."""
    for chunk in chunks:
        draws = [np.stack([rows.hidden.draw(rng) for _ in range(_N_DRAWS)], axis=1) for _, rows in chunk]  # (rows, draws, hidden)
        for row in range(chunk[0][1].cells.n_rows):
            weights = np.array([weight[row] for weight, _ in chunk])
            counts = rng.multinomial(_N_DRAWS, weights / weights.sum())
            states = [own[row, :n] for own, n in zip(draws, counts, strict=True)]
            yield _pair([rows for _, rows in chunk], columns, states)


def _pair(components: Sequence[KnownRows], columns: tuple[int, int], states: Sequence[Array]) -> _Pairs:
    """Both endpoints in the states of all components."""
    first, second = (_joined([rows.endpoint(c, own) for rows, own in zip(components, states, strict=True)]) for c in columns)
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
