"""Drawn durations and kinds of events as times of endpoints, in an order that is possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.table.course import Course
from harmonium.table.endpoints import Endpoints
from harmonium.table.episodes import Episodes
from harmonium.table.histories import Histories
from harmonium.typing import Array, Booleans, Integers

__all__ = ["DrawnCourses", "drawn_courses"]


@dataclass(frozen=True)
class DrawnCourses:
    """What happened to drawn subjects.

    Attributes
    ----------
    times : ndarray of shape (n_rows, n_endpoints)
        Infinite where an event never happens, because a terminal one came first, or lies beyond follow-up.
    last : ndarray of shape (n_rows,)
        Until when the course was drawn: a terminal event, or the end of follow-up.
    possible : ndarray of bool, shape (n_rows,)
        Whether the course agrees with what is known of the subject; otherwise it has to be drawn again.
    """

    times: Array
    last: Array
    possible: Booleans

    def endpoints(self, course: Course, follow_up: Array | None) -> Endpoints:
        """As a table of endpoints, censored where follow-up ended before."""
        end = self.last if follow_up is None else np.minimum(self.last, follow_up)
        lower = np.minimum(self.times, end[:, None])
        upper = np.where(self.times <= end[:, None], lower, np.inf)
        return Endpoints(course.names, lower, upper, np.zeros_like(lower), course.terminal)


def drawn_courses(episodes: Episodes, outcomes: Array, known: Endpoints) -> DrawnCourses:
    """The courses that drawn outcomes (rows, durations and kinds) stand for, from what is known of each row on."""
    course, found = episodes.course, episodes.histories(known)
    times = np.full((len(outcomes), len(course.names)), np.inf)
    last = found.entered.copy()
    _take_known_steps(episodes, outcomes, found, times)
    active, state, entered = found.ended < 0, found.state.copy(), found.entered.copy()
    since = found.until
    for _ in range(len(course.passing) + 1):
        for number in np.unique(state[active]):
            rows = np.flatnonzero(active & (state == number))
            scale = episodes.durations[number].scale
            left = entered[rows] + scale.from_unit(np.minimum(outcomes[rows, number], 1.0 - 1e-12))
            happened = np.isfinite(left)
            left = np.maximum(left, np.nextafter(since[rows], np.inf))
            last[rows] = np.where(happened, left, np.maximum(entered[rows] + scale.end, since[rows]))
            active[rows[~happened]] = False
            _step(episodes, outcomes, int(number), rows[happened], left[happened], times, active, state)
            entered[rows[happened]] = left[happened]
        since = entered
        active &= np.isinf(found.dead)  # nothing more is taken to have happened to those who died, as where states are answered
    return _within_what_is_known(course, found, times, last)


def _step(
    episodes: Episodes, outcomes: Array, number: int, rows: Integers, left: Array, times: Array, active: Booleans, state: Integers
) -> None:
    """The drawn kind of event at its time."""
    course = episodes.course
    options = np.array(course.options(number))
    which = np.zeros(rows.size, dtype=np.int64)
    if options.size > 1:
        which = outcomes[rows, episodes.kind_place(number)].astype(np.int64)
    for place, e in enumerate(options):
        own = rows[which == place]
        times[own, e] = left[which == place]
        if course.is_terminal(int(e)):
            active[own] = False
        else:
            state[own] = course.after(number, int(e))


def _take_known_steps(episodes: Episodes, outcomes: Array, found: Histories, times: Array) -> None:
    """Events that are known; one between two times where its duration was drawn, inside its interval."""
    for step in range(found.kind.shape[1]):
        for state in episodes.course.states:
            rows = np.flatnonzero(found.source[:, step] == state)
            drawn = found.origin[rows, step] + episodes.durations[state].scale.from_unit(np.minimum(outcomes[rows, state], 1.0 - 1e-12))
            inside = np.clip(drawn, np.nextafter(found.lower[rows, step], np.inf), found.upper[rows, step])
            exact = found.lower[rows, step] == found.upper[rows, step]
            times[rows, found.kind[rows, step]] = np.where(exact, found.upper[rows, step], inside)


def _within_what_is_known(course: Course, found: Histories, times: Array, last: Array) -> DrawnCourses:
    """Of rows that are known to be dead: as known. Of rows known to be alive for longer than their course: whether they are."""
    ends = [course.names.index(name) for name in course.terminal]
    dead = np.flatnonzero(np.isfinite(found.dead))
    others = times[dead]
    others[np.arange(dead.size), found.cause[dead]] = np.inf
    of_another_cause = np.isfinite(others[:, ends]).any(axis=1)
    late = times[dead] >= found.dead[dead, None]
    late[:, ends] = True
    times[dead] = np.where(late, np.inf, times[dead])
    times[dead, found.cause[dead]] = last[dead] = found.dead[dead]
    possible = times[:, ends].min(axis=1) > np.where(found.ended < 0, found.alive, -1.0)
    possible[dead] = True
    for e in ends:  # should drawing again be of no avail, death comes right after the subject was known to be alive
        early = ~possible & np.isfinite(times[:, e])
        times[early, e] = np.nextafter(found.alive[early], np.inf)
    last = np.maximum(last, np.where(found.ended < 0, found.alive, 0.0))
    last = np.minimum(last, times[:, ends].min(axis=1))
    possible[dead] = ~of_another_cause
    return DrawnCourses(times, last, possible)
