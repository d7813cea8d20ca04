"""Survival, density and mean of an endpoint, given what is known of each row, the endpoint's own interval included.

All rows and all positions come from one table (states by positions) and one matrix product. If all that is known of the endpoint itself
is that there was no event until a, which may differ from row to row, the same table serves: with q the probabilities of the hidden
states had nothing been known of the endpoint, S(u | a) = sum q S_h(u) / sum q S_h(a) (eq. 21).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Answer, Enumerated, Hidden, hidden_given, row_chunks
from harmonium.typing import Array

__all__ = ["KnownRows", "density", "groups_of_intervals", "mean_position", "own_interval", "stacked", "survival", "survivals"]

_SMALLEST_SHARE = 1e-200  # a row's probability of being event-free until a, below which its own table is made


@dataclass(frozen=True)
class KnownRows:
    """Rows with the hidden states that what is known of them implies, found once for all questions about them."""

    natural: Natural
    cells: Cells
    hidden: Hidden

    @classmethod
    def of(cls, parameters: Parameters, cells: Cells, rng: np.random.Generator, n_threads: int | None = None) -> Iterator[KnownRows]:
        """All rows of a table, as many at a time as fit into memory."""
        natural = parameters.natural()
        for rows in row_chunks(cells, parameters.n_hidden):
            part = cells.part(rows)
            yield cls(natural, part, hidden_given(parameters, part, rng, n_threads))

    def part(self, rows: NDArray[np.bool_]) -> KnownRows:
        """Some of the rows."""
        return KnownRows(self.natural, self.cells.part(np.flatnonzero(rows)), self.hidden.part(rows))

    def survival(self, column: int, positions: Array) -> Answer:
        """P(x > u) of a column, (rows, positions)."""
        answer = self._curve(column, positions, EndpointStates.survival, _survival_of_known)
        lower, upper = own_interval(self.cells, column)
        before = (positions <= lower[:, None]) & (lower < upper)[:, None]
        return Answer(np.where(before, 1.0, np.clip(answer.mean, 0.0, 1.0)), answer.standard_error, answer.r_hat)

    def density(self, column: int, positions: Array) -> Answer:
        """Density of a column, (rows, positions); NaN where the event time is known."""
        return self._curve(column, positions, EndpointStates.density, _density_of_known)

    def _curve(
        self, column: int, positions: Array, function: Callable[[EndpointStates, Array], Array], of_known: Callable[[Array, Array], Array]
    ) -> Answer:
        """A function of the endpoint's state and positions, averaged over states; ``of_known`` where the time is known."""
        first = int(self.cells.layout.offsets[column])
        lower, upper = own_interval(self.cells, column)
        point = lower == upper
        answer = Answer.exact(np.full((lower.size, positions.size), np.nan))
        answer.mean[point] = of_known(lower[point], positions)
        left = ~point
        if isinstance(self.hidden, Enumerated):
            open_ended = left & (upper >= 1.0)
            left &= ~_open_ended(self.natural, first, self.hidden, lower, open_ended, function, positions, answer.mean)
        if left.any():
            _fill_by_group(self.natural, first, self.hidden, lower, upper, left, function, positions, answer)
        return answer


def _survival_of_known(point: Array, positions: Array) -> Array:
    return np.where(positions < point[:, None], 1.0, 0.0)


def _density_of_known(point: Array, positions: Array) -> Array:
    return np.full((point.size, positions.size), np.nan)


def survival(
    parameters: Parameters, cells: Cells, column: int, positions: Array, rng: np.random.Generator, n_threads: int | None = None
) -> Answer:
    """P(x > u) of a column given all cells, its own included (eq. 20).

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
        What is known.
    column : int
        The endpoint's place in the layout.
    positions : ndarray of shape (n_positions,)
        On the unit interval.
    rng : numpy.random.Generator
        Used beyond enumeration only.
    n_threads : int, optional

    Returns
    -------
    Answer
        Of shape (n_rows, n_positions).
    """
    return stacked([rows.survival(column, positions) for rows in KnownRows.of(parameters, cells, rng, n_threads)])


def survivals(
    parameters: Parameters, cells: Cells, positions: Mapping[int, Array], rng: np.random.Generator, n_threads: int | None = None
) -> list[Answer]:
    """As :func:`survival`, for several columns, each with positions of its own."""
    parts = [[rows.survival(*question) for question in positions.items()] for rows in KnownRows.of(parameters, cells, rng, n_threads)]
    return [stacked(list(of_column)) for of_column in zip(*parts, strict=True)]


