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
from harmonium.metrics.pairs import TIED
from harmonium.metrics.undefined import undefined
from harmonium.table.aalen_johansen import AalenJohansen
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.product_limit import ProductLimit
from harmonium.table.relations import at_or_after
from harmonium.typing import Array, Booleans

__all__ = [
    "Competing",
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

_PART_ROWS = 500  # subjects who are compared with all others at a time


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


def competing(known: Endpoints, endpoint: str | None = None, sample_weight: Any = None) -> Competing:
    """An endpoint of a table in which some are terminal, and whose rows may have weights."""
    observed = right_censored(known, endpoint, sample_weight=sample_weight)
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
    predicted, censoring, out = predicted[own.observed.rows], train.censoring(), np.full(at.size, np.nan)
    for k in np.flatnonzero(usable_times("the Brier score", own.observed, train.observed, at, predicted)):
        out[k] = np.average(_losses(own, censoring, predicted[:, k], at[k]), weights=own.observed.weight)
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
    metric = "the integrated Brier score"
    usable = IntegratedBrier.of(own.observed, train.observed, times, metric)
    if not usable.times.size:
        return Estimate(np.nan, np.nan)
    predicted = incidence[own.observed.rows][:, usable.columns]
    if not np.isfinite(predicted).all():
        return Estimate(undefined(f"{metric} of {own.observed.name!r}", "predictions are missing or infinite"), np.nan)
    censoring = train.censoring()
    losses = np.column_stack([_losses(own, censoring, predicted[:, k], time) for k, time in enumerate(usable.times)])
    of_subjects = np.trapezoid(losses, usable.times, axis=1) / (usable.times[-1] - usable.times[0])
    return mean_of(of_subjects, own.observed.weight)


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
    remaining = inverse_probability(train.censoring().at(observed.time))
    agreeing = compared = 0.0
    for part in np.array_split(np.flatnonzero(observed.event), max(1, int(observed.event.sum()) // _PART_ROWS)):
        time, mine = observed.time[part, None], remaining[part, None]
        later = (observed.time > time) | ((observed.time == time) & ~observed.event & ~own.other)
        never = own.other & (observed.time <= time)
        weight = np.where(later, mine**2, np.where(never, mine * remaining, 0.0))
        if observed.weight is not None:
            weight = weight * observed.weight[part, None] * observed.weight
        difference = risk[part, None] - risk
        agreeing += float(np.sum(weight * np.where(np.abs(difference) <= TIED, 0.5, difference > 0.0)))
        compared += float(weight.sum())
    return agreeing / compared if compared else undefined(f"the concordance index of {observed.name!r}", "there are no comparable pairs")


def unweighted_concordance(own: Competing, risk: Array) -> Estimate:
    """The same without weights, with its standard error (Wolbers et al. 2009)."""
    return harrell(own.forever(), risk, with_error=True)


def _pair(y: Any, endpoint: str | None, y_train: Any, sample_weight: Any) -> tuple[Competing, Competing]:
    own = since_the_start(parse_endpoints(y), endpoint, sample_weight)
    return own, own if y_train is None else since_the_start(parse_endpoints(y_train), endpoint)


def _losses(own: Competing, censoring: ProductLimit, incidence: Array, time: float) -> Array:
    """Weighted squared differences at a time, of every subject."""
    observed = own.observed
    known = (observed.event | own.other) & (observed.time <= time)
    still = np.where(observed.time > time, inverse_probability(censoring.at(np.array(time))), 0.0)
    weight = np.where(known, inverse_probability(censoring.at(observed.time)), still)
    happened = observed.event & (observed.time <= time)
    return np.asarray(weight * (happened - incidence) ** 2)
