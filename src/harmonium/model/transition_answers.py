"""Answers about ordered endpoints: everything follows from the probabilities of all states, which add up to one.

Rows of which something is not known are averages over their completions (:mod:`harmonium.model.completions`), so all questions are
put to rows of which everything is known until some time (:mod:`harmonium.model.history_curves`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import CLOSED_FORM
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.model.completions import HistoryCompletions
from harmonium.model.hidden import Answer
from harmonium.model.history_curves import HistoryCurves
from harmonium.model.spread import Movable, Question, deviations_along, linear_along
from harmonium.model.transitions import Transitions
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array, Integers

__all__ = ["TransitionAnswers"]

_N_RISK = 24  # nodes of an integral over the time scale
_NOBODY = 1e-12  # is at risk: probabilities are not known better

Places = tuple[int, ...]


class TransitionAnswers:
    """An :class:`~harmonium.model.prognosis.Answerer` by a harmonium for each endpoint and a distribution of covariates."""

    def __init__(
        self,
        encoding: Encoding,
        parameters: Parameters,
        units: CovariateUnits | None,
        transitions: Transitions,
        covariates: Array,
        known: Endpoints | None,
        n_threads: int | None,
    ) -> None:
        self.encoding, self.transitions, self.covariates, self.known = encoding, transitions, covariates, known
        self.stands_for: Integers | None = None
        self._model, self._n_threads = (parameters, units), n_threads
        self._moving: tuple[int, int | None] = (0, None)  # the endpoint and state whose parameters are moved
        self._completed: HistoryCompletions | None = None
        self._curves: HistoryCurves | None = None
        self._roughly = False  # differences between answers are asked for, in which errors of integrals cancel

    @property
    def graph(self) -> StateGraph:
        """What can happen, and in which order."""
        return self.transitions.graph

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.covariates)

    @property
    def state_names(self) -> list[str]:
        """Of all states, those that are ends included."""
        return [self.graph.label(path) for path in self.graph.paths]

    def part(self, rows: Integers) -> Self:
        """Of some of the rows, in order."""
        if rows.size == self.n_rows:
            return self
        out = copy(self)
        out.covariates, out.known = self.covariates[rows], None if self.known is None else self.known.part(rows)
        out.stands_for = None if self.stands_for is None else self.stands_for[rows]
        out._completed, out._curves = self.completed.part(rows), None
        return out

    def breaks(self, places: Places, until: float) -> Array:
        """Times at which each row's probabilities have steps or bends, (rows, times); 0 where there is none before a time."""
        own = self._histories
        found = np.column_stack([own.lower, own.upper, own.entered, own.until, own.alive, own.dead])
        return np.where(np.isfinite(found) & (found < until), found, 0.0)

    @property
    def methods(self) -> Any:
        """How each row is answered."""
        return np.full(self.n_rows, CLOSED_FORM, dtype="<U11")

    @property
    def completed(self) -> HistoryCompletions:
        """Completions of the rows."""
        if self._completed is None:
            y = self.known or Endpoints.nothing(self.encoding.endpoint_names, self.n_rows)
            possible = HistoryCompletions.possible(self.encoding, *self._model, self.covariates, y, self._n_threads)
            self._completed = possible.given(self.transitions, self.encoding)
        return self._completed

    @property
    def _histories(self) -> Histories:
        """What is known of the history of every row; of completions, all."""
        if self.completed.rows.size == self.n_rows:
            return self.completed.known
        assert self.encoding.ordered is not None
        return self.encoding.ordered.histories(self.known or Endpoints.nothing(self.encoding.endpoint_names, self.n_rows))

    # --- parameter uncertainty ---

    def moved(self, step: Array) -> Self:
        """Of the same rows, by a model some of whose natural parameters are further along by a step."""
        return self._with(self.transitions.moved(*self._moving, step))

    def hurried(self, endpoint: int, hazard_ratio: float) -> Self:
        """Of the same rows, with a factor of the hazard of the endpoint whose model is moved."""
        return self._with(self.transitions.hurried(*self._moving, hazard_ratio))

    def _with(self, transitions: Transitions) -> Self:
        out = self._facing((0, None))
        out.transitions = transitions
        return out

    def _facing(self, moving: tuple[int, int | None]) -> Self:
        """The same, of which other parameters are moved; completions keep their weights."""
        out = copy(self)
        out._moving, out._completed, out._curves, out._roughly = moving, self.completed, None, True
        return out

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Answerers whose biases direct effects move, and the cells whose covariates they follow: one for each state."""
        e, _ = self._moving
        model, known, out = self.transitions.models[e], self._histories, []
        for state in (state for state, scale in enumerate(model.scales) if scale is not None):
            when = np.where(known.state == state, known.entered, np.nan)
            values = model.covariates(self.encoding, self.covariates, state, when)
            out.append((self._facing((e, state)), model.encoding.cells(values)))
        return out

    def deviations(self, question: Question, *, thorough: bool) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, and how far it deviates along each direction of the uncertainty of every endpoint's harmonium.

        Rows that are not known in full deviate as the average of their completions, whose distribution is as it was learned.
        """
        found = self.completed
        if found.rows.size == self.n_rows:
            return question(self), self._along(question, thorough)
        along = self._standing_for_these(found)._along(question, thorough)
        return question(self), (found.averaged(own) for own in along)

    def _standing_for_these(self, found: HistoryCompletions) -> Self:
        """Of completions."""
        out = copy(self)
        out.covariates, out.known, out.stands_for, out._curves = found.covariates, found.y, found.rows, None
        out._completed = found.alone()
        return out

    def _along(self, question: Question, thorough: bool) -> Iterator[Array]:
        parts = (deviations_along(spread, one, question, thorough=thorough)[1] for spread, one in self._movable())
        return (deviation for part in parts for deviation in part)

    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with what shrinkage has taken from all models."""
        return np.asarray(np.sum([linear_along(spread, one, question) for spread, one in self._movable()], axis=0))

    def _movable(self) -> Iterator[tuple[Any, Self]]:
        """Uncertainties, and answerers whose parameters can be moved along them."""
        for e, model in enumerate(self.transitions.models):
            yield model.spread, self._facing((e, None))

    # --- endpoints ---

    def survival(self, places: Places, at: Array) -> Answer:
        """Probability of no event of the endpoints until each time, dead or alive."""
        return Answer.exact(self._free_of(places, self._states(at)))

    def density(self, places: Places, at: Array) -> Array:
        """Derivative of the cumulative incidence; NaN where the time of the event, or bounds of it, are known, and beyond follow-up."""
        happened = [self.graph.has_happened(path, places) for path in self.graph.paths]
        rates = self._averaged(lambda own: own.rates(at))
        found = np.maximum(rates[happened].sum(axis=0), 0.0)  # flows in and out, whose sum rounding may leave below zero
        return np.where((at <= self._known_until(places)[:, None]) | (at > self._end(places)), np.nan, found)

    def hazard(self, places: Places, at: Array) -> Array:
        """Density over the probability of being at risk: none of the endpoints, and no terminal event."""
        at_risk = [end < 0 and not self.graph.has_happened((state, end), places) for state, end in self.graph.paths]
        share = self._states(at)[at_risk].sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(share > _NOBODY, self.density(places, at) / share, np.nan)

    def risk(self, places: Places) -> Array:
        """Minus the area over the cumulative incidence on the endpoint's time scale."""
        scale = self.encoding.scales[places[0]]
        nodes, weights = gauss_legendre(_N_RISK)
        positions = 0.5 * scale.reach * (nodes + 1.0)
        alive = self._free_of(places, self._states(np.append(scale.from_unit(positions), scale.end)))
        area: Array = alive[:, :-1] @ (0.5 * scale.reach * weights) + alive[:, -1] * (1.0 - scale.reach)
        return -area

    def joint_survival(self, places: list[int], at: list[Array]) -> Array:
        """No event of any endpoint until its time: one, less the incidence of each, which counts those twice who have had both.

        That is an intermediate and a terminal event: two terminal events never happen to the same subject.
        """
        graph = self.graph
        before = [k for k, e in enumerate(places) if not graph.is_terminal(e)]
        if before and len(places) > 1 and len(graph.intermediate) > 1:
            raise ValueError(
                f"joint survival is not known where several events may come before a terminal one, here "
                f"{' and '.join(map(repr, graph.intermediate))}; ask for state_probabilities, or for one endpoint"
            )
        out = np.ones((self.n_rows, *(own.size for own in at)))
        for k, (e, own) in enumerate(zip(places, at, strict=True)):
            out -= _on_axes(1.0 - self._free_of((e,), self._states(own)), [k], len(places))
        for first in before:
            for last in (k for k, e in enumerate(places) if graph.is_terminal(e)):
                pair = places[first], places[last], at[first], at[last]
                both = self._averaged(lambda own, pair=pair: own.both(*pair)[None])[0]  # type: ignore[misc]
                out += _on_axes(both, [first, last], len(places))
        return np.clip(out, 0.0, 1.0)

    def joint_density(self, places: list[int], at: list[Array]) -> Array:
        """Not available."""
        raise ValueError(
            "event times together have no density where an endpoint is terminal: an event that is prevented never happens. Ask for "
            "joint_survival, or for the density of one endpoint or of the first of several"
        )

    # --- states ---

    def state_probabilities(self, at: Array) -> dict[str, Array]:
        """Of all states by name."""
        return dict(zip(self.state_names, self._states(at), strict=True))

    def survival_after(self, event: str, at: Array) -> Array:
        """No terminal event until each time since the only intermediate one."""
        intermediate = self.graph.intermediate
        if intermediate != (event,):
            raise ValueError(
                f"survival after an event is known where it is the only one that is not terminal; found {event!r}, and "
                f"{', '.join(map(repr, intermediate)) or 'no such event'}. Give the event at a time, and ask for survival"
            )
        return np.asarray(self._averaged(lambda own: own.after(at)[None])[0])

    def survival_without(self, event: str, at: Array, until: float) -> Array:
        """No such event until each time and no terminal one until another."""
        if self.graph.intermediate != (event,):
            raise ValueError(f"this is known of the only event that is not terminal; found {event!r}")
        places = [self.graph.names.index(name) for name in (event, *self.graph.terminal)]
        ends = [np.array([until])] * len(self.graph.terminal)
        return self.joint_survival(places, [at, *ends]).reshape(self.n_rows, -1)

    def hidden(self) -> Array:
        """p(h = 1) of the hidden units of every endpoint's harmonium, given covariates and the state that rows are in."""
        found, out = self.completed, []
        state, entered = found.known.state, found.known.entered
        for e, model in enumerate(self.transitions.models):
            possible = np.array([scale is not None for scale in model.scales])
            here = np.where(possible[state], state, 0)
            own = np.empty((found.rows.size, model.parameters.n_hidden))
            for s in np.unique(here):
                rows = np.flatnonzero(here == s)
                values = model.covariates(self.encoding, found.covariates[rows], int(s), entered[rows] if s else None)
                curves = self.transitions.of(e, int(s)).curves(values, int(s), self._n_threads)
                own[rows] = curves.weights @ curves.states
            out.append(own)
        return found.averaged(np.concatenate(out, axis=1))

    # --- how ---

    def _states(self, times: Array) -> Array:
        """Probabilities of all states, (states, rows, times)."""
        return self._averaged(lambda own: own.probabilities(times))

    def _averaged(self, question: Callable[[HistoryCurves], Array]) -> Array:
        """Answers (anything, rows, ...)."""
        found = self.completed
        if self._curves is None:
            own = found.covariates, found.known
            self._curves = HistoryCurves(self.transitions, self.encoding, *own, self._n_threads, self._roughly)
        return np.swapaxes(found.averaged(np.swapaxes(question(self._curves), 0, 1)), 0, 1)

    def _free_of(self, places: Places, states: Array) -> Array:
        free = [not self.graph.has_happened(path, places) for path in self.graph.paths]
        return np.asarray(np.minimum(states[free].sum(axis=0), 1.0))

    def _end(self, places: Places) -> float:
        return max(self.encoding.scales[e].end for e in places)

    def _known_until(self, places: Places) -> Array:
        """Until when the first of some endpoints has no density, (rows,), since it is known at which times it may have happened.

        Infinite if it has certainly happened; -infinite if it has not.
        """
        found = self.completed
        happened = np.where(np.isin(found.known.kind, places), found.known.upper, np.inf).min(axis=1)
        finite = np.isfinite(happened)
        surely = np.bincount(found.rows, finite, self.n_rows) == np.bincount(found.rows, minlength=self.n_rows)
        last = np.full(self.n_rows, -np.inf)
        np.maximum.at(last, found.rows[finite], happened[finite])
        return np.where(surely, np.inf, last)


def _on_axes(values: Array, axes: list[int], n_axes: int) -> Array:
    """Values (rows, ...) whose other axes have these numbers among some, to be broadcast over the rest of them."""
    ordered = np.transpose(values, [0, *(1 + np.argsort(axes))])
    sizes = iter(ordered.shape[1:])
    return ordered.reshape(len(values), *(next(sizes) if axis in axes else 1 for axis in range(n_axes)))