def density(
    parameters: Parameters, cells: Cells, column: int, positions: Array, rng: np.random.Generator, n_threads: int | None = None
) -> Answer:
    """Density of a column given all cells (eq. 23), as :func:`survival`; NaN where the event time is known."""
    return stacked([rows.density(column, positions) for rows in KnownRows.of(parameters, cells, rng, n_threads)])


def mean_position(parameters: Parameters, cells: Cells, column: int, rng: np.random.Generator, n_threads: int | None = None) -> Answer:
    """Mean of a column given all cells, (rows, 1)."""
    first = int(parameters.layout.offsets[column])
    parts = []
    for rows in KnownRows.of(parameters, cells, rng, n_threads):
        lower, upper = own_interval(rows.cells, column)

        def by_state(states: Array, row: int, rows: KnownRows = rows, lower: Array = lower, upper: Array = upper) -> Array:
            if lower[row] == upper[row]:
                return np.full((len(states), 1), lower[row])
            return EndpointStates.of(rows.natural, first, states, (lower[row], upper[row])).mean()[:, None]

        parts.append(rows.hidden.average(by_state, groups_of_intervals(lower, upper)))
    return stacked(parts)


def own_interval(cells: Cells, column: int) -> tuple[Array, Array]:
    """What is known of an endpoint: bounds on the unit interval, (0, 1] if nothing."""
    lower, upper = cells.column(column)
    return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), 1.0, upper)


def groups_of_intervals(*bounds: Array) -> NDArray[np.int64]:
    """Numbers of groups of rows that have the same bounds."""
    if all(bound.size == 0 or (bound == bound[0]).all() for bound in bounds):
        return np.zeros(bounds[0].size, dtype=np.int64)
    groups: NDArray[np.int64] = np.unique(np.column_stack(bounds), axis=0, return_inverse=True)[1].reshape(-1)
    return groups


def _open_ended(
    natural: Natural,
    first: int,
    hidden: Enumerated,
    lower: Array,
    chosen: NDArray[np.bool_],
    function: Callable[[EndpointStates, Array], Array],
    positions: Array,
    out: Array,
) -> NDArray[np.bool_]:
    """Fill in the chosen rows, of whose endpoint no more is known than that there was no event until ``lower``; tells which it could."""
    if not chosen.any():
        return chosen
    states = EndpointStates.of(natural, first, hidden.states)
    table, since = function(states, positions), lower[chosen]
    weights = hidden.weights if chosen.all() else hidden.weights[chosen]  # all of them may be a hundred megabytes
    if not since.any():
        out[chosen] = weights @ table
        return chosen
    distinct, place = np.unique(since, return_inverse=True)
    until = states.log_survival(distinct).T[place]  # (rows, states)
    with np.errstate(divide="ignore"):
        log_weight = np.log(weights) - until
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    share = np.sum(weight * np.exp(until), axis=1)
    could = share > _SMALLEST_SHARE
    served = chosen.copy()
    served[chosen] = could
    curves = (weight[could] @ table) / share[could, None]
    out[served] = np.where(positions <= since[could, None], 0.0, curves)  # up to there, survival is one whatever stands here
    return served


def _fill_by_group(
    natural: Natural,
    first: int,
    hidden: Hidden,
    lower: Array,
    upper: Array,
    chosen: NDArray[np.bool_],
    function: Callable[[EndpointStates, Array], Array],
    positions: Array,
    answer: Answer,
) -> None:
    """Fill in the chosen rows from a table for each distinct interval."""
    low, high = lower[chosen], upper[chosen]

    def by_state(states: Array, row: int) -> Array:
        return function(EndpointStates.of(natural, first, states, (low[row], high[row])), positions)

    part = hidden.part(chosen).average(by_state, groups_of_intervals(low, high))
    answer.mean[chosen], answer.standard_error[chosen], answer.r_hat[chosen] = part.mean, part.standard_error, part.r_hat


def stacked(parts: list[Answer]) -> Answer:
    """Answers of all chunks of rows."""
    if len(parts) == 1:
        return parts[0]
    return Answer(*(np.concatenate(arrays) for arrays in zip(*((p.mean, p.standard_error, p.r_hat) for p in parts), strict=True)))
