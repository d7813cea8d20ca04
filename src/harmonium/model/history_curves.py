r"""Probabilities of all states of rows whose covariates and histories are known, from a harmonium of each endpoint.

In a state j that was entered at u, the endpoints that may happen there compete: :math:`\prod_o S_{jo}(t - u \mid u)` is the probability
of still being there, and :math:`f_{jk} \prod_{o \ne k} S_{jo}` the density of leaving it for k. With :math:`a_j(u)`, the density of
entering j, everything follows from one pass through the states in the order of what has happened in them (eq. 34):

.. math:: P_j(t) = \int a_j(u) \prod_o S_{jo}(t - u \mid u)\, du, \qquad
          a_k(t) = \sum_j \int a_j(u) f_{jk}(t - u \mid u) \prod_{o \ne k} S_{jo}(t - u \mid u)\, du .

In a hidden state h of an endpoint's harmonium survival is the same for all rows; the time of entry only changes how much the state counts,
by the same factor :math:`\tau_u(h)` in all rows. So S and f of all rows at all pairs of times are two matrix products.

Integrals are those of :mod:`harmonium.numerics.entry_integrals`. What leaves a state is shared out among where it goes, so that
probabilities add up to one whatever their accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from harmonium.model.transitions import EndpointCurves, Transitions
from harmonium.numerics.entry_integrals import Fineness, Grid, Pairs
from harmonium.table.encoding import Encoding
from harmonium.table.histories import Histories
from harmonium.table.state_graph import Path
from harmonium.typing import Array, Integers

__all__ = ["HistoryCurves"]

_NOBODY = 1e-300
_NUMBERS_AT_ONCE = 1_000_000  # of a table of rows and pairs of times: 8 MB, which stay in the cache


_FINE = Fineness(24, 14, 8, 6, kinks=True)  # relative to adaptive quadrature, 1e-6
_SEVERAL = Fineness(8, 8, 3, 5, kinks=True)  # where entries into states are integrals themselves: 1e-4
_ROUGH = Fineness(8, 4, 3, 3, kinks=False)  # for differences between answers, in which errors cancel


@dataclass(frozen=True, eq=False)
class HistoryCurves:
    """Some rows, all of whose covariates are known, and whose histories are known until some time.

    Attributes
    ----------
    models : Transitions
    encoding : Encoding
        Of the study.
    covariates : ndarray
        Encoded, (rows, columns).
    known : Histories
    n_threads : int, optional
    roughly : bool
        With fewer nodes, for differences between answers, in which errors cancel.
    """

    models: Transitions
    encoding: Encoding
    covariates: Array
    known: Histories
    n_threads: int | None = None
    roughly: bool = False
    _late: dict[tuple[int, int], EndpointCurves] = field(default_factory=dict, repr=False)

    # --- questions ---

    def probabilities(self, times: Array) -> Array:
        """Of all paths, (paths, rows, times); they add up to one."""
        out = self._so_far(times)
        for group in self._groups(times):
            here = np.flatnonzero(group.since <= times)
            for rows, found in group.each():
                for path, values in found.probabilities().items():
                    out[self._place[path]][np.ix_(rows, here)] = values[:, here]
        return out

    def rates(self, times: Array) -> Array:
        """Derivatives of the probabilities in time, (paths, rows, times); they add up to zero."""
        out = np.zeros((len(self._place), len(self.covariates), times.size))
        for group in self._groups(times):
            here = np.flatnonzero((times > group.since) | ((group.since == 0.0) & (times >= 0.0)))
            for rows, found in group.each(rates=True):
                for path, values in found.rates().items():
                    out[self._place[path]][np.ix_(rows, here)] = values[:, here]
        return out

    def both(self, e: int, end: int, first: Array, last: Array) -> Array:
        """One endpoint until each of the first times, an absorbing one until each of the last, (rows, first, last)."""
        graph = self.models.graph
        happened = [path for path in graph.paths if path[1] == end and graph.has_happened(path, (e,))]
        out = np.empty((len(self.covariates), first.size, last.size))
        so_far, entered = self._so_far(last), self._when(e)
        known = np.sum([so_far[self._place[path]] for path in happened], axis=0)
        out[:] = known[:, None, :] * (entered[:, None] <= first)[:, :, None]
        for group in self._groups(last, edges=first):
            here = np.flatnonzero(group.since <= last)
            for rows, found in group.each():
                already = entered[rows, None] <= first
                for k, time in enumerate(first):
                    barred = found.probabilities(barred=(e, float(time)))
                    values = np.sum([barred[path] for path in happened if path in barred] or [np.zeros((rows.size, last.size))], axis=0)
                    free = found.probabilities() if already[:, k].any() else {}
                    whole = np.sum([free[path] for path in happened if path in free] or [np.zeros((rows.size, last.size))], axis=0)
                    own = np.where(already[:, [k]], whole, np.where(np.isfinite(entered[rows, None]), 0.0, values))
                    out[:, k][np.ix_(rows, here)] = own[:, here]
        return out

    def after(self, times: Array) -> Array:
        """Survival after the only intermediate event, whenever it happens or at its time if that is known, (rows, times)."""
        graph, out = self.models.graph, np.empty((len(self.covariates), times.size))
        (event,) = graph.intermediate
        e = graph.names.index(event)
        after, entered = np.flatnonzero(self.known.state == 1), self.known.entered
        if after.size:
            alive = [self._known_entry(o, 1, after).survival(times) for o in graph.options(1)]
            out[after] = np.prod(alive, axis=0)
        end = max(self.models.of(e, 0).scale(0).end, float(entered.max(initial=0.0)))
        for group in self._groups(np.array([end])):
            if group.state == 0:
                for rows, found in group.each():
                    out[rows] = found.after(times)
        return out

    # --- what is known ---

    @cached_property
    def _place(self) -> dict[Path, int]:
        return {path: number for number, path in enumerate(self.models.graph.paths)}

    def _so_far(self, times: Array) -> Array:
        """Where rows are known to have been, (paths, rows, times), and last were."""
        known, graph, n_rows = self.known, self.models.graph, len(self.covariates)
        where = np.zeros((n_rows, times.size), dtype=np.int64)
        for step in range(known.kind.shape[1]):
            for state, e in {(int(s), int(k)) for s, k in zip(known.source[:, step], known.kind[:, step], strict=True) if s >= 0}:
                rows = np.flatnonzero((known.source[:, step] == state) & (known.kind[:, step] == e))
                path = (state, e) if graph.is_terminal(e) else (graph.after(state, e), -1)
                where[rows] = np.where(times >= known.upper[rows, step, None], self._place[path], where[rows])
        return np.asarray(where == np.arange(len(self._place))[:, None, None], dtype=np.float64)

    def _when(self, e: int) -> Array:
        """When an endpoint has happened, infinite if it has not."""
        own = np.where(self.known.kind == e, self.known.upper, np.inf)
        return np.asarray(own.min(axis=1, initial=np.inf))

    def _groups(self, times: Array, edges: Array | None = None) -> Iterator[_Forward]:
        """Rows that are in one state and were last seen at one time."""
        going = np.flatnonzero(self.known.ended < 0)
        last = float(times.max(initial=0.0))
        keys = np.column_stack([self.known.state[going], self.known.until[going]])
        found, number = np.unique(keys, axis=0, return_inverse=True)
        for k, (state, since) in enumerate(found):
            if since <= last:
                yield _Forward(self, going[number.ravel() == k], int(state), float(since), times, edges)

    # --- curves of single endpoints ---

    def _known_entry(self, e: int, state: int, rows: Integers) -> EndpointCurves:
        """An endpoint of rows that have entered a state at a time that is known."""
        model = self.models.of(e, state)
        values = model.covariates(self.encoding, self.covariates[rows], state, self.known.entered[rows] if state else None)
        return model.curves(values, state, self.n_threads)

    def _later_entry(self, e: int, state: int) -> EndpointCurves:
        """An endpoint of all rows, once they will have entered a state, at the middle of all times."""
        if (e, state) not in self._late:
            model = self.models.of(e, state)
            self._late[e, state] = model.curves(model.covariates(self.encoding, self.covariates, state), state, self.n_threads)
        return self._late[e, state]


@dataclass(frozen=True, eq=False)
class _Forward:
    """Rows that are in one state at one time, from then on."""

    curves: HistoryCurves
    rows: Integers
    state: int
    since: float
    times: Array
    edges: Array | None

    def each(self, *, rates: bool = False) -> Iterator[tuple[Integers, _Rows]]:
        """Rows in parts that fit into memory."""
        nodes = rates and len(self.curves.models.graph.intermediate) > 1
        size = max(1, _NUMBERS_AT_ONCE // max(self.pairs(nodes).duration.size, 1))
        for begin in range(0, self.rows.size, size):
            rows = self.rows[begin : begin + size]
            yield rows, _Rows(self, rows)

    @cached_property
    def grid(self) -> Grid:
        """Of integrals from the last time at which rows were seen."""
        graph, models = self.curves.models.graph, self.curves.models
        fineness = _ROUGH if self.curves.roughly else _FINE if len(graph.intermediate) < 2 else _SEVERAL
        kinks = np.concatenate([models.of(e, self.state).kinks(self.state) for e in graph.options(self.state)])
        more = np.empty(0) if self.edges is None else self.edges
        return Grid.of(self.since, self.times, np.concatenate([kinks, more]) if fineness.kinks else more, fineness)

    def pairs(self, nodes: bool) -> Pairs:
        """Times of entry before each time that is asked for, and before each node if these are wanted."""
        return self._with_nodes if nodes else self._without

    @cached_property
    def _without(self) -> Pairs:
        return self.grid.pairs(np.maximum(self.times, self.since))

    @cached_property
    def _with_nodes(self) -> Pairs:
        return self.grid.pairs(np.concatenate([self.grid.nodes, np.maximum(self.times, self.since)]))

    @cached_property
    def tables(self) -> dict[tuple[int, int, bool], tuple[Array, Array]]:
        """By endpoint and state, tilted survival and density of every hidden state at all pairs."""
        return {}

    def table(self, e: int, state: int, nodes: bool) -> tuple[Array, Array]:
        """Made once for all rows."""
        if (e, state, nodes) not in self.tables:
            own, pairs = self.curves._later_entry(e, state), self.pairs(nodes)
            tilts = own.tilts(pairs.entered)[:, pairs.entry]
            self.tables[e, state, nodes] = tilts * own.survival_of_states(pairs.duration), tilts * own.density_of_states(pairs.duration)
        return self.tables[e, state, nodes]


class _Rows:
    """Some of these rows."""

    def __init__(self, forward: _Forward, rows: Integers) -> None:
        self.forward, self.rows, self.curves = forward, rows, forward.curves
        self.graph, self.grid = self.curves.models.graph, forward.grid
        self._targets = np.concatenate([self.grid.nodes, np.maximum(forward.times, forward.since)])

    def probabilities(self, barred: tuple[int, float] | None = None) -> dict[Path, Array]:
        """Of all paths that can be reached, (rows, times); ``barred``: an endpoint that no longer happens after a time, an edge."""
        n, state, out = self.grid.nodes.size, self.forward.state, dict[Path, Array]()
        entering, entered = dict[int, Array](), dict[int, Array]()
        free, flows = self._first
        self._leave(out, entering, entered, state, free[:, n:], 1.0 - free[:, n:], {e: flow[:, :n] for e, flow in flows.items()}, barred)
        for later in (s for s in sorted(self.graph.states, key=int.bit_count) if s in entering or s in entered):
            alive, going = self._sojourns(later, entering[later], nodes=len(self.graph.options(later)) > 1)
            here = np.clip(alive, 0.0, entered[later])
            self._leave(out, entering, entered, later, here, entered[later] - here, going, barred)
        return out

    def _leave(
        self,
        out: dict[Path, Array],
        entering: dict[int, Array],
        entered: dict[int, Array],
        state: int,
        here: Array,
        gone: Array,
        flows: Mapping[int, Array],
        barred: tuple[int, float] | None,
    ) -> None:
        """Share out what has left a state among where it has gone; density at nodes, and probability at times."""
        out[state, -1] = here
        options = self.graph.options(state)
        if len(options) == 1 and not flows:
            found = {options[0]: np.maximum(gone, 0.0)}
        else:
            found = {e: self.grid.until(flow, self.forward.times) for e, flow in flows.items()}
            total = np.sum(list(found.values()), axis=0)
            share = np.divide(gone, total, out=np.zeros_like(total), where=total > 0.0)  # one, but for what quadrature leaves
            if barred is not None and barred[0] in flows:
                own = np.where(self.grid.nodes <= barred[1], flows[barred[0]], 0.0)
                flows = {**flows, barred[0]: own}
                found[barred[0]] = self.grid.until(own, self.forward.times)
            found = {e: own * share for e, own in found.items()}
        for e, own in found.items():
            if self.graph.is_terminal(e):
                out[state, e] = own
            else:
                later = self.graph.after(state, e)
                entered[later] = entered.get(later, 0.0) + own
                entering[later] = entering.get(later, 0.0) + flows[e]

    def rates(self) -> dict[Path, Array]:
        """Derivatives of the probabilities, (rows, times)."""
        n, state, out = self.grid.nodes.size, self.forward.state, dict[Path, Array]()
        entering: dict[int, Array] = {}
        flows = self._first[1]
        for later in [state, *sorted((s for s in self.graph.states if s != state), key=int.bit_count)]:
            if later != state:
                if later not in entering:
                    continue
                flows = self._sojourns(later, entering[later][:, :n], nodes=self._leads_on(later), rates=True)[1]
            n_times = self.forward.times.size
            out[later, -1] = -np.sum([flow[:, -n_times:] for flow in flows.values()], axis=0)
            if later != state:
                out[later, -1] = out[later, -1] + entering[later][:, n:]
            for e, flow in flows.items():
                if self.graph.is_terminal(e):
                    out[later, e] = flow[:, -n_times:]
                else:
                    following = self.graph.after(later, e)
                    entering[following] = entering.get(following, 0.0) + flow
        return out

    def _leads_on(self, state: int) -> bool:
        """Whether another state follows, so that densities of leaving are wanted at nodes."""
        return any(not self.graph.is_terminal(e) for e in self.graph.options(state))

    def after(self, times: Array) -> Array:
        """Survival after the only intermediate event, at the times of which these rows may have it."""
        (e,) = (self.graph.names.index(name) for name in self.graph.intermediate)
        n = self.grid.nodes.size
        mass = self._first[1][e][:, :n] * self.grid.weights
        share = mass / np.maximum(mass.sum(axis=1, keepdims=True), _NOBODY)
        alive = np.ones((self.rows.size, self.grid.nodes.size, times.size))
        for o in self.graph.options(1):
            own = self.curves._later_entry(o, 1)
            weights, tilts = own.weights[self.rows], own.tilts(self.grid.nodes)
            by_state = weights[:, :, None] * tilts
            by_state /= np.maximum(by_state.sum(axis=1, keepdims=True), _NOBODY)
            alive *= np.einsum("rhu,ht->rut", by_state, own.survival_of_states(times), optimize=True)
        return np.asarray(np.einsum("ru,rut->rt", share, alive))

    @cached_property
    def _first(self) -> tuple[Array, dict[int, Array]]:
        """From the state that rows are in: the probability of being there still, and densities of leaving it, at nodes and times."""
        state, rows, known = self.forward.state, self.rows, self.curves.known
        alive, density = {}, {}
        for e in self.graph.options(state):
            own = self.curves._known_entry(e, state, rows)
            if state == 0:
                before = own.survival(np.array([self.forward.since]))
                alive[e], density[e] = own.survival(self._targets), own.density(self._targets)
            else:
                at = np.tile(np.append(self.forward.since, self._targets), (rows.size, 1))
                distinct, inverse = np.unique(np.maximum(at - known.entered[rows, None], 0.0), return_inverse=True)
                found, falling = own.in_rows(distinct, inverse.reshape(at.shape))
                before, alive[e], density[e] = found[:, :1], found[:, 1:], falling[:, 1:]
            before = np.maximum(before, _NOBODY)
            alive[e], density[e] = np.minimum(alive[e] / before, 1.0), density[e] / before
        flows = {e: density[e] * np.prod([own for o, own in alive.items() if o != e], axis=0) for e in alive}
        return np.asarray(np.prod(list(alive.values()), axis=0)), flows

    def _sojourns(self, state: int, entering: Array, *, nodes: bool, rates: bool = False) -> tuple[Array, dict[int, Array]]:
        """Of rows that enter a state with some density at nodes: who is there at times, and densities of leaving it.

        Densities are found at nodes, if these are wanted, and at times, if rates are.
        """
        pairs, n = self.forward.pairs(nodes), self.grid.nodes.size if nodes else 0
        mass = pairs.entering(entering)
        if not nodes and not rates and len(self.graph.options(state)) == 1:
            return self._alone(state, pairs, mass), {}
        alive, density = {}, {}
        for e in self.graph.options(state):
            own = self.curves._later_entry(e, state)
            weights = own.weights[self.rows]
            survival, falling = self.forward.table(e, state, nodes)
            total = np.maximum(weights @ own.tilts(pairs.entered), _NOBODY)[:, pairs.entry]
            alive[e] = (weights @ survival) / total
            if nodes or rates:
                density[e] = (weights @ falling) / total
                alive[e], density[e] = hurried(alive[e], density[e], own.model.hazard_ratio)
            else:
                alive[e] **= own.model.hazard_ratio
        whole, keep, flows = mass[:, pairs.entry], slice(None) if rates else slice(0, n), dict[int, Array]()
        for e, falling in density.items():
            flow = whole * falling
            for o in (o for o in alive if o != e):
                np.multiply(flow, alive[o], out=flow)
            flows[e] = pairs.summed(flow)[:, keep]
        for own_alive in alive.values():
            whole *= own_alive
        return pairs.summed(whole)[:, n:], flows

    def _alone(self, state: int, pairs: Pairs, mass: Array) -> Array:
        """Who is in a state that only one endpoint ends: a matrix product for each hidden state, since no other curve comes between."""
        (e,), n = self.graph.options(state), self.grid.nodes.size
        own = self.curves._later_entry(e, state)
        weights, survival = own.weights[self.rows], self.forward.table(e, state, False)[0]
        share = mass / np.maximum(weights @ own.tilts(pairs.entered), _NOBODY)
        whole = pairs.entry < n
        if own.model.hazard_ratio != 1.0 or not whole.any():
            total = (weights @ own.tilts(pairs.entered))[:, pairs.entry]
            return pairs.summed(mass[:, pairs.entry] * ((weights @ survival) / np.maximum(total, _NOBODY)) ** own.model.hazard_ratio)
        out = (share[:, pairs.entry[~whole]] * (weights @ survival[:, ~whole])).reshape(len(share), pairs.starts.size, -1).sum(axis=2)
        table = np.zeros((n, pairs.starts.size))
        for h, values in enumerate(survival[:, whole]):
            table[pairs.entry[whole], pairs.whose[whole]] = values
            out += weights[:, h, None] * (share[:, :n] @ table)
        return np.asarray(out)


def hurried(alive: Array, density: Array, hazard_ratio: float) -> tuple[Array, Array]:
    """Survival and density if the hazard is multiplied."""
    if hazard_ratio == 1.0:
        return alive, density
    with np.errstate(divide="ignore"):
        return alive**hazard_ratio, np.where(density > 0.0, density * hazard_ratio * alive ** (hazard_ratio - 1.0), 0.0)
