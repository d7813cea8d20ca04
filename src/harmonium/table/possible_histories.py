r"""Event histories of which a part was not seen: an event that is looked for at visits, before a terminal one that is known at its time.

Recurrences are found at visits, deaths in a register. Of a subject without recurrence at its last visit that died later, it is not known
whether a recurrence came between; of one with a recurrence, between which two visits it came. To forget what is known beyond the last
visit would be to forget deaths, and often nothing but deaths.

So such a row becomes several, each with a history that it may have had, and all together with its weight. What a history has of it is how
likely it is among subjects with the same observation, by hazards of the events from state to state that are constant between a few times
since the state was entered. These maximise the likelihood of what was seen of all rows (the EM algorithm), in which a history that nobody
saw to its end counts as well: hazards from whole histories only would have no death without recurrence where all are seen at visits.
Covariates have no say in it. At most one event is thought of between the last visit and the last that is known of the subject, at one of a
few times.

Hazards at times at which hardly anybody is looked for have little to hold on to, and would run away; so each has one event more than were
seen, at the mean rate of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from harmonium.errors import TableError
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories, histories_of
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array, Booleans, Integers

__all__ = ["Completed", "PossibleHistories", "Rule", "completed", "possible_histories"]

_N_TIMES = 4  # at which an event may have come, in training: in the middle of equal parts of the time that was not seen
_SHORT = 0.01  # of the longest follow-up: a time that was not seen and is shorter has one part
_LEAST = 0.02  # share of a history that is thought of
_LONGER = 1e-6  # relative: how much longer a subject must have been followed than an event of its
_N_PIECES = 3  # of a hazard, with as many events each; with six, simulations from which none is whole go astray (docs/decisions)
_FEWEST = 5  # histories with a terminal event and no intermediate one that are known, so that others may be hard to tell
_HARMLESS = 0.05  # of all rows, that are hard to tell: no probability can be further off than their share
_GAP = 0.05  # of mean follow-up, between last visits and terminal events: beyond, without these, simulations are off by more than .02
_MOST_ROUNDS = 500
_SETTLED = 1e-4  # change of a share from which on rounds end


@dataclass(frozen=True)
class Completed:
    """A table in which every history is as well known as all its endpoints together say.

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
    """A table with rows for all histories that subjects may have had; the same table if all of them were seen.

    ``whole``: with the likeliest history of each row alone, so that no row becomes several.

    Examples
    --------
    Recurrence at 1 and death at 2, three times; no recurrence until 1, but dead at 2:

    >>> lower, upper = np.array([[1.0, 2.0]] * 4), np.array([[1.0, 2.0]] * 3 + [[np.inf, 2.0]])
    >>> found = completed(Endpoints(("recurrence", "death"), lower, upper, np.zeros((4, 2)), ("death",)))
    >>> found.rows
    array([0, 1, 2, 3, 3, 3, 3])
    >>> found.weights.values.round(2)
    array([1.  , 1.  , 1.  , 0.68, 0.15, 0.09, 0.08])
    """
    n_rows = len(y.lower)
    same = Completed(np.arange(n_rows), y, weights)
    if not y.terminal:
        return same
    graph = StateGraph(y.names, y.terminal)
    found = histories_of(graph, y)
    # one that was never seen is not thought of; terminal ones between two times are left to the harmoniums, which take intervals
    events = [name for name in graph.intermediate if np.isfinite(y.upper[:, y.names.index(name)]).any()]
    possible = possible_histories(graph, y, found, Rule.of_middles(_N_TIMES), events)
    if possible.rows.size == n_rows and possible.y is y:
        return same
    _refuse_if_nobody_can_tell(graph, y, found)
    own = np.ones(n_rows) if weights.values is None else weights.values
    share = _shares(graph, possible, own)
    order = np.lexsort([-share, possible.rows])
    kept = order[share[order] > 0.0]
    if whole:
        kept = kept[np.unique(possible.rows[kept], return_index=True)[1]]
    if kept.size > n_rows:
        weights = RowWeights((own[possible.rows] * share)[kept], weights.smallest)
    return Completed(possible.rows[kept], possible.y.part(kept), weights)


