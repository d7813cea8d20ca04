"""Rows with the hidden states that what is known of them implies: survival, density, hazard and mean of an endpoint.

All rows and all positions come from one table (states by positions) and one matrix product. If all that is known of the endpoint itself
is that there was no event until a, which may differ from row to row, the same table serves: with q the probabilities of the hidden
states had nothing been known of the endpoint, S(u | a) = sum q S_h(u) / sum q S_h(a) (eq. 21).

What is known of an endpoint itself: an interval on the unit interval, the same for many rows.

Several endpoints together: joint survival and joint density on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Answer, Enumerated, Hidden, hidden_given, row_chunks, warn_if_uncertain
from harmonium.typing import Array, Booleans, Integers

__all__ = ["KnownRows", "groups_of_intervals", "joint_density", "joint_survival", "own_interval"]


def own_interval(cells: Cells, column: int) -> tuple[Array, Array]:
    """What is known of an endpoint: bounds on the unit interval, (0, 1] if nothing."""
    lower, upper = cells.column(column)
    return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), 1.0, upper)


def groups_of_intervals(*bounds: Array) -> Integers:
    """Numbers of groups of rows that have the same bounds."""
    if all(bound.size == 0 or (bound == bound[0]).all() for bound in bounds):
        return np.zeros(bounds[0].size, dtype=np.int64)
    groups: Integers = np.unique(np.column_stack(bounds), axis=0, return_inverse=True)[1].reshape(-1)
    return groups


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


_SMALLEST_PROBABILITY = 1e-200  # of being event-free until a, below which a row's own table is made; and of survival, for a hazard

_ByPosition = Callable[[EndpointStates, Array], Array]


@dataclass(frozen=True)
class KnownRows:
    """Some rows, what is known of them, and their hidden states, found once for all questions."""

    natural: Natural
    cells: Cells
    hidden: Hidden

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        cells: Cells,
        rng: np.random.Generator,
        n_threads: int | None = None,
        units: CovariateUnits | None = None,
    ) -> Iterator[KnownRows]:
        """All rows of a table, as many at a time as fit into memory."""
        natural, seed = parameters.natural(), int(rng.integers(2**63))  # one for all chunks, so that these do not matter
        for rows in row_chunks(cells, parameters.n_hidden):
            part = cells.part(rows)
            yield cls(natural, part, hidden_given(parameters, part, np.random.default_rng(seed), n_threads, units))

    @property
    def exact(self) -> bool:
        """Whether answers are free of sampling error."""
        return isinstance(self.hidden, Enumerated)

    def part(self, rows: Booleans) -> KnownRows:
        """Some of the rows."""
        return KnownRows(self.natural, self.cells.part(np.flatnonzero(rows)), self.hidden.part(rows))

    def endpoint(self, column: int, states: Array, within: tuple[float, float] = (0.0, 1.0)) -> EndpointStates:
        """An endpoint in given hidden states, given that its event lies within an interval."""
        return EndpointStates.of(self.natural, int(self.cells.layout.offsets[column]), states, within)

    # --- answers ---

    def survival(self, column: int, positions: Array) -> Answer:
        """P(x > u) of a column (eq. 20), (rows, positions)."""
        answer = self._curve(column, positions, EndpointStates.survival)
        lower, upper = own_interval(self.cells, column)
        point = lower == upper
        answer.mean[point] = np.where(positions < lower[point, None], 1.0, 0.0)
        before = (positions <= lower[:, None]) & ~point[:, None]
        warn_if_uncertain(answer)
        return Answer(np.where(before, 1.0, np.clip(answer.mean, 0.0, 1.0)), answer.standard_error, answer.r_hat)

    def density(self, column: int, positions: Array) -> Answer:
        """Density of a column (eq. 23), (rows, positions); NaN where the event time is known."""
        return self._curve(column, positions, EndpointStates.density)

    def hazard(self, column: int, positions: Array) -> Array:
        """Density over survival, (rows, positions), also where both are too small to be computed one by one."""
        alive = self.survival(column, positions).mean
        small = alive < _SMALLEST_PROBABILITY
        with np.errstate(divide="ignore", invalid="ignore"):
            hazard = np.asarray(self.density(column, positions).mean / alive)
        lower, upper = own_interval(self.cells, column)
        for row in np.flatnonzero(small.any(axis=1) & (lower < upper)):
            log_weight, states = self._states_of(int(row))
            endpoint = self.endpoint(column, states, (float(lower[row]), float(upper[row])))
            at = positions[small[row]]
            with np.errstate(divide="ignore", invalid="ignore"):  # beyond the interval there is neither density nor survival
                log_density, log_alive = (
                    logsumexp(log_weight[:, None] + by_state, axis=0) for by_state in (endpoint.log_density(at), endpoint.log_survival(at))
                )
                hazard[row, small[row]] = np.where(np.isneginf(log_alive), np.inf, np.exp(log_density - log_alive))
        return hazard

    def mean_position(self, column: int) -> Answer:
        """Mean of a column, (rows, 1)."""
        lower, upper = own_interval(self.cells, column)

        def by_state(states: Array, row: int) -> Array:
            if lower[row] == upper[row]:
                return np.full((len(states), 1), lower[row])
            return self.endpoint(column, states, (lower[row], upper[row])).mean()[:, None]

        return self.hidden.average(by_state, groups_of_intervals(lower, upper), 1)

    def expected_hidden(self) -> Array:
        """p(h = 1) of every hidden unit (eq. 7), (rows, hidden)."""
        return self.hidden.expected()

    def joint_survival(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """P(x_1 > u_1, x_2 > u_2, ...) given all cells (eq. 22)."""
        answer = joint_survival(self, columns, positions)
        warn_if_uncertain(answer)
        return answer

    def joint_density(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """The density at the points of a grid."""
        return joint_density(self, columns, positions)

    # --- how ---

    def _states_of(self, row: int) -> tuple[Array, Array]:
        """Log weights and hidden states of one row."""
        if isinstance(self.hidden, Enumerated):
            with np.errstate(divide="ignore"):
                return np.log(self.hidden.weights[row]), self.hidden.states
        states = self.hidden.states[row].reshape(-1, self.natural.n_hidden).astype(np.float64)
        return np.zeros(len(states)), states

    def _curve(self, column: int, positions: Array, function: _ByPosition) -> Answer:
        """A function of the endpoint's state and positions, averaged over states; NaN where the event time is known."""
        lower, upper = own_interval(self.cells, column)
        answer = Answer.exact(np.full((lower.size, positions.size), np.nan))
        left = lower < upper
        if isinstance(self.hidden, Enumerated):
            left &= ~self._open_ended(column, positions, function, left & (upper >= 1.0), lower, answer.mean)
        if left.any():
            self._fill_by_group(column, positions, function, left, answer)
        return answer

    def _open_ended(self, column: int, positions: Array, function: _ByPosition, chosen: Booleans, lower: Array, out: Array) -> Booleans:
        """Fill in the chosen rows, of whose endpoint no more is known than that there was no event until ``lower``; say which it could."""
        if not chosen.any():
            return chosen
        assert isinstance(self.hidden, Enumerated)
        endpoint = self.endpoint(column, self.hidden.states)
        table, since = function(endpoint, positions), lower[chosen]
        weights = self.hidden.weights if chosen.all() else self.hidden.weights[chosen]  # all of them may be a hundred megabytes
        if not since.any():
            out[chosen] = weights @ table
            return chosen
        distinct, place = np.unique(since, return_inverse=True)
        until = endpoint.log_survival(distinct).T[place]  # (rows, states)
        with np.errstate(divide="ignore"):
            log_weight = np.log(weights) - until
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        probability = np.sum(weight * np.exp(until), axis=1)
        could = probability > _SMALLEST_PROBABILITY
        served = chosen.copy()
        served[chosen] = could
        curves = (weight[could] @ table) / probability[could, None]
        out[served] = np.where(positions <= since[could, None], 0.0, curves)  # up to there, survival is one whatever stands here
        return served

    def _fill_by_group(self, column: int, positions: Array, function: _ByPosition, chosen: Booleans, answer: Answer) -> None:
        """Fill in the chosen rows from a table for each distinct interval."""
        low, high = (bound[chosen] for bound in own_interval(self.cells, column))

        def by_state(states: Array, row: int) -> Array:
            return function(self.endpoint(column, states, (low[row], high[row])), positions)

        part = self.hidden.part(chosen).average(by_state, groups_of_intervals(low, high), positions.size)
        answer.mean[chosen], answer.standard_error[chosen], answer.r_hat[chosen] = part.mean, part.standard_error, part.r_hat
