"""Training where endpoints are ordered: a distribution of covariates, and a harmonium for each endpoint on the table of its sojourns.

A subject of whom something is not known, a covariate or when an event happened, is what it may be, each completion with its probability
(:mod:`harmonium.model.history_completions`). The harmoniums maximise the likelihood of what was observed, one after the other; then the
distribution of covariates is fitted again to the completions with their probabilities, and so on until these settle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Natural, Parameters
from harmonium.model.completions import TRAINING
from harmonium.model.covariate_training import MOST_ROUNDS, in_memory, settled
from harmonium.model.endpoint_model import StateColumns, positions_of, state_covariates
from harmonium.model.history_completions import HistoryCompletions
from harmonium.table.columns import Column, learn_column
from harmonium.table.encoding import Encoding, conclude_endpoints
from harmonium.table.endpoint_rows import EndpointRows, endpoint_rows
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import histories_of
from harmonium.table.possible_histories import Rule, completed
from harmonium.table.row_weights import RowWeights
from harmonium.table.state_graph import StateGraph
from harmonium.table.time_scale import TimeScale, time_scale_of
from harmonium.training.completed import CompletedObjective, posterior_weights
from harmonium.training.coordinates import Coordinates
from harmonium.training.covariate_fit import PRECISION, fit_covariate_units, number_of_units
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.training.statistics import StatisticsSummary
from harmonium.training.ties import ties_as_intervals
from harmonium.typing import Array, Booleans

__all__ = ["CovariateModel", "EndpointTable", "HistoryTraining", "endpoint_tables", "fit_covariates"]

_FEWEST_EVENTS = 5  # for a time scale of a state's own
_FEWEST_TIMES = 3  # different ones, at which a state was entered, for these to be a covariate
_MOST_UNITS = 8  # covariate latent units: no other units say how covariates are distributed
_N_TIMES = 4  # at which an event may have come that was not seen, in training


# --- covariates ---


@dataclass(frozen=True)
class CovariateModel:
    """A harmonium of the covariates alone: biases in ``parameters``, which have no hidden units, and covariate latent units."""

    parameters: Parameters
    units: CovariateUnits | None

    def log_mass(self, encoding: Encoding, covariates: Array, n_threads: int | None = None) -> Array:
        """Ln p of encoded covariates, up to a constant."""
        if self.units is None:
            return np.zeros(len(covariates))
        return log_mass(self.whole, encoding.cells(covariates), n_threads)

    def fitted_to(self, encoding: Encoding, covariates: Array, weights: Array, precision: float = PRECISION) -> CovariateModel:
        """Fitted again, from where it is, to rows with weights."""
        if self.units is None:
            return self
        rows = in_memory(_of_covariates(encoding, covariates, weights))
        return replace(self, units=fit_covariate_units(rows, self.parameters, self.units.n_units, self.units, precision))

    @property
    def whole(self) -> Parameters:
        """Parameters of biases and latent units together."""
        return self.parameters if self.units is None else self.units.joined(self.parameters)


def fit_covariates(encoding: Encoding, covariates: Array, weights: Array | None, wanted: str | int) -> CovariateModel:
    """Fit the distribution of covariates to a table with missing values; ``wanted`` is "auto" or the number of latent units."""
    layout = encoding.layout
    rows = in_memory(_of_covariates(encoding, covariates, weights))
    statistics = StatisticsSummary.of(rows.recorded, rows.subjects)
    neutral = Coordinates.of_statistics(layout, statistics, 0, 1.0).fixed_bias
    parameters = Parameters.from_natural(layout, Natural(neutral, np.zeros((layout.n_statistics, 0)), np.zeros(0), 0.0))
    if not layout.n_columns:
        return CovariateModel(parameters, None)
    n_units = number_of_units(rows.recorded, 1, _MOST_UNITS, rows.subjects) if isinstance(wanted, str) else int(wanted)
    return CovariateModel(parameters, fit_covariate_units(rows, parameters, n_units))


def _of_covariates(encoding: Encoding, covariates: Array, weights: Array | None) -> Objective:
    cells, entry = encoding.cells(covariates), np.empty((len(covariates), 0))
    return Objective(cells, entry, 0.0) if weights is None else WeightedObjective(cells, entry, 0.0, weights, weights)


# --- tables of endpoints ---


@dataclass(frozen=True)
class EndpointTable:
    """The training table of one endpoint, a row for each sojourn in which it could happen.

    Attributes
    ----------
    scales : tuple of TimeScale or None
        Of each state.
    columns : StateColumns
    encoding : Encoding
    objective : Objective
        Of the table as it was recorded.
    """

    scales: tuple[TimeScale | None, ...]
    columns: StateColumns
    encoding: Encoding
    objective: Objective

    def rows(self, study: Encoding, covariates: Array, own: EndpointRows, exact: Booleans | None = None) -> Objective:
        """Sojourns of other subjects, or completions, encoded for this endpoint; where ``exact``, tied times are no intervals."""
        values = state_covariates(self.encoding, self.columns, study, covariates[own.rows], own.state, own.entered)
        times = positions_of(self.scales, own)
        adjusted = ties_as_intervals(times)
        if exact is not None:
            adjusted.lower[exact], adjusted.upper[exact] = times.lower[exact], times.upper[exact]
        return Objective(self.encoding.cells(values, adjusted), self.encoding.entry(times), 1.0)

    def log_slopes(self, own: EndpointRows) -> Array:
        """Ln of the slope of the time scales at events, for every row: what makes likelihoods on different scales comparable."""
        out = self.encoding.log_slopes(positions_of(self.scales, own))
        times = own.times.lower[:, 0]
        for state in np.unique(own.state):
            scale = self.scales[int(state)]
            assert scale is not None
            timed = (own.state == state) & own.times.event[:, 0] & (times > 0.0)
            timed &= scale.is_timed(times)
            out[timed] += scale.log_slope(times[timed])
        return out


def endpoint_tables(
    study: Encoding,
    covariates: Array,
    y: Endpoints,
    weights: RowWeights,
    conditional: float,
    *,
    time_scale: str,
    horizon: float | Mapping[str, float] | None,
    numeric_scale: str,
    whole: bool,
) -> list[EndpointTable]:
    """The training tables of all endpoints.

    Parameters
    ----------
    study : Encoding
        In whose columns ``covariates`` are encoded.
    covariates : ndarray
    y : Endpoints
    weights : RowWeights
    conditional : float
        Weight of the conditional likelihood.
    time_scale, horizon, numeric_scale
        See :class:`harmonium.SurvivalHarmonium`.
    whole : bool
        Whether a subject is taken to have had its likeliest history, since training takes no parts of rows.
    """
    assert study.ordered is not None
    graph, seen = study.ordered.graph, completed(y, weights, whole=whole)
    found, values, out = histories_of(graph, seen.y), covariates[seen.rows], []
    for e in range(len(graph.names)):
        own = endpoint_rows(graph, found, seen.y, e)
        by_row = RowWeights(None if seen.weights.values is None else seen.weights.values[own.rows], seen.weights.smallest)
        scales = _scales(graph, own, by_row, time_scale, horizon)
        times = positions_of(scales, own)
        columns, named = _state_columns(graph, study, own, numeric_scale, by_row)
        smooth = time_scale == "kaplan-meier"
        learned = conclude_endpoints(summarise_endpoints(times, by_row), "kaplan-meier" if smooth else "linear", None if smooth else 1.0)
        encoding = Encoding((*study.columns, *columns), learned)
        own_values = state_covariates(encoding, named, study, values[own.rows], own.state, own.entered)
        cells, entry = encoding.cells(own_values, ties_as_intervals(times, weights=by_row)), encoding.entry(times)
        n = by_row.values
        objective = Objective(cells, entry, conditional) if n is None else WeightedObjective(cells, entry, conditional, n, n)
        out.append(EndpointTable(scales, named, encoding, objective))
    return out


def _scales(
    graph: StateGraph, own: EndpointRows, weights: RowWeights, time_scale: str, horizon: float | Mapping[str, float] | None
) -> tuple[TimeScale | None, ...]:
    """Of every state in which the endpoint may happen; those in which it hardly did share one, or that of all states."""
    assert not isinstance(horizon, Mapping), "event histories have one horizon"
    happened = np.isfinite(own.times.upper[:, 0]) * (1.0 if weights.values is None else weights.values)
    events = np.bincount(own.state, happened, len(graph.states))
    rare = events[own.state] < _FEWEST_EVENTS
    shared = rare if events[events < _FEWEST_EVENTS].sum() >= _FEWEST_EVENTS else np.ones_like(rare)
    pooled = time_scale_of(_summary(own, shared, weights), time_scale, horizon)
    return tuple(
        None
        if own.endpoint not in graph.options(state)
        else pooled
        if events[state] < _FEWEST_EVENTS
        else time_scale_of(_summary(own, own.state == state, weights), time_scale, horizon)
        for state in graph.states
    )


def _summary(own: EndpointRows, rows: Booleans, weights: RowWeights) -> EndpointSummary:
    return EndpointSummary.of(own.times.names[0], own.times.lower[rows, 0], own.times.upper[rows, 0], weights=weights.part(rows))


def _state_columns(
    graph: StateGraph, study: Encoding, own: EndpointRows, numeric_scale: str, weights: RowWeights
) -> tuple[list[Column], StateColumns]:
    """Covariates that say which state it is, and when it was entered."""
    taken, out = {column.name for column in study.columns}, []
    happened: list[str | None] = []
    for k, event in enumerate(graph.intermediate):
        varies = np.unique(own.state >> k & 1).size > 1
        happened.append(_free_name(f"after {event}", taken) if varies else None)
        if happened[-1] is not None:
            out.append(Column(happened[-1], "binary", "float64", (0.0, 1.0)))
    later = own.state > 0
    if not later.any() or later.all() or np.unique(own.entered[later]).size < _FEWEST_TIMES:
        return out, StateColumns(tuple(happened))
    last = graph.intermediate[0] if len(graph.intermediate) == 1 else "the last event"
    times = pd.Series(own.entered[later], name=_free_name(f"time of {last}", taken))
    column, _ = learn_column(times, "numeric", numeric_scale, None if weights.values is None else weights.values[later])
    out.append(replace(column, missing=0.0))
    return out, StateColumns(tuple(happened), str(times.name))


def _free_name(name: str, taken: set[str]) -> str:
    """A name that no column of the study has."""
    while name in taken:
        name += "'"
    return name


# --- what is not known ---


@dataclass(frozen=True)
class HistoryTraining:
    """A training table in which subjects are what they may be.

    Attributes
    ----------
    study : Encoding
    covariates : CovariateModel
        By which completions were found.
    possible : HistoryCompletions
    objectives : tuple of CompletedObjective
        Of each endpoint, without what the others say of completions.
    slopes : tuple of ndarray
        Of each endpoint: what makes likelihoods of completions on its time scales comparable.
    weights : ndarray
        Of the subjects.
    n_threads : int, optional
    """

    study: Encoding
    covariates: CovariateModel
    possible: HistoryCompletions
    objectives: tuple[CompletedObjective, ...]
    slopes: tuple[Array, ...]
    weights: Array
    n_threads: int | None

    @classmethod
    def of(
        cls,
        study: Encoding,
        covariates: CovariateModel,
        tables: list[EndpointTable],
        values: Array,
        y: Endpoints,
        weights: RowWeights,
        n_threads: int | None,
    ) -> HistoryTraining:
        """Completions of a table with encoded covariates."""
        assert study.ordered is not None
        graph, n_rows = study.ordered.graph, len(values)
        seen = [
            name for e, name in enumerate(y.names) if np.isfinite(y.upper[:, e]).any()
        ]  # an event that was never seen is not thought of
        parts = covariates.parameters, covariates.units, values, y, n_threads
        possible = HistoryCompletions.possible(study, *parts, rule=Rule.of_middles(_N_TIMES), effort=TRAINING, events=seen)
        own_weights = np.ones(n_rows) if weights.values is None else weights.values
        several = _has_several_histories(possible)
        objectives, slopes = [], []
        for e, table in enumerate(tables):
            own = endpoint_rows(graph, possible.known, possible.y, e)
            rows = table.rows(study, possible.covariates, own, several[own.rows])
            nothing = np.zeros(possible.rows.size)
            objectives.append(CompletedObjective(table.objective, rows, own.rows, possible.rows, nothing, own_weights))
            slopes.append(np.bincount(own.rows, table.log_slopes(own), possible.rows.size))
        return cls(study, covariates, possible, tuple(objectives), tuple(slopes), own_weights, n_threads)

    @property
    def is_certain(self) -> bool:
        """Whether every subject has one completion: nothing is missing."""
        return self.possible.rows.size == self.possible.n_rows

    def thinned(self, most: int) -> HistoryTraining:
        """At most about so many subjects, in even steps through the table."""
        if self.possible.n_rows <= most:
            return self
        chosen = np.unique(np.linspace(0, self.possible.n_rows - 1, most).astype(int))
        number = np.full(self.possible.n_rows, -1)
        number[chosen] = np.arange(chosen.size)
        kept = np.flatnonzero(number[self.possible.rows] >= 0)
        place = np.full(self.possible.rows.size, -1)
        place[kept] = np.arange(kept.size)
        possible, weights, objectives = self.possible.part(chosen), self.weights[chosen], []
        for own in self.objectives:
            rows = np.flatnonzero(place[own.completion] >= 0)
            some = Objective(own.rows.recorded.part(rows), own.rows.entry[rows], own.rows.conditional)
            nothing = np.zeros(kept.size)
            objectives.append(CompletedObjective(own.recorded, some, place[own.completion[rows]], possible.rows, nothing, weights))
        slopes = tuple(own[kept] for own in self.slopes)
        return replace(self, possible=possible, weights=weights, objectives=tuple(objectives), slopes=slopes)

    def reweighted(self, weights: Array) -> HistoryTraining:
        """The same subjects with other weights."""
        return replace(self, weights=weights, objectives=tuple(replace(own, weights=weights) for own in self.objectives))

    def in_turn(
        self,
        parameters: Sequence[Parameters],
        fit: Callable[[int, CompletedObjective, Parameters], Parameters],
        model: CovariateModel | None = None,
        *,
        precision: float = PRECISION,
        rounds: int = MOST_ROUNDS,
    ) -> tuple[list[Parameters], CovariateModel, list[WeightedObjective]]:
        """Harmoniums of all endpoints, each given the others, and the distribution of covariates, until probabilities settle.

        Parameters
        ----------
        parameters : sequence of Parameters
            Of each endpoint's harmonium, to begin with.
        fit : callable
            Maximises an endpoint's objective from some parameters.
        model : CovariateModel, optional
            Distribution of covariates, to begin with; by default that by which completions were found.
        precision : float
            Of the prior on couplings of covariates to their latent units.
        rounds : int
            At most.

        Returns
        -------
        parameters : list of Parameters
        covariates : CovariateModel
        rows : list of WeightedObjective
            The sojourns of each endpoint, without missing values, with the probabilities of completions as weights.
        """
        found, subject, shares = list(parameters), self.possible.rows, np.empty(0)
        at_first, model = self._log_mass(self.covariates), model or self.covariates
        prior = self.possible.log_prior + self._log_mass(model) - at_first
        ln = [one.log_likelihoods(own, self.n_threads) for one, own in zip(self.objectives, found, strict=True)]
        for _ in range(rounds):
            for e, objective in enumerate(self.objectives):
                found[e] = fit(e, replace(objective, log_prior=self._others(prior, ln, e)), found[e])
                ln[e] = objective.log_likelihoods(found[e], self.n_threads)
            before, (shares, _) = shares, posterior_weights(subject, self._others(prior, ln), self.weights.size)
            model = model.fitted_to(self.study, self.possible.covariates, shares * self.weights[subject], precision)
            prior = self.possible.log_prior + self._log_mass(model) - at_first
            if before.size and settled(shares, before):
                break
        rows = [one.weighted(self._others(prior, ln)) for one in self.objectives]
        return found, model, rows

    def _log_mass(self, model: CovariateModel) -> Array:
        return model.log_mass(self.study, self.possible.covariates, self.n_threads)

    def _others(self, prior: Array, ln: list[Array], but: int | None = None) -> Array:
        """The logarithm of what covariates and endpoints, but for one of them, say of completions."""
        return np.asarray(prior + np.sum([*self.slopes, *(own for e, own in enumerate(ln) if e != but)], axis=0))


def _has_several_histories(possible: HistoryCompletions) -> Booleans:
    """Completions of subjects whose event history is not known, (completions,)."""
    first = np.searchsorted(possible.rows, np.arange(possible.n_rows))[possible.rows]
    other = np.zeros(possible.rows.size, dtype=bool)
    for bound in (possible.y.lower, possible.y.upper):
        other |= (bound != bound[first]).any(axis=1)
    return np.bincount(possible.rows, other, possible.n_rows)[possible.rows] > 0
