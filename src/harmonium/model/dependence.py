"""Dependence between two endpoints: Kendall's tau under the model.

Two subjects in states h and h' are concordant with a probability that is known for each endpoint, and endpoints are independent given the
states, so tau is a sum over pairs of states (eq. 25).
"""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.exact import posterior
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import hidden_states
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.numerics.quadrature import panel_nodes
from harmonium.typing import Array

__all__ = ["kendall_tau"]

_N_PANELS, _N_NODES = 64, 8
_MOST_STATES = 1024  # whose pairs are tabulated; with more states, they are drawn
_N_DRAWS = 64


def kendall_tau(
    parameters: Parameters, cells: Cells, columns: tuple[int, int], rng: np.random.Generator, n_threads: int | None = None
) -> tuple[float, float]:
    """Kendall's tau (eq. 25) of two columns between rows drawn from ``cells``, and among subjects with the same cells, averaged over rows.

    Both columns are to be free in ``cells``. ``rng`` is used if there are many hidden units.
    """
    if 2**parameters.n_hidden > _MOST_STATES:
        return _tau_of_draws(parameters, cells, columns, rng, n_threads)
    states = hidden_states(parameters.n_hidden)
    both = _both_earlier(parameters, columns, states)
    overall, among_equal = np.zeros(len(states)), 0.0
    for rows in row_chunks(cells, parameters.n_hidden):
        weights = posterior(parameters, cells.part(rows), n_threads)
        overall += weights.sum(axis=0)
        among_equal += float(np.sum((weights @ both) * weights))
    share = overall / cells.n_rows
    return 4.0 * float(share @ both @ share) - 1.0, 4.0 * among_equal / cells.n_rows - 1.0


def _tau_of_draws(
    parameters: Parameters, cells: Cells, columns: tuple[int, int], rng: np.random.Generator, n_threads: int | None
) -> tuple[float, float]:
    """As :func:`kendall_tau`, from states drawn for every row."""
    drawn, among_equal = [], []
    for rows in row_chunks(cells, parameters.n_hidden):
        hidden = hidden_given(parameters, cells.part(rows), rng, n_threads)
        states = np.stack([hidden.draw(rng) for _ in range(_N_DRAWS)], axis=1)  # (rows, draws, hidden)
        among_equal += [_mean_of_pairs(_both_earlier(parameters, columns, own)) for own in states]
        drawn.append(states.reshape(-1, parameters.n_hidden) if cells.n_rows < _N_DRAWS else states[:, 0])
    sample = np.concatenate(drawn)
    sample = sample[rng.permutation(len(sample))[:_MOST_STATES]]
    between = _mean_of_pairs(_both_earlier(parameters, columns, sample))
    return 4.0 * between - 1.0, 4.0 * float(np.mean(among_equal)) - 1.0


def _mean_of_pairs(both: Array) -> float:
    """The mean over pairs of different draws."""
    n = len(both)
    return float(both.sum() - np.trace(both)) / (n * (n - 1))


def _both_earlier(parameters: Parameters, columns: tuple[int, int], states: Array) -> Array:
    """P(both events are earlier in state h than in state h'), (states, states)."""
    first, second = (_earlier(parameters, column, states) for column in columns)
    return first * second


def _earlier(parameters: Parameters, column: int, states: Array) -> Array:
    """P(x < x' | h, h') (eq. 25): the density in h times survival in h', integrated."""
    endpoint = EndpointStates.of(parameters.natural(), int(parameters.layout.offsets[column]), states)
    positions, weights = panel_nodes(np.arange(_N_PANELS + 1) / _N_PANELS, _N_NODES)
    out: Array = (endpoint.density(positions) * weights) @ endpoint.survival(positions).T
    return 0.5 * (out + 1.0 - out.T)  # P(x < x') and P(x' < x) add up to one
