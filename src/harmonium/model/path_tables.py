"""Where subjects are, in every hidden state: probabilities of all paths of a course at some times.

Given the hidden units, durations and kinds of episodes are independent, and their distributions known. So the probability of having left a
state follows from that of having entered it (eq. 34, :mod:`harmonium.model.convolution`), state after state:

    occupied(t) = entered(t) - left(t),    entered(t) of a next state = sum of left(t) times the probability of the kind.

Whatever the accuracy of an integral, all paths together have probability one.

Rates, the derivatives of these probabilities in time, need no differences: the derivative of having left a state is the same integral over
the derivative of having entered it, and that of having left the first state is the density of its duration, which is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.parameters import Natural
from harmonium.model.convolution import Entering, graded_edges, scale_edges, steepness
from harmonium.model.endpoint_states import EndpointStates
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.course import Course, Path
from harmonium.table.encoding import event_position
from harmonium.table.episodes import Episodes
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["PathTables"]

_N_NODES = 8  # on a panel of an integral


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

    def passing(self, state: int) -> tuple[int, ...]:
        """Passing events, by number, that may follow a state."""
        return tuple(e for e in self.course.options(state) if not self.course.is_terminal(e))

    def survival(self, state: int, times: Array, since: float = 0.0) -> Array:
        """The probability that a state lasts longer than each time, given that it has lasted for ``since``, (hidden states, times)."""
        scale, start = self.scale(state), self._start(state, since)
        positions = scale.to_unit(np.maximum(times, 0.0))
        alive = self.duration(state, (start, 1.0)).survival(positions)
        return np.where(positions <= start, 1.0, alive)

    def density(self, state: int, times: Array, since: float = 0.0) -> Array:
        """Of how long a state lasts, as ``survival``, in one over the unit of time; zero beyond the end of its scale."""
        return self.density_within(state, times, (self._start(state, since), 1.0))

    def density_within(self, state: int, times: Array, within: tuple[float, float]) -> Array:
        """Of how long a state lasts, given that this lies within an interval of its scale."""
        scale, at = self.scale(state), np.maximum(times, 0.0)
        slope = np.where(times < 0.0, 0.0, np.nan_to_num(np.exp(scale.log_slope(at))))
        return self.duration(state, within).density(event_position(scale.to_unit(at))) * slope

    def paths(self, start: int, since: float, times: Array) -> dict[Path, Array]:
        """Of subjects who have been in a state for ``since``: probabilities (hidden states, times) at times since they entered it.

        Parameters
        ----------
        start : int
        since : float
        times : ndarray
            Before ``since`` everybody is in the state.
        """
        entered, left = self._flows(start, since, times, lambda at: 1.0 - self.survival(start, at, since))
        entered[start] = np.ones_like(left[start])
        out: dict[Path, Array] = {(state, -1): np.maximum(entered[state] - own, 0.0) for state, own in left.items()}
        out |= self._ended(left)
        total = np.sum(list(out.values()), axis=0)  # one, but for rounding
        return {path: own / total for path, own in out.items()}

    def rates(self, start: int, since: float, times: Array) -> dict[Path, Array]:
        """Derivatives of the probabilities of ``paths`` in time; together they are zero."""
        entered, left = self._flows(start, since, times, lambda at: self.density(start, at, since))
        entered[start] = np.zeros_like(left[start])
        return {(state, -1): entered[state] - own for state, own in left.items()} | self._ended(left)

    def passed(self, start: int, e: int, since: float, times: Array, later: float) -> Array:
        r"""The probability that a passing event ends a state until each time, and that the next state lasts until a later time (eq. 36).

        That is :math:`\int \pi f(u)\, S(t' - u)\, du` from ``since`` to each time, or to the later one :math:`t'`; (hidden states, times).
        """
        if later <= since:
            return np.zeros((len(self.states), times.size))
        after, until = self.course.after(start, e), np.clip(times, since, later)
        own, next_one = (
            graded_edges(begin, begin + later - since, scale_edges(self.scale(state)), steepness(self.duration(state)))
            for state, begin in ((start, since), (after, 0.0))
        )
        edges = np.unique(np.concatenate([np.clip([*own, *(later - next_one)], since, later), until]))
        nodes, weights = panel_nodes(edges, _N_NODES)
        integrand = self.density(start, nodes, since) * self.survival(after, later - nodes) * weights
        by_panel = integrand.reshape(len(integrand), -1, _N_NODES).sum(axis=2)
        total = np.concatenate([np.zeros((len(by_panel), 1)), np.cumsum(by_panel, axis=1)], axis=1)
        return np.asarray(self.kind(start, e)[:, None] * total[:, np.searchsorted(edges, until)])

    def _flows(
        self, start: int, since: float, times: Array, leaving: Callable[[Array], Array]
    ) -> tuple[dict[int, Array], dict[int, Array]]:
        """Of having entered states after the first, and of having left states; the first is left as ``leaving`` says."""
        course, last = self.course, float(np.max(times, initial=0.0))
        left, entered, tables = {start: leaving(times)}, {}, {}
        later = [state for state in sorted(course.states, key=int.bit_count) if state & start == start and state != start]
        if later and last > since:
            edges, kinks = self._first_edges(start, since, last)
            tables[start] = Entering(edges, leaving(Entering.nodes(edges)), kinks)
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
            if self.passing(state):
                at_nodes = entering.left(self.duration(state), self.scale(state), Entering.nodes(first.edges))
                tables[state] = Entering(first.edges, at_nodes, first.kinks)
        return entered, left

    def _ended(self, left: dict[int, Array]) -> dict[Path, Array]:
        """Those who have left a state by a terminal event."""
        ends = ((state, e) for state in left for e in self.course.options(state) if self.course.is_terminal(e))
        return {(state, e): self.kind(state, e)[:, None] * left[state] for state, e in ends}

    def _start(self, state: int, since: float) -> float:
        """The position of ``since`` on a state's scale, short of its end."""
        return min(float(self.scale(state).to_unit(np.array(since))), 1.0 - 1e-9) if since > 0.0 else 0.0

    def _between(self, state: int, later: int) -> int:
        """The passing event that leads from one state to another."""
        return self.course.names.index(self.course.passing[(state ^ later).bit_length() - 1])

    def _first_edges(self, start: int, since: float, last: float) -> tuple[Array, Array]:
        """Of a table of having left the first state, from ``since`` to the last time; and times at which that or a later one bends."""
        scale = self.scale(start)
        inner = [state for state in self.course.states if state & start == start and state != start and self.passing(state)]
        kinks = np.union1d(scale_edges(scale), [since + self.scale(state).end for state in inner])
        return graded_edges(since, last, kinks, steepness(self.duration(start)) * min(last / scale.end, 1.0)), kinks
