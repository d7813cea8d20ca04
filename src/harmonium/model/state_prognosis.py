"""A prognosis where an endpoint is terminal: everything follows from the probabilities of all paths, which add up to one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from harmonium.errors import CompetingWarning, warn
from harmonium.model.confidence import EVENT, NO_EVENT, SHARE, between
from harmonium.model.hidden import Answer, Enumerated
from harmonium.model.intervals import groups_of_intervals
from harmonium.model.known_rows import KnownRows
from harmonium.model.mixture_prognosis import MixturePrognosis
from harmonium.model.model_prognosis import ModelPrognosis
from harmonium.model.path_quantiles import first_times
from harmonium.model.path_rows import PathRows
from harmonium.model.path_tables import PathTables
from harmonium.model.prognosis import Prognosis
from harmonium.model.quantile_interval import quantile_with_interval
from harmonium.model.with_interval import WITHIN_UNTIL, with_interval
from harmonium.numerics.quadrature import gauss_legendre, panel_nodes
from harmonium.table.checks import check_times, warn_of_no_mean
from harmonium.table.course import Course
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["EpisodeMixture", "EpisodePrognosis", "StatePrognosis"]

_N_PANELS, _N_NODES = 32, 8  # of an integral over time
_N_SPLIT = 96  # parts of the time in which an event may fall
_N_RISK = 24  # nodes of an integral over the time scale
_ROWS_AT_ONCE = 500  # with times of their own, each of which is found for all of them


class StatePrognosis(Prognosis):
    """Questions about endpoints of which some are terminal; ``endpoint`` may name several, and then means the first of them."""

    @property
    def course(self) -> Course:
        """What can happen, and in which order."""
        assert self.encoding.episodes is not None
        return self.encoding.episodes.course

    # --- what a model must answer ---

    @abstractmethod
    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        """Probabilities of all paths, (paths, rows, times)."""

    @abstractmethod
    def _after(self, state: int, e: int, times: Array) -> Array:
        """Survival after a passing event that is to come, or has, (rows, times)."""

    @abstractmethod
    def _alive_without(self, e: int, times: Array, until: float) -> Array:
        """No passing event until each time, no terminal one until a later one, (rows, times)."""

    # --- states ---

    @with_interval(SHARE)
    def state_probabilities(self, times: Any) -> dict[str, Array]:
        """Where subjects are at each time, (rows, times) by path: "event-free", "recurrence", "death after recurrence", ...

        They add up to one.
        """
        _, at = self._asked_for(self.course.names, times)
        return {self.course.label(path): own for path, own in zip(self.course.paths, self._paths(at), strict=True)}

    @with_interval(WITHIN_UNTIL)
    def time_in_states(self, *, until: float) -> dict[str, Array]:
        """Mean time that subjects spend on each path until a time, (rows,): months alive with recurrence, or lost to death."""
        _check_until(until)
        found = self._time_on_paths(float(until))
        return {self.course.label(path): own for path, own in zip(self.course.paths, found, strict=True)}

    @with_interval(NO_EVENT)
    def survival_after(self, event: str, times: Any) -> Array:
        """Probability of no terminal event until each time *since* an event, given that the event happens, (rows, times).

        Whenever it happens; if it is known when it did, ``survival`` of the terminal event is the sharper answer.
        """
        course = self.course
        if event not in course.passing or len(course.passing) > 1:
            raise ValueError(
                f"survival after an event is known where it is the only one that is not terminal; found {event!r}, and "
                f"{', '.join(map(repr, course.passing)) or 'no such event'}. Give the event at a time, and ask for survival"
            )
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        return self._after(0, course.names.index(event), at)

    @with_interval(NO_EVENT)
    def survival_without(self, event: str, times: Any, *, until: float) -> Array:
        """Probability of no such event until each time and of no terminal one until ``until``, (rows, times); nothing being given."""
        if self.course.passing != (event,) or self.known is not None:
            raise ValueError(f"this is known of the only event that is not terminal, while nothing is given; found {event!r}")
        return self._alive_without(self.course.names.index(event), np.asarray(times, dtype=np.float64), float(until))

    # --- endpoints ---

    @with_interval(NO_EVENT)
    def survival(self, endpoint: Any = None, times: Any = None, *, return_diagnostics: bool = False) -> Any:
        """Probability of no event until each time, (rows, times); of several endpoints, of none of them.

        Of an event that a terminal one prevents, this is one minus the cumulative incidence: the probability of no such event, dead or
        alive.
        """
        places, at = self._asked_for(endpoint, times)
        self._warn_if_prevented(places)
        alive = self._free_of(places, self._paths(at))
        return (alive, Answer.exact(alive)) if return_diagnostics else alive

    @with_interval(EVENT)
    def cumulative_incidence(self, endpoint: Any = None, times: Any = None) -> Array:
        """Probability that the event has happened until each time, (rows, times)."""
        places, at = self._asked_for(endpoint, times)
        return np.asarray(1.0 - self._free_of(places, self._paths(at)))

    @with_interval(NO_EVENT)
    def survival_at(self, endpoint: Any, times: Any) -> Array:
        """Probability of no event until a time of each row's own, (rows,)."""
        places, own = self._places(endpoint), np.asarray(times, dtype=np.float64)
        out = np.empty(self.n_rows)
        for begin in range(0, self.n_rows, _ROWS_AT_ONCE):
            rows = np.arange(begin, min(begin + _ROWS_AT_ONCE, self.n_rows))
            distinct, place = np.unique(own[rows], return_inverse=True)
            out[rows] = self._free_of(places, self._paths(distinct, rows))[np.arange(rows.size), place]
        return out

    @quantile_with_interval
    def quantile(self, endpoint: Any = None, q: float = 0.5) -> Array:
        """The time until which the event has happened with probability ``q``, (rows,); infinite where it is not reached."""
        places = self._places(endpoint)
        if not (isinstance(q, Real) and 0.0 < q < 1.0):
            raise ValueError(f"q must lie between 0 and 1; found {q!r}")
        end = self._end(places)

        def incidence(rows: Integers, times: Array) -> Array:
            return 1.0 - self._free_of(places, self._paths(times, rows))

        found = first_times(incidence, self.n_rows, end, float(q))
        return found if self.known is None or len(places) > 1 else np.clip(found, self.known.lower[:, places[0]], np.inf)

    @with_interval(WITHIN_UNTIL)
    def restricted_mean(self, endpoint: Any = None, *, until: float) -> Array:
        """Mean of the event time or ``until``, whichever comes first, (rows,); of several endpoints, of the first event."""
        places = self._places(endpoint)
        _check_until(until)
        if until > self._end(places):
            if self.warns:
                warn_of_no_mean(self.encoding.endpoints[places[0]], until)
            return np.full(self.n_rows, np.nan)
        free = [not self.course.has_happened(path, places) for path in self.course.paths]
        return np.asarray(self._time_on_paths(float(until))[free].sum(axis=0))

    @with_interval(between(-1.0, 0.0))
    def risk(self, endpoint: Any = None) -> Array:
        """Higher means sooner: minus the area over the cumulative incidence on the endpoint's time scale, (rows,)."""
        places = self._places(endpoint)
        scale = self.encoding.scales[places[0]]
        nodes, weights = gauss_legendre(_N_RISK)
        positions = 0.5 * scale.reach * (nodes + 1.0)
        at = np.append(scale.from_unit(positions), scale.end)
        alive = self._free_of(places, self._paths(at))
        area: Array = alive[:, :-1] @ (0.5 * scale.reach * weights) + alive[:, -1] * (1.0 - scale.reach)
        return -area

    # --- what is not answered ---

    def density(self, endpoint: Any = None, times: Any = None) -> Array:
        """Not available."""
        raise _refusal("densities", "cumulative_incidence")

    def hazard(self, endpoint: Any = None, times: Any = None) -> Array:
        """Not available."""
        raise _refusal("hazards", "cumulative_incidence")

    def joint_survival(self, times: Mapping[str, Any]) -> Array:
        """Not available."""
        raise _refusal("joint survival", "state_probabilities")

    def joint_density(self, times: Mapping[str, Any]) -> Array:
        """Not available."""
        raise _refusal("joint densities", "state_probabilities")

    # --- how ---

    def _places(self, endpoint: Any) -> tuple[int, ...]:
        names = (endpoint,) if endpoint is None or isinstance(endpoint, str) else tuple(endpoint)
        return tuple(self._place(name) for name in names)

    def _asked_for(self, endpoint: Any, times: Any) -> tuple[tuple[int, ...], Array]:
        places = self._places(endpoint)
        if times is None:
            return places, np.unique(np.concatenate([self.encoding.endpoints[e].event_times for e in places]))
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if at.ndim != 1 or np.isnan(at).any() or (at < 0.0).any():
            raise ValueError(f"times must be numbers that are not negative; found {times!r}")
        if self.warns:
            check_times(max((self.encoding.endpoints[e] for e in places), key=lambda own: own.follow_up.last), at)
        return places, at

    def _warn_if_prevented(self, places: tuple[int, ...]) -> None:
        if self.warns and self.course.may_be_prevented(places):
            names = " or ".join(repr(self.course.names[e]) for e in places)
            others = " or ".join(repr(n) for n in self.course.terminal if self.course.names.index(n) not in places)
            warn(
                f"{names} can be prevented by {others}: what is answered is the probability of no {names} until then, dead or alive, one "
                f"minus the cumulative incidence. For survival without either, ask for both endpoints",
                CompetingWarning,
            )

    def _free_of(self, places: tuple[int, ...], paths: Array) -> Array:
        free = [not self.course.has_happened(path, places) for path in self.course.paths]
        return np.asarray(np.minimum(paths[free].sum(axis=0), 1.0))

    def _end(self, places: tuple[int, ...]) -> float:
        return max(self.encoding.scales[e].end for e in places)

    def _time_on_paths(self, until: float) -> Array:
        """Mean time on each path, (paths, rows); rows of one history share the edges at which their probabilities have steps."""
        out = np.empty((len(self.course.paths), self.n_rows))
        breaks = _breaks(self.histories, until)
        groups = groups_of_intervals(*breaks.T)
        for group, first in enumerate(np.unique(groups, return_index=True)[1]):
            rows = np.flatnonzero(groups == group)
            edges = np.unique([0.0, *breaks[first], until])
            parts = max(2, _N_PANELS // (edges.size - 1))
            fine = np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in pairwise(edges)]))
            nodes, weights = panel_nodes(fine, _N_NODES)
            out[:, rows] = self._paths(nodes, rows) @ weights
        return out

    @property
    @abstractmethod
    def histories(self) -> Histories:
        """What is known of every row's course."""


