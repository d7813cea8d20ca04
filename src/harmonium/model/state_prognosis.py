"""A prognosis where an endpoint is terminal: everything follows from the probabilities of all paths, which add up to one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from harmonium.errors import CompetingWarning, warn
from harmonium.model.confidence import EVENT, NO_EVENT, POSITIVE, SHARE, between
from harmonium.model.hidden import Answer
from harmonium.model.intervals import groups_of_intervals
from harmonium.model.path_quantiles import first_times
from harmonium.model.prognosis import Prognosis
from harmonium.model.quantile_interval import quantile_with_interval
from harmonium.model.with_interval import WITHIN_UNTIL, with_interval
from harmonium.numerics.quadrature import gauss_legendre, panel_nodes
from harmonium.table.checks import check_times, warn_of_no_mean
from harmonium.table.course import Course
from harmonium.table.histories import Histories
from harmonium.typing import Array, Booleans, Integers

__all__ = ["StatePrognosis"]

_N_PANELS, _N_NODES = 32, 8  # of an integral over time
_N_RISK = 24  # nodes of an integral over the time scale
_NOBODY = 1e-12  # is at risk: probabilities are not known better
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
    def _rates(self, times: Array) -> Array:
        """Derivatives of the probabilities of all paths in time, (paths, rows, times)."""

    @abstractmethod
    def _both(self, e: int, end: int, first: Array, last: Array) -> Array:
        """The only passing event until each of the first times, a terminal one until each of the last, (rows, first, last)."""

    # --- states ---

    @with_interval(EVENT, first=NO_EVENT)
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
        """Probability of no such event until each time and of no terminal one until ``until``, (rows, times)."""
        course = self.course
        if course.passing != (event,):
            raise ValueError(f"this is known of the only event that is not terminal; found {event!r}")
        places = [course.names.index(name) for name in (event, *course.terminal)]
        ends = [np.array([float(until)])] * len(course.terminal)
        return self._none_of(places, [np.atleast_1d(np.asarray(times, dtype=np.float64)), *ends]).reshape(self.n_rows, -1)

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
        places, own = self._places(endpoint), self._by_row(times)
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

    # --- densities ---

    @with_interval(POSITIVE)
    def density(self, endpoint: Any = None, times: Any = None) -> Array:
        """Derivative of the cumulative incidence, (rows, times), in one over the unit of time; of several endpoints, of the first event.

        NaN in rows whose event is known to have happened at some time, and beyond follow-up. It is found from the densities of durations by
        the integrals that give probabilities (eq. 34), since differences of these would lose digits and need care next to every step;
        relative to adaptive quadrature it is off by 1e-9, on a logarithmic time scale by 2e-8. Of rows that are known to be alive for
        longer than their course is known, while several events may have come, it is zero where the incidence as answered falls.
        """
        return self._rate(*self._asked_for(endpoint, times))

    @with_interval(POSITIVE)
    def hazard(self, endpoint: Any = None, times: Any = None) -> Array:
        """Density over the probability of being at risk, (rows, times): none of the endpoints asked for, and no terminal event.

        Of the only terminal endpoint it is the hazard of death, after other events or not; of a passing one, or of one of several causes,
        the cause-specific hazard. NaN where nobody is at risk, and where there is no density.
        """
        places, at = self._asked_for(endpoint, times)
        at_risk = [end < 0 and not self.course.has_happened((state, end), places) for state, end in self.course.paths]
        share = self._paths(at)[at_risk].sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(share > _NOBODY, self._rate(places, at) / share, np.nan)

    @with_interval(SHARE)
    def joint_survival(self, times: Mapping[str, Any]) -> Array:
        """Probability that no endpoint has had its event until its time, on the grid of ``times``, a mapping of endpoints.

        The shape is (rows, times of the first endpoint, of the second, ...). Whom a terminal event has kept from another one has not had
        that. Where several events may come before a terminal one, it is known of one endpoint, and of several terminal ones.
        """
        return self._none_of(*self._grid(times))

    def joint_density(self, times: Mapping[str, Any], *, interval: float | None = None) -> Array:
        """Not available."""
        raise ValueError(
            "event times together have no density where an endpoint is terminal: an event that is prevented never happens. Ask for "
            "joint_survival, or for the density of one endpoint or of the first of several"
        )

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

    def _rate(self, places: tuple[int, ...], times: Array) -> Array:
        """The derivative of the incidence; NaN where there is none."""
        happened = [self.course.has_happened(path, places) for path in self.course.paths]
        found = np.maximum(self._rates(times)[happened].sum(axis=0), 0.0)  # flows in and out, whose sum rounding may leave below zero
        return np.where(self._is_timed(places)[:, None] | (times > self._end(places)), np.nan, found)

    def _is_timed(self, places: tuple[int, ...]) -> Booleans:
        """Rows in which the first of some endpoints is known to have happened at some time, (rows,): a step, which has no density."""
        known, rows = self.histories, np.arange(self.n_rows)
        own = np.isin(known.kind, places)
        step = np.argmax(own, axis=1)
        at_once = known.lower[rows, step] >= known.upper[rows, step]
        return np.where(own.any(axis=1), at_once, np.isfinite(known.dead) & np.isin(known.cause, places))

    def _none_of(self, places: list[int], at: list[Array]) -> Array:
        """No event of any endpoint until its time: one, less the incidence of each, which counts those twice who have had both.

        That is a passing and a terminal one: two terminal events never happen to the same subject.
        """
        passing = [k for k, e in enumerate(places) if not self.course.is_terminal(e)]
        if passing and len(places) > 1 and len(self.course.passing) > 1:
            raise ValueError(
                f"joint survival is not known where several events may come before a terminal one, here "
                f"{' and '.join(map(repr, self.course.passing))}; ask for state_probabilities, or for one endpoint"
            )
        out = np.ones((self.n_rows, *(own.size for own in at)))
        for k, (e, own) in enumerate(zip(places, at, strict=True)):
            out -= _on_axes(1.0 - self._free_of((e,), self._paths(own)), [k], len(places))
        for first in passing:
            for last in (k for k, e in enumerate(places) if self.course.is_terminal(e)):
                out += _on_axes(self._both(places[first], places[last], at[first], at[last]), [first, last], len(places))
        return np.clip(out, 0.0, 1.0)

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


def _breaks(known: Histories, until: float) -> Array:
    """Times at which each row's probabilities have steps or bends, (rows, times); 0 where there is none before ``until``."""
    found = np.column_stack([known.lower, known.upper, known.entered, known.until, known.alive, known.dead])
    return np.where(np.isfinite(found) & (found < until), found, 0.0)


def _check_until(until: Any) -> None:
    if not (isinstance(until, int | float | np.integer | np.floating) and 0.0 < until < np.inf):
        raise ValueError(f"until must be a positive time; found {until!r}")


def _on_axes(values: Array, axes: list[int], n_axes: int) -> Array:
    """Values (rows, ...) whose other axes have these numbers among some, to be broadcast over the rest of them."""
    ordered = np.transpose(values, [0, *(1 + np.argsort(axes))])
    sizes = iter(ordered.shape[1:])
    return ordered.reshape(len(values), *(next(sizes) if axis in axes else 1 for axis in range(n_axes)))
