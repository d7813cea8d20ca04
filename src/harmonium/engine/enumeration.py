"""The definition of the log mass, in log space: one integral for every cell and hidden state.

Slow and always accurate. The exact engine (:mod:`harmonium.engine.exact`) hands over the few rows that its shared integrals
cannot represent; expected statistics of single rows come from here as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.states import hidden_states
from harmonium.typing import Array

__all__ = ["Expectations", "expectations", "expected_statistics", "log_joint_mass", "row_groups", "state_probabilities"]

_NUMBERS_AT_ONCE = 2_000_000  # bounds the temporary arrays


@dataclass(frozen=True)
class Expectations:
    """What a row of cells implies: its log mass (eq. 5) and the expectations that make its gradient (eq. 11).

    Attributes
    ----------
    log_mass : ndarray of shape (n_rows,)
    posterior : ndarray of shape (n_rows, n_states)
        p(h | row).
    hidden : ndarray of shape (n_rows, n_hidden)
        Mean of h.
    statistics : ndarray of shape (n_rows, n_statistics)
        Mean of s(x).
    products : ndarray of shape (n_rows, n_statistics, n_hidden)
        Mean of s(x) h.
    """

    log_mass: Array
    posterior: Array
    hidden: Array
    statistics: Array
    products: Array


def expectations(natural: Natural, layout: Layout, lower: Array, upper: Array) -> Expectations:
    """Sum over the hidden states of every row, in log space."""
    states = hidden_states(natural.n_hidden)
    by_state = natural.bias + states @ natural.coupling.T
    log_joint = log_joint_mass(natural, layout, lower, upper)
    means = []
    for block in layout.blocks:
        parameters = by_state[None, :, block.statistics].reshape(1, states.shape[0], block.n_columns, -1)
        low, high = lower[:, None, block.columns], upper[:, None, block.columns]
        means.append(block.unit.mean_statistics(parameters, low, high).reshape(*log_joint.shape, -1))
    log_mass = logsumexp(log_joint, axis=1)
    posterior = np.exp(log_joint - log_mass[:, None])
    mean = np.concatenate(means, axis=-1) if means else np.zeros((*log_joint.shape, 0))
    weighted = posterior[:, :, None] * mean
    # Plain sums: the last bits of a matrix product depend on threads and on where its operands lie in memory.
    products = np.empty((*weighted[:, 0].shape, natural.n_hidden))
    hidden = np.empty((lower.shape[0], natural.n_hidden))
    for j in range(natural.n_hidden):
        on = states[:, j] == 1.0
        products[:, :, j] = weighted[:, on].sum(axis=1)
        hidden[:, j] = posterior[:, on].sum(axis=1)
    return Expectations(log_mass, posterior, hidden, weighted.sum(axis=1), products)


def state_probabilities(natural: Natural, layout: Layout, lower: Array, upper: Array) -> Array:
    """p(h | row) alone (eq. 7), (rows, states)."""
    log_joint = log_joint_mass(natural, layout, lower, upper)
    log_joint -= log_joint.max(axis=1, keepdims=True)
    np.exp(log_joint, out=log_joint)
    log_joint /= log_joint.sum(axis=1, keepdims=True)
    return log_joint


def log_joint_mass(natural: Natural, layout: Layout, lower: Array, upper: Array) -> Array:
    """Log mass of every row with the hidden units in each state, (rows, states): the terms of the sum in eq. 5."""
    states = hidden_states(natural.n_hidden)
    by_state = natural.bias + states @ natural.coupling.T
    out = np.broadcast_to(-natural.constant - states @ natural.hidden_bias, (lower.shape[0], states.shape[0])).copy()
    complete = (lower == upper).all(axis=0)
    for block in layout.blocks:
        parameters = by_state[:, block.statistics].reshape(states.shape[0], block.n_columns, -1)
        low, high, seen = lower[:, block.columns], upper[:, block.columns], complete[block.columns]
        if seen.any():  # in every row: no integral, only an energy
            statistics = block.unit.statistics(low[:, seen])
            out -= np.sum(statistics[:, None] * parameters[None, :, seen], axis=(2, 3))
        if not seen.all():
            out += block.unit.log_mass(parameters[None, :, ~seen], low[:, None, ~seen], high[:, None, ~seen]).sum(axis=-1)
    return out


def row_groups(n_rows: int, numbers_per_row: int) -> Iterator[slice]:
    """Slices of rows small enough to work on at once."""
    step = max(1, _NUMBERS_AT_ONCE // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def expected_statistics(parameters: Parameters, cells: Cells) -> Array:
    """Mean of every statistic of every row given its cells.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells

    Returns
    -------
    ndarray of shape (n_rows, n_statistics)
        Where a cell is a point, its statistics themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.units import Bernoulli
    >>> layout = Layout([Bernoulli()])
    >>> fair_coin = Parameters(layout, np.zeros(0), ({"W": np.zeros((1, 0)), "a": np.zeros(1)},))
    >>> expected_statistics(fair_coin, Cells.from_bounds(layout, [[1.0], [np.nan]]))
    array([[1. ],
           [0.5]])
    """
    parameters.check(cells.layout)
    natural, layout = parameters.natural(), cells.layout
    out = np.empty((cells.n_rows, layout.n_statistics))
    for rows in row_groups(cells.n_rows, layout.n_statistics * 2**natural.n_hidden):
        out[rows] = expectations(natural, layout, *cells.bounds(rows)).statistics
    return out
