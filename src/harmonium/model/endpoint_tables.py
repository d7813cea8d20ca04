"""Training tables of single endpoints where endpoints are ordered: a row for each sojourn in which the endpoint could happen.

How such a table is encoded, by time scales of the states and covariates that say which state it is, is concluded from summaries of its
sojourns. Those of parts of a table, which may lie on several machines, are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harmonium.model.transitions import positions_of, state_covariates
from harmonium.table.column_summary import ColumnSummary, summarise_column
from harmonium.table.columns import Column, conclude_column
from harmonium.table.encoding import Encoding, conclude_endpoints
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import EndpointRows, endpoint_rows, histories_of
from harmonium.table.possible_histories import completed
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.state_graph import StateColumns, StateGraph
from harmonium.table.time_scale import TimeScale, time_scale_of
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.ties import TiedTimes, ties_as_intervals
from harmonium.typing import Array

__all__ = [
    "EndpointForm",
    "EndpointSettings",
    "EndpointTable",
    "SojournSummary",
    "conclude_form",
    "conclude_scales",
    "endpoint_tables",
    "known_rows",
    "summarise_positions",
    "summarise_sojourns",
]

_FEWEST_EVENTS = 5  # for a time scale of a state's own
_FEWEST_TIMES = 3  # different ones, at which a state was entered, for these to be a covariate


class EndpointSettings(NamedTuple):
    """What is asked of the tables of endpoints.

    Attributes
    ----------
    conditional : float
        Weight of the conditional likelihood.
    time_scale, horizon, numeric_scale
        See :class:`harmonium.SurvivalHarmonium`.
    whole : bool
        Whether a subject is taken to have had its likeliest history, since training takes no parts of rows.
    """

    conditional: float
    time_scale: str
    horizon: float | Mapping[str, float] | None
    numeric_scale: str
    whole: bool = False


# --- what sojourns say ---


@dataclass(frozen=True)
class SojournSummary:
    """Sojourns in which an endpoint could happen, in a table or a part of it; summaries of several parts can be merged.

    Attributes
    ----------
    times : dict
        For each state in which the endpoint could happen: times since it was entered.
    entered : ColumnSummary
        When states other than the first were entered.
    """

    times: dict[int, EndpointSummary]
    entered: ColumnSummary

    def merged(self, other: SojournSummary) -> SojournSummary:
        """Of the sojourns of both."""
        times = {state: own.merged(other.times[state]) for state, own in self.times.items()}
        return SojournSummary(times, self.entered.merged(other.entered))

    @property
    def seen(self) -> list[int]:
        """States in which somebody was."""
        return [state for state, own in self.times.items() if own.n_rows]


def summarise_sojourns(graph: StateGraph, own: EndpointRows, weights: RowWeights = UNWEIGHTED) -> SojournSummary:
    """Summary of an endpoint's rows, which may have weights."""
    times, name, later = {}, own.times.names[0], own.state > 0
    for state in (state for state in graph.states if own.endpoint in graph.options(state)):
        rows = own.state == state
        times[state] = EndpointSummary.of(name, own.times.lower[rows, 0], own.times.upper[rows, 0], weights=weights.part(rows))
    entered, _ = summarise_column(pd.Series(own.entered[later], dtype=np.float64), "numeric", weights=weights.part(later).values)
    return SojournSummary(times, entered)


def conclude_scales(graph: StateGraph, found: SojournSummary, settings: EndpointSettings) -> tuple[TimeScale | None, ...]:
    """Of every state in which the endpoint may happen; those in which it hardly did share one, or that of all states."""
    assert not isinstance(settings.horizon, Mapping), "event histories have one horizon"
    events = {state: own.count[np.isfinite(own.upper)].sum() for state, own in found.times.items()}
    rare = [state for state, number in events.items() if number < _FEWEST_EVENTS]
    shared = rare if sum(events[state] for state in rare) >= _FEWEST_EVENTS else list(events)
    scales = {state: time_scale_of(found.times[state], settings.time_scale, settings.horizon) for state in events if state not in rare}
    if rare:
        pooled = reduce(_pooled, (found.times[state] for state in shared))
        scales |= dict.fromkeys(rare, time_scale_of(pooled, settings.time_scale, settings.horizon))
    return tuple(scales.get(state) for state in graph.states)


def _pooled(one: EndpointSummary, other: EndpointSummary) -> EndpointSummary:
    """Of both, with no times cut."""
    return one.merged(other, most=one.count.size + other.count.size)


def summarise_positions(scales: tuple[TimeScale | None, ...], own: EndpointRows, weights: RowWeights = UNWEIGHTED) -> EndpointSummary:
    """Summary of an endpoint's times as positions on the scales of its states."""
    (found,) = summarise_endpoints(positions_of(scales, own), weights)
    return found


# --- how a table is encoded ---


