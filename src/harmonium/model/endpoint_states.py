"""An endpoint in given hidden states: a truncated gamma in each of them (eq. 4).

One truncated-gamma integral at a time costs about a microsecond; a table of 256 states at 100 positions would take 30 ms. Where many are
wanted, the unit interval is cut into panels at the positions and in between, Gauss-Legendre nodes are the same for all states, and survival
is a sum over panels from the right, all in one pass of vector instructions: half a millisecond. Panels are narrow enough for the steepest
state, so every panel's integral is accurate in relation to itself (docs/answers.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.engine.parameters import Natural
from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array
from harmonium.units.truncated_gamma import interval_mass

__all__ = ["EndpointStates", "log_survival_table"]

_N_NODES = 8
_NODES, _WEIGHTS = gauss_legendre(_N_NODES)
_N_HALVINGS = 40  # panels halve towards 0, where x^(shape - 1) is not smooth
_N_PANELS = 32
_STEEPEST = 4.0  # change of the log density over a panel on the right
_MOST_PANELS = 1024


def log_survival_table(shape: Array, rate: Array, positions: Array, within: tuple[float, float]) -> Array | None:
    """Ln P(x > position) given that x lies in an interval (eq. 20), (states, positions).

    NaN where the probability is too small for this table; None if a state is so steep that one integral at a time is better.
    """
    lower, upper = within
    steepness = float(np.max(np.abs(shape - 1.0 - rate), initial=0.0))
    n_panels = max(_N_PANELS, int(np.ceil((upper - lower) * steepness / _STEEPEST)))
    if n_panels > _MOST_PANELS:
        return None
    regular = np.linspace(lower, upper, n_panels + 1)
    towards_zero = regular[1] * 0.5 ** np.arange(1, _N_HALVINGS) if lower == 0.0 else np.empty(0)
    start = np.clip(positions, lower, upper)
    edges, place = np.unique(np.concatenate([start, regular, towards_zero]), return_inverse=True)
    half = 0.5 * np.diff(edges)
    nodes = (edges[:-1, None] + half[:, None] * (_NODES + 1.0)).ravel()
    out = np.empty((shape.size, positions.size))
    _fill(shape, rate, np.log(nodes), nodes, half, place[: positions.size].astype(np.int64), out)
    return out


@compiled(sums=True)
def _panel_sums(values: Array, half: Array, out: Array) -> None:
    """The integral over each panel and all panels to its right."""
    total = 0.0
    out[half.size] = 0.0
    for p in range(half.size - 1, -1, -1):
        panel = 0.0
        for k in range(_N_NODES):
            panel += _WEIGHTS[k] * values[p * _N_NODES + k]
        total += half[p] * panel
        out[p] = total


@compiled()
def _fill(shape: Array, rate: Array, log_x: Array, x: Array, half: Array, place: Array, out: Array) -> None:
    exponents, values, beyond = np.empty(x.size), np.empty(x.size), np.empty(half.size + 1)
    for state in range(shape.size):
        k, beta = shape[state] - 1.0, rate[state]
        highest = -np.inf
        for i in range(x.size):
            exponents[i] = k * log_x[i] - beta * x[i]
            highest = max(highest, exponents[i])
        for i in range(x.size):
            exponents[i] -= highest
        exponentials(exponents, values)
        _panel_sums(values, half, beyond)
        for p in range(place.size):
            share = beyond[place[p]] / beyond[0]
            if place[p] == half.size:
                out[state, p] = -np.inf
            elif share > 1e-280:
                out[state, p] = np.log(share)
            else:
                out[state, p] = np.nan


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
