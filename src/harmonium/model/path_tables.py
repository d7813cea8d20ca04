"""Where subjects are, in every hidden state: probabilities of all paths of a course at some times.

Given the hidden units, durations and kinds of episodes are independent, and their distributions known. So the probability of having left a
state follows from that of having entered it (eq. 34, :mod:`harmonium.model.convolution`), state after state:

    occupied(t) = entered(t) - left(t),    entered(t) of a next state = sum of left(t) times the probability of the kind.

Whatever the accuracy of an integral, all paths together have probability one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.parameters import Natural
from harmonium.model.convolution import Entering, graded_edges, scale_edges, steepness
from harmonium.model.endpoint_states import EndpointStates
from harmonium.table.course import Course, Path
from harmonium.table.episodes import Episodes
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["PathTables"]


@dataclass(frozen=True)
class PathTables:
    """Durations and kinds in given hidden states.

    Parameters
    ----------
    episodes : Episodes
    natural : Natural
    layout : Layout
        Whose outcomes are the episodes.
    states : ndarray of shape (n_hidden_states, n_hidden)
    """

    episodes: Episodes
    natural: Natural
    layout: Layout
    states: Array

    @property
    def course(self) -> Course:
        """What can happen."""
        return self.episodes.course

    def scale(self, state: int) -> TimeScale:
        """Of a state's duration."""
        return self.episodes.durations[state].scale

    def duration(self, state: int, within: tuple[float, float] = (0.0, 1.0)) -> EndpointStates:
        """A state's duration, given that it lies within an interval of its scale."""
        first = int(self.layout.offsets[self.layout.outcomes.start + state])
        return EndpointStates.of(self.natural, first, self.states, within)

    @cached_property
    def _kinds(self) -> dict[int, Array]:
        out = {}
        for state in self.course.states:
            options = self.course.options(state)
            if len(options) == 1:
                out[state] = np.ones((len(self.states), 1))
                continue
            column = self.layout.outcomes.start + self.episodes.kind_place(state)
            own = slice(int(self.layout.offsets[column]), int(self.layout.offsets[column + 1]))
            natural = self.natural.bias[own] + self.states @ self.natural.coupling[own].T
            free = np.full(len(self.states), np.nan)
            mean = self.layout.units[column].mean_statistics(natural, free, free)
            missing = np.empty((len(mean), 0)) if mean.shape[1] == len(options) else 1.0 - mean.sum(axis=1, keepdims=True)
            out[state] = np.concatenate([missing, mean], axis=1)
        return out

    def kind(self, state: int, endpoint: int) -> Array:
        """The probability that a state ends with an event, (hidden states,)."""
        return np.asarray(self._kinds[state][:, self.course.options(state).index(endpoint)])

    def survival(self, state: int, times: Array, since: float = 0.0) -> Array:
        """The probability that a state lasts longer than each time, given that it has lasted for ``since``, (hidden states, times)."""
        scale = self.scale(state)
        start = min(float(scale.to_unit(np.array(since))), 1.0 - 1e-9) if since > 0.0 else 0.0
        positions = scale.to_unit(np.maximum(times, 0.0))
        alive = self.duration(state, (start, 1.0)).survival(positions)
        return np.where(positions <= start, 1.0, alive)

    def paths(self, start: int, since: float, times: Array) -> dict[Path, Array]:
        """Of subjects who have been in a state for ``since``: probabilities (hidden states, times) at times since they entered it.

        Parameters
        ----------
        start : int
        since : float
        times : ndarray
            Before ``since`` everybody is in the state.
        """
        course = self.course
        left, tables = {start: 1.0 - self.survival(start, times, since)}, {}
        last = float(np.max(times, initial=0.0))
        later = [state for state in sorted(course.states, key=int.bit_count) if state & start == start and state != start]
        if later and last > since:
            tables[start] = self._first_table(start, since, last)
        entered = {start: np.ones_like(left[start])}
        for state in later:
            before = [p for p in left if p.bit_count() == state.bit_count() - 1 and p & state == p]
            into = [self.kind(p, self._between(p, state))[:, None] for p in before]
            entered[state] = np.sum([share * left[p] for share, p in zip(into, before, strict=True)], axis=0)
            if last <= since:
                left[state] = np.zeros_like(entered[state])
                continue
            first = tables[start]
            values = np.sum([share * tables[p].values for share, p in zip(into, before, strict=True)], axis=0)
            entering = Entering(first.edges, values, first.kinks)
            left[state] = entering.left(self.duration(state), self.scale(state), times)
            if any(not course.is_terminal(e) for e in course.options(state)):
                at_nodes = entering.left(self.duration(state), self.scale(state), Entering.nodes(first.edges))
                tables[state] = Entering(first.edges, at_nodes, first.kinks)
        out: dict[Path, Array] = {(state, -1): np.maximum(entered[state] - own, 0.0) for state, own in left.items()}
        for state, own in left.items():
            for e in course.options(state):
                if course.is_terminal(e):
                    out[state, e] = self.kind(state, e)[:, None] * own
        total = np.sum(list(out.values()), axis=0)  # one, but for rounding
        return {path: own / total for path, own in out.items()}

    def _between(self, state: int, later: int) -> int:
        """The passing event that leads from one state to another."""
        return self.course.names.index(self.course.passing[(state ^ later).bit_length() - 1])

    def _first_table(self, start: int, since: float, last: float) -> Entering:
        """Of having left the first state, from ``since`` to the last time."""
        scale = self.scale(start)
        kinks = scale_edges(scale)
        edges = graded_edges(since, last, kinks, steepness(self.duration(start)) * min(last / scale.end, 1.0))
        return Entering(edges, 1.0 - self.survival(start, Entering.nodes(edges), since), kinks)