@dataclass(frozen=True)
class EndpointForm:
    """How the rows of one endpoint are encoded.

    Attributes
    ----------
    endpoint : int
    scales : tuple of TimeScale or None
        Of each state.
    columns : StateColumns
    encoding : Encoding
        Of positions on these scales, given covariates and state.
    tied : TiedTimes
        Positions that several rows have.
    """

    endpoint: int
    scales: tuple[TimeScale | None, ...]
    columns: StateColumns
    encoding: Encoding
    tied: TiedTimes

    def objective(
        self, study: Encoding, covariates: Array, own: EndpointRows, conditional: float, weights: Array | None = None
    ) -> Objective:
        """The objective of rows of the table from which this was learned, of whose subjects ``covariates`` are."""
        values = state_covariates(self.encoding, self.columns, study, covariates[own.rows], own.state, own.entered)
        times = positions_of(self.scales, own)
        cells, entry = self.encoding.cells(values, ties_as_intervals(times, [self.tied])), self.encoding.entry(times)
        if weights is None:
            return Objective(cells, entry, conditional)
        return WeightedObjective(cells, entry, conditional, weights, weights)


def conclude_form(
    study: Encoding,
    endpoint: int,
    scales: tuple[TimeScale | None, ...],
    found: SojournSummary,
    positions: EndpointSummary,
    settings: EndpointSettings,
) -> EndpointForm:
    """What is learned from the summaries of an endpoint's sojourns and of their positions on these scales."""
    assert study.ordered is not None
    columns, named = _state_columns(study.ordered.graph, study, found, settings.numeric_scale)
    smooth = settings.time_scale == "kaplan-meier"
    scale = ("kaplan-meier", None) if smooth else ("linear", 1.0)
    learned = conclude_endpoints([positions], *scale, timed=False)
    return EndpointForm(endpoint, scales, named, Encoding((*study.columns, *columns), learned), TiedTimes.of(positions))


def _state_columns(graph: StateGraph, study: Encoding, found: SojournSummary, numeric_scale: str) -> tuple[list[Column], StateColumns]:
    """Covariates that say which state it is, and when it was entered."""
    taken, out = {column.name for column in study.columns}, []
    happened: list[str | None] = []
    for k, event in enumerate(graph.intermediate):
        varies = len({state >> k & 1 for state in found.seen}) > 1
        happened.append(_free_name(f"after {event}", taken) if varies else None)
        if happened[-1] is not None:
            out.append(Column(happened[-1], "binary", "float64", (0.0, 1.0)))
    later = [state for state in found.seen if state > 0]
    if not later or len(later) == len(found.seen) or found.entered.tally.values.size < _FEWEST_TIMES:
        return out, StateColumns(tuple(happened))
    last = graph.intermediate[0] if len(graph.intermediate) == 1 else "the last event"
    name = _free_name(f"time of {last}", taken)
    out.append(replace(conclude_column(replace(found.entered, name=name), "numeric", numeric_scale), missing=0.0))
    return out, StateColumns(tuple(happened), name)


def _free_name(name: str, taken: set[str]) -> str:
    """A name that no column of the study has."""
    while name in taken:
        name += "'"
    return name


# --- tables ---


@dataclass(frozen=True)
class EndpointTable:
    """The training table of one endpoint.

    Attributes
    ----------
    form : EndpointForm
    objective : Objective, or another with rows elsewhere
        Of the table as it was recorded.
    """

    form: EndpointForm
    objective: Any

    def of_subjects(self, study: Encoding, covariates: Array, y: Endpoints, conditional: float) -> EndpointTable:
        """The table of some of the study's subjects, in memory."""
        own = known_rows(study, y)[self.form.endpoint]
        return EndpointTable(self.form, self.form.objective(study, covariates, own, conditional))


def known_rows(study: Encoding, y: Endpoints) -> list[EndpointRows]:
    """The rows of every endpoint, of event histories as far as they are known."""
    assert study.ordered is not None
    graph = study.ordered.graph
    found = histories_of(graph, y)
    return [endpoint_rows(graph, found, y, e) for e in range(len(graph.names))]


def endpoint_tables(
    study: Encoding, covariates: Array, y: Endpoints, weights: RowWeights, settings: EndpointSettings
) -> list[EndpointTable]:
    """The training tables of all endpoints, from a study's encoded covariates and endpoints in memory."""
    assert study.ordered is not None
    graph, seen = study.ordered.graph, completed(y, weights, whole=settings.whole)
    values, out = covariates[seen.rows], []
    for e, own in enumerate(known_rows(study, seen.y)):
        by_row = seen.weights.part(own.rows)
        found = summarise_sojourns(graph, own, by_row)
        scales = conclude_scales(graph, found, settings)
        form = conclude_form(study, e, scales, found, summarise_positions(scales, own, by_row), settings)
        out.append(EndpointTable(form, form.objective(study, values, own, settings.conditional, by_row.values)))
    return out
