"""Survival of an endpoint: a table of states by times, and one matrix product for all subjects."""

from __future__ import annotations

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.exact import posterior
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import hidden_states
from harmonium.units.contract import Array
from harmonium.units.truncated_gamma import interval_mass

__all__ = ["mean_position", "survival"]


def survival(parameters: Parameters, cells: Cells, column: int, positions: Array, n_threads: int | None = None) -> Array:
    """S(u) of a column that is free in ``cells``, given their other cells.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    column : int
        The endpoint's place in the layout.
    positions : ndarray of shape (n_positions,)
        On the unit interval; S is 1 at 0 and 0 at 1.
    n_threads : int, optional

    Returns
    -------
    ndarray of shape (n_rows, n_positions)
    """
    shape, rate = _by_state(parameters, column)
    inside = (positions > 0.0) & (positions < 1.0)
    by_state = np.broadcast_to((positions <= 0.0).astype(float), (shape.size, positions.size)).copy()
    total = interval_mass(shape, rate, 0.0, 1.0)[0]
    if inside.any():
        by_state[:, inside] = np.exp(interval_mass(shape[:, None], rate[:, None], positions[inside], 1.0)[0] - total[:, None])
    out: Array = posterior(parameters, cells, n_threads) @ by_state
    return np.clip(out, 0.0, 1.0)


def mean_position(parameters: Parameters, cells: Cells, column: int, n_threads: int | None = None) -> Array:
    """Mean of a free column on the unit interval, given the other cells."""
    mean = interval_mass(*_by_state(parameters, column), 0.0, 1.0)[2]
    out: Array = posterior(parameters, cells, n_threads) @ mean
    return out


def _by_state(parameters: Parameters, column: int) -> tuple[Array, Array]:
    """Shape and rate of an endpoint in every hidden state."""
    natural = parameters.natural()
    first = int(parameters.layout.offsets[column])
    by_state = natural.bias[first : first + 2] + hidden_states(natural.n_hidden) @ natural.coupling[first : first + 2].T
    return 1.0 + by_state[:, 1], by_state[:, 0]
