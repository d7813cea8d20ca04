"""What can happen, and in which order, where some endpoints are terminal.

A subject is in one of some *states*: which of the passing (not terminal) events have happened so far. In a state something lasts for a
time, the *duration*, and ends with one of the events that are still possible there, its *kind*: a passing event leads to another state, a
terminal one to the end. Recurrence and death: event-free, until recurrence or death; after recurrence, until death. Competing risks: one
state, until one of the causes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from harmonium.errors import TableError

__all__ = ["Course", "Path"]

_MOST_PASSING = 3  # two to the power of it are the states, each with a duration to learn

Path = tuple[int, int]
"""A state, and the terminal endpoint that ended it, or -1 for those who are in it."""


@dataclass(frozen=True)
class Course:
    """The endpoints, and which of them are terminal.

    Examples
    --------
    >>> course = Course(("recurrence", "death"), ("death",))
    >>> [course.label(path) for path in course.paths]
    ['event-free', 'recurrence', 'death without recurrence', 'death after recurrence']
    >>> [course.duration_name(state) for state in course.states]
    ['until the first event', 'after recurrence']
    """

    names: tuple[str, ...]
    terminal: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.passing) > _MOST_PASSING:
            raise TableError(
                f"at most {_MOST_PASSING} endpoints may come before a terminal one; found {', '.join(map(repr, self.passing))}. "
                "Leave some of them out, or make a composite of several"
            )

    @cached_property
    def passing(self) -> tuple[str, ...]:
        """Endpoints that are not terminal."""
        return tuple(name for name in self.names if name not in self.terminal)

    @property
    def states(self) -> range:
        """Numbers of all states: bit k is set if the k-th passing event has happened."""
        return range(1 << len(self.passing))

    def happened(self, state: int) -> tuple[str, ...]:
        """Passing events that have happened in a state."""
        return tuple(name for k, name in enumerate(self.passing) if state >> k & 1)

    def options(self, state: int) -> tuple[int, ...]:
        """Endpoints, by number, that may come next: passing ones first."""
        left = [name for name in self.passing if name not in self.happened(state)]
        return tuple(self.names.index(name) for name in (*left, *self.terminal))

    @property
    def transitions(self) -> list[tuple[int, int]]:
        """All states, each with every endpoint that may end it."""
        return [(state, endpoint) for state in self.states for endpoint in self.options(state)]

    def after(self, state: int, endpoint: int) -> int:
        """The state that a passing event leads to."""
        return state | 1 << self.passing.index(self.names[endpoint])

    def is_terminal(self, endpoint: int) -> bool:
        """Whether an endpoint, by number, ends everything."""
        return self.names[endpoint] in self.terminal

    @cached_property
    def branching(self) -> tuple[int, ...]:
        """States in which more than one event may come next, those with fewer possibilities first."""
        return tuple(sorted((state for state in self.states if len(self.options(state)) > 1), key=lambda s: (len(self.options(s)), s)))

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Where a subject may be: in a state, or at the end that followed a state."""
        ends = [self.names.index(name) for name in self.terminal]
        return (*((state, -1) for state in self.states), *((state, end) for end in ends for state in self.states))

    def label(self, path: Path) -> str:
        """In words."""
        state, end = path
        before = " and ".join(self.happened(state))
        if end < 0:
            return before or "event-free"
        if before:
            return f"{self.names[end]} after {before}"
        return f"{self.names[end]} without {' or '.join(self.passing)}" if self.passing else self.names[end]

    def duration_name(self, state: int) -> str:
        """What a state's duration is called in messages and files."""
        before = " and ".join(self.happened(state))
        return f"after {before}" if before else "until the first event"

    def has_happened(self, path: Path, endpoints: tuple[int, ...]) -> bool:
        """Whether one of some endpoints has happened on a path."""
        state, end = path
        return end in endpoints or any(self.names[e] in self.happened(state) for e in endpoints)

    def may_be_prevented(self, endpoints: tuple[int, ...]) -> bool:
        """Whether a terminal event that is none of some endpoints may come before them."""
        return any(self.names.index(name) not in endpoints for name in self.terminal)