class EpisodePrognosis(StatePrognosis, ModelPrognosis):
    """The prognosis of one model."""

    @property
    def histories(self) -> Histories:
        """What is known of every row's course."""
        assert self.encoding.episodes is not None
        if not hasattr(self, "_histories"):
            known = self.known or Endpoints.nothing(self.encoding.endpoint_names, self.n_rows)
            self._histories = self.encoding.episodes.histories(known)
        return self._histories

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        return self._by_part(np.arange(self.n_rows) if rows is None else rows, lambda own: own.probabilities(times))

    def _after(self, state: int, e: int, times: Array) -> Array:
        def answer(own: PathRows) -> Array:
            alive = own.tables.survival(own.tables.course.after(state, e), times)
            happened = (own.known.kind == e).any(axis=1, keepdims=True)  # its probability in a hidden state is then no news
            weights = own.weights * np.where(happened, 1.0, own.tables.kind(state, e))
            return np.asarray(((weights / weights.sum(axis=1, keepdims=True)) @ alive)[None])

        return np.asarray(self._by_part(np.arange(self.n_rows), answer)[0])

    def _alive_without(self, e: int, times: Array, until: float) -> Array:
        edges = np.unique(np.concatenate([times, np.linspace(0.0, until, _N_SPLIT + 1)]))
        edges = edges[edges <= until]
        place = np.searchsorted(edges, np.minimum(times, until))

        def answer(own: PathRows) -> Array:
            tables = own.tables
            free = tables.survival(0, edges)
            after = tables.survival(tables.course.after(0, e), until - 0.5 * (edges[:-1] + edges[1:]))
            passed = tables.kind(0, e)[:, None] * (free[:, :-1] - free[:, 1:]) * after
            later = np.concatenate([np.cumsum(passed[:, ::-1], axis=1)[:, ::-1], np.zeros((len(passed), 1))], axis=1)
            return np.asarray((own.weights @ (free[:, -1:] + later)[:, place])[None])

        return np.asarray(self._by_part(np.arange(self.n_rows), answer)[0])

    def _by_part(self, chosen: Integers, question: Callable[[PathRows], Array]) -> Array:
        """Answers (anything, chosen rows, times), part by part."""
        out: Array | None = None
        position = np.full(self.n_rows, -1)
        position[chosen] = np.arange(chosen.size)
        episodes = self.encoding.episodes
        assert episodes is not None
        for part in self._parts():
            asked = np.flatnonzero(position[part.places] >= 0)
            if not asked.size:
                continue
            assert isinstance(part.rows, KnownRows)
            assert isinstance(part.rows.hidden, Enumerated)
            hidden, places = part.rows.hidden, part.places[asked]
            tables = PathTables(episodes, part.rows.natural, self.encoding.layout, hidden.states)
            weights = hidden.weights if asked.size == len(hidden.weights) else hidden.weights[asked]
            answer = question(PathRows(tables, weights, self.histories.part(places)))
            if asked.size == chosen.size and (position[places] == np.arange(chosen.size)).all():
                return answer
            out = np.empty((len(answer), chosen.size, answer.shape[2])) if out is None else out
            out[:, position[places]] = answer
        assert out is not None, "a table without rows has no answers"
        return out


