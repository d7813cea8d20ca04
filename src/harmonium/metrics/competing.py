"""Metrics of an endpoint that a terminal event may prevent: who has had that event will never have this one.

Censoring is what ends observation without either event. Predictions are cumulative incidences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harmonium.metrics.brier import IntegratedBrier, check_shape, inverse_probability, usable_times
from harmonium.metrics.concordance import harrell
from harmonium.metrics.observed import Estimate, Observed, mean_of, right_censored
from harmonium.metrics.pairs import Pairs
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.product_limit import AalenJohansen, ProductLimit
from harmonium.table.relations import at_or_after
from harmonium.typing import Array, Booleans, Integers

__all__ = [
    "Competing",
    "IncidenceBrier",
    "aalen_johansen",
    "competing",
    "competing_concordance",
    "incidence_brier_score",
    "integrated",
    "integrated_incidence_brier_score",
    "is_prevented",
    "since_the_start",
    "unweighted_concordance",
    "weighted_concordance",
]

_METRIC = "the integrated Brier score"


@dataclass(frozen=True)
class Competing:
    """Observed times of an endpoint, and where a terminal event came first.

    Attributes
    ----------
    observed : Observed
        Until the event, the terminal event or the censoring.
    other : ndarray of bool
        Whether it was the terminal event.
    """

    observed: Observed
    other: Booleans

    def forever(self) -> Observed:
        """The same, with those who can never have the event free of it for ever."""
        return replace(self.observed, time=np.where(self.other, np.inf, self.observed.time))

    def censoring(self) -> ProductLimit:
        """The distribution of the censoring."""
        own = self.observed
        return ProductLimit.of_censoring(own.time, own.event | self.other, own.entry if own.has_late_entry else None, own.weight)

    def incidence(self) -> AalenJohansen:
        """The Aalen-Johansen estimate."""
        own = self.observed
        return AalenJohansen.of(own.time, own.event, self.other, own.entry if own.has_late_entry else None, own.weight)


def is_prevented(known: Endpoints, endpoint: str) -> bool:
    """Whether a terminal event that is not this one may prevent it."""
    return any(name != endpoint for name in known.terminal)


def competing(known: Endpoints, endpoint: str | None = None, sample_weight: Any = None, *, quiet: bool = False) -> Competing:
    """An endpoint of a table in which some are terminal, and whose rows may have weights. Unless ``quiet``, rows left out are warned of."""
    observed = right_censored(known, endpoint, quiet=quiet, sample_weight=sample_weight)
    time, other = observed.time.copy(), np.zeros(observed.time.size, dtype=bool)
    for name in known.terminal:
        if name != observed.name:
            e = known.names.index(name)
            end = known.upper[observed.rows, e]
            ended = ~observed.event & np.isfinite(end) & at_or_after(time, np.where(np.isfinite(end), end, np.inf))
            other |= ended
            time[ended] = end[ended]
    return Competing(replace(observed, time=time), other)


def since_the_start(known: Endpoints, endpoint: str | None = None, sample_weight: Any = None) -> Competing:
    """The same for a score, which knows no late entry: predictions would have to be those given that there was no event until then."""
    own = competing(known, endpoint, sample_weight)
    if own.observed.has_late_entry:
        raise ValueError(
            f"{own.observed.name!r} cannot be scored where subjects entered late and a terminal event may prevent it; name other endpoints"
        )
    return own


def aalen_johansen(y: Any, times: Any, *, endpoint: str | None = None, sample_weight: Any = None) -> Array:
    """The Aalen-Johansen estimate of an endpoint's cumulative incidence at some times.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    times : array_like
    endpoint : str, optional
        By default the first.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands.
    """
    return competing(parse_endpoints(y), endpoint, sample_weight).incidence().at(times)


def incidence_brier_score(
    y: Any, incidence: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None
) -> Array:
    r"""Mean squared difference between predicted cumulative incidence and what happened, weighted for the censoring.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    incidence : array_like of shape (n_rows, n_times)
        Predicted probability that the event has happened until each time.
    times : array_like of shape (n_times,)
    endpoint : str, optional
        By default the first.
    y_train : DataFrame, optional
        Where the distribution of the censoring is estimated; by default in ``y``.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row of ``y`` stands.

    Returns
    -------
    ndarray of shape (n_times,)
        Lower is better. NaN, with a warning, outside the follow-up.
    """
    own, train = _pair(y, endpoint, y_train, sample_weight)
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    predicted = np.asarray(incidence, dtype=np.float64)
    check_shape(own.observed, predicted, at.size, "incidence")
    predicted, losses, out = predicted[own.observed.rows], _Losses(own, train.censoring()), np.full(at.size, np.nan)
    for k in np.flatnonzero(usable_times("the Brier score", own.observed, train.observed, at, predicted)):
        out[k] = np.average(losses.at(at[k], predicted[:, k]), weights=own.observed.weight)
    return out


def integrated_incidence_brier_score(
    y: Any, incidence: Any, times: Any, *, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None
) -> float:
    """Mean over time of :func:`harmonium.metrics.incidence_brier_score`, by the trapezoidal rule."""
    own, train = _pair(y, endpoint, y_train, sample_weight)
    at, predicted = np.atleast_1d(np.asarray(times, dtype=np.float64)), np.asarray(incidence, dtype=np.float64)
    check_shape(own.observed, predicted, at.size, "incidence")
    return integrated(own, train, predicted, at).value


def integrated(own: Competing, train: Competing, incidence: Array, times: Array) -> Estimate:
    """The integrated score and its standard error over subjects; ``incidence`` is of all rows of the table."""
    score = IncidenceBrier.of(own, train, times)
    return score.concluded(own, score.losses(own, incidence))


@dataclass(frozen=True)
class IncidenceBrier:
    """The integrated score in steps, for predictions that arrive in parts, as :class:`harmonium.metrics.brier.IntegratedBrier`.

    Attributes
    ----------
    times, columns : ndarray
        Distinct times at which the score can be estimated, and where they are among those of the predictions.
    shares : ndarray
        Weights of these times in the mean over their range.
    censoring : ProductLimit
        Its distribution in training.
    """

    times: Array
    columns: Integers
    shares: Array
    censoring: ProductLimit

    @classmethod
    def of(cls, own: Competing, train: Competing, times: Array) -> IncidenceBrier:
        """For the subjects of all parts together."""
        usable = IntegratedBrier.of(own.observed, train.observed, times, _METRIC)
        return cls(usable.times, usable.columns, usable.shares, train.censoring())

    def losses(self, own: Competing, incidence: Array) -> Array:
        """What each subject of a part contributes to the score; ``incidence`` is of all rows of the part's table."""
        losses, rows, out = _Losses(own, self.censoring), own.observed.rows, np.zeros(own.observed.time.size)
        with np.errstate(invalid="ignore"):  # predictions may be infinite where nothing is known
            for time, column, share in zip(self.times, self.columns, self.shares, strict=True):
                out += share * losses.at(time, incidence[:, column][rows])
        return out

    def concluded(self, own: Competing, losses: Array) -> Estimate:
        """The score and its standard error over subjects, from the losses of all of them in order."""
        if not self.times.size:
            return Estimate(np.nan, np.nan)  # the warning has been given
        if not np.isfinite(losses).all():
            return Estimate(undefined(f"{_METRIC} of {own.observed.name!r}", "predictions are missing or infinite"), np.nan)
        return mean_of(losses, own.observed.weight)


