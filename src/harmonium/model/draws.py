"""Draws of what was not observed, given what was: independent ones where hidden states can be enumerated.

Event histories drawn from a harmonium of each endpoint, state after state: of the events that may come next, the one that comes first.

What is missing of a subject is drawn first: one of many candidates for its covariates and for what is not known of its history, by how
likely each is (sampling importance resampling).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.gibbs import Chains
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.completions import HistoryCompletions
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.model.transitions import Transitions
from harmonium.table.encoding import NARROWEST, Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.possible_histories import Rule
from harmonium.typing import Array, Integers

__all__ = ["DrawnHistories", "completed_subjects", "draw_tables", "simulate_histories"]

_N_BURN_IN = 300
_SWEEPS_BETWEEN = 30


def draw_tables(
    parameters: Parameters,
    cells: Cells,
    n_draws: int,
    rng: np.random.Generator,
    n_threads: int | None = None,
    units: CovariateUnits | None = None,
) -> Iterator[Array]:
    """Completed tables (rows, columns): observed cells as they are, the others drawn together.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    n_draws : int
    rng : numpy.random.Generator
    n_threads : int, optional
    units : CovariateUnits, optional
        How covariates are distributed, which decides on the hidden states of rows with missing ones; covariates themselves are then not
        drawn as they are distributed.
    """
    if parameters.n_hidden > EXACT_LIMIT:
        yield from _by_gibbs(parameters, cells, n_draws, rng, n_threads)
        return
    natural = parameters.natural()
    chunks = list(row_chunks(cells, parameters.n_hidden))
    kept = hidden_given(parameters, cells, rng, n_threads, units) if len(chunks) == 1 else None
    for _ in range(n_draws):
        out = np.empty((cells.n_rows, cells.layout.n_columns))
        for rows in chunks:
            part = cells.part(rows)
            hidden = kept or hidden_given(parameters, part, rng, n_threads, units)
            chains = Chains.start(parameters, part, rng, values=_anything(part), n_threads=n_threads)
            chains.draw_given(natural.bias[:, None] + natural.coupling @ hidden.draw(rng).T, n_threads)
            out[rows] = chains.values
        yield out


def _by_gibbs(parameters: Parameters, cells: Cells, n_draws: int, rng: np.random.Generator, n_threads: int | None) -> Iterator[Array]:
    chains = Chains.start(parameters, cells, rng, n_threads=n_threads)
    for k in range(n_draws):
        chains.sweep(parameters, _SWEEPS_BETWEEN if k else _N_BURN_IN, n_threads)
        yield chains.values.copy()


def _anything(cells: Cells) -> Array:
    """Some value for every cell, to be drawn over."""
    return np.ones((cells.n_rows, cells.layout.n_columns))


_LAST = 1.0 - 1e-12  # the last position of a drawn event
_CANDIDATES = 64  # for the missing covariates of a subject of whose history something is known; effective numbers are 29 at least
_TIMES = 16  # of an event that was not seen


@dataclass(frozen=True)
class DrawnHistories:
    """What happened to drawn subjects.

    Attributes
    ----------
    times : ndarray of shape (n_rows, n_endpoints)
        Infinite where an event never happens, because a terminal one came first, or lies beyond follow-up.
    last : ndarray of shape (n_rows,)
        Until when the history was drawn: a terminal event, or the end of follow-up.
    """

    times: Array
    last: Array

    def endpoints(self, encoding: Encoding, follow_up: Array | None = None) -> Endpoints:
        """As a table of endpoints, censored where follow-up ended before."""
        assert encoding.ordered is not None
        end = self.last if follow_up is None else np.minimum(self.last, follow_up)
        lower = np.minimum(self.times, end[:, None])
        upper = np.where(self.times <= end[:, None], lower, np.inf)
        return Endpoints(encoding.endpoint_names, lower, upper, np.zeros_like(lower), encoding.ordered.graph.terminal, encoding.unit)


def completed_subjects(
    encoding: Encoding,
    parameters: Parameters,
    transitions: Transitions,
    cells: Cells,
    known: Endpoints,
    rng: np.random.Generator,
    n_threads: int | None = None,
) -> tuple[Array, Histories]:
    """Draw what is missing of subjects, whose histories are then known until some time.

    Parameters
    ----------
    encoding : Encoding
    parameters : Parameters
        Of covariates.
    transitions : Transitions
    cells : Cells
        Of covariates; an interval is where a missing number must lie.
    known : Endpoints
    rng : numpy.random.Generator
    n_threads : int, optional

    Returns
    -------
    covariates : ndarray
    known : Histories
    """
    n_rows = len(known.lower)
    lower, upper = cells.bounds() if cells.layout.n_columns else (np.empty((n_rows, 0)),) * 2
    told = (known.lower > 0.0).any(axis=1) | np.isfinite(known.upper).any(axis=1)
    rows = np.repeat(np.arange(n_rows), np.where((lower != upper).any(axis=1) & told, _CANDIDATES, 1))
    values = next(draw_tables(parameters, cells.part(rows), 1, rng, n_threads)) if cells.layout.n_columns else lower
    places = (np.arange(_TIMES) + rng.random(_TIMES)) / _TIMES
    rule = Rule(places, np.full(_TIMES, 1.0 / _TIMES))
    possible = HistoryCompletions.joined(encoding, n_rows, rows, values, np.zeros(rows.size), known, rule)
    found = possible.given(transitions, encoding)
    chosen = found.drawn(rng)
    return found.covariates[chosen], found.known.part(chosen)


def simulate_histories(
    transitions: Transitions,
    encoding: Encoding,
    covariates: Array,
    known: Histories,
    rng: np.random.Generator,
    n_threads: int | None = None,
) -> DrawnHistories:
    """Draw what follows on what is known of each row.

    Parameters
    ----------
    transitions : Transitions
    encoding : Encoding
        Of the study.
    covariates : ndarray
        Encoded, without missing values.
    known : Histories
        Of each row.
    rng : numpy.random.Generator
    n_threads : int, optional
    """
    graph, n_rows = transitions.graph, len(covariates)
    drawing = _Drawing(transitions, encoding, covariates, rng, n_threads)
    times = np.full((n_rows, len(graph.names)), np.inf)
    for step in range(known.kind.shape[1]):
        rows = np.flatnonzero(known.source[:, step] >= 0)
        times[rows, known.kind[rows, step]] = drawing.within(known, step, rows)
    state, entered, going = known.state.copy(), known.entered.copy(), known.ended < 0
    since, last = np.maximum(known.until - known.entered, 0.0), np.where(going, 0.0, np.where(np.isfinite(times), times, 0.0).max(axis=1))
    for own in sorted(graph.states, key=int.bit_count):
        rows = np.flatnonzero(going & (state == own))
        if not rows.size:
            continue
        lasted, which = drawing.leave(own, rows, entered[rows], since[rows])
        happened = np.isfinite(lasted)
        ends = max(transitions.of(e, own).scale(own).end for e in graph.options(own))
        last[rows] = entered[rows] + np.where(happened, lasted, np.maximum(ends, since[rows]))
        entered[rows[happened]] += lasted[happened]
        times[rows[happened], which[happened]] = entered[rows[happened]]
        since[rows] = 0.0
        going[rows[~happened]] = False
        for e in graph.options(own):
            gone = rows[happened & (which == e)]
            going[gone] = not graph.is_terminal(e)
            if not graph.is_terminal(e):
                state[gone] = graph.after(own, e)
    return DrawnHistories(times, last)


@dataclass(frozen=True)
class _Drawing:
    transitions: Transitions
    encoding: Encoding
    covariates: Array
    rng: np.random.Generator
    n_threads: int | None

    def within(self, known: Histories, step: int, rows: Integers) -> Array:
        """Times of steps that were taken: as known, or drawn between the times between which they were."""
        lower, upper = known.lower[rows, step], known.upper[rows, step]
        out, source, kind = upper.copy(), known.source[rows, step], known.kind[rows, step]
        wide = upper > lower
        for state, e in {(int(s), int(k)) for s, k in zip(source[wide], kind[wide], strict=True)}:
            own = np.flatnonzero(wide & (source == state) & (kind == e))
            begun = known.origin[rows[own], step]
            since, until = (np.maximum(bound[own] - begun, 0.0) for bound in (lower, upper))
            found = begun + self._times(e, state, rows[own], begun, since, until)
            out[own] = np.clip(found, np.nextafter(lower[own], np.inf), upper[own])
        return np.asarray(out)

    def leave(self, state: int, rows: Integers, entered: Array, since: Array) -> tuple[Array, Integers]:
        """How long a state lasts, infinite beyond follow-up, and the endpoint that happens then."""
        options = np.array(self.transitions.graph.options(state))
        times = np.column_stack([self._times(int(e), state, rows, entered, since) for e in options])
        first = np.argmin(times, axis=1)
        return times[np.arange(rows.size), first], options[first]

    def _times(self, e: int, state: int, rows: Integers, entered: Array, since: Array, until: Array | None = None) -> Array:
        """Times since a state was entered at which an endpoint happens, after ``since`` and until another time."""
        model = self.transitions.of(e, state)
        covariates = model.covariates(self.encoding, self.covariates[rows], state, entered)
        begun = since > 0.0
        lower = np.minimum(model.positions(state, since), 1.0 - NARROWEST)
        if until is None:
            low, high = np.where(begun, lower, np.nan), np.where(begun, 1.0, np.nan)
        else:
            low, high = lower, np.minimum(np.maximum(model.positions(state, until), lower + NARROWEST), 1.0)
        cells = Cells.joined(model.encoding.layout, covariates, low[:, None], high[:, None])
        drawn = next(draw_tables(model.parameters, cells, 1, self.rng, self.n_threads))[:, model.encoding.layout.outcomes.start]
        return np.maximum(model.times(state, np.minimum(drawn, _LAST)), np.nextafter(since, np.inf))
