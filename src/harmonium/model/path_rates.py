"""How fast probabilities of paths change: their derivatives in time, of which densities and hazards are made.

They are found without differences. Where rows are in a state, what leaves it is the density of its duration, and what leaves the states
after it an integral over that (:meth:`~harmonium.model.path_tables.PathTables.rates`), as accurate as the probabilities are. Where these
have a step, as at an event whose time is known, there is no derivative, and none is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.model.path_rows import PathRows, in_states
from harmonium.table.course import Path
from harmonium.table.encoding import event_position
from harmonium.typing import Array, Integers

__all__ = ["PathRates"]


@dataclass(frozen=True)
class PathRates(PathRows):
    """Some rows, as :class:`~harmonium.model.path_rows.PathRows`, all of whose answers are derivatives."""

    certain: ClassVar[float] = 0.0

    def rates(self, times: Array) -> Array:
        """(paths, rows, times), in one over the unit of time; they add up to zero."""
        return self._by_path(times)

    def _left_between(self, row: int, step: int, times: Array) -> Array:
        state, within = self._within(row, step)
        if within[1] <= within[0]:
            return np.zeros((self.weights.shape[1], times.size))
        return self.tables.density_within(state, times - self.known.origin[row, step], within)

    def _lasting(self, state: int, own: Integers, times: Array) -> Array:
        scale, duration = self.tables.scale(state), self.tables.duration(state)
        since = self.known.until[own] - self.known.entered[own]
        at = times - self.known.entered[own, None]
        log_alive = duration.log_survival(scale.to_unit(since))[:, :, None]
        distinct, inverse = np.unique(np.maximum(at, 0.0), return_inverse=True)
        log_density = duration.log_density(event_position(scale.to_unit(distinct))) + scale.log_slope(distinct)
        with np.errstate(over="ignore", invalid="ignore"):
            density = np.exp(log_density[:, inverse.ravel()].reshape(-1, *at.shape) - log_alive)
        later = (at > since[:, None]) | ((since[:, None] == 0.0) & (at >= 0.0))
        return -np.where(later & np.isfinite(density), density, 0.0)

    def _tables(self, state: int, since: float, times: Array) -> dict[Path, Array]:
        return self.tables.rates(state, since, times)

    def _given_alive(self, own: Integers, state: int, since: float, times: Array, alive: float) -> dict[Path, Array]:
        rates = self._averaged(own, self.tables.rates(state, since, times))
        found = self._averaged(own, self.tables.paths(state, since, np.append(times, alive)))
        total, change = in_states(found), in_states(rates)
        early, late = self._before(own, state, since, times, alive, total[:, -1:]), times >= alive
        out = {}
        for path, values in rates.items():
            if path[1] >= 0:
                before = np.zeros_like(values)
            elif early is None:
                before = (values - found[path][:, :-1] * change / total[:, :-1]) / total[:, :-1]
            else:
                before = early[path]
            out[path] = np.where(late, values / total[:, -1:], before)
        return out

    def _before(self, own: Integers, state: int, since: float, times: Array, alive: float, total: Array) -> dict[Path, Array] | None:
        tables, passing = self.tables, self.tables.passing(state)
        if len(passing) > 1:
            return None
        after = tables.course.after(state, passing[0])
        into = tables.kind(state, passing[0])[:, None] * tables.density(state, times, since) * tables.survival(after, alive - times)
        passed = self.weights[own] @ into / total
        return {(state, -1): -passed, (after, -1): passed}

    def _left_until(self, state: int, since: float, times: Array, dead: float) -> Array:
        return np.where(times < dead, self.tables.density(state, times, since), 0.0)