def competing_concordance(y: Any, risk: Any, *, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None) -> float:
    """Concordance of a risk with the order of events, where another event may prevent them.

    A subject with the event at t is compared with those who have had none until t, and with those who can have none any more; each pair
    weighs by the inverse probability that it was observed.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    risk : array_like of shape (n_rows,)
        Higher means sooner.
    endpoint : str, optional
        By default the first.
    y_train : DataFrame, optional
        Where the distribution of the censoring is estimated; by default in ``y``.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row of ``y`` stands.

    References
    ----------
    Wolbers, Blanche, Koller, Witteman and Gerds, Concordance for prognostic models with competing risks, Biostatistics 15 (2014).
    """
    own, train = _pair(y, endpoint, y_train, sample_weight)
    return weighted_concordance(own, train, np.asarray(risk, dtype=np.float64))


def weighted_concordance(own: Competing, train: Competing, risk: Array) -> float:
    """As :func:`competing_concordance`; ``risk`` is of all rows of the table."""
    observed, risk = own.observed, risk[own.observed.rows]
    if not observed.event.any():
        return undefined(f"the concordance index of {observed.name!r}", "there are no events")
    if not np.isfinite(risk).all():
        return undefined(f"the concordance index of {observed.name!r}", "predictions are missing or infinite")
    remaining, start = inverse_probability(train.censoring().at(observed.time)), np.zeros(risk.size)
    later = Pairs.of(observed.time, observed.event | own.other, start, risk, observed.event).by_event(observed.weighted(start + 1.0))
    # in the order of time reversed, those who had the other event by then are those who come later
    never = Pairs.of(-observed.time, observed.event, start, risk, observed.event).by_event(observed.weighted(own.other * remaining))
    weight = observed.weighted(remaining)
    agreeing, compared = (float(weight @ (remaining * one + other)) for one, other in zip(later, never, strict=True))
    return agreeing / compared if compared else undefined(f"the concordance index of {observed.name!r}", "there are no comparable pairs")


def unweighted_concordance(own: Competing, risk: Array) -> Estimate:
    """The same without weights, with its standard error (Wolbers et al. 2009)."""
    return harrell(own.forever(), risk, with_error=True)


def _pair(y: Any, endpoint: str | None, y_train: Any, sample_weight: Any) -> tuple[Competing, Competing]:
    own = since_the_start(parse_endpoints(y), endpoint, sample_weight)
    return own, own if y_train is None else since_the_start(parse_endpoints(y_train), endpoint)


class _Losses:
    """Weighted squared differences of all subjects, time by time, so that memory is linear in their number."""

    def __init__(self, own: Competing, censoring: ProductLimit) -> None:
        self._own, self._censoring = own, censoring
        self._at_end = inverse_probability(censoring.at(own.observed.time))

    def at(self, time: float, incidence: Array) -> Array:
        """Contributions at a time."""
        observed = self._own.observed
        known = (observed.event | self._own.other) & (observed.time <= time)
        still = np.where(observed.time > time, inverse_probability(self._censoring.at(np.array(time))), 0.0)
        happened = observed.event & (observed.time <= time)
        return np.asarray(np.where(known, self._at_end, still) * (happened - incidence) ** 2)
