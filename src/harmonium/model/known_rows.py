"""Rows with the hidden states that what is known of them implies: survival, density, hazard and mean of an endpoint.

All rows and all positions come from one table (states by positions) and one matrix product. If all that is known of the endpoint itself
is that there was no event until a, which may differ from row to row, the same table serves: with q the probabilities of the hidden
states had nothing been known of the endpoint, S(u | a) = sum q S_h(u) / sum q S_h(a) (eq. 21).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Answer, Enumerated, Hidden, hidden_given, row_chunks, warn_if_uncertain
from harmonium.model.intervals import groups_of_intervals, own_interval
from harmonium.model.joint import joint_density, joint_survival
from harmonium.typing import Array, Booleans

__all__ = ["KnownRows"]

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
