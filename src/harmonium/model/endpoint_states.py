"""An endpoint in given hidden states: a truncated gamma in each of them (eq. 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.engine.parameters import Natural
from harmonium.model.survival_table import log_survival_table
from harmonium.typing import Array
from harmonium.units.truncated_gamma import interval_mass

__all__ = ["EndpointStates"]

_WORTH_A_TABLE = 200  # elements from which shared integrals are faster


@dataclass(frozen=True)
class EndpointStates:
    """Shape and rate of an event time on the unit interval, in each of some hidden states.

    ``within`` is an interval (lower, upper] in which the event is known to lie; all answers are conditional on it.

    Examples
    --------
    Two states, in both of which every time is equally likely, and the event is known to lie in the upper half:

    >>> import numpy as np
    >>> flat = EndpointStates(np.ones(2), np.zeros(2), within=(0.5, 1.0))
    >>> flat.survival(np.array([0.25, 0.75])).round(12)
    array([[1. , 0.5],
           [1. , 0.5]])
    """

    shape: Array
    rate: Array
    within: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(cls, natural: Natural, first_statistic: int, states: Array, within: tuple[float, float] = (0.0, 1.0)) -> EndpointStates:
        """The endpoint whose statistics begin at ``first_statistic``, in states (n_states, n_hidden)."""
        places = slice(first_statistic, first_statistic + 2)
        by_state = natural.bias[places] + states @ natural.coupling[places].T
        return cls(1.0 + by_state[:, 1], by_state[:, 0], within)

    def log_survival(self, positions: Array) -> Array:
        """Ln P(x > position) (eq. 20), (states, positions)."""
        table = None
        if self.shape.size * positions.size >= _WORTH_A_TABLE:
            table = log_survival_table(self.shape, self.rate, positions, self.within)
        if table is None:
            table = np.full((self.shape.size, positions.size), np.nan)
        left = np.isnan(table)
        if left.any():
            self._integrate(table, left, positions)
        return np.minimum(table, 0.0)

    def _integrate(self, table: Array, chosen: NDArray[np.bool_], positions: Array) -> None:
        """Fill in the chosen elements of a table, one integral for each."""
        lower, upper = self.within
        state, place = np.nonzero(chosen)
        start = np.maximum(positions[place], lower)
        inside = start < upper
        values = np.full(start.size, -np.inf)
        beyond = interval_mass(self.shape[state[inside]], self.rate[state[inside]], start[inside], upper)[0]
        values[inside] = beyond - self.log_total()[state[inside]]
        table[chosen] = values

    def survival(self, positions: Array) -> Array:
        """P(x > position), (states, positions)."""
        return np.exp(self.log_survival(positions))

    def log_density(self, positions: Array) -> Array:
        """Ln of the density of x, (states, positions)."""
        lower, upper = self.within
        inside = (positions > lower) & (positions <= upper)
        log_x = np.log(np.where(inside, positions, 1.0))
        log_density = (self.shape[:, None] - 1.0) * log_x - self.rate[:, None] * positions - self.log_total()[:, None]
        return np.where(inside, log_density, -np.inf)

    def density(self, positions: Array) -> Array:
        """Density of x, (states, positions)."""
        return np.exp(self.log_density(positions))

    def mean(self) -> Array:
        """Mean of x in every state, (states,)."""
        return interval_mass(self.shape, self.rate, *self.within)[2]

    def log_total(self) -> Array:
        """Ln of the integral that normalises the density, (states,)."""
        return interval_mass(self.shape, self.rate, *self.within)[0]