def possible_histories(graph: StateGraph, y: Endpoints, found: Histories, rule: Rule, events: Sequence[str]) -> PossibleHistories:
    """All that rows may have had; one for each if all of them were seen.

    ``rule`` says at which times events may have come that were not seen, and ``events`` which: a terminal event between two times is
    several histories only if it is among them.
    """
    n_rows = len(y.lower)
    parts = [
        own
        for own in (*_between_visits(graph, y, found, rule, events), *_after_the_last_visit(graph, y, found, rule, events))
        if own.rows.size
    ]
    if not parts:
        return PossibleHistories(np.arange(n_rows), y, np.zeros(n_rows))
    seen = np.setdiff1d(np.arange(n_rows), np.concatenate([own.rows for own in parts]))
    out = PossibleHistories.joined([PossibleHistories(seen, y.part(seen), np.zeros(seen.size)), *parts])
    further = possible_histories(graph, out.y, histories_of(graph, out.y), rule, events)  # of events between two times, one by one
    return PossibleHistories(out.rows[further.rows], further.y, out.log_width[further.rows] + further.log_width)


class Rule(NamedTuple):
    """Places and weights on [0, 1] of an integral over a time that was not seen."""

    places: Array
    weights: Array

    @classmethod
    def of_middles(cls, n: int) -> Rule:
        """In the middle of equal parts."""
        return cls((np.arange(n) + 0.5) / n, np.full(n, 1.0 / n))


@dataclass(frozen=True)
class PossibleHistories:
    """Histories that rows may have had.

    Attributes
    ----------
    rows : ndarray of int
        Whose history it is.
    y : Endpoints
        What is known of a subject with this history.
    log_width : ndarray
        Ln of the time for which the time of an event that was not seen stands.
    """

    rows: Integers
    y: Endpoints
    log_width: Array

    @classmethod
    def joined(cls, parts: list[PossibleHistories]) -> PossibleHistories:
        """All of them."""
        lower, upper, entry = (np.concatenate([getattr(own.y, name) for own in parts]) for name in ("lower", "upper", "entry"))
        y = replace(parts[0].y, lower=lower, upper=upper, entry=entry)
        return cls(np.concatenate([own.rows for own in parts]), y, np.concatenate([own.log_width for own in parts]))


def _intermediate(graph: StateGraph, state: int) -> list[int]:
    return [endpoint for endpoint in graph.options(state) if not graph.is_terminal(endpoint)]


def _longest(y: Endpoints) -> float:
    return float(y.lower.max(initial=0.0))


def _times(y: Endpoints, begin: Array, end: Array, rule: Rule) -> Iterator[tuple[Integers, Array, Array]]:
    """Which spans have a time of some number, that time, and the width for which it stands."""
    short = end - begin < _SHORT * _longest(y)
    for number, (place, weight) in enumerate(zip(*rule, strict=True)):
        chosen = np.flatnonzero(~short) if number else np.arange(short.size)
        width = end[chosen] - begin[chosen]
        at, own = (np.where(short[chosen], one, several) for one, several in ((0.5, place), (1.0, weight)))
        yield chosen, begin[chosen] + at * width, own * width


def _between_visits(graph: StateGraph, y: Endpoints, found: Histories, rule: Rule, events: Sequence[str]) -> Iterator[PossibleHistories]:
    """Histories of rows with an event between two times, the earliest such event, of which everything is known from there on."""
    between = (
        np.isfinite(y.upper) & (y.upper > y.lower) & np.isin(np.arange(len(graph.names)), [graph.names.index(name) for name in events])
    )
    earliest = np.argmin(np.where(between, y.lower, np.inf), axis=1)
    for e in (graph.names.index(name) for name in events):
        own = between[:, e] & (earliest == e) & (found.kind == e).any(axis=1)
        rows = np.flatnonzero(own & ((found.ended >= 0) | (np.minimum(found.alive, found.dead) <= found.until * (1.0 + _LONGER))))
        for chosen, at, width in _times(y, y.lower[rows, e], y.upper[rows, e], rule):
            own = y.part(rows[chosen])
            if graph.is_terminal(e):
                own.lower[:] = np.minimum(own.lower, at[:, None])  # nothing is observed after it
            own.lower[:, e] = own.upper[:, e] = at
            yield PossibleHistories(rows[chosen], own, np.log(width))


