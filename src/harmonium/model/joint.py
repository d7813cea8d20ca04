"""Several endpoints together: joint survival and joint density on a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Answer, Hidden
from harmonium.model.intervals import groups_of_intervals, own_interval
from harmonium.typing import Array

__all__ = ["joint_density", "joint_survival"]


class _Rows(Protocol):
    """Rows with their hidden states."""

    @property
    def cells(self) -> Cells: ...

    @property
    def hidden(self) -> Hidden: ...

    def endpoint(self, column: int, states: Array, within: tuple[float, float]) -> EndpointStates: ...


def joint_survival(rows: _Rows, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
    """P(x_1 > u_1, x_2 > u_2, ...) given all cells (eq. 22), on the grid of some positions for each column.

    Returns
    -------
    Answer
        Of shape (n_rows, n_positions of the first column, of the second, ...).
    """

    def of_endpoint(states: EndpointStates, at: Array) -> Array:
        lower, upper = states.within
        if lower == upper:
            return np.broadcast_to(np.where(at < lower, 1.0, 0.0), (states.shape.size, at.size))
        return states.survival(at)

    return _on_grid(rows, columns, positions, of_endpoint)


def joint_density(rows: _Rows, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
    """The density at the points of a grid, as :func:`joint_survival`; NaN where an event time is known."""

    def of_endpoint(states: EndpointStates, at: Array) -> Array:
        lower, upper = states.within
        return np.full((states.shape.size, at.size), np.nan) if lower == upper else states.density(at)

    return _on_grid(rows, columns, positions, of_endpoint)


def _on_grid(
    rows: _Rows, columns: Sequence[int], positions: Sequence[Array], of_endpoint: Callable[[EndpointStates, Array], Array]
) -> Answer:
    """Products over endpoints, which are independent given the state, averaged over states."""
    intervals = [own_interval(rows.cells, column) for column in columns]

    def by_state(states: Array, row: int) -> Array:
        product = np.ones((len(states), 1))
        for column, at, (lower, upper) in zip(columns, positions, intervals, strict=True):
            endpoint = rows.endpoint(column, states, (lower[row], upper[row]))
            product = (product[:, :, None] * of_endpoint(endpoint, at)[:, None, :]).reshape(len(states), -1)
        return product

    groups = groups_of_intervals(*(bound for interval in intervals for bound in interval))
    shape = tuple(at.size for at in positions)
    answer = rows.hidden.average(by_state, groups, int(np.prod(shape)))
    return Answer(*(array.reshape(-1, *shape) for array in (answer.mean, answer.standard_error, answer.r_hat)))
