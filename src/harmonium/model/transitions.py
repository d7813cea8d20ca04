"""Harmoniums of all endpoints, one for each: transitions between the states of an event history, given covariates.

A harmonium of one endpoint, given the state that a subject is in, where endpoints know each other.

Its only outcome is the time from the beginning of a state until the endpoint happens there, of those to whom nothing else happens: a
cause-specific time. Which state it is, and when it was entered, are covariates, so that what covariates do is learned once for all states;
but how long states last has a time scale of its own in each of them, on which the endpoint happens at an even pace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Parameters
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.generating import Generator
from harmonium.model.hidden import Enumerated, hidden_given
from harmonium.model.likelihood import conditional_log_likelihood
from harmonium.model.on_demand import OnDemand
from harmonium.model.spread import Spread, moved
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding, event_position
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import EndpointRows, Histories, endpoint_rows
from harmonium.table.state_graph import StateColumns, StateGraph
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["EndpointCurves", "EndpointModel", "Transitions", "positions_of", "state_covariates"]

_NUMBERS_AT_ONCE = 4_000_000  # of a table of hidden states, rows and times: 32 MB


@dataclass(frozen=True, eq=False)
class EndpointModel:
    """A harmonium of one endpoint.

    Attributes
    ----------
    scales : tuple of TimeScale or None
        Of each state, from the beginning of which time is counted; None where the endpoint cannot happen.
    columns : StateColumns
    encoding : Encoding
        Of positions on these scales, given covariates and state.
    parameters : Parameters
    training : TrainingSummary
    spreading : OnDemand, optional
        How far the parameters may be from where they are.
    generating : OnDemand, optional
        Its part of the imputation model.
    hazard_ratio : float
        Factor of the hazard, while it is asked how far answers move with it (:mod:`harmonium.model.linear_effects`).
    """

    scales: tuple[TimeScale | None, ...]
    columns: StateColumns
    encoding: Encoding
    parameters: Parameters
    training: TrainingSummary
    spreading: OnDemand[Spread] | None = field(default=None, repr=False)
    generating: OnDemand[Generator] | None = field(default=None, repr=False)
    hazard_ratio: float = 1.0

    @property
    def covariate_units(self) -> None:
        """None: covariates have a harmonium of their own, which completes rows with missing values."""
        return

    @property
    def generator(self) -> Generator | None:
        """Its part of the imputation model."""
        return None if self.generating is None else self.generating.value

    @property
    def spread(self) -> Spread | None:
        """How far the parameters may be from where they are."""
        return None if self.spreading is None else self.spreading.value

    # --- time ---

    def scale(self, state: int) -> TimeScale:
        """Of a state in which the endpoint can happen."""
        scale = self.scales[state]
        assert scale is not None, "the endpoint cannot happen in this state"
        return scale

    def positions(self, state: int, times: Array) -> Array:
        """Of times since a state was entered."""
        return self.encoding.scales[0].to_unit(self.scale(state).to_unit(np.maximum(times, 0.0)))

    def log_slopes(self, state: int, times: Array) -> Array:
        """Ln of the derivative of the position by time; NaN or -inf beyond the end."""
        outer, at = self.scale(state), np.maximum(times, 0.0)
        return np.asarray(self.encoding.scales[0].log_slope(outer.to_unit(at)) + outer.log_slope(at))

    def times(self, state: int, positions: Array) -> Array:
        """Times since a state was entered, of positions; infinite beyond follow-up."""
        own = self.encoding.scales[0].from_unit(positions)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(own), self.scale(state).from_unit(np.minimum(own, 1.0)), np.inf)

    def kinks(self, state: int) -> Array:
        """Times since a state was entered at which positions are not smooth."""
        outer, inner = self.scale(state), self.encoding.scales[0]
        inside = outer.from_unit(inner.end * np.array(inner.knots))
        return np.unique([*(outer.end * knot for knot in outer.knots), *inside[np.isfinite(inside)], outer.end])

    # --- rows ---

    def covariates(self, study: Encoding, values: Array, state: int | Integers, entered: float | Array | None = None) -> Array:
        """Covariates of rows in a state; see :func:`state_covariates`."""
        return state_covariates(self.encoding, self.columns, study, values, state, entered)

    def scores(self, entered: Array) -> Array:
        """Of the times at which a state was entered, as a covariate."""
        return _scores(self.encoding, self.columns, entered)

    def curves(self, covariates: Array, state: int, n_threads: int | None = None) -> EndpointCurves:
        """Of rows that are in a state."""
        found = hidden_given(self.parameters, self.encoding.cells(covariates), np.random.default_rng(0), n_threads)
        assert isinstance(found, Enumerated)
        return EndpointCurves(self, state, found.weights, found.states)

    def log_likelihood(self, encoding: Encoding, values: Array, own: EndpointRows) -> Array:
        """Ln p of every row of the endpoint's table given covariates and state, in the user's unit of time."""
        covariates = self.covariates(encoding, values[own.rows], own.state, own.entered)
        times = positions_of(self.scales, own)

        def mass(cells: Cells) -> Array:
            return log_mass(self.parameters, cells)

        out = conditional_log_likelihood(self.encoding, mass, covariates, times)
        for state in np.unique(own.state):
            timed = (own.state == state) & own.times.event[:, 0] & (own.times.lower[:, 0] > 0.0)
            timed &= self.scale(int(state)).is_timed(own.times.lower[:, 0])
            out[timed] += self.scale(int(state)).log_slope(own.times.lower[timed, 0])
        return out


def state_covariates(
    encoding: Encoding, columns: StateColumns, study: Encoding, values: Array, state: int | Integers, entered: float | Array | None = None
) -> Array:
    """Covariates of an endpoint's rows: those that the study has encoded, and those of the state.

    Without ``entered`` a state was entered at the middle of all times.
    """
    place = {column.name: k for k, column in enumerate(study.modelled)}
    out = np.empty((len(values), len(encoding.modelled)))
    for k, column in enumerate(encoding.modelled):
        if column.name in columns.happened:
            out[:, k] = np.asarray(state) >> columns.happened.index(column.name) & 1
        elif column.name == columns.when:
            out[:, k] = 0.0 if entered is None else np.where(np.asarray(state) > 0, _scores(encoding, columns, np.asarray(entered)), 0.0)
        else:
            out[:, k] = values[:, place[column.name]]
    return out


def _scores(encoding: Encoding, columns: StateColumns, entered: Array) -> Array:
    scale = next(column.scale for column in encoding.modelled if column.name == columns.when)
    assert scale is not None
    scores: Array = scale.to_score(np.asarray(entered, dtype=np.float64))
    return scores


def positions_of(scales: tuple[TimeScale | None, ...], own: EndpointRows) -> Endpoints:
    """The table of an endpoint with positions on the scales of its states in the place of times."""
    lower, upper, entry = (np.array(bound) for bound in (own.times.lower, own.times.upper, own.times.entry))
    for state in np.unique(own.state):
        scale, rows = scales[int(state)], own.state == state
        assert scale is not None
        known = rows[:, None] & np.isfinite(upper)
        late = known & (upper > scale.end) & (scale.reach < 1.0)
        for bound, chosen in ((lower, rows[:, None]), (upper, known), (entry, rows[:, None])):
            bound[chosen] = scale.to_unit(bound[chosen])
        upper[late] = np.inf  # an event beyond the end of follow-up: that it came later is all that its position could say
    return Endpoints(own.times.names, lower, upper, entry)


@dataclass(frozen=True, eq=False)
class EndpointCurves:
    """An endpoint of some rows in one state: averages over hidden states, whose probabilities are known, (rows, hidden states)."""

    model: EndpointModel
    state: int
    weights: Array
    states: Array

    @property
    def hidden(self) -> EndpointStates:
        """The endpoint in every hidden state."""
        natural, layout = self.model.parameters.natural(), self.model.encoding.layout
        return EndpointStates.of(natural, int(layout.offsets[layout.outcomes.start]), self.states)

    def survival(self, times: Array, rows: Integers | slice = slice(None)) -> Array:
        """The probability that the endpoint has not happened until each time since the state was entered, (rows, times)."""
        return np.asarray((self.weights[rows] @ self.survival_of_states(times)) ** self.model.hazard_ratio)

    def density(self, times: Array, rows: Integers | slice = slice(None)) -> Array:
        """Of the time until the endpoint, (rows, times); zero beyond the end of follow-up."""
        return _hurried(
            self.weights[rows] @ self.density_of_states(times), self.weights[rows] @ self.survival_of_states(times), self.model.hazard_ratio
        )

    def in_rows(self, times: Array, which: Integers) -> tuple[Array, Array]:
        """Survival and density at some of the times in every row, (rows, which)."""
        survival, density, ratio = self.survival_of_states(times), self.density_of_states(times), self.model.hazard_ratio
        alive, falling = (np.empty(which.shape) for _ in range(2))
        step = max(1, _NUMBERS_AT_ONCE // max(1, which.shape[1] * len(survival)))
        for begin in range(0, len(which), step):
            part = slice(begin, begin + step)
            alive[part] = np.einsum("rh,hrt->rt", self.weights[part], survival[:, which[part]])
            falling[part] = np.einsum("rh,hrt->rt", self.weights[part], density[:, which[part]])
        return alive**ratio, _hurried(falling, alive, ratio)

    def survival_of_states(self, times: Array) -> Array:
        """Of hidden states, (hidden states, times)."""
        return self.hidden.survival(self.model.positions(self.state, times))

    def density_of_states(self, times: Array) -> Array:
        """Of hidden states, (hidden states, times), in one over the unit of time."""
        slopes = np.nan_to_num(np.exp(self.model.log_slopes(self.state, times)))
        return np.asarray(self.hidden.density(event_position(self.model.positions(self.state, times))) * slopes)

    def tilts(self, entered: Array) -> Array:
        """By how much each hidden state is likelier if the state was entered at some time, rather than the middle one, (hidden, times)."""
        if self.model.columns.when is None:
            return np.ones((len(self.states), entered.size))
        natural, layout = self.model.parameters.natural(), self.model.encoding.layout
        names = [column.name for column in self.model.encoding.modelled]
        column = names.index(self.model.columns.when)
        own = slice(int(layout.offsets[column]), int(layout.offsets[column + 1]))
        unit, scores = layout.units[column], self.model.scores(entered)
        change = unit.statistics(scores) - unit.statistics(np.zeros_like(scores))
        field = -self.states @ (change @ natural.coupling[own]).T
        return np.asarray(np.exp(field - field.max(axis=0)))


def _hurried(density: Array, survival: Array, hazard_ratio: float) -> Array:
    """The density if the hazard is multiplied."""
    if hazard_ratio == 1.0:
        return np.asarray(density)
    with np.errstate(divide="ignore"):
        return np.where(density > 0.0, density * hazard_ratio * survival ** (hazard_ratio - 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Transitions:
    """One harmonium for each endpoint, in the order of the state graph.

    Attributes
    ----------
    graph : StateGraph
    models : tuple of EndpointModel
    by_state : mapping
        Models of single states that differ from these, by endpoint and state: while it is asked how far answers move if only those do.
    """

    graph: StateGraph
    models: tuple[EndpointModel, ...]
    by_state: Mapping[tuple[int, int], EndpointModel] = field(default_factory=dict)

    def of(self, endpoint: int, state: int) -> EndpointModel:
        """The model of an endpoint in a state."""
        return self.by_state.get((endpoint, state), self.models[endpoint])

    @property
    def converged(self) -> bool | None:
        """Whether all fits have converged."""
        found = [model.training.converged for model in self.models]
        return None if None in found else all(found)

    def moved(self, endpoint: int, state: int | None, step: Array) -> Transitions:
        """With parameters of one endpoint, or those in one state alone, that are further along by a step."""
        model = self.models[endpoint]
        return self._with(endpoint, state, replace(model, parameters=moved(model.parameters, step)))

    def hurried(self, endpoint: int, state: int | None, hazard_ratio: float) -> Transitions:
        """With a factor of the hazard of an endpoint, or that in one state alone."""
        return self._with(endpoint, state, replace(self.models[endpoint], hazard_ratio=hazard_ratio))

    def _with(self, endpoint: int, state: int | None, other: EndpointModel) -> Transitions:
        if state is not None:
            return replace(self, by_state={(endpoint, state): other})
        return replace(self, models=tuple(other if e == endpoint else own for e, own in enumerate(self.models)))

    def log_likelihood(self, encoding: Encoding, covariates: Array, y: Endpoints, known: Histories) -> Array:
        """Ln p of the event history of every row given its covariates, in the user's unit of time; of histories that are known."""
        out = np.zeros(len(covariates))
        for e, model in enumerate(self.models):
            own = endpoint_rows(self.graph, known, y, e)
            np.add.at(out, own.rows, model.log_likelihood(encoding, covariates, own))
        return out