def _after_the_last_visit(
    graph: StateGraph, y: Endpoints, found: Histories, rule: Rule, events: Sequence[str]
) -> Iterator[PossibleHistories]:
    """Of rows of which something is known beyond the time until which they were in their state, and no event between two times."""
    end = np.minimum(found.alive, found.dead)
    unseen = (found.ended < 0) & (end > found.until * (1.0 + _LONGER))
    for state in graph.states:
        for endpoint in _intermediate(graph, state):
            unseen &= (found.state != state) | np.isinf(y.upper[:, endpoint])
    if unseen.any():
        rows = np.flatnonzero(unseen)
        yield PossibleHistories(rows, _nothing_passed(graph, y, rows, end[rows]), np.zeros(rows.size))
    for state in graph.states:
        for e in (e for e in _intermediate(graph, state) if graph.names[e] in events):
            rows = np.flatnonzero(unseen & (found.state == state) & (y.lower[:, e] < end))
            for chosen, at, width in _times(y, y.lower[rows, e], end[rows], rule):
                own = _nothing_passed(graph, y, rows[chosen], end[rows[chosen]])
                own.lower[:, e] = own.upper[:, e] = at
                yield PossibleHistories(rows[chosen], own, np.log(width))


def _nothing_passed(graph: StateGraph, y: Endpoints, rows: Integers, end: Array) -> Endpoints:
    """Rows in which no intermediate event is left to come until the last that is known of them."""
    out = y.part(rows)
    for e in (graph.names.index(name) for name in graph.intermediate):
        open_ended = np.isinf(out.upper[:, e])
        out.lower[open_ended, e] = np.maximum(out.lower[open_ended, e], end[open_ended])
    return out


# --- how likely each is ---


def _shares(graph: StateGraph, possible: PossibleHistories, weights: Array) -> Array:
    """Which share of its row each history has; a row whose histories all seem impossible is shared out evenly."""
    stays, row, n_rows = _Stays.of(graph, possible.y), possible.rows, weights.size
    share = 1.0 / np.bincount(row, minlength=n_rows)[row]
    for _ in range(_MOST_ROUNDS):
        ln = possible.log_width + stays.log_likelihoods(weights[row] * share)
        best = np.full(n_rows, -np.inf)
        np.maximum.at(best, row, ln)
        likely = np.where(np.isfinite(best[row]), np.exp(ln - np.nan_to_num(best[row], neginf=0.0)), 1.0)
        before, share = share, likely / np.bincount(row, likely, n_rows)[row]
        if np.abs(share - before).max() < _SETTLED:
            break
    share = np.where(share < _LEAST, 0.0, share)
    return np.asarray(share / np.bincount(row, share, n_rows)[row])


