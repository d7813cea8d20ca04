"""Courses of which a part was not seen, because one endpoint was followed for a shorter time than another.

Recurrences are found at visits, deaths in a register. Of a subject without recurrence at its last visit that died two years later, it is
not known whether a recurrence came between. To forget what is known beyond that visit would be to forget deaths, and often nothing but
deaths: survival would come out too high.

So such a row becomes several, each with a course that it may have had, and all together with its weight. Each has the share that it has
among subjects with the same observation, by the hazards of the events from state to state in what was seen of the table. Covariates have
no say in it. At most one event is thought of between the end of its follow-up and the last that is known of the subject, at one of a few
times.

Hazards are not found again from the courses, and these again from them, as the EM algorithm would: late hazards of an event that nobody
looked for then have nothing to hold on to, and in a simulation ran away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harmonium.table.course import Course
from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.endpoints import Endpoints
from harmonium.table.episodes import durations_of
from harmonium.table.hazard_fit import fit_hazard
from harmonium.table.hazard_spline import HazardSpline
from harmonium.table.histories import Histories, histories_of
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.typing import Array, Integers

__all__ = ["Completed", "completed"]

_N_TIMES = 4  # at which an event may have come: in the middle of equal parts of the time that was not seen
_LEAST = 0.02  # share of a course that is thought of
_LONGER = 1e-6  # relative: how much longer a subject must have been followed than an event of its


@dataclass(frozen=True)
class Completed:
    """A table in which every course is as well known as all its endpoints together say.

    Attributes
    ----------
    rows : ndarray of int
        The row of the table that each row stands for.
    y : Endpoints
    weights : RowWeights
    """

    rows: Integers
    y: Endpoints
    weights: RowWeights


def completed(y: Endpoints, weights: RowWeights = UNWEIGHTED, *, whole: bool = False) -> Completed:
    """A table with rows for all courses that subjects may have had; the same table if all of them were seen.

    ``whole``: with the likeliest course of each row alone, so that no row becomes several.

    Examples
    --------
    Recurrence at 1 and death at 2, three times; no recurrence until 1, but dead at 2:

    >>> lower, upper = np.array([[1.0, 2.0]] * 4), np.array([[1.0, 2.0]] * 3 + [[np.inf, 2.0]])
    >>> found = completed(Endpoints(("recurrence", "death"), lower, upper, np.zeros((4, 2)), ("death",)))
    >>> found.rows
    array([0, 1, 2, 3, 3, 3, 3])
    >>> found.weights.values.round(2)
    array([1.  , 1.  , 1.  , 0.48, 0.28, 0.16, 0.08])
    """
    n_rows = len(y.lower)
    same = Completed(np.arange(n_rows), y, weights)
    if not y.terminal:
        return same
    course = Course(y.names, y.terminal)
    found = histories_of(course, y)
    unseen = _unseen(course, y, found)
    if not unseen.size:
        return same
    possible = _Possible.of(course, y, found, unseen)
    own = np.ones(n_rows) if weights.values is None else weights.values
    seen = np.setdiff1d(np.arange(n_rows), unseen)
    rows, table = np.concatenate([seen, possible.rows]), _joined(y.part(seen), possible.endpoints(y))
    share = np.concatenate([np.ones(seen.size), possible.shares(_Hazards.of(course, found, durations_of(course, found, y), own))])
    order = np.lexsort([-share, rows])
    kept = order[share[order] > 0.0]
    if whole:
        kept = kept[np.unique(rows[kept], return_index=True)[1]]
    if kept.size > n_rows:
        weights = RowWeights((own[rows] * share)[kept], weights.smallest)
    return Completed(rows[kept], table.part(kept), weights)


def _unseen(course: Course, y: Endpoints, found: Histories) -> Integers:
    """Rows of which something is known beyond the time until which they were in their state, and no event that lies between two times."""
    chosen = (found.ended < 0) & (np.minimum(found.alive, found.dead) > found.until * (1.0 + _LONGER))
    for state in course.states:
        for endpoint in _passing(course, state):
            chosen &= (found.state != state) | np.isinf(y.upper[:, endpoint])
    return np.flatnonzero(chosen)


def _passing(course: Course, state: int) -> list[int]:
    return [endpoint for endpoint in course.options(state) if not course.is_terminal(endpoint)]


@dataclass(frozen=True)
class _Possible:
    """Courses that rows may have had, several for each of them; arrays have a place for each course.

    Attributes
    ----------
    course : Course
    rows : ndarray of int
        Whose course it is.
    state, entered, until : ndarray
        What was seen of it.
    end, cause : ndarray
        The last that is known of the row, and the terminal event then, or -1.
    event, at, width : ndarray
        The passing event that was not seen, or -1; when it came, and for how long a time that stands.
    """

    course: Course
    rows: Integers
    state: Integers
    entered: Array
    until: Array
    end: Array
    cause: Integers
    event: Integers
    at: Array
    width: Array

    @classmethod
    def of(cls, course: Course, y: Endpoints, found: Histories, unseen: Integers) -> _Possible:
        """Of rows whose course was not seen to its end."""
        cause = np.where(y.event[unseen, found.cause[unseen]], found.cause[unseen], -1)
        end = np.where(cause >= 0, found.dead[unseen], found.alive[unseen])
        nothing = np.full(unseen.size, -1)
        courses = [(np.arange(unseen.size), nothing, end, np.zeros(unseen.size))]
        for state in course.states:
            for endpoint in _passing(course, state):
                own = np.flatnonzero((found.state[unseen] == state) & (y.lower[unseen, endpoint] < end))
                start = y.lower[unseen[own], endpoint]
                width = (end[own] - start) / _N_TIMES
                courses += [(own, np.full(own.size, endpoint), start + (part + 0.5) * width, width) for part in range(_N_TIMES)]
        place, event, at, width = (np.concatenate(parts) for parts in zip(*courses, strict=True))
        rows = unseen[place]
        return cls(course, rows, found.state[rows], found.entered[rows], found.until[rows], end[place], cause[place], event, at, width)

    def endpoints(self, y: Endpoints) -> Endpoints:
        """What is known of subjects with these courses."""
        out, every = y.part(self.rows), np.arange(self.rows.size)
        for endpoint, name in enumerate(self.course.names):
            if name in self.course.passing:
                open_ended = np.isinf(out.upper[:, endpoint])
                out.lower[open_ended, endpoint] = np.maximum(out.lower[open_ended, endpoint], self.end[open_ended])
        came = self.event >= 0
        for bound in (out.lower, out.upper):
            bound[every[came], self.event[came]] = self.at[came]
        return out

    def shares(self, hazards: _Hazards) -> Array:
        """Which share of its row each course has; a row whose courses all seem impossible has had no further event."""
        ln = self._log_likelihoods(hazards)
        _, number = np.unique(self.rows, return_inverse=True)
        best = np.full(number.max() + 1, -np.inf)
        np.maximum.at(best, number, ln)
        possible = np.isfinite(best)[number]
        weight = np.where(possible, np.exp(ln - np.where(possible, best[number], 0.0)), self.event < 0)
        for least in (_LEAST, 0.0):
            weight = weight / np.bincount(number, weight)[number]
            weight = np.where(weight < least, 0.0, weight)
        return weight

    def _log_likelihoods(self, hazards: _Hazards) -> Array:
        """Of each course from where it was seen, given what was seen."""
        out = np.empty(self.rows.size)
        for state, event, cause in np.unique([self.state, self.event, self.cause], axis=1).T.tolist():
            own = (self.state == state) & (self.event == event) & (self.cause == cause)
            begin, at, end = self.entered[own], self.at[own], self.end[own]
            ln = hazards.log_staying(state, self.until[own] - begin, at - begin)  # without an event it comes to its end there
            last = state
            if event >= 0:
                ln += np.log(self.width[own]) + hazards.log_of(state, event, at - begin)
                last, begin = self.course.after(state, event), at
                ln += hazards.log_staying(last, np.zeros(at.size), end - begin)
            out[own] = ln if cause < 0 else ln + hazards.log_of(last, cause, end - begin)
        return out


@dataclass(frozen=True)
class _Hazards:
    """Of the events that end each state, by the time since it was entered; none of events that were not seen."""

    ends: dict[int, float]
    splines: dict[tuple[int, int], HazardSpline]

    @classmethod
    def of(cls, course: Course, found: Histories, durations: Endpoints, weights: Array) -> _Hazards:
        """From what was seen of rows with weights."""
        ends, splines = {}, {}
        for state in course.states:
            lower, upper = durations.lower[:, state], durations.upper[:, state]
            ends[state] = float(max(lower.max(initial=0.0), upper[np.isfinite(upper)].max(initial=0.0)))
            for endpoint in course.options(state):
                seen = ((found.source == state) & (found.kind == endpoint)).any(axis=1)
                if ends[state] > 0.0 and seen.any():
                    own = EndpointSummary.of("", lower, np.where(seen, upper, np.inf), weights=RowWeights(weights))
                    splines[state, endpoint] = HazardSpline.of(*fit_hazard(own, ends[state]))
        return cls(ends, splines)

    def log_staying(self, state: int, since: Array, until: Array) -> Array:
        """Ln of the probability that no event ends a state between two times."""
        out, end = np.zeros(since.size), self.ends[state]
        for (of, _), spline in self.splines.items():
            if of == state:
                out += spline.integral(since / end) - spline.integral(until / end)
        return out

    def log_of(self, state: int, endpoint: int, time: Array) -> Array:
        """Ln of the hazard of an event."""
        spline, end = self.splines.get((state, endpoint)), self.ends[state]
        return np.full(time.size, -np.inf) if spline is None else spline.log_hazard(time / end) - np.log(end)


def _joined(first: Endpoints, second: Endpoints) -> Endpoints:
    lower, upper, entry = (np.concatenate([getattr(part, name) for part in (first, second)]) for name in ("lower", "upper", "entry"))
    return replace(first, lower=lower, upper=upper, entry=entry)
