"""Training of a harmonium for each endpoint, where endpoints know each other (:mod:`harmonium.model.endpoint_model`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from harmonium.model.endpoint_model import EndpointModel, StateColumns, positions_of, state_covariates
from harmonium.model.endpoint_models import EndpointModels
from harmonium.model.fitted import Fitted
from harmonium.table.columns import Column, learn_column
from harmonium.table.course import Course
from harmonium.table.encoding import Encoding, conclude_endpoints
from harmonium.table.endpoint_rows import EndpointRows, endpoint_rows
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import histories_of
from harmonium.table.row_weights import RowWeights
from harmonium.table.time_scale import TimeScale, time_scale_of
from harmonium.table.unseen_courses import completed
from harmonium.typing import Array, Booleans

__all__ = ["EndpointTable", "endpoint_models"]

_FEWEST_EVENTS = 5  # of every endpoint, and for a time scale of a state's own
_FEWEST_TIMES = 3  # different ones, at which a state was entered, for these to be a covariate


@dataclass(frozen=True)
class EndpointTable:
    """The training table of one endpoint, encoded.

    Attributes
    ----------
    scales : tuple of TimeScale or None
        Of each state.
    columns : StateColumns
    encoding : Encoding
    covariates : ndarray
    known : Endpoints
        Positions on the scales.
    weights : RowWeights
    """

    scales: tuple[TimeScale | None, ...]
    columns: StateColumns
    encoding: Encoding
    covariates: Array
    known: Endpoints
    weights: RowWeights


def endpoint_models(
    encoding: Encoding,
    covariates: Array,
    y: Endpoints,
    weights: RowWeights,
    *,
    time_scale: str,
    horizon: float | Mapping[str, float] | None,
    numeric_scale: str,
    fit: Callable[[EndpointTable], Fitted],
) -> EndpointModels | None:
    """A model for each endpoint; None where endpoints are modelled together only, or one of them has hardly happened.

    Parameters
    ----------
    encoding : Encoding
        Of the study, in whose columns ``covariates`` are encoded.
    covariates : ndarray
    y : Endpoints
    weights : RowWeights
    time_scale, horizon, numeric_scale
        See :class:`harmonium.SurvivalHarmonium`.
    fit : callable
        Trains a harmonium of one endpoint.
    """
    if encoding.episodes is None or not covariates.shape[1]:
        return None
    course, seen = encoding.episodes.course, completed(y, weights)
    found = histories_of(course, seen.y)
    tables = [endpoint_rows(course, found, seen.y, e) for e in range(len(course.names))]
    if min(_events(own, _of_rows(own, seen.weights), course).sum() for own in tables) < _FEWEST_EVENTS:
        return None
    values, models = covariates[seen.rows], []
    for own in tables:
        table = _encoded(course, encoding, values, own, seen.weights, time_scale, horizon, numeric_scale)
        fitted = fit(table)
        models.append(EndpointModel(table.scales, table.columns, fitted.encoding, fitted.parameters, fitted.training, fitted.spreading))
    return EndpointModels(course, tuple(models))


def _events(own: EndpointRows, weights: RowWeights, course: Course) -> Array:
    """How many there were in each state."""
    happened = np.isfinite(own.times.upper[:, 0]) * (1.0 if weights.values is None else weights.values)
    return np.asarray(np.bincount(own.state, happened, len(course.states)), dtype=np.float64)


def _of_rows(own: EndpointRows, weights: RowWeights) -> RowWeights:
    """Those of the endpoint's rows."""
    return RowWeights(None if weights.values is None else weights.values[own.rows], weights.smallest)


def _encoded(
    course: Course,
    study: Encoding,
    values: Array,
    own: EndpointRows,
    weights: RowWeights,
    time_scale: str,
    horizon: float | Mapping[str, float] | None,
    numeric_scale: str,
) -> EndpointTable:
    """The training table of one endpoint, whose covariates are the study's and those of the state."""
    by_row = _of_rows(own, weights)
    scales = _scales(course, own, by_row, time_scale, horizon)
    times = positions_of(scales, own)
    columns, happened, when = _state_columns(course, study, own, numeric_scale, by_row)
    smooth = time_scale == "kaplan-meier"
    learned = conclude_endpoints(summarise_endpoints(times, by_row), "kaplan-meier" if smooth else "linear", None if smooth else 1.0)
    encoding = Encoding((*study.columns, *columns), learned)
    named = StateColumns(happened, when)
    covariates = state_covariates(encoding, named, study, values[own.rows], own.state, own.entered)
    return EndpointTable(scales, named, encoding, covariates, times, by_row)


def _scales(
    course: Course, own: EndpointRows, weights: RowWeights, time_scale: str, horizon: float | Mapping[str, float] | None
) -> tuple[TimeScale | None, ...]:
    """Of every state in which the endpoint may happen; those in which it hardly did share one, or that of all states."""
    assert not isinstance(horizon, Mapping), "event histories have one horizon"
    events = _events(own, weights, course)
    rare = events[own.state] < _FEWEST_EVENTS
    shared = rare if events[events < _FEWEST_EVENTS].sum() >= _FEWEST_EVENTS else np.ones_like(rare)
    pooled = time_scale_of(_summary(own, shared, weights), time_scale, horizon)
    return tuple(
        None
        if own.endpoint not in course.options(state)
        else pooled
        if events[state] < _FEWEST_EVENTS
        else time_scale_of(_summary(own, own.state == state, weights), time_scale, horizon)
        for state in course.states
    )


def _summary(own: EndpointRows, rows: Booleans, weights: RowWeights) -> EndpointSummary:
    return EndpointSummary.of(own.times.names[0], own.times.lower[rows, 0], own.times.upper[rows, 0], weights=weights.part(rows))


def _state_columns(
    course: Course, study: Encoding, own: EndpointRows, numeric_scale: str, weights: RowWeights
) -> tuple[list[Column], tuple[str | None, ...], str | None]:
    """Covariates that say which state it is, and when it was entered; their names, by intermediate event."""
    taken, out = {column.name for column in study.columns}, []
    happened: list[str | None] = []
    for k, event in enumerate(course.passing):
        varies = np.unique(own.state >> k & 1).size > 1
        happened.append(_free_name(f"after {event}", taken) if varies else None)
        if happened[-1] is not None:
            out.append(Column(happened[-1], "binary", "float64", (0.0, 1.0)))
    later = own.state > 0
    if not later.any() or later.all() or np.unique(own.entered[later]).size < _FEWEST_TIMES:
        return out, tuple(happened), None
    last = course.passing[0] if len(course.passing) == 1 else "the last event"
    times = pd.Series(own.entered[later], name=_free_name(f"time of {last}", taken))
    column, _ = learn_column(times, "numeric", numeric_scale, None if weights.values is None else weights.values[later])
    out.append(replace(column, missing=0.0))
    return out, tuple(happened), str(times.name)


def _free_name(name: str, taken: set[str]) -> str:
    """A name that no column of the study has."""
    while name in taken:
        name += "'"
    return name