class EpisodeMixture(StatePrognosis, MixturePrognosis):
    """Of a mixture: probabilities of paths are averages over its components."""

    @property
    def histories(self) -> Histories:
        """What is known of every row's course."""
        first = self.parts[0]
        assert isinstance(first, EpisodePrognosis)
        return first.histories

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        weights = self.weights if rows is None else self.weights[:, rows]
        found = [w[:, None] * part._paths(times, rows) for w, part in self._components(weights)]
        return np.asarray(np.sum(found, axis=0))

    def _after(self, state: int, e: int, times: Array) -> Array:
        return np.asarray(np.sum([w[:, None] * part._after(state, e, times) for w, part in self._components(self.weights)], axis=0))

    def _alive_without(self, e: int, times: Array, until: float) -> Array:
        found = [w[:, None] * part._alive_without(e, times, until) for w, part in self._components(self.weights)]
        return np.asarray(np.sum(found, axis=0))

    def _components(self, weights: Array) -> list[tuple[Array, EpisodePrognosis]]:
        return [(w, part) for w, part in zip(weights, self.parts, strict=True) if isinstance(part, EpisodePrognosis)]


def _breaks(known: Histories, until: float) -> Array:
    """Times at which each row's probabilities have steps or bends, (rows, times); 0 where there is none before ``until``."""
    found = np.column_stack([known.lower, known.upper, known.entered, known.until, known.alive, known.dead])
    return np.where(np.isfinite(found) & (found < until), found, 0.0)


def _check_until(until: Any) -> None:
    if not (isinstance(until, int | float | np.integer | np.floating) and 0.0 < until < np.inf):
        raise ValueError(f"until must be a positive time; found {until!r}")


def _refusal(what: str, instead: str) -> ValueError:
    return ValueError(f"{what} are not available where an endpoint is terminal; ask for {instead}")
