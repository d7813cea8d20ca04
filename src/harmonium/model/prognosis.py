"""A prognosis: some rows, with what is known of them, of which anything can be asked.

It holds an *answerer*, which has encoded the rows and found what is needed once, whatever is asked afterwards: hidden states of one
harmonium of all endpoints (:mod:`harmonium.model.cell_answers`), or transitions between the states of ordered endpoints
(:mod:`harmonium.model.transition_answers`). Questions are in the user's unit of time.

One decorator gives ``interval=0.95`` to all questions but quantiles, whose intervals are the times at which the ends of the interval of the
cumulative incidence reach the level. Unlike a standard error of the time itself, they exist where the level is not reached until the end of
follow-up (Brookmeyer and Crowley 1982).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import wraps
from numbers import Real
from typing import Any

import numpy as np

from harmonium.errors import CompetingWarning, warn
from harmonium.model.cell_answers import CellAnswers
from harmonium.model.confidence import EVENT, NO_EVENT, POSITIVE, SHARE, Interval, Scale, between, check_level, interval_of, standard_error
from harmonium.model.curves import areas, at_own_times, first_times
from harmonium.model.transition_answers import TransitionAnswers
from harmonium.table.checks import check_times, warn_of_no_mean
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["WITHIN_UNTIL", "Answerer", "Prognosis", "endpoint_place", "no_states", "quantile_with_interval", "with_interval"]

Method = Callable[..., Any]

WITHIN_UNTIL = "until"
"""In place of a scale: answers lie between zero and the time ``until``, which was asked for."""


def with_interval(scale: Scale | str, first: Scale | None = None) -> Callable[[Method], Method]:
    """Let a method of a prognosis take ``interval``, the probability of an interval, and return an Interval if it is given.

    Of several answers by name, the first one may have a scale of its own.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def asked(self: Any, *args: Any, interval: float | None = None, **kwargs: Any) -> Any:
            if interval is None:
                return method(self, *args, **kwargs)
            level = check_level(interval)
            if kwargs.get("return_diagnostics"):
                raise ValueError("an answer has an interval or diagnostics, not both: only sampled answers have diagnostics")
            own = between(0.0, float(kwargs["until"])) if isinstance(scale, str) else scale
            names: list[str] = []

            def question(prognosis: Any) -> Array:
                return _stacked(method(prognosis, *args, **kwargs), names)

            estimate, deviations = self.deviations(question)
            error = standard_error(deviations, estimate)
            if not names:
                return interval_of(estimate, error, level, own)
            scales = [first or own, *[own] * (len(names) - 1)]
            return {name: interval_of(estimate[:, k], error[:, k], level, scales[k]) for k, name in enumerate(names)}

        signature = inspect.signature(method)
        keyword = inspect.Parameter("interval", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="float | None")
        asked.__signature__ = signature.replace(parameters=[*signature.parameters.values(), keyword])  # type: ignore[attr-defined]
        return asked

    return decorate


def _stacked(answer: Any, names: list[str]) -> Array:
    """Answers by name as one array, rows first."""
    if not isinstance(answer, dict):
        return np.asarray(answer)
    names[:] = list(answer)
    return np.stack(list(answer.values()), axis=1)


_N_TIMES = 192  # at which the interval of the curve is found; in between it is a straight line


def quantile_with_interval(method: Callable[..., Array]) -> Callable[..., Any]:
    """Let a prognosis' method ``quantile`` take ``interval``."""

    @wraps(method)
    def asked(self: Any, endpoint: Any = None, q: float = 0.5, *, interval: float | None = None) -> Any:
        estimate = method(self, endpoint, q)
        if interval is None:
            return estimate
        times = _times(self, endpoint)
        happened = self.cumulative_incidence(endpoint, times, interval=check_level(interval))
        highest = np.minimum.accumulate(happened.upper[:, ::-1], axis=1)[:, ::-1]  # the curve rises, so its bounds do
        early, late = _reached(times, highest, q), _reached(times, np.maximum.accumulate(happened.lower, axis=1), q)
        return Interval(estimate, np.minimum(early, estimate), np.maximum(late, estimate))

    parameters = list(inspect.signature(method).parameters.values())
    keyword = inspect.Parameter("interval", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="float | None")
    asked.__signature__ = inspect.Signature([*parameters, keyword])  # type: ignore[attr-defined]
    return asked


def _times(prognosis: Any, endpoint: Any) -> Array:
    """A grid that is fine where events are frequent."""
    names = (endpoint,) if endpoint is None or isinstance(endpoint, str) else tuple(endpoint)
    scale = max((prognosis.encoding.scales[prognosis._place(name)] for name in names), key=lambda own: own.end)
    return np.asarray(scale.from_unit(np.linspace(0.0, scale.reach, _N_TIMES + 1)))


