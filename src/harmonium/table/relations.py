"""What endpoints have to do with each other: terminal events, and composites that are taken apart.

A terminal event, such as death, ends everything: no other event follows it. A composite, such as recurrence-free survival, is the earlier
of two events; taken apart, an event of both at the same time is a death without recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harmonium.errors import EndpointWarning, Problem, TableError, warn
from harmonium.table.frames import also, did_you_mean, rows_of
from harmonium.typing import Array, Booleans

__all__ = ["at_or_after", "order_problems", "take_apart", "terminal_names", "warn_if_terminal"]

_SAME = 1e-7  # relative difference of times that are the same, but for rounding
_MOSTLY = 0.5  # of those whose observation ends with a terminal event, beyond which an endpoint includes it
_FEW_EVENTS = 10  # below, an order may be a coincidence

Bounds = Mapping[str, Array]
"""Lower and upper bounds of one endpoint, by these names."""


def at_or_after(time: Array, other: Array) -> Booleans:
    """Whether a time is not before another, but for rounding."""
    return np.asarray(time >= other * (1.0 - _SAME))


def _after(time: Array, other: Array) -> Booleans:
    return np.asarray(time > other * (1.0 + _SAME))


def terminal_names(terminal: Any, names: Sequence[str]) -> tuple[str, ...]:
    """The endpoints that are terminal, in the table's order."""
    if not isinstance(terminal, str | tuple | list | set | frozenset):
        raise ValueError(f'terminal must be the name of an endpoint, or several names: terminal="death"; found {terminal!r}')
    stated = (terminal,) if isinstance(terminal, str) else tuple(terminal)
    for name in stated:
        if name not in names:
            raise ValueError(
                f"terminal names {name!r}, which is no endpoint{did_you_mean(str(name), names)}; there are {', '.join(map(repr, names))}"
            )
    return tuple(name for name in names if name in stated)


def take_apart(name: str, own: Bounds, included: str, other: Bounds) -> dict[str, Array]:
    """Bounds of what is left of a composite without the terminal event that it includes.

    Examples
    --------
    >>> rfs = {"lower": np.array([8.0, 9.0]), "upper": np.array([8.0, 9.0])}
    >>> death = {"lower": np.array([12.0, 9.0]), "upper": np.array([np.inf, 9.0])}
    >>> take_apart("recurrence", rfs, "death", death)["upper"]
    array([ 8., inf])
    """
    lower, upper = own["lower"], own["upper"]
    died = other["lower"] == other["upper"]
    seen = lower == upper
    together = died & at_or_after(lower, other["lower"])
    for wrong, rule in (
        (
            died & _after(lower, other["lower"]),
            "a composite cannot outlast an event that it includes; correct one of the times, or leave out including",
        ),
        (
            together & ~seen & (lower > 0.0),
            "the composite includes that event, and must have its own event then; set its event to 1, or leave out including",
        ),
    ):
        rows = rows_of(wrong)
        if rows:
            row, *others = rows
            what = "an event at" if seen[row] else "censored at"
            raise TableError(
                f"endpoint {name!r}, row {row}: {what} {lower[row]:g}, and {included!r} at {other['lower'][row]:g}; {rule}{also(rows)}",
                column=name,
                row=row,
                others=others,
            )
    both = together & seen
    return {**own, "lower": np.where(both, other["lower"], lower), "upper": np.where(both, np.inf, upper)}


def order_problems(names: Sequence[str], lower: Array, upper: Array, entry: Array, terminal: Sequence[str]) -> list[Problem]:
    """What cannot be if some endpoints are terminal: one problem of each kind, for each pair of endpoints."""
    problems = []
    for end in terminal:
        e = names.index(end)
        over = np.isfinite(upper[:, e])
        for a, name in enumerate(names):
            if a == e:
                continue
            happened = np.isfinite(upper[:, a])
            for wrong, rule in _contradictions(name, end, lower[:, a], upper[:, e], lower[:, e], happened, over, name in terminal):
                rows = rows_of(wrong)
                if rows:
                    row, *others = rows
                    found = f"{name} from {lower[row, a]:g} to {upper[row, a]:g}, {end} from {lower[row, e]:g} to {upper[row, e]:g}"
                    problems.append(Problem(f"endpoint {name!r}, row {row}: {rule} (found {found}){also(rows)}", name, row, tuple(others)))
    entered = entry.max(axis=1, initial=0.0)
    for a, name in enumerate(names if terminal else ()):
        rows = rows_of((upper[:, a] <= entered) & (entered > 0.0))
        if rows and upper[rows[0], a] > entry[rows[0], a]:
            row, *others = rows
            rule = f"an event at {upper[row, a]:g} lies before the subject entered, at {entered[row]:g}"
            advice = "where an event is terminal, entry is the same for all endpoints; leave the row out, or correct entry"
            problems.append(Problem(f"endpoint {name!r}, row {row}: {rule}; {advice}{also(rows)}", name, row, tuple(others)))
    return problems


def _contradictions(
    name: str, end: str, lower: Array, ended: Array, known_alive: Array, happened: Booleans, over: Booleans, both_terminal: bool
) -> list[tuple[Booleans, str]]:
    """Which rows are impossible, and what to write instead."""
    if both_terminal:
        return [(happened & over, f"{name!r} and {end!r} are both terminal, and only one of them can have happened; censor the other")]
    return [
        (over & happened & _after(lower, ended), f"an event after {end!r}, which is terminal; correct one of the times"),
        (
            over & ~happened & _after(lower, ended),
            f"followed up beyond {end!r}, which is terminal; censor it at the time of {end!r}",
        ),
        (
            ~over & (known_alive > 0.0) & _after(lower, known_alive),
            f"observed for longer than {end!r}, which is terminal and had not happened then; censor {end!r} no earlier",
        ),
    ]


def warn_if_terminal(names: Sequence[str], lower: Array, upper: Array) -> None:
    """Warn if an endpoint looks terminal: others were never observed beyond it, and often until just then."""
    event = lower == upper
    for e, end in enumerate(names):
        others = [a for a in range(len(names)) if a != e and _looks_ended(lower[:, a], event[:, a], lower[:, e], event[:, e])]
        if others:
            shown = " and ".join(repr(names[a]) for a in others)
            tied = event[:, e] & (lower[:, e] > 0.0) & at_or_after(lower[:, others[0]], lower[:, e])
            both = bool(event[tied, others[0]].mean() > _MOSTLY)
            composite = f'; {names[others[0]]!r} seems to include {end!r}: add "including": {end!r} to its definition' if both else ""
            warn(
                f"{end!r} looks terminal: {shown} was never observed beyond it. If nothing can follow it, write "
                f"terminal={end!r} (--terminal){composite}; if the endpoints have no order, write terminal=() (--terminal none)",
                EndpointWarning,
            )
            return


def _looks_ended(lower: Array, seen: Booleans, end: Array, over: Booleans) -> bool:
    known = over & (lower > 0.0)
    tied = known & at_or_after(lower, end)
    if known.sum() < _FEW_EVENTS or seen.sum() < _FEW_EVENTS or _after(lower, end)[known].any():
        return False
    earlier = seen & over & (lower < end)
    return bool(tied.any() and (earlier.any() or tied.sum() < known.sum()))
