r"""A passing and a terminal event together, where one passing event may come before the end.

Given the hidden units, the probability that the passing event has happened until :math:`t` and the terminal one until a later
:math:`t'` is an integral over the time of the passing one (eq. 36),

.. math:: \int_0^t \pi f(u)\, \kappa\, F(t' - u)\, du ,

with :math:`f` the density of the time until the first event, :math:`\pi` the probability that it is the passing one, and :math:`\kappa F`
the distribution of the terminal one after it. Until a :math:`t' < t`, both have happened if the terminal one has after the passing one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.model.intervals import groups_of_intervals
from harmonium.model.path_rows import PathRows, in_states
from harmonium.typing import Array, Integers

__all__ = ["PathPairs"]


@dataclass(frozen=True)
class PathPairs(PathRows):
    """Some rows, as :class:`~harmonium.model.path_rows.PathRows`, of which two events are asked."""

    def both(self, e: int, end: int, first: Array, last: Array) -> Array:
        """The passing event until each of the first times, and a terminal one until each of the last, (rows, first, last)."""
        known = self.known
        out = np.zeros((len(self.weights), first.size, last.size))
        lost = (known.ended < 0) & np.isfinite(known.dead)
        for row in np.flatnonzero(lost & (known.cause == end)):
            out[row] = np.outer(self._passed_of_unknown(int(row), e, first), last >= known.dead[row])
        after = np.flatnonzero(known.kind[:, 0] == e)
        if after.size:
            out[after] = self._after_event(after, e, end, first, last)
        rows = np.flatnonzero((known.ended < 0) & ~lost & (known.state == 0))
        groups = groups_of_intervals(known.until[rows], known.alive[rows])
        for group in np.unique(groups):
            out[rows[groups == group]] = self._of_group(rows[groups == group], e, end, first, last)
        return out

    def _of_group(self, own: Integers, e: int, end: int, first: Array, last: Array) -> Array:
        """Rows in which nothing is known to have happened until the same time, and which are known to be alive at the same later one."""
        since, alive = float(self.known.until[own[0]]), float(self.known.alive[own[0]])
        weights, out = self.weights[own], np.zeros((own.size, first.size, last.size))
        until_then = weights @ self._by_state(e, end, since, first, alive)
        total = in_states(self._averaged(own, self.tables.paths(0, since, np.array([alive]))))
        for k, time in enumerate(last):
            if time > alive:
                out[:, :, k] = (weights @ self._by_state(e, end, since, first, float(time)) - until_then) / total
        return out

    def _by_state(self, e: int, end: int, since: float, first: Array, time: float) -> Array:
        """The probability of both in every hidden state, (hidden states, first), the terminal one until one time."""
        tables = self.tables
        entered = tables.kind(0, e)[:, None] * (1.0 - tables.survival(0, np.minimum(first, time), since))
        return tables.kind(tables.course.after(0, e), end)[:, None] * (entered - tables.passed(0, e, since, first, time))

    def _after_event(self, rows: Integers, e: int, end: int, first: Array, last: Array) -> Array:
        """Rows in which the passing event is known to have happened: given the hidden units, what follows does not depend on when."""
        known, paths = self.known, self.tables.course.paths
        some = PathRows(self.tables, self.weights[rows], known.part(rows))
        ended = some.probabilities(last)[[path[1] == end for path in paths]].sum(axis=0)
        out: Array = np.where(first >= known.upper[rows, 0, None], 1.0, 0.0)[:, :, None] * ended[:, None, :]
        for number in np.flatnonzero(known.lower[rows, 0] < known.upper[rows, 0]):
            row = int(rows[number])
            left = self.weights[row][:, None] * self._left_between(row, 0, first)
            out[number] = left.T @ self._ended_after(row, self.tables.course.after(0, e), end, last)
        return out

    def _ended_after(self, row: int, state: int, end: int, times: Array) -> Array:
        """The terminal event of a row that is past the passing one, (hidden states, times)."""
        if self.known.ended[row] < 0:
            return np.asarray(self.tables.kind(state, end)[:, None] * (1.0 - self._lasting(state, np.array([row]), times)[:, 0]))
        return np.asarray(self._left_between(row, 1, times) * (self.known.ended[row] == end))

    def _passed_of_unknown(self, row: int, e: int, times: Array) -> Array:
        """The passing event of a row that is known to be dead, while it is not known what happened before."""
        found, course = self._unknown_course(row, times), self.tables.course
        return np.asarray(np.sum([own for path, own in found.items() if course.has_happened(path, (e,))], axis=0))
