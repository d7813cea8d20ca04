r"""Courses of rows whose covariates are known, from a model of each endpoint: probabilities of all paths.

Given the covariates, endpoints compete: until the first event, the probability that none has happened is the product of the survival
functions :math:`S_e` of all endpoints, and :math:`f_e \prod_{o \ne e} S_o` is the density of a first event of one kind. After a passing
event at u the terminal one has the survival :math:`S_u(t - u)`, which depends on u as on a covariate. So (eq. 37)

.. math:: P(\text{alive after a passing event}) = \int_0^t f_r(u)\, S_d(u)\, S_u(t - u)\, du .

In a hidden state h of the terminal endpoint's model survival is the same for all u; u only changes by how much the state counts, and that
by the same factor :math:`\tau_u(h)` in all rows. With q the states' probabilities at the middle time, the integral is
:math:`\sum_h q(h) \int f_r S_d\, z(u)^{-1} \tau_u(h)\, S_h(t - u)\, du`, where :math:`z(u) = \sum_h q(h) \tau_u(h)`: a matrix product for
every hidden state.

Integrals are sums over Gauss-Legendre panels, which end at the times that are asked for, and halve towards them if these are few. Paths add
up to one whatever the accuracy of an integral.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harmonium.model.endpoint_model import EndpointCurves
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.intervals import groups_of_intervals
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.course import Path
from harmonium.table.encoding import Encoding
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["CourseCurves"]

_N_PANELS = 24  # of equal width, at least, between the beginning and the last time
_N_HALVINGS = 14  # of panels towards the beginning, and towards times if there are few
_MOST_PANELS = 96  # up to which panels halve towards times
_N_NODES, _FEWER_NODES = 8, 5  # on a panel, and where there are many of them
_N_ROUGH, _FEWEST_NODES = 8, 3  # panels and nodes where errors cancel
_MANY_PANELS = 120
_STATES_AT_ONCE = 64  # hidden states, whose tables are made together
_ROWS_AT_ONCE = 256  # in the last state, with times of their own
_NOBODY = 1e-300
_LATER = 1e-7  # relative difference from which on a time is later


@dataclass(frozen=True, eq=False)
class CourseCurves:
    """Some rows, all of whose covariates are known, and what is known of their courses.

    Attributes
    ----------
    models : EndpointModels
    encoding : Encoding
        Of the study.
    covariates : ndarray
        Encoded, (rows, columns).
    known : Histories
        Each of a course that was seen until some time, and of a subject that was known to be alive then, or later.
    n_threads : int, optional
    roughly : bool
        With fewer nodes of integrals, for differences between answers, in which errors cancel.
    """

    models: EndpointModels
    encoding: Encoding
    covariates: Array
    known: Histories
    n_threads: int | None = None
    roughly: bool = False

    # --- questions ---

    def probabilities(self, times: Array) -> Array:
        """Of all paths, (paths, rows, times); they add up to one."""
        return self._by_path(times, rates=False)

    def rates(self, times: Array) -> Array:
        """Derivatives of the probabilities in time, (paths, rows, times); they add up to zero."""
        return self._by_path(times, rates=True)

    def both(self, first: Array, last: Array) -> Array:
        """The passing event until each of the first times, the terminal one until each of the last, (rows, first, last)."""
        (e,), known = self._passing, self.known
        out = np.zeros((len(self.covariates), first.size, last.size))
        after = np.flatnonzero(known.state == 1)
        if after.size:
            gone = 1.0 - self._lasting(after, last)
            out[after] = np.where(first >= known.entered[after, None], 1.0, 0.0)[:, :, None] * gone[:, None, :]
        for rows, since, alive in self._groups():
            until_then, total = self._passed(rows, since, e, first, alive, dead=True), self._alive(rows, since, alive)
            for k, time in enumerate(last):
                if time > alive:
                    out[rows, :, k] = (self._passed(rows, since, e, first, float(time), dead=True) - until_then) / total
        return out

    def after(self, times: Array) -> Array:
        """Survival after the passing event, whenever it happens or at its time if that is known, (rows, times)."""
        (e,), out = self._passing, np.empty((len(self.covariates), times.size))
        after = np.flatnonzero(self.known.state == 1)
        if after.size:
            table, tilts = self._late.survival_by_state(times), self._late.tilts(self.known.entered[after])
            weights = self._late.weights[after] * tilts.T
            out[after] = (weights / weights.sum(axis=1, keepdims=True)) @ table
        for rows, since, _ in self._groups():
            end = max(self.models.of(e, 0).scale(0).end, since * (1.0 + 1e-9) + 1e-300)
            grid = self._grid(since, np.array([end]))
            mass = self._entering(rows, since, e, grid.nodes) * grid.weights
            share = mass / np.maximum(mass.sum(axis=1, keepdims=True), _NOBODY)
            own, tilts = self._late.weights[rows], self._late.tilts(grid.nodes)
            by_state = own * ((share / (own @ tilts)) @ tilts.T)
            out[rows] = by_state @ self._late.survival_by_state(times)
        return out

    # --- what they are made of ---

    @property
    def _passing(self) -> tuple[int, ...]:
        course = self.models.course
        return tuple(course.names.index(name) for name in course.passing)

    @property
    def _terminal(self) -> tuple[int, ...]:
        course = self.models.course
        return tuple(course.names.index(name) for name in course.terminal)

    @cached_property
    def _early(self) -> tuple[EndpointCurves, ...]:
        """Every endpoint of those to whom nothing has happened."""
        models = [self.models.of(e, 0) for e in range(len(self.models.models))]
        return tuple(model.curves(model.covariates(self.encoding, self.covariates, 0), 0, self.n_threads) for model in models)

    @cached_property
    def _late(self) -> EndpointCurves:
        """The terminal endpoint after the passing one, at the middle of its times."""
        (end,) = self._terminal
        model = self.models.of(end, 1)
        return model.curves(model.covariates(self.encoding, self.covariates, 1), 1, self.n_threads)

    @cached_property
    def _kinks(self) -> Array:
        return np.unique(np.concatenate([model.kinks(0) for model in self.models.models]))

    def _grid(self, since: float, times: Array) -> _Grid:
        return _Grid.rough(since, times) if self.roughly else _Grid.of(since, times, self._kinks)

    def _groups(self) -> list[tuple[Integers, float, float]]:
        """Rows to which nothing has happened, until when, and until when they are known to be alive."""
        rows, known = np.flatnonzero(self.known.state == 0), self.known
        groups = groups_of_intervals(known.until[rows], known.alive[rows])
        firsts = rows[np.unique(groups, return_index=True)[1]]
        return [(rows[groups == group], float(known.until[first]), float(known.alive[first])) for group, first in enumerate(firsts)]

    def _by_path(self, times: Array, *, rates: bool) -> Array:
        place = {path: number for number, path in enumerate(self.models.course.paths)}
        out = np.zeros((len(place), len(self.covariates), times.size))
        for rows, since, alive in self._groups():
            if alive > since * (1.0 + _LATER):
                found = (self._rates_given_alive if rates else self._paths_given_alive)(rows, since, times, alive)
            else:
                found = (self._rates_from if rates else self._paths_from)(rows, since, times)
            for path, values in found.items():
                out[place[path], rows] = values
        after = np.flatnonzero(self.known.state == 1)
        if after.size:
            (end,), lasting = self._terminal, self._lasting(after, times, rates=rates)
            here = np.where(times >= self.known.entered[after, None], 0.0 if rates else 1.0, 0.0)
            out[place[0, -1], after] = 0.0 if rates else 1.0 - here
            out[place[1, -1], after] = lasting if rates else here * lasting
            out[place[1, end], after] = -lasting if rates else here * (1.0 - lasting)
        return out

    def _paths_from(self, rows: Integers, since: float, times: Array) -> dict[Path, Array]:
        """Of rows to which nothing had happened until a time."""
        grid = self._grid(since, times)
        free = self._free(rows, since, np.maximum(times, since))
        out: dict[Path, Array] = {(0, -1): free}
        masses = {e: self._entering(rows, since, e, grid.nodes) * grid.weights for e in range(len(self.models.models))}
        gone = {e: grid.at_times(mass) for e, mass in masses.items()}
        total = np.sum(list(gone.values()), axis=0)
        share = np.divide(1.0 - free, total, out=np.zeros_like(total), where=total > 0.0)  # one, but for what quadrature leaves
        for e in self._terminal:
            out[0, e] = gone[e] * share
        for e in self._passing:
            (end,), entered = self._terminal, gone[e] * share
            here = np.minimum(self._flow(rows, masses[e], grid, times, rates=False) * share, entered)
            out[1, -1], out[1, end] = here, entered - here
        return out

    def _rates_from(self, rows: Integers, since: float, times: Array) -> dict[Path, Array]:
        grid = self._grid(since, times)
        later = (times > since) | ((since == 0.0) & (times >= 0.0))
        flows = {e: np.where(later, self._entering(rows, since, e, np.maximum(times, since)), 0.0) for e in range(len(self.models.models))}
        out: dict[Path, Array] = {(0, -1): -np.sum(list(flows.values()), axis=0)}
        for e in self._terminal:
            out[0, e] = flows[e]
        for e in self._passing:
            (end,), mass = self._terminal, self._entering(rows, since, e, grid.nodes) * grid.weights
            out[1, end] = self._flow(rows, mass, grid, times, rates=True)
            out[1, -1] = flows[e] - out[1, end]
        return out

    def _free(self, rows: Integers, since: float, times: Array) -> Array:
        """The probability that nothing has happened until each time, given that nothing had until ``since``."""
        out = np.ones((rows.size, times.size))
        for curves in self._early:
            alive = curves.survival(np.append(times, since), rows)
            out *= np.minimum(alive[:, :-1] / np.maximum(alive[:, -1:], _NOBODY), 1.0)
        return out

    def _entering(self, rows: Integers, since: float, e: int, times: Array) -> Array:
        """The density of a first event of one kind, given that nothing had happened until ``since``, (rows, times)."""
        out = np.ones((rows.size, times.size))
        for k, curves in enumerate(self._early):
            value = curves.density(times, rows) if k == e else curves.survival(times, rows)
            out *= value / np.maximum(curves.survival(np.array([since]), rows), _NOBODY)
        return out

    def _flow(self, rows: Integers, mass: Array, grid: _Grid, times: Array, *, rates: bool) -> Array:
        """Those alive after the passing event at each time, or how fast they die, (rows, times)."""
        curves, weights = self._late, self._late.weights[rows]
        tilts = curves.tilts(grid.nodes)
        share = mass / np.maximum(weights @ tilts, _NOBODY)
        node, time = np.nonzero(grid.nodes[:, None] < times)
        spans, out = times[time] - grid.nodes[node], np.zeros((rows.size, times.size))
        table = np.zeros((grid.nodes.size, times.size))
        for begin in range(0, len(curves.states), _STATES_AT_ONCE):
            some = EndpointCurves(curves.model, curves.state, curves.weights, curves.states[begin : begin + _STATES_AT_ONCE])
            values = some.density_by_state(spans) if rates else some.survival_by_state(spans)
            for h, own in enumerate(values, start=begin):
                table[node, time] = own * tilts[h, node]
                out += weights[:, h, None] * (share @ table)
        return out

    # --- alive for longer than the course was followed ---

    def _paths_given_alive(self, rows: Integers, since: float, times: Array, alive: float) -> dict[Path, Array]:
        """Of rows that are known to be alive at a time until which it is not known whether the passing event came."""
        found, late = self._paths_from(rows, since, np.append(times, alive)), times >= alive
        total = found[0, -1][:, -1:] + found[1, -1][:, -1:]
        (e,) = self._passing
        passed = self._passed(rows, since, e, np.minimum(times, alive), alive) / total
        before = {(0, -1): 1.0 - passed, (1, -1): passed}
        out = {}
        for path, values in found.items():
            now = values[:, :-1] if path[1] < 0 else np.maximum(values[:, :-1] - values[:, -1:], 0.0)
            out[path] = np.where(late, now / total, before.get(path, 0.0))
        return out

    def _rates_given_alive(self, rows: Integers, since: float, times: Array, alive: float) -> dict[Path, Array]:
        found, late, total = self._rates_from(rows, since, times), times >= alive, self._alive(rows, since, alive)
        (e,), early = self._passing, np.clip(times, since, alive)
        passing = np.where(times > since, self._entering(rows, since, e, early) * self._surviving(rows, early, alive) / total, 0.0)
        before = {(0, -1): -passing, (1, -1): passing}
        return {path: np.where(late, values / total, before.get(path, 0.0)) for path, values in found.items()}

    def _alive(self, rows: Integers, since: float, time: float) -> Array:
        """The probability of being alive at a time, (rows, 1)."""
        found = self._paths_from(rows, since, np.array([time]))
        return np.asarray(np.sum([values for (_, end), values in found.items() if end < 0], axis=0))

    def _surviving(self, rows: Integers, entered: Array, time: float) -> Array:
        """The probability of being alive at a time after the passing event at each of some times, (rows, entered)."""
        curves, weights = self._late, self._late.weights[rows]
        tilts = curves.tilts(entered)
        return np.asarray((weights @ (tilts * curves.survival_by_state(time - entered))) / np.maximum(weights @ tilts, _NOBODY))

    def _passed(self, rows: Integers, since: float, e: int, first: Array, time: float, *, dead: bool = False) -> Array:
        """The passing event until each of the first times, and alive, or dead, at a later time, (rows, first)."""
        grid = self._grid(since, np.append(np.clip(first, since, time), time))
        alive = self._surviving(rows, grid.nodes, time)
        mass = self._entering(rows, since, e, grid.nodes) * grid.weights * (1.0 - alive if dead else alive)
        return grid.at_times(mass)[:, :-1]

    # --- after the passing event ---

    def _lasting(self, rows: Integers, times: Array, *, rates: bool = False) -> Array:
        """Survival of rows that are past the passing event, (rows, times), or its derivative."""
        out = np.empty((rows.size, times.size))
        for begin in range(0, rows.size, _ROWS_AT_ONCE):
            own = rows[begin : begin + _ROWS_AT_ONCE]
            out[begin : begin + own.size] = self._lasting_some(own, times, rates)
        return out

    def _lasting_some(self, rows: Integers, times: Array, rates: bool) -> Array:
        curves, entered = self._late, self.known.entered[rows]
        since = self.known.until[rows] - entered
        at = times - entered[:, None]
        weights = curves.weights[rows] * curves.tilts(entered).T
        weights /= weights.sum(axis=1, keepdims=True)
        distinct, inverse = np.unique(np.concatenate([np.maximum(at, since[:, None]).ravel(), since]), return_inverse=True)
        alive = curves.survival_by_state(distinct)
        before = np.maximum(np.einsum("rh,hr->r", weights, alive[:, inverse[at.size :]]), _NOBODY)[:, None]
        if not rates:
            now = np.einsum("rh,hrt->rt", weights, alive[:, inverse[: at.size]].reshape(-1, *at.shape))
            return np.where(at <= since[:, None], 1.0, np.clip(now / before, 0.0, 1.0))
        dying = curves.density_by_state(distinct)[:, inverse[: at.size]].reshape(-1, *at.shape)
        later = (at > since[:, None]) | ((since[:, None] == 0.0) & (at >= 0.0))
        return -np.where(later, np.einsum("rh,hrt->rt", weights, dying) / before, 0.0)


@dataclass(frozen=True)
class _Grid:
    """Nodes and weights of integrals that begin at one time and end at several."""

    nodes: Array
    weights: Array
    edges: Array
    times: Array

    @classmethod
    def of(cls, since: float, times: Array, kinks: Array) -> _Grid:
        """Panels that end at all times, and at times where functions are not smooth."""
        last = float(np.max(times, initial=since))
        if last <= since:
            return cls(np.empty(0), np.empty(0), np.array([since]), np.maximum(times, since))
        width, inner = (last - since) / _N_PANELS, np.unique(times[times > since])
        halves = 0.5 ** np.arange(1.0, _N_HALVINGS)
        parts = [np.linspace(since, last, _N_PANELS + 1), since + width * halves, inner, kinks[(kinks > since) & (kinks < last)]]
        n_halves = min(_N_HALVINGS - 1, (_MOST_PANELS - sum(part.size for part in parts)) // max(inner.size, 1))
        if n_halves > 0:
            parts.append((inner[:, None] - width * halves[:n_halves]).ravel())
        edges = np.unique(np.concatenate(parts))
        edges = edges[edges >= since]
        edges = edges[np.append(True, np.diff(edges) > 1e-12 * last)]
        n_nodes = _N_NODES if edges.size <= _MANY_PANELS else _FEWER_NODES
        return cls(*panel_nodes(edges, n_nodes), edges, np.maximum(times, since))

    @classmethod
    def rough(cls, since: float, times: Array) -> _Grid:
        """Panels that end at all times; good to about a thousandth."""
        last = float(np.max(times, initial=since))
        if last <= since:
            return cls.of(since, times, np.empty(0))
        edges = np.unique(np.concatenate([np.linspace(since, last, _N_ROUGH + 1), times[times > since]]))
        edges = edges[np.append(True, np.diff(edges) > 1e-12 * last)]
        return cls(*panel_nodes(edges, _FEWEST_NODES), edges, np.maximum(times, since))

    def at_times(self, mass: Array) -> Array:
        """Integrals until all times, of what nodes have, (rows, times)."""
        by_panel = mass.reshape(len(mass), self.edges.size - 1, -1).sum(axis=2) if self.nodes.size else np.zeros((len(mass), 0))
        total = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(by_panel, axis=1)], axis=1)
        after = np.clip(np.searchsorted(self.edges, self.times), 1, max(self.edges.size - 1, 1))
        nearest = after - (self.times - self.edges[after - 1] < self.edges[np.minimum(after, self.edges.size - 1)] - self.times)
        return np.asarray(total[:, np.minimum(nearest, self.edges.size - 1)])
