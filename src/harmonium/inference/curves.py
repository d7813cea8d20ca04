"""Survival, density and mean of an endpoint, given what is known of each row, the endpoint's own interval included.

All rows and all positions come from one table (states by positions) and one matrix product. If all that is known of the endpoint itself
is that there was no event until a, which may differ from row to row, the same table serves: with q the probabilities of the hidden
states had nothing been known of the endpoint, S(u | a) = sum q S_h(u) / sum q S_h(a).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.parameters import Natural, Parameters
from harmonium.inference.endpoint_states import EndpointStates
from harmonium.inference.hidden import Answer, Enumerated, Hidden, hidden_given, row_chunks
from harmonium.units.contract import Array

__all__ = ["density", "groups_of_intervals", "mean_position", "own_interval", "stacked", "survival", "survivals"]

_SMALLEST_SHARE = 1e-200  # a row's probability of being event-free until a, below which its own table is made


def survival(
    parameters: Parameters, cells: Cells, column: int, positions: Array, rng: np.random.Generator, n_threads: int | None = None
) -> Answer:
    """P(x > u) of a column given all cells, its own included.

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
    return survivals(parameters, cells, {column: positions}, rng, n_threads)[0]


def survivals(
    parameters: Parameters, cells: Cells, positions: Mapping[int, Array], rng: np.random.Generator, n_threads: int | None = None
) -> list[Answer]:
    """As :func:`survival`, for several columns, each with positions of its own."""
    answers = _curves(parameters, cells, positions, EndpointStates.survival, _survival_of_known, rng, n_threads)
    out = []
    for (column, at), answer in zip(positions.items(), answers, strict=True):
        lower, upper = own_interval(cells, column)
        before = (at <= lower[:, None]) & (lower < upper)[:, None]
        out.append(Answer(np.where(before, 1.0, np.clip(answer.mean, 0.0, 1.0)), answer.standard_error, answer.r_hat))
    return out


def _survival_of_known(point: Array, positions: Array) -> Array:
    return np.where(positions < point[:, None], 1.0, 0.0)


def density(
    parameters: Parameters, cells: Cells, column: int, positions: Array, rng: np.random.Generator, n_threads: int | None = None
) -> Answer:
    """Density of a column given all cells, as :func:`survival`; NaN where the event time is known."""
    return _curves(parameters, cells, {column: positions}, EndpointStates.density, _density_of_known, rng, n_threads)[0]


def _density_of_known(point: Array, positions: Array) -> Array:
    return np.full((point.size, positions.size), np.nan)


def mean_position(parameters: Parameters, cells: Cells, column: int, rng: np.random.Generator, n_threads: int | None = None) -> Answer:
    """Mean of a column given all cells, (rows, 1)."""
    natural, first = parameters.natural(), int(parameters.layout.offsets[column])
    parts = []
    for rows in row_chunks(cells, parameters.n_hidden):
        part = cells.part(rows)
        lower, upper = own_interval(part, column)
        hidden = hidden_given(parameters, part, rng, n_threads)

        def by_state(states: Array, row: int, lower: Array = lower, upper: Array = upper) -> Array:
            if lower[row] == upper[row]:
                return np.full((len(states), 1), lower[row])
            return EndpointStates.of(natural, first, states, (lower[row], upper[row])).mean()[:, None]

        parts.append(hidden.average(by_state, groups_of_intervals(lower, upper)))
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


def _curves(
    parameters: Parameters,
    cells: Cells,
    positions: Mapping[int, Array],
    function: Callable[[EndpointStates, Array], Array],
    of_known: Callable[[Array, Array], Array],
    rng: np.random.Generator,
    n_threads: int | None,
) -> list[Answer]:
    """A function of an endpoint's state and positions, averaged over states, for every column; ``of_known`` where the time is known."""
    natural = parameters.natural()
    parts: list[list[Answer]] = [[] for _ in positions]
    for rows in row_chunks(cells, parameters.n_hidden):
        part = cells.part(rows)
        hidden = hidden_given(parameters, part, rng, n_threads)
        for k, (column, at) in enumerate(positions.items()):
            first = int(parameters.layout.offsets[column])
            parts[k].append(_curve(natural, first, hidden, *own_interval(part, column), function, of_known, at))
    return [stacked(part) for part in parts]


def _curve(
    natural: Natural,
    first: int,
    hidden: Hidden,
    lower: Array,
    upper: Array,
    function: Callable[[EndpointStates, Array], Array],
    of_known: Callable[[Array, Array], Array],
    positions: Array,
) -> Answer:
    answer = Answer.exact(np.full((lower.size, positions.size), np.nan))
    left = np.ones(lower.size, dtype=bool)
    if isinstance(hidden, Enumerated):
        left &= ~_open_ended(natural, first, hidden, lower, upper >= 1.0, function, positions, answer.mean)
    point = lower == upper
    answer.mean[point] = of_known(lower[point], positions)
    left &= ~point
    if left.any():
        _fill_by_group(natural, first, hidden, lower, upper, left, function, positions, answer)
    return answer


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
    states = EndpointStates.of(natural, first, hidden.states)
    table = function(states, positions)
    if not lower.any():
        out[chosen] = hidden.weights[chosen] @ table
        return chosen.copy()
    distinct, place = np.unique(lower, return_inverse=True)
    until = states.log_survival(distinct).T[place]  # (rows, states)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(hidden.weights > 0.0, np.log(hidden.weights) - until, -np.inf)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    share = np.sum(weight * np.exp(until), axis=1)
    served = chosen & (share > _SMALLEST_SHARE)
    curves = (weight[served] @ table) / share[served, None]
    out[served] = np.where(positions <= lower[served, None], 0.0, curves)  # up to there, survival is one whatever stands here
    return np.asarray(served)


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
