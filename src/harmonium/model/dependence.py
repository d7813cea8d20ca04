r"""Dependence between two endpoints: Kendall's tau under the model.

Two subjects in states h and h' are concordant with a probability that is known for each endpoint, and endpoints are independent given the
states, so tau is a sum over pairs of states (eq. 25).

Tables of numbers that depend on the model alone, such as Kendall's tau, with intervals along its spread, without refits.

What an event that happened does to the hazard of a terminal one: dependence in terms that are identified.

Kendall's tau of recurrence and death would need recurrences after death. What the data do tell is how those fare who had the event at some
time, and those who lived on without it. The ratio of their hazards afterwards is the cross ratio (Clayton 1978; Oakes 1989), here of
cumulative hazards over a window:

.. math:: \theta(t) = \frac{\ln P(D > t + w \mid E = t, D > t)}{\ln P(D > t + w \mid E > t, D > t)},

with both probabilities averaged over subjects. One: the event tells nothing. That survival after the event depends on its time shows down
the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harmonium.cells import Cells
from harmonium.model.answering import Answering
from harmonium.model.confidence import CORRELATION, NO_EVENT, POSITIVE, Scale, check_level, interval_of
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import Enumerated, hidden_given, row_chunks
from harmonium.model.known_rows import KnownRows
from harmonium.model.spread import STEP, moved
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["cross_ratio", "dependence_with_spread", "kendall_tau", "with_spread"]

_N_PANELS, _N_NODES = 64, 8
_MOST_STATES = 1024  # whose pairs are tabulated; with more states, they are drawn
_N_DRAWS = 64


class _Pairs(NamedTuple):
    """An endpoint pair in all states: the first endpoint's shapes and rates, and the second's."""

    first: EndpointStates
    second: EndpointStates

    def both_earlier(self) -> Array:
        """P(both events are earlier in state h than in state h'), (states, states)."""
        return _earlier(self.first) * _earlier(self.second)


def kendall_tau(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """Kendall's tau (eq. 25) of two columns between all rows, and among subjects with the same cells, averaged over rows.

    ``chunks`` are parts of the rows; both columns are to be free. ``rng`` is used if there are many hidden states.
    """
    hidden = chunks[0].hidden
    if not isinstance(hidden, Enumerated) or len(hidden.states) > _MOST_STATES:
        return _tau_of_draws(chunks, columns, rng)
    both = _pair(chunks[0], columns, hidden.states).both_earlier()
    overall, among_equal, n_rows = np.zeros(len(hidden.states)), 0.0, 0
    for chunk in chunks:
        weights = chunk.hidden.weights  # type: ignore[union-attr]
        overall += weights.sum(axis=0)
        among_equal += float(np.sum((weights @ both) * weights))
        n_rows += len(weights)
    mean = overall / n_rows
    return 4.0 * float(mean @ both @ mean) - 1.0, 4.0 * among_equal / n_rows - 1.0


def _tau_of_draws(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """As :func:`kendall_tau`, from states drawn for every row."""
    parts, among_equal = [], []
    n_rows = sum(chunk.cells.n_rows for chunk in chunks)
    for drawn in _drawn_pairs(chunks, columns, rng):
        among_equal.append(_mean_of_pairs(drawn.both_earlier()))
        kept = slice(None) if n_rows < _N_DRAWS else slice(0, 1)
        parts.append(_Pairs(*(EndpointStates(states.shape[kept], states.rate[kept]) for states in drawn)))
    everybody = _Pairs(*(_joined([part[k] for part in parts]) for k in range(2)))
    chosen = rng.permutation(everybody.first.shape.size)[:_MOST_STATES]
    sample = _Pairs(*(EndpointStates(states.shape[chosen], states.rate[chosen]) for states in everybody))
    return 4.0 * _mean_of_pairs(sample.both_earlier()) - 1.0, 4.0 * float(np.mean(among_equal)) - 1.0


def _drawn_pairs(chunks: Sequence[KnownRows], columns: tuple[int, int], rng: np.random.Generator) -> Iterator[_Pairs]:
    """Of every row, both endpoints in some states drawn for it."""
    for chunk in chunks:
        draws = np.stack([chunk.hidden.draw(rng) for _ in range(_N_DRAWS)], axis=1)  # (rows, draws, hidden)
        for own in draws:
            yield _pair(chunk, columns, own)


def _pair(rows: KnownRows, columns: tuple[int, int], states: Array) -> _Pairs:
    """Both endpoints in some states."""
    first, second = (rows.endpoint(c, states) for c in columns)
    return _Pairs(first, second)


def _joined(parts: Sequence[EndpointStates]) -> EndpointStates:
    return EndpointStates(np.concatenate([part.shape for part in parts]), np.concatenate([part.rate for part in parts]))


def _mean_of_pairs(both: Array) -> float:
    """The mean over pairs of different draws."""
    n = len(both)
    return float(both.sum() - np.trace(both)) / (n * (n - 1))


def _earlier(endpoint: EndpointStates) -> Array:
    """P(x < x' | h, h') (eq. 25): the density in h times survival in h', integrated."""
    positions, weights = panel_nodes(np.linspace(0.0, 1.0, _N_PANELS + 1), _N_NODES)
    out: Array = (endpoint.density(positions) * weights) @ endpoint.survival(positions).T
    return 0.5 * (out + 1.0 - out.T)  # P(x < x') and P(x' < x) add up to one


def endpoint_pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """All pairs of endpoints."""
    if len(names) < 2:
        raise ValueError("dependence needs at least two endpoints; the model has one")
    return list(combinations(range(len(names)), 2))


def dependence(fitted: Answering, covariates: Array) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.dependence`; of encoded covariates."""
    encoding, names = fitted.encoding, fitted.encoding.endpoint_names
    if encoding.ordered is not None:
        raise ValueError(
            "Kendall's tau is not identified where a terminal event prevents another; ask for cross_ratio: how those fare who had an "
            "event, and those who had none"
        )
    pairs = endpoint_pairs(names)
    cells, rng = encoding.cells(covariates), np.random.default_rng(fitted.seed)
    chunks = _all_rows(fitted, cells, rng)
    found = [kendall_tau(chunks, (encoding.column_of(a), encoding.column_of(b)), rng) for a, b in pairs]
    out = pd.DataFrame(found, columns=["tau", "tau_given_covariates"])
    out.index = pd.MultiIndex.from_tuples([(names[a], names[b]) for a, b in pairs])
    return out


def _all_rows(fitted: Answering, cells: Cells, rng: np.random.Generator) -> list[KnownRows]:
    """Rows with their hidden states, in parts that fit into memory; nothing being known of the endpoints."""
    chunks, seed = [], int(rng.integers(2**63))
    for rows in row_chunks(cells, fitted.n_hidden):
        part = cells.part(rows)
        hidden = hidden_given(fitted.parameters, part, np.random.default_rng(seed), fitted.n_jobs, fitted.covariate_units)
        chunks.append(KnownRows(fitted.parameters.natural(), part, hidden))
    return chunks


def dependence_with_spread(fitted: Answering, covariates: Array, interval: float) -> pd.DataFrame:
    """Tau of each pair of endpoints and, on Fisher's scale, its interval."""
    level, out = check_level(interval), dependence(fitted, covariates)
    return with_spread(out, fitted, lambda model: dependence(model, covariates), (CORRELATION, CORRELATION), level)


def with_spread(
    table: pd.DataFrame, fitted: Answering, ask: Callable[[Any], pd.DataFrame], scales: Sequence[Scale], level: float
) -> pd.DataFrame:
    """A table and the limits of its columns, each on a scale of its own.

    ``ask`` is the question of which the table is the answer, or one whose answer moves as much with the model.
    """
    model: Any = fitted
    base, variance = ask(model).to_numpy(), np.zeros(table.shape)
    for candidate in _moved(model):
        variance += ((ask(candidate).to_numpy() - base) / STEP) ** 2
    out = table.copy()
    for k, (name, scale) in enumerate(zip(table.columns, scales, strict=True)):
        found = interval_of(table[name].to_numpy(), np.sqrt(variance[:, k]), level, scale)
        out[f"{name}_lower"], out[f"{name}_upper"] = found.lower, found.upper
    return out


def _moved(model: Any) -> Iterator[Any]:
    """The model with parameters that are a little further along each direction of its spread, and of those of single endpoints."""
    if model.transitions is not None:
        for e, own in enumerate(model.transitions.models):
            _need(own.spread)
            for direction in own.spread.directions[1:]:
                yield replace(model, transitions=model.transitions.moved(e, None, STEP * direction))
        return
    _need(model.spread)
    for direction in model.spread.directions[1:]:
        yield replace(model, parameters=moved(model.parameters, STEP * direction))


def _need(spread: Any) -> None:
    if spread is None:
        raise ValueError("the model has no intervals: it was trained without a likelihood")


_LEVELS = (0.25, 0.5, 0.75)  # quantiles of event times at which is asked if no times are given
_MOST_ROWS = 200  # for intervals
_COLUMNS = ("survival_after", "survival_without", "cross_ratio")


@dataclass(frozen=True)
class _Question:
    """An event, a terminal endpoint, both by number, times of the event and how long after it is asked."""

    event: int
    endpoint: int
    times: Array
    within: float

    def known(self, encoding: Encoding, n_rows: int, time: float, *, happened: bool) -> Endpoints:
        """Subjects who are alive at a time, without any other event, and with the one asked about then or not."""
        out = Endpoints.nothing(encoding.endpoint_names, n_rows)
        out.lower[:] = time
        if happened:
            out.upper[:, self.event] = time
        return out

    def answer(self, fitted: Answering, covariates: Array, *, warns: bool = False) -> pd.DataFrame:
        """A row for each time."""
        alive = np.empty((self.times.size, 2))
        for i, time in enumerate(self.times):
            for k, happened in enumerate((True, False)):
                prognosis = fitted.ask(covariates, self.known(fitted.encoding, len(covariates), float(time), happened=happened))
                prognosis.warns = warns
                alive[i, k] = prognosis.survival(fitted.encoding.endpoint_names[self.endpoint], [time + self.within]).mean()
        ratio = np.log(alive[:, 0]) / np.log(alive[:, 1])
        return pd.DataFrame(np.column_stack([alive, ratio]), columns=list(_COLUMNS), index=pd.Index(self.times, name="time"))


def cross_ratio(
    fitted: Answering, covariates: Array, event: str | None, endpoint: str | None, times: Any, within: Any, interval: float | None
) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.cross_ratio`; of encoded covariates."""
    question = _asked(fitted, event, endpoint, times, within)
    out = question.answer(fitted, covariates, warns=True)
    if interval is None:
        return out
    some = covariates[np.unique(np.linspace(0, len(covariates) - 1, _MOST_ROWS).astype(int))]
    return with_spread(out, fitted, lambda model: question.answer(model, some), (NO_EVENT, NO_EVENT, POSITIVE), check_level(interval))


def _asked(fitted: Answering, event: str | None, endpoint: str | None, times: Any, within: Any) -> _Question:
    encoding = fitted.encoding
    if encoding.ordered is None or fitted.transitions is None:
        raise ValueError('a cross ratio needs a terminal endpoint (terminal="death"); ask for dependence, Kendall\'s tau')
    graph = encoding.ordered.graph
    if not graph.intermediate:
        raise ValueError(f"no event comes before {' or '.join(map(repr, graph.terminal))}: there is nothing to compare")
    first = _named("event", event, graph.intermediate)
    second = _named("endpoint", endpoint, graph.terminal)
    a, b = (encoding.endpoint_names.index(name) for name in (first, second))
    if within is None:
        state = graph.after(0, a)
        scale = fitted.transitions.of(b, state).scale(state)
        within = float(scale.from_unit(np.array(0.5 * scale.reach)))
    if isinstance(within, bool) or not (isinstance(within, Real) and 0.0 < float(within) < np.inf):
        raise ValueError(f"within must be a positive time after the event; found {within!r}")
    return _Question(a, b, _times(encoding, a, b, times, float(within)), float(within))


def _named(what: str, name: str | None, choice: Sequence[str]) -> str:
    if name is None and len(choice) == 1:
        return choice[0]
    if name is None or name not in choice:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, choice))}; found {name!r}")
    return name


def _times(encoding: Encoding, event: int, endpoint: int, times: Any, within: float) -> Array:
    """Times of the event: those given, or quartiles of its times in training, as far as follow-up reaches beyond."""
    seen = encoding.endpoints[event].event_times
    if times is None:
        found = np.quantile(seen[seen > 0.0], _LEVELS)
        return np.unique(found[found + within <= encoding.endpoints[endpoint].scale.end])
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if at.ndim != 1 or not at.size or not (at > 0.0).all():
        raise ValueError(f"times must be positive times of the event; found {times!r}")
    return at
