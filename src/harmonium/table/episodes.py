"""Episodes: endpoints of which some are terminal, as cells in which any order that was seen is possible, and no other.

For every state of a :class:`~harmonium.table.course.Course` there is a duration, with a time scale of its own, and for every state that
may end in several ways a kind. Recurrence and death:

===============================  ==================  ==========  ===================
what was seen                    until first event   kind        after recurrence
===============================  ==================  ==========  ===================
nothing until c                  (c, inf)            free        free
recurrence at r, alive at c      r                   recurrence  (c - r, inf)
recurrence at r, death at d      r                   recurrence  d - r
death at d without recurrence    d                   death       free
===============================  ==================  ==========  ===================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harmonium.errors import EndpointWarning, warn
from harmonium.table.calibration import calibration_of
from harmonium.table.course import Course
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.follow_up import FollowUp, follow_up_of
from harmonium.table.histories import Histories, histories_of
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.table.observed import observed_counts
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.time_scale import time_scale_of
from harmonium.typing import Array

__all__ = ["EpisodeSummary", "Episodes", "conclude_episodes", "durations_of", "kinds_of", "summarise_episodes"]


@dataclass(frozen=True)
class Episodes:
    """What was learned of the durations.

    Attributes
    ----------
    course : Course
    durations : tuple of LearnedEndpoint
        Of each state.
    follow_up : FollowUp
        How long subjects were observed.
    """

    course: Course
    durations: tuple[LearnedEndpoint, ...]
    follow_up: FollowUp

    @property
    def n_kinds(self) -> tuple[int, ...]:
        """How many kinds of events may end each branching state."""
        return tuple(len(self.course.options(state)) for state in self.course.branching)

    def kind_place(self, state: int) -> int:
        """Place of a state's kind among the outcomes; the durations come first."""
        return len(self.durations) + self.course.branching.index(state)

    def histories(self, y: Endpoints) -> Histories:
        """What is known of each row's course."""
        if y.terminal and set(y.terminal) != set(self.course.terminal):
            raise ValueError(
                f"the model was fitted with terminal={self.course.terminal!r}; found a table of endpoints with terminal={y.terminal!r}"
            )
        return histories_of(self.course, y)

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {
            "terminal": list(self.course.terminal),
            "durations": [duration.to_dict() for duration in self.durations],
            "follow_up": self.follow_up.to_list(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], names: tuple[str, ...]) -> Episodes:
        """From a model file; event times of durations are of no use there."""
        durations = tuple(LearnedEndpoint.from_dict(duration, np.empty(0)) for duration in stored["durations"])
        return cls(Course(names, tuple(stored["terminal"])), durations, FollowUp.from_list(stored["follow_up"]))


@dataclass(frozen=True)
class EpisodeSummary:
    """What a table, or a part of it, says of durations, in a form that summaries of several parts can be merged into.

    Attributes
    ----------
    course : Course
    durations : tuple of EndpointSummary
        Of each state.
    subjects : EndpointSummary
        Of whole subjects, whose observation ends with any terminal event.
    """

    course: Course
    durations: tuple[EndpointSummary, ...]
    subjects: EndpointSummary

    def merged(self, other: EpisodeSummary) -> EpisodeSummary:
        """Of the rows of both, which have the same course."""
        durations = tuple(mine.merged(theirs) for mine, theirs in zip(self.durations, other.durations, strict=True))
        return EpisodeSummary(self.course, durations, self.subjects.merged(other.subjects))


def durations_of(course: Course, found: Histories, y: Endpoints) -> Endpoints:
    """Bounds of the durations of all states, in the user's unit."""
    out = Endpoints.nothing(tuple(course.duration_name(state) for state in course.states), len(found.state))
    for step in range(found.kind.shape[1]):
        for state in course.states:
            rows = np.flatnonzero(found.source[:, step] == state)
            out.lower[rows, state] = np.maximum(found.lower[rows, step] - found.origin[rows, step], 0.0)
            out.upper[rows, state] = np.maximum(found.upper[rows, step] - found.origin[rows, step], 0.0)
    rows = np.flatnonzero(found.ended < 0)
    out.lower[rows, found.state[rows]] = np.maximum(found.until[rows] - found.entered[rows], 0.0)
    out.entry[:, 0] = y.entry.max(axis=1)
    return out


def kinds_of(course: Course, found: Histories) -> Array:
    """Which event ended each branching state, by its number among the state's options; NaN where it is not known to have ended."""
    out = np.full((len(found.state), len(course.branching)), np.nan)
    for place, state in enumerate(course.branching):
        for number, endpoint in enumerate(course.options(state)):
            out[((found.source == state) & (found.kind == endpoint)).any(axis=1), place] = number
    return out


def summarise_episodes(y: Endpoints, weights: RowWeights = UNWEIGHTED) -> EpisodeSummary | None:
    """Of a table; None if no endpoint is terminal."""
    if not y.terminal:
        return None
    course = Course(y.names, y.terminal)
    durations = durations_of(course, histories_of(course, y), y)
    return EpisodeSummary(course, summarise_endpoints(durations, weights), _summarise_subjects(course, y, weights))


def conclude_episodes(found: EpisodeSummary | None, time_scale: str, horizon: Any) -> Episodes | None:
    """What is learned of the durations of which this is the summary: their time scales, above all."""
    if found is None:
        return None
    if isinstance(horizon, Mapping):
        raise ValueError("where an endpoint is terminal, the horizon must be one time for all endpoints; found a mapping")
    _warn_if_nobody_was_followed(found)
    learned = tuple(_learned(own, found.durations, time_scale, horizon) for own in found.durations)
    return Episodes(found.course, learned, follow_up_of(found.subjects))


def _warn_if_nobody_was_followed(found: EpisodeSummary) -> None:
    """Warn of passing events after which nothing is known of anybody: what follows them can only be made up."""
    course = found.course
    for state, own in zip(course.states, found.durations, strict=True):
        if len(course.happened(state)) == 1 and own.censored.all() and not own.lower.any():
            (event,), ends = course.happened(state), " or ".join(map(repr, course.terminal))
            warn(
                f"nobody was observed after {event!r}: of {ends} after it a model can only guess. If observation ended with {event!r}, "
                f"write terminal={(event, *course.terminal)} (or add --terminal {event})",
                EndpointWarning,
            )


def _learned(own: EndpointSummary, all_of_them: Sequence[EndpointSummary], time_scale: str, horizon: float | None) -> LearnedEndpoint:
    """A state that nobody left in training borrows the time scale of all durations together."""
    times = own
    if not (~own.censored).any():
        for other in all_of_them:
            times = times if other is own else times.merged(replace(other, name=own.name))
    scale = time_scale_of(times, time_scale, horizon)
    calibration = calibration_of(own, scale) if times is own else None
    return LearnedEndpoint(own.name, scale, times.first_time, follow_up_of(own), observed_counts(own), np.empty(0), calibration)


def _summarise_subjects(course: Course, y: Endpoints, weights: RowWeights) -> EndpointSummary:
    ends = [course.names.index(name) for name in course.terminal]
    upper = y.upper[:, ends].min(axis=1)
    lower = np.minimum(y.lower.max(axis=1), upper)
    return EndpointSummary.of("subjects", lower, upper, weights=weights)
