"""A prognosis: some rows, with what is known of them, of which anything can be asked.

X is encoded once and hidden states are found once, whatever is asked afterwards. Every answer in the user's unit of time is a few lines
here; what it means for one model is in :mod:`harmonium.model.model_prognosis`, for a mixture of models in
:mod:`harmonium.model.mixture_prognosis`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from harmonium.model.confidence import EVENT, NO_EVENT, POSITIVE, SHARE, between
from harmonium.model.deviations import Question
from harmonium.model.hidden import Answer
from harmonium.model.quantile_interval import quantile_with_interval
from harmonium.model.rows import Rows
from harmonium.model.with_interval import WITHIN_UNTIL, with_interval
from harmonium.table.checks import check_times, warn_of_no_mean
from harmonium.table.encoding import Encoding, event_position
from harmonium.table.endpoints import Endpoints
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["Joint", "Prognosis", "endpoint_place", "no_states"]

Joint = Callable[[Rows, list[int], list[Array]], Answer]
"""A question about several columns of some rows at once."""


def endpoint_place(names: Sequence[str], endpoint: str | None) -> int:
    """Number of an endpoint; the first if none is named."""
    if endpoint is None:
        return 0
    if endpoint not in names:
        raise ValueError(f"there is no endpoint {endpoint!r}; the model has {', '.join(map(repr, names))}")
    return list(names).index(endpoint)


class Prognosis(ABC):
    """What a model says about some rows, given what is known of them.

    Made by :meth:`~harmonium.SurvivalHarmonium.prognosis`. In all methods ``endpoint`` is the first one if none is named, and ``times`` are
    the endpoint's distinct event times in training if none are given. With ``interval=0.95`` every answer comes as an
    :class:`~harmonium.model.confidence.Interval`, with ``estimate``, ``lower`` and ``upper`` of the answer's own shape.

    Parameters
    ----------
    encoding : Encoding
    known : Endpoints or None
        What is given about the endpoints.

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

    def __init__(self, encoding: Encoding, known: Endpoints | None) -> None:
        self.encoding = encoding
        self.known = known
        self.warns = True
        self.stands_for: Integers | None = None  # rows of the table, where these are what they may be

    # --- questions ---

    @with_interval(NO_EVENT)
    def survival(self, endpoint: str | None = None, times: Any = None, *, return_diagnostics: bool = False) -> Any:
        """Probability of no event until each time (eq. 20), (rows, times).

        Beyond follow-up it is a bound: survival at the end of follow-up, which later survival does not exceed.

        With ``return_diagnostics`` also an :class:`~harmonium.model.hidden.Answer` that has Monte-Carlo errors, which are zero in rows
        that were not sampled.
        """
        e, at = self._asked(endpoint, times)
        answer = self._survival(e, self._scale(e).to_unit(at))
        return (answer.mean, answer) if return_diagnostics else answer.mean

    @with_interval(NO_EVENT)
    def survival_at(self, endpoint: str | None, times: Any) -> Array:
        """Probability of no event until a time of each row's own, (rows,)."""
        e = self._place(endpoint)
        return self._survival_at(e, self._scale(e).to_unit(self._by_row(times)))

    @with_interval(EVENT)
    def cumulative_incidence(self, endpoint: str | None = None, times: Any = None) -> Array:
        """Probability that the event has happened until each time, (rows, times): one minus survival unless another event prevents it."""
        return np.asarray(1.0 - self.survival(endpoint, times))

    @with_interval(EVENT, first=NO_EVENT)
    def state_probabilities(self, times: Any) -> dict[str, Array]:
        """Where subjects are at each time, (rows, times) by path, where an endpoint is terminal; they add up to one."""
        raise no_states()

    @with_interval(WITHIN_UNTIL)
    def time_in_states(self, *, until: float) -> dict[str, Array]:
        """Mean time spent on each path until a time, (rows,), where an endpoint is terminal."""
        raise no_states()

    @with_interval(NO_EVENT)
    def survival_after(self, event: str, times: Any) -> Array:
        """Probability of no terminal event until each time since another event, (rows, times)."""
        raise no_states()

    @with_interval(POSITIVE)
    def cumulative_hazard(self, endpoint: str | None = None, times: Any = None) -> Array:
        """-ln of survival, (rows, times); infinite where survival is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.survival(endpoint, times)) + 0.0)

    @with_interval(POSITIVE)
    def density(self, endpoint: str | None = None, times: Any = None) -> Array:
        """Density of the event time (eq. 23), (rows, times), in one over the unit of time.

        NaN in rows whose event time is given, and beyond follow-up.
        """
        e, at = self._asked(endpoint, times)
        scale = self._scale(e)
        return self._density(e, event_position(scale.to_unit(at))) * np.exp(scale.log_slope(at))

    @with_interval(POSITIVE)
    def hazard(self, endpoint: str | None = None, times: Any = None) -> Array:
        """Density over survival (eq. 23), (rows, times), in one over the unit of time.

        Infinite from a horizon on, where nobody survives; NaN beyond follow-up.
        """
        e, at = self._asked(endpoint, times)
        scale = self._scale(e)
        positions = event_position(scale.to_unit(at))
        with np.errstate(invalid="ignore"):
            hazard = self._hazard(e, positions) * np.exp(scale.log_slope(at))
        return np.where((at >= scale.end) & (scale.reach == 1.0), np.inf, hazard)

    @quantile_with_interval
    def quantile(self, endpoint: str | None = None, q: float = 0.5) -> Array:
        """The time until which the event has happened with probability ``q`` (eq. 24), (rows,).

        Infinite where it is not reached until the end of follow-up. Its interval is where the interval of survival holds 1 - ``q``.
        """
        e = self._place(endpoint)
        if not (isinstance(q, Real) and 0.0 < q < 1.0):
            raise ValueError(f"q must lie between 0 and 1; found {q!r}")
        times = self._scale(e).from_unit(self._quantile(e, 1.0 - float(q)))
        return times if self.known is None else np.clip(times, self.known.lower[:, e], self.known.upper[:, e])

    def median(self, endpoint: str | None = None, *, interval: float | None = None) -> Any:
        """The median event time, (rows,); see ``quantile``."""
        return self.quantile(endpoint, 0.5, interval=interval)

    @with_interval(WITHIN_UNTIL)
    def restricted_mean(self, endpoint: str | None = None, *, until: float) -> Array:
        """Mean of the event time or ``until``, whichever comes first (eq. 24): the area under the survival curve, (rows,).

        NaN if that is beyond follow-up, unless the event itself is given.
        """
        e = self._place(endpoint)
        if not (isinstance(until, Real) and 0.0 < until < np.inf):
            raise ValueError(f"until must be a positive time; found {until!r}")
        scale, until = self._scale(e), float(until)
        if scale.is_timed(np.array(until)):
            return self._restricted_mean(e, until)
        if self.warns:
            warn_of_no_mean(self.encoding.endpoints[e], until)
        seen = np.zeros(self.n_rows, dtype=bool) if self.known is None else self.known.event[:, e]
        return np.where(seen, np.minimum(until, self.known.lower[:, e] if self.known is not None else 0.0), np.nan)

    @with_interval(between(-1.0, 0.0))
    def risk(self, endpoint: str | None = None) -> Array:
        """Higher means sooner: minus the mean event time on the time scale, (rows,)."""
        return self._risk(self._place(endpoint))

    @with_interval(SHARE)
    def joint_survival(self, times: Mapping[str, Any]) -> Array:
        """Probability that no endpoint has had its event until its time (eq. 22), on the grid of ``times``, a mapping of endpoints.

        The shape is (rows, times of the first endpoint, of the second, ...). Endpoints that are not asked for are integrated out.
        """
        places, at = self._grid(times)
        positions = [self._scale(e).to_unit(own) for e, own in zip(places, at, strict=True)]
        return self._joint(lambda rows, columns, at: rows.joint_survival(columns, at), places, positions)

    @with_interval(POSITIVE)
    def joint_density(self, times: Mapping[str, Any]) -> Array:
        """Density of several event times together, as ``joint_survival``."""
        places, at = self._grid(times)
        positions = [event_position(self._scale(e).to_unit(own)) for e, own in zip(places, at, strict=True)]
        out = self._joint(lambda rows, columns, at: rows.joint_density(columns, at), places, positions)
        for axis, (e, own) in enumerate(zip(places, at, strict=True), start=1):
            slope = np.exp(self._scale(e).log_slope(own))
            out = out * slope.reshape([-1 if k == axis else 1 for k in range(out.ndim)])
        return out

    # --- what a model must answer, on the time scale ---

    @abstractmethod
    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question, rows first, and how far it deviates along each direction of the model's spread.

        The sum of their squares is the answer's variance. ``thorough``: along all directions, for averages over rows.
        """

    @abstractmethod
    def correction(self, question: Question) -> Array:
        """How far the answer to a question moves with the linear effects on the hazards that shrinkage has taken from the model."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows."""

    @property
    @abstractmethod
    def methods(self) -> Any:
        """How each row is answered: "closed form", "enumerate", "integrate" or "sample" (:mod:`harmonium.engine.choice_of_method`).

        Only sampled answers have an error, and depend on the seed.
        """

    @abstractmethod
    def _survival(self, e: int, positions: Array) -> Answer: ...

    @abstractmethod
    def _survival_at(self, e: int, positions: Array) -> Array: ...

    @abstractmethod
    def _density(self, e: int, positions: Array) -> Array: ...

    @abstractmethod
    def _hazard(self, e: int, positions: Array) -> Array: ...

    @abstractmethod
    def _quantile(self, e: int, level: float) -> Array: ...

    @abstractmethod
    def _restricted_mean(self, e: int, until: float) -> Array: ...

    @abstractmethod
    def _risk(self, e: int) -> Array: ...

    @abstractmethod
    def _joint(self, question: Joint, places: list[int], positions: list[Array]) -> Array: ...

    # --- what was asked ---

    def _by_row(self, times: Any) -> Array:
        """A time for each row of the table, for each of these rows."""
        own = np.asarray(times, dtype=np.float64)
        return own if self.stands_for is None else own[self.stands_for]

    def _place(self, endpoint: str | None) -> int:
        return endpoint_place(self.encoding.endpoint_names, endpoint)

    def _scale(self, e: int) -> TimeScale:
        return self.encoding.scales[e]

    def _asked(self, endpoint: str | None, times: Any) -> tuple[int, Array]:
        """The endpoint's number and checked times."""
        e = self._place(endpoint)
        learned = self.encoding.endpoints[e]
        if times is None:
            return e, learned.event_times
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if at.ndim != 1 or np.isnan(at).any() or (at < 0.0).any():
            raise ValueError(f"times must be numbers that are not negative; found {times!r}")
        if self.warns:
            check_times(learned, at)
        return e, at

    def _grid(self, times: Mapping[str, Any]) -> tuple[list[int], list[Array]]:
        if not isinstance(times, Mapping) or not times:
            raise ValueError('times must be a mapping of endpoints to times, such as {"os": [12, 24], "rfs": [6, 12]}')
        asked = [self._asked(name, at) for name, at in times.items()]
        return [e for e, _ in asked], [at for _, at in asked]


def no_states() -> ValueError:
    """What is said where states are asked of a model that knows of none."""
    return ValueError(
        "the model knows of no terminal endpoint, and so of no states; say which it is and fit again: "
        'harmonium.endpoints(..., terminal="death")'
    )