def _refuse_if_nobody_can_tell(graph: StateGraph, y: Endpoints, found: Histories) -> None:
    """Refuse a table that says too little about terminal events without an intermediate one."""
    known = int(((found.ended >= 0) & (found.state == 0)).sum())
    unseen = (found.ended < 0) & (found.state == 0) & np.isfinite(found.dead) & np.isinf(y.upper[:, _intermediate(graph, 0)]).all(axis=1)
    looked_for = np.isfinite(y.upper[:, _intermediate(graph, 0)]).any()
    gap = float((found.dead - found.until)[unseen].mean() / np.minimum(found.alive, found.dead).mean()) if unseen.any() else 0.0
    if known >= _FEWEST or unseen.sum() <= max(_HARMLESS * unseen.size, _FEWEST) or not looked_for or gap <= _GAP:
        return
    first, end = " or ".join(map(repr, graph.intermediate)), " or ".join(map(repr, graph.terminal))
    raise TableError(
        f"whether {first} came before {end} cannot be told from this table: of {int(unseen.sum()) + known} rows with {end} and "
        f"no {first} until the last visit, {known} are known to have had none, and the time between the last visit and {end} is too "
        f"long for the others ({gap:.0%} of mean follow-up). Needed are at least {_FEWEST} rows in which {first} was looked for until "
        f"{end} and not found (the time of {end} is then the lower bound of {first}), or visits at shorter intervals. "
        "Otherwise leave out one of them, or terminal="
    )


@dataclass(frozen=True)
class _Stays:
    """Times that histories spend in states, once for each event that may end them.

    Attributes
    ----------
    n_histories : int
    history : ndarray of int
        Whose stay it is.
    transition : ndarray of int
        Number of the state and the event.
    happened : ndarray of bool
        Whether this event ended the stay.
    exposure : ndarray of shape (n, pieces)
        Time spent in each piece of the transition's hazard.
    piece : ndarray of int
        In which the stay ended.
    """

    n_histories: int
    history: Integers
    transition: Integers
    happened: Booleans
    exposure: Array
    piece: Integers

    @classmethod
    def of(cls, graph: StateGraph, y: Endpoints) -> _Stays:
        """Of all histories."""
        owner, state, kind, begin, end = _stays(graph, y)
        parts = []
        for number, (s, e) in enumerate(graph.transitions):
            own = np.flatnonzero(state == s)
            happened = kind[own] == e
            ends = end[own][happened] if happened.any() else end[own]
            inner = np.quantile(ends, np.arange(1, _N_PIECES) / _N_PIECES) if own.size else np.zeros(_N_PIECES - 1)
            low, high = np.append(0.0, inner), np.append(inner, np.inf)
            exposure = np.maximum(np.minimum(end[own, None], high) - np.maximum(begin[own, None], low), 0.0)
            parts.append((owner[own], np.full(own.size, number), happened, exposure, np.searchsorted(inner, end[own])))
        return cls(len(y.lower), *(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def log_likelihoods(self, weights: Array) -> Array:
        """Of all histories, by the hazards that histories with these weights have."""
        own, size = weights[self.history], (int(self.transition.max()) + 1) * _N_PIECES
        events = np.bincount(self.transition * _N_PIECES + self.piece, own * self.happened, size).reshape(-1, _N_PIECES)
        time = np.column_stack([np.bincount(self.transition, own * spent, len(events)) for spent in self.exposure.T])
        total, spent = events.sum(axis=1, keepdims=True), time.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            hazards = np.where((total > 0.0) & (spent > 0.0), (events + 1.0) / (time + spent / total), 0.0)
            ln = np.where(self.happened, np.log(hazards[self.transition, self.piece]), 0.0)
        ln -= (self.exposure * hazards[self.transition]).sum(axis=1)
        return np.asarray(np.bincount(self.history, ln, self.n_histories), dtype=np.float64)


def _stays(graph: StateGraph, y: Endpoints) -> tuple[Integers, Integers, Integers, Array, Array]:
    """Whose stays there are, in which states, which event ended each, -1 if none, and from when to when, since the state was entered."""
    found, entry = histories_of(graph, y), y.entry.max(axis=1)
    left, step = np.nonzero(found.source >= 0)
    here = np.flatnonzero(found.ended < 0)
    owner, state = np.concatenate([left, here]), np.concatenate([found.source[left, step], found.state[here]])
    kind = np.concatenate([found.kind[left, step], np.full(here.size, -1)])
    end = np.concatenate([found.lower[left, step] - found.origin[left, step], found.until[here] - found.entered[here]])
    return owner, state, kind, np.where(state == 0, entry[owner], 0.0), np.maximum(end, 0.0)