def _reached(times: Array, happened: Array, q: float) -> Array:
    """When rising curves (rows, times) reach a level; infinite if they do not."""
    reached = happened >= q
    place = np.argmax(reached, axis=1)
    row, before = np.arange(len(happened)), np.maximum(place - 1, 0)
    low, high = happened[row, before], happened[row, place]
    share = np.clip((q - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    return np.where(reached.any(axis=1), times[before] + share * (times[place] - times[before]), np.inf)


Places = tuple[int, ...]
"""Numbers of endpoints, of which the first event counts; one, unless endpoints are ordered."""

Answerer = CellAnswers | TransitionAnswers
"""Curves of rows; times are in the user's unit, and answers have rows first."""


def endpoint_place(names: Sequence[str], endpoint: str | None) -> int:
    """Number of an endpoint; the first if none is named."""
    if endpoint is None:
        return 0
    if endpoint not in names:
        raise ValueError(f"there is no endpoint {endpoint!r}; the model has {', '.join(map(repr, names))}")
    return list(names).index(endpoint)


class Prognosis:
    """What a model says about some rows, given what is known of them.

    Made by :meth:`~harmonium.SurvivalHarmonium.prognosis`. In all methods ``endpoint`` is the first one if none is named, and ``times`` are
    the endpoint's distinct event times in training if none are given. Where an endpoint is terminal, ``endpoint`` may name several, and
    then means the first event of any of them. With ``interval=0.95`` every answer comes as an
    :class:`~harmonium.model.confidence.Interval`, with ``estimate``, ``lower`` and ``upper`` of the answer's own shape.

    Parameters
    ----------
    answerer : Answerer

    Attributes
    ----------
    warns : bool
        Whether a question about a time beyond follow-up gives a warning; programs that mark such times themselves turn it off.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.load_nvalt8()
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> prognosis = model.prognosis(X[:3], given=hm.landmark(y[:3], 12))
    >>> prognosis.survival("os", [12, 24, 36]).shape, prognosis.median("rfs").shape
    ((3, 3), (3,))
    """

    def __init__(self, answerer: Answerer) -> None:
        self.answerer = answerer
        self.warns = True

    @property
    def encoding(self) -> Encoding:
        """Roles and encodings of columns, time scales of endpoints."""
        return self.answerer.encoding

    @property
    def known(self) -> Endpoints | None:
        """What is given about the endpoints."""
        return self.answerer.known

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.answerer.n_rows

    @property
    def methods(self) -> Any:
        """How each row is answered: "closed form", "enumerate", "integrate" or "sample" (:mod:`harmonium.engine.choice_of_method`).

        Only sampled answers have an error, and depend on the seed.
        """
        return self.answerer.methods

    # --- endpoints ---

    @with_interval(NO_EVENT)
    def survival(self, endpoint: Any = None, times: Any = None, *, return_diagnostics: bool = False) -> Any:
        """Probability of no event until each time (eq. 20), (rows, times).

        Beyond follow-up it is a bound: survival at the end of follow-up, which later survival does not exceed. Of an event that a terminal
        one prevents, it is one minus the cumulative incidence: the probability of no such event, dead or alive.

        With ``return_diagnostics`` also an :class:`~harmonium.model.hidden.Answer` that has Monte-Carlo errors, which are zero in rows
        that were not sampled.
        """
        places, at = self._asked(endpoint, times)
        self._warn_if_prevented(places)
        answer = self.answerer.survival(places, at)
        return (answer.mean, answer) if return_diagnostics else answer.mean

    @with_interval(NO_EVENT)
    def survival_at(self, endpoint: Any, times: Any) -> Array:
        """Probability of no event until a time of each row's own, (rows,)."""
        return at_own_times(self._survival_of(self._places(endpoint)), self._by_row(times))

    @with_interval(EVENT)
    def cumulative_incidence(self, endpoint: Any = None, times: Any = None) -> Array:
        """Probability that the event has happened until each time, (rows, times)."""
        return np.asarray(1.0 - self.answerer.survival(*self._asked(endpoint, times)).mean)

    @with_interval(POSITIVE)
    def cumulative_hazard(self, endpoint: Any = None, times: Any = None) -> Array:
        """-ln of survival, (rows, times); infinite where survival is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.survival(endpoint, times)) + 0.0)

    @with_interval(POSITIVE)
    def density(self, endpoint: Any = None, times: Any = None) -> Array:
        """Density of the event time (eq. 23), (rows, times), in one over the unit of time.

        NaN in rows whose event time is given, and beyond follow-up. Where an endpoint is terminal, it is the derivative of the cumulative
        incidence.
        """
        return self.answerer.density(*self._asked(endpoint, times))

    @with_interval(POSITIVE)
    def hazard(self, endpoint: Any = None, times: Any = None) -> Array:
        """Density over survival (eq. 23), (rows, times), in one over the unit of time.

        Infinite from a horizon on, where nobody survives; NaN beyond follow-up. Where an endpoint is terminal, those at risk have had none
        of the endpoints asked for and no terminal event: of one of several causes it is the cause-specific hazard. NaN where nobody is.
        """
        return self.answerer.hazard(*self._asked(endpoint, times))

    @quantile_with_interval
    def quantile(self, endpoint: Any = None, q: float = 0.5) -> Array:
        """The time until which the event has happened with probability ``q`` (eq. 24), (rows,).

        Infinite where it is not reached until the end of follow-up. Its interval is where the interval of survival holds 1 - ``q``.
        """
        places = self._places(endpoint)
        if not (isinstance(q, Real) and 0.0 < q < 1.0):
            raise ValueError(f"q must lie between 0 and 1; found {q!r}")
        alive = self._survival_of(places)
        times = first_times(lambda rows, at: 1.0 - alive(rows, at), self.n_rows, self._scale(places), float(q))
        if self.known is None:
            return times
        own = list(places)
        return np.asarray(np.clip(times, self.known.lower[:, own].min(axis=1), self.known.upper[:, own].min(axis=1)))

    def median(self, endpoint: Any = None, *, interval: float | None = None) -> Any:
        """The median event time, (rows,); see ``quantile``."""
        return self.quantile(endpoint, 0.5, interval=interval)

    @with_interval(WITHIN_UNTIL)
    def restricted_mean(self, endpoint: Any = None, *, until: float) -> Array:
        """Mean of the event time or ``until``, whichever comes first (eq. 24): the area under the survival curve, (rows,).

        NaN if that is beyond follow-up, unless the event itself is given.
        """
        places, end = self._places(endpoint), _checked_until(until)
        scale = self._scale(places)
        if scale.is_timed(np.array(end)):
            last = min(end, scale.end)  # nobody survives a horizon
            return areas(self._survival_of(places), self.answerer.breaks(places, last), last)
        if self.warns:
            warn_of_no_mean(self.encoding.endpoints[places[0]], end)
        if self.known is None or len(places) > 1:
            return np.full(self.n_rows, np.nan)
        return np.where(self.known.event[:, places[0]], np.minimum(end, self.known.lower[:, places[0]]), np.nan)

    @with_interval(between(-1.0, 0.0))
    def risk(self, endpoint: Any = None) -> Array:
        """Higher means sooner: minus the mean event time on the time scale, (rows,)."""
        return self.answerer.risk(self._places(endpoint))

    @with_interval(SHARE)
    def joint_survival(self, times: Mapping[str, Any]) -> Array:
        """Probability that no endpoint has had its event until its time (eq. 22), on the grid of ``times``, a mapping of endpoints.

        The shape is (rows, times of the first endpoint, of the second, ...). Endpoints that are not asked for are integrated out. Subjects
        who die first count as free of an event that death prevents.
        """
        return self.answerer.joint_survival(*self._grid(times))

    @with_interval(POSITIVE)
    def joint_density(self, times: Mapping[str, Any]) -> Array:
        """Density of several event times together, as ``joint_survival``; not where an endpoint is terminal."""
        return self.answerer.joint_density(*self._grid(times))

    # --- states ---

    @with_interval(EVENT, first=NO_EVENT)
    def state_probabilities(self, times: Any) -> dict[str, Array]:
        """Where subjects are at each time, (rows, times) by state: "event-free", "recurrence", "death after recurrence", ...

        They add up to one. Known where an endpoint is terminal.
        """
        return self._states.state_probabilities(self._times(self._every, times))

    @with_interval(WITHIN_UNTIL)
    def time_in_states(self, *, until: float) -> dict[str, Array]:
        """Mean time that subjects spend in each state until a time, (rows,): months alive with recurrence, or lost to death."""
        end, names = _checked_until(until), self._states.state_names

        def curves(rows: Integers, times: Array) -> Array:
            return np.stack(list(self._states.part(rows).state_probabilities(times).values()), axis=1)

        found = areas(curves, self._states.breaks(self._every, end), end)
        return {name: found[:, k] for k, name in enumerate(names)}

    @with_interval(NO_EVENT)
    def survival_after(self, event: str, times: Any) -> Array:
        """Probability of no terminal event until each time *since* an event, given that the event happens, (rows, times).

        Whenever it happens; if it is known when it did, ``survival`` of the terminal event is the sharper answer.
        """
        return self._states.survival_after(event, np.atleast_1d(np.asarray(times, dtype=np.float64)))

    @with_interval(NO_EVENT)
    def survival_without(self, event: str, times: Any, *, until: float) -> Array:
        """Probability of no such event until each time and of no terminal one until ``until``, (rows, times)."""
        return self._states.survival_without(event, np.atleast_1d(np.asarray(times, dtype=np.float64)), float(until))

    # --- uncertainty ---

    def deviations(self, question: Callable[[Any], Array], *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, rows first, and how far it deviates along each direction of parameter uncertainty.

        The sum of their squares is the answer's variance. ``thorough``: along all directions, for averages over rows.
        """
        return self.answerer.deviations(lambda answerer: question(self._by(answerer)), thorough=thorough)

    def correction(self, question: Callable[[Any], Array]) -> Array:
        """How far the answer to a question moves with the linear effects on the hazards that shrinkage has taken from the model."""
        return self.answerer.correction(lambda answerer: question(self._by(answerer)))

    def _by(self, answerer: Answerer) -> Prognosis:
        out = copy(self)
        out.answerer, out.warns = answerer, self.warns and answerer is self.answerer
        return out

    # --- what was asked ---

    def _place(self, endpoint: Any) -> int:
        return endpoint_place(self.encoding.endpoint_names, endpoint)

    def _places(self, endpoint: Any) -> Places:
        several = self.encoding.ordered is not None and not (endpoint is None or isinstance(endpoint, str))
        return tuple(self._place(name) for name in (tuple(endpoint) if several else (endpoint,)))

    def _asked(self, endpoint: Any, times: Any) -> tuple[Places, Array]:
        """Numbers of endpoints and checked times."""
        places = self._places(endpoint)
        return places, self._times(places, times)

    def _times(self, places: Places, times: Any) -> Array:
        learned = [self.encoding.endpoints[e] for e in places]
        if times is None:
            return learned[0].event_times if len(learned) == 1 else np.unique(np.concatenate([own.event_times for own in learned]))
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if at.ndim != 1 or np.isnan(at).any() or (at < 0.0).any():
            raise ValueError(f"times must be numbers that are not negative; found {times!r}")
        if self.warns:
            check_times(max(learned, key=lambda own: own.follow_up.last), at)
        return at

    def _by_row(self, times: Any) -> Array:
        """A time of each row's own; of completions, of the row that they stand for."""
        own, stands_for = np.asarray(times, dtype=np.float64), self.answerer.stands_for
        return own if stands_for is None else own[stands_for]

    def _grid(self, times: Mapping[str, Any]) -> tuple[list[int], list[Array]]:
        if not isinstance(times, Mapping) or not times:
            raise ValueError('times must be a mapping of endpoints to times, such as {"os": [12, 24], "rfs": [6, 12]}')
        asked = [self._asked(name, at) for name, at in times.items()]
        return [places[0] for places, _ in asked], [at for _, at in asked]

    @property
    def _states(self) -> TransitionAnswers:
        if isinstance(self.answerer, CellAnswers):
            raise no_states()
        return self.answerer

    @property
    def _every(self) -> Places:
        return tuple(range(len(self.encoding.endpoints)))

    def _scale(self, places: Places) -> TimeScale:
        """That of the endpoint which was followed for longest."""
        return max((self.encoding.scales[e] for e in places), key=lambda own: own.end)

    def _survival_of(self, places: Places) -> Callable[[Integers, Array], Array]:
        """No event of some endpoints, of some rows until each of some times."""
        return lambda rows, times: self.answerer.part(rows).survival(places, times).mean

    def _warn_if_prevented(self, places: Places) -> None:
        ordered = self.encoding.ordered
        if self.warns and ordered is not None and ordered.graph.may_be_prevented(places):
            graph = ordered.graph
            names = " or ".join(repr(graph.names[e]) for e in places)
            others = " or ".join(repr(n) for n in graph.terminal if graph.names.index(n) not in places)
            warn(
                f"{names} can be prevented by {others}: what is answered is the probability of no {names} until then, dead or alive, one "
                f"minus the cumulative incidence. For survival without either, ask for both endpoints",
                CompetingWarning,
            )


def _checked_until(until: Any) -> float:
    if not (isinstance(until, Real) and 0.0 < float(until) < np.inf):
        raise ValueError(f"until must be a positive time; found {until!r}")
    return float(until)


def no_states() -> ValueError:
    """What is said where states are asked of a model that knows of none."""
    return ValueError(
        "the model knows of no terminal endpoint, and so of no states; say which it is and fit again: "
        'harmonium.endpoints(..., terminal="death")'
    )
