"""Probabilities of all paths for rows of which something is known: averages over hidden states, given each row's history (eq. 35)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.model.intervals import groups_of_intervals
from harmonium.model.path_tables import PathTables
from harmonium.table.course import Path
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["PathRows", "in_states"]

_AT_ONCE = 256  # rows with times of their own, whose tables are made together
_LATER = 1e-7  # relative difference from which on a time is later


@dataclass(frozen=True)
class PathRows:
    """Some rows: their hidden states' probabilities, (rows, hidden states), and what is known of their courses."""

    tables: PathTables
    weights: Array
    known: Histories

    certain: ClassVar[float] = 1.0
    """What is certain has this probability; in derivatives of probabilities it has none."""

    def probabilities(self, times: Array) -> Array:
        """(paths, rows, times), in the order of the course's paths; they add up to one."""
        out = self._by_path(times)
        return np.maximum(out, 0.0, out=out)  # differences, which rounding may leave below zero

    def _by_path(self, times: Array) -> Array:
        course = self.tables.course
        place = {path: number for number, path in enumerate(course.paths)}
        out = np.zeros((len(place), len(self.weights), times.size))
        entered = self._past(times, out, place) if (self.known.kind >= 0).any() else None
        open_ended = self.known.ended < 0
        lost = open_ended & np.isfinite(self.known.dead)
        for state in np.unique(self.known.state[open_ended & ~lost]):
            rows = np.flatnonzero(open_ended & ~lost & (self.known.state == state))
            final = all(course.is_terminal(e) for e in course.options(int(state)))
            for own, found in (self._in_last_state if final else self._by_group)(int(state), rows, times):
                chosen = slice(None) if own.size == len(self.weights) else own
                for path, values in found.items():
                    out[place[path], chosen] = values
        for row in np.flatnonzero(lost):
            for path, values in self._unknown_course(int(row), times).items():
                out[place[path], row] = values
        if entered is not None:
            rows = np.flatnonzero(open_ended)
            current = np.array([place[int(state), -1] for state in self.known.state[rows]], dtype=np.int64)
            out[current, rows] += entered[rows] - self.certain
        return out

    def _past(self, times: Array, out: Array, place: dict[Path, int]) -> Array:
        """Fill in the steps that were taken; returns the probability of having entered the present state."""
        known, course = self.known, self.tables.course
        entered = np.full(out.shape[1:], self.certain)
        for step in range(known.kind.shape[1]):
            rows = np.flatnonzero(known.kind[:, step] >= 0)
            left = np.where(times >= known.upper[rows, step, None], self.certain, 0.0)
            for number in np.flatnonzero(known.lower[rows, step] < known.upper[rows, step]):
                left[number] = self.weights[rows[number]] @ self._left_between(int(rows[number]), step, times)
            out[[place[int(state), -1] for state in known.source[rows, step]], rows] += entered[rows] - left
            entered[rows] = left
            ends = [course.is_terminal(int(e)) for e in known.kind[rows, step]]
            for row, own, ended in zip(rows, left, ends, strict=True):
                if ended:
                    out[place[int(known.source[row, step]), int(known.kind[row, step])], row] += own
        return entered

    def _left_between(self, row: int, step: int, times: Array) -> Array:
        """The probability of having left a state, which ended between two times, (hidden states, times)."""
        known, (state, within) = self.known, self._within(row, step)
        if within[1] <= within[0]:
            return np.broadcast_to(np.where(times >= known.upper[row, step], 1.0, 0.0), (self.weights.shape[1], times.size))
        positions = self.tables.scale(state).to_unit(np.maximum(times - known.origin[row, step], 0.0))
        return np.where(times >= known.upper[row, step], 1.0, 1.0 - self.tables.duration(state, within).survival(positions))

    def _within(self, row: int, step: int) -> tuple[int, tuple[float, float]]:
        """A state that ended between two times, and these on the scale of its duration."""
        known, state = self.known, int(self.known.source[row, step])
        bounds = np.array([known.lower[row, step], known.upper[row, step]]) - known.origin[row, step]
        lower, upper = self.tables.scale(state).to_unit(bounds)
        return state, (float(lower), float(upper))

    def _in_last_state(self, state: int, rows: Integers, times: Array) -> list[tuple[Integers, dict[Path, Array]]]:
        """Rows that only a terminal event can follow: every row has times of its own."""
        tables, out = self.tables, []
        for begin in range(0, rows.size, _AT_ONCE):
            own = rows[begin : begin + _AT_ONCE]
            lasting, weights = self._lasting(state, own, times), self.weights[own]
            found: dict[Path, Array] = {(state, -1): np.einsum("rh,hrt->rt", weights, lasting)}
            for e in tables.course.options(state):
                found[state, e] = np.einsum("rh,hrt->rt", weights * tables.kind(state, e), self.certain - lasting)
            out.append((own, found))
        return out

    def _lasting(self, state: int, own: Integers, times: Array) -> Array:
        """The probability that some rows are still in the state in which they were last seen, (hidden states, rows, times)."""
        scale, duration = self.tables.scale(state), self.tables.duration(state)
        since = self.known.until[own] - self.known.entered[own]
        at = np.maximum(times - self.known.entered[own, None], since[:, None])
        distinct, inverse = np.unique(np.concatenate([scale.to_unit(at).ravel(), scale.to_unit(since)]), return_inverse=True)
        with np.errstate(invalid="ignore"):
            log_alive = duration.log_survival(distinct)[:, inverse]
            alive = np.exp(log_alive[:, : at.size].reshape(-1, *at.shape) - log_alive[:, at.size :, None])
        return np.where(np.isnan(alive), 0.0, np.minimum(alive, 1.0))

    def _by_group(self, state: int, rows: Integers, times: Array) -> list[tuple[Integers, dict[Path, Array]]]:
        """Rows that passing events can follow: a table for all rows with the same history."""
        known, out = self.known, []
        groups = groups_of_intervals(known.entered[rows], known.until[rows], known.alive[rows])
        for group, first in enumerate(np.unique(groups, return_index=True)[1]):
            own, row = rows[groups == group], rows[first]
            entered, alive = float(known.entered[row]), float(known.alive[row])
            since = float(known.until[row]) - entered
            if alive > known.until[row] * (1.0 + _LATER):
                found = self._given_alive(own, state, since, times - entered, alive - entered)
            else:
                found = self._averaged(own, self._tables(state, since, times - entered))
            out.append((own, found))
        return out

    def _averaged(self, own: Integers, tables: dict[Path, Array]) -> dict[Path, Array]:
        return {path: self.weights[own] @ table for path, table in tables.items()}

    def _tables(self, state: int, since: float, times: Array) -> dict[Path, Array]:
        return self.tables.paths(state, since, times)

    def _given_alive(self, own: Integers, state: int, since: float, times: Array, alive: float) -> dict[Path, Array]:
        """Given that there was no terminal event until a time that is later than what is known of the course."""
        found = self._averaged(own, self.tables.paths(state, since, np.append(times, alive)))
        total = in_states(found)
        early, late = self._before(own, state, since, np.minimum(times, alive), alive, total[:, -1:]), times >= alive
        out = {}
        for path, values in found.items():
            if path[1] < 0:
                before = values[:, :-1] / total[:, :-1] if early is None else early[path]
                out[path] = np.where(late, values[:, :-1] / total[:, -1:], before)
            else:
                out[path] = np.where(late, np.maximum(values[:, :-1] - values[:, -1:], 0.0) / total[:, -1:], 0.0)
        return out

    def _before(self, own: Integers, state: int, since: float, times: Array, alive: float, total: Array) -> dict[Path, Array] | None:
        """Where rows were before a time at which they are known to be alive; None if several passing events might have come.

        Then it is answered as if they were known to be alive at each time, and no later.
        """
        passing = self.tables.passing(state)
        if len(passing) > 1:
            return None
        passed = self.weights[own] @ self.tables.passed(state, passing[0], since, times, alive) / total
        return {(state, -1): 1.0 - passed, (self.tables.course.after(state, passing[0]), -1): passed}

    def _unknown_course(self, row: int, times: Array) -> dict[Path, Array]:
        """A row that is known to be dead, while it is not known what happened just before.

        The first event after the state that it was last seen in lies before death. If it was a passing one, nothing else is taken to have
        happened between it and death.
        """
        known, tables, course = self.known, self.tables, self.tables.course
        state, entered, dead, cause = int(known.state[row]), known.entered[row], known.dead[row], int(known.cause[row])
        since = float(known.until[row] - entered)
        until = 1.0 - tables.survival(state, np.array([dead - entered]), since)
        left = self._left_until(state, since, times - entered, float(dead - entered)) / np.maximum(until, 1e-300)
        options = [cause, *tables.passing(state)]
        kinds = np.stack([tables.kind(state, e) for e in options])
        weights = self.weights[row] * until[:, 0] * kinds.sum(axis=0)
        weights = weights / weights.sum() if weights.sum() > 0.0 else self.weights[row]
        shares, is_dead = kinds / kinds.sum(axis=0), times >= dead
        here, out = np.zeros(times.size), {}
        for e, share in zip(options, shares, strict=True):
            own = weights * share
            all_of_them = self.certain * own.sum()
            if e == cause:
                out[state, cause] = np.where(is_dead, all_of_them, 0.0)
                here = here + np.where(is_dead, 0.0, all_of_them)
            else:
                after, gone = course.after(state, e), own @ left
                out[after, -1] = np.where(is_dead, 0.0, gone)
                out[after, cause] = np.where(is_dead, all_of_them, 0.0)
                here = here + np.where(is_dead, 0.0, all_of_them - gone)
        return {(state, -1): here, **out}

    def _left_until(self, state: int, since: float, times: Array, dead: float) -> Array:
        """The probability of having left a state until each time, and not after another one, (hidden states, times)."""
        return 1.0 - self.tables.survival(state, np.minimum(times, dead), since)


def in_states(found: dict[Path, Array]) -> Array:
    """The sum over all paths that have not ended."""
    return np.asarray(np.sum([values for (_, end), values in found.items() if end < 0], axis=0))
