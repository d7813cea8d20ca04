"""Probabilities of all paths for rows of which something is known: averages over hidden states, given each row's history (eq. 35)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.model.intervals import groups_of_intervals
from harmonium.model.path_tables import PathTables
from harmonium.table.course import Path
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["PathRows"]

_AT_ONCE = 256  # rows with times of their own, whose tables are made together
_LATER = 1e-7  # relative difference from which on a time is later


@dataclass(frozen=True)
class PathRows:
    """Some rows: their hidden states' probabilities, (rows, hidden states), and what is known of their courses."""

    tables: PathTables
    weights: Array
    known: Histories

    def probabilities(self, times: Array) -> Array:
        """(paths, rows, times), in the order of the course's paths; they add up to one."""
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
            out[current, rows] += entered[rows] - 1.0
            np.maximum(out, 0.0, out=out)  # differences, which rounding may leave below zero
        return out

    def _past(self, times: Array, out: Array, place: dict[Path, int]) -> Array:
        """Fill in the steps that were taken; returns the probability of having entered the present state."""
        known, course = self.known, self.tables.course
        entered = np.ones(out.shape[1:])
        for step in range(known.kind.shape[1]):
            rows = np.flatnonzero(known.kind[:, step] >= 0)
            left = np.where(times >= known.upper[rows, step, None], 1.0, 0.0)
            for number in np.flatnonzero(known.lower[rows, step] < known.upper[rows, step]):
                left[number] = self._left_between(int(rows[number]), step, times)
            out[[place[int(state), -1] for state in known.source[rows, step]], rows] += entered[rows] - left
            entered[rows] = left
            ends = [course.is_terminal(int(e)) for e in known.kind[rows, step]]
            for row, own, ended in zip(rows, left, ends, strict=True):
                if ended:
                    out[place[int(known.source[row, step]), int(known.kind[row, step])], row] += own
        return entered

    def _left_between(self, row: int, step: int, times: Array) -> Array:
        """The probability of having left a state, which ended between two times."""
        known, state = self.known, int(self.known.source[row, step])
        scale, origin = self.tables.scale(state), known.origin[row, step]
        bounds = scale.to_unit(np.array([known.lower[row, step], known.upper[row, step]]) - origin)
        if bounds[1] <= bounds[0]:
            return np.where(times >= known.upper[row, step], 1.0, 0.0)
        alive = self.tables.duration(state, (float(bounds[0]), float(bounds[1]))).survival(scale.to_unit(np.maximum(times - origin, 0.0)))
        return np.where(times >= known.upper[row, step], 1.0, 1.0 - self.weights[row] @ alive)

    def _in_last_state(self, state: int, rows: Integers, times: Array) -> list[tuple[Integers, dict[Path, Array]]]:
        """Rows that only a terminal event can follow: every row has times of its own."""
        tables, out = self.tables, []
        scale, duration = tables.scale(state), tables.duration(state)
        for begin in range(0, rows.size, _AT_ONCE):
            own = rows[begin : begin + _AT_ONCE]
            since = self.known.until[own] - self.known.entered[own]
            at = np.maximum(times - self.known.entered[own, None], since[:, None])
            distinct, inverse = np.unique(np.concatenate([scale.to_unit(at).ravel(), scale.to_unit(since)]), return_inverse=True)
            with np.errstate(invalid="ignore"):
                log_alive = duration.log_survival(distinct)[:, inverse]
                alive = np.exp(log_alive[:, : at.size].reshape(-1, *at.shape) - log_alive[:, at.size :, None])
            alive = np.where(np.isnan(alive), 0.0, np.minimum(alive, 1.0))
            weights = self.weights[own]
            found: dict[Path, Array] = {(state, -1): np.einsum("rh,hrt->rt", weights, alive)}
            for e in tables.course.options(state):
                found[state, e] = np.einsum("rh,hrt->rt", weights * tables.kind(state, e), 1.0 - alive)
            out.append((own, found))
        return out

    def _by_group(self, state: int, rows: Integers, times: Array) -> list[tuple[Integers, dict[Path, Array]]]:
        """Rows that passing events can follow: a table for all rows with the same history."""
        known, out = self.known, []
        groups = groups_of_intervals(known.entered[rows], known.until[rows], known.alive[rows])
        for group, first in enumerate(np.unique(groups, return_index=True)[1]):
            own, row = rows[groups == group], rows[first]
            entered, since = float(known.entered[row]), float(known.until[row] - known.entered[row])
            later = known.alive[row] > known.until[row] * (1.0 + _LATER)
            at = np.append(times, known.alive[row]) if later else times
            found = {path: self.weights[own] @ table for path, table in self.tables.paths(state, since, at - entered).items()}
            out.append((own, _given_alive(found, times, float(known.alive[row])) if later else found))
        return out

    def _unknown_course(self, row: int, times: Array) -> dict[Path, Array]:
        """A row that is known to be dead, while it is not known what happened just before.

        The first event after the state that it was last seen in lies before death. If it was a passing one, nothing else is taken to have
        happened between it and death.
        """
        known, tables, course = self.known, self.tables, self.tables.course
        state, entered, dead, cause = int(known.state[row]), known.entered[row], known.dead[row], int(known.cause[row])
        until = tables.survival(state, np.array([dead - entered]), float(known.until[row] - entered))
        weights = self.weights[row] * (1.0 - until[:, 0])
        weights = weights / weights.sum() if weights.sum() > 0.0 else self.weights[row]
        within = 1.0 - tables.survival(state, np.minimum(times, dead) - entered, float(known.until[row] - entered))
        left = np.minimum(within / np.maximum(1.0 - until, 1e-300), 1.0)
        options = [cause, *(e for e in course.options(state) if not course.is_terminal(e))]
        shares = np.stack([tables.kind(state, e) for e in options])
        shares, is_dead = shares / shares.sum(axis=0), times >= dead
        here, out = np.zeros(times.size), {}
        for e, share in zip(options, shares, strict=True):
            own = weights * share
            if e == cause:
                out[state, cause] = np.where(is_dead, own.sum(), 0.0)
                here = here + np.where(is_dead, 0.0, own.sum())
            else:
                after, gone = course.after(state, e), own @ left
                out[after, -1] = np.where(is_dead, 0.0, gone)
                out[after, cause] = np.where(is_dead, own.sum(), 0.0)
                here = here + np.where(is_dead, 0.0, own.sum() - gone)
        return {(state, -1): here, **out}


def _given_alive(found: dict[Path, Array], times: Array, alive: float) -> dict[Path, Array]:
    """Given that there was no terminal event until a time, at which the last column stands."""
    total = np.sum([values for (_, end), values in found.items() if end < 0], axis=0)
    late = times >= alive
    out = {}
    for (state, end), values in found.items():
        if end < 0:
            out[state, end] = values[:, :-1] / np.where(late, total[:, -1:], total[:, :-1])
        else:
            out[state, end] = np.where(late, np.maximum(values[:, :-1] - values[:, -1:], 0.0) / total[:, -1:], 0.0)
    return out
