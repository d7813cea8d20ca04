"""The states that a subject can be in where some endpoints are terminal, and which event leads from one to another.

A *state* says which of the intermediate (not terminal) events have happened so far. A stay in a state, a *sojourn*, ends with one of the
events that are still possible there: an intermediate event leads to another state, a terminal one is absorbing. Recurrence and death:
event-free, until recurrence or death; after recurrence, until death. Competing risks: one state, until one of the causes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from harmonium.errors import TableError

__all__ = ["Path", "StateColumns", "StateGraph"]

_MOST_INTERMEDIATE = 6  # two to the power of it are the states; with six, one answer sums over 64 of them

Path = tuple[int, int]
"""A state, and the terminal endpoint that ended it, or -1 for those who are in it."""


@dataclass(frozen=True)
class StateGraph:
    """The endpoints, and which of them are terminal.

    Examples
    --------
    >>> graph = StateGraph(("recurrence", "death"), ("death",))
    >>> [graph.label(path) for path in graph.paths]
    ['event-free', 'recurrence', 'death without recurrence', 'death after recurrence']
    """

    names: tuple[str, ...]
    terminal: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.intermediate) > _MOST_INTERMEDIATE:
            raise TableError(
                f"at most {_MOST_INTERMEDIATE} endpoints may come before a terminal one; found {', '.join(map(repr, self.intermediate))}. "
                "Leave some of them out, or make a composite of several"
            )

    @cached_property
    def intermediate(self) -> tuple[str, ...]:
        """Endpoints that are not terminal."""
        return tuple(name for name in self.names if name not in self.terminal)

    @property
    def states(self) -> range:
        """Numbers of all states: bit k is set if the k-th intermediate event has happened."""
        return range(1 << len(self.intermediate))

    def happened(self, state: int) -> tuple[str, ...]:
        """Intermediate events that have happened in a state."""
        return tuple(name for k, name in enumerate(self.intermediate) if state >> k & 1)

    def options(self, state: int) -> tuple[int, ...]:
        """Endpoints, by number, that may come next: intermediate ones first."""
        left = [name for name in self.intermediate if name not in self.happened(state)]
        return tuple(self.names.index(name) for name in (*left, *self.terminal))

    @property
    def transitions(self) -> list[tuple[int, int]]:
        """All states, each with every endpoint that may end it."""
        return [(state, endpoint) for state in self.states for endpoint in self.options(state)]

    def after(self, state: int, endpoint: int) -> int:
        """The state that an intermediate event leads to."""
        return state | 1 << self.intermediate.index(self.names[endpoint])

    def is_terminal(self, endpoint: int) -> bool:
        """Whether an endpoint, by number, ends everything."""
        return self.names[endpoint] in self.terminal

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
        return f"{self.names[end]} without {' or '.join(self.intermediate)}" if self.intermediate else self.names[end]

    def has_happened(self, path: Path, endpoints: tuple[int, ...]) -> bool:
        """Whether one of some endpoints has happened on a path."""
        state, end = path
        return end in endpoints or any(self.names[e] in self.happened(state) for e in endpoints)

    def may_be_prevented(self, endpoints: tuple[int, ...]) -> bool:
        """Whether a terminal event that is none of some endpoints may come before them."""
        return any(self.names.index(name) not in endpoints for name in self.terminal)


@dataclass(frozen=True)
class StateColumns:
    """Names of the covariates that say which state a subject is in.

    Attributes
    ----------
    happened : tuple of (str or None)
        Whether each intermediate event has happened; None if that never varies among the endpoint's rows.
    when : str or None
        When the last of them happened; in the first state, the middle of all times.
    """

    happened: tuple[str | None, ...] = ()
    when: str | None = None
