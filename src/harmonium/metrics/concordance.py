"""Concordance of one endpoint: Harrell's index, and Uno's, which does not depend on the censoring."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.observed import Estimate, Observed, as_predictions, count, observe
from harmonium.metrics.pairs import Pairs
from harmonium.metrics.undefined import undefined
from harmonium.typing import Array, Booleans

__all__ = ["concordance_index", "concordance_index_ipcw", "harrell", "uno"]


def concordance_index(y: Any, risk: Any, *, endpoint: str | None = None, sample_weight: Any = None) -> float:
    """Harrell's concordance index: how often, of two subjects, the one with the higher risk has the event first.

    Two subjects can be compared if one has an event while the other is under observation and remains event-free; a subject censored at
    the very time of the event counts as event-free then. Risks that differ by no more than 1e-8 are tied, and count one half.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). Rows unknown for the endpoint, and those whose
        event lies between two times, do not count. A subject that entered late is compared only with events after its entry.
    risk : array_like of shape (n_rows,)
        Higher means sooner.
    endpoint : str, optional
        By default the first.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands: a pair counts with the product of both weights.

    Returns
    -------
    float
        Between 0 and 1, where 0.5 is chance; NaN, with a warning, if no two subjects can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0)], dtype=[("event", bool), ("time", float)])
    >>> concordance_index(y, [0.9, 0.1, 0.9])
    0.75
    """
    return harrell(observe(y, endpoint, sample_weight=sample_weight)[0], risk).value


def concordance_index_ipcw(
    y: Any, risk: Any, *, endpoint: str | None = None, y_train: Any = None, tau: float | None = None, sample_weight: Any = None
) -> float:
    r"""Uno's concordance index: pairs are weighted by the inverse probability of not being censored.

    With G the distribution of the censoring, an event at t has the weight :math:`G(t)^{-2}`: both subjects of a pair remained
    uncensored until then. If they entered at a and b, the pair has the weight :math:`G(a) G(b) / G(t)^2`.

    Parameters
    ----------
    y : DataFrame or structured array
        As in :func:`concordance_index`.
    risk : array_like of shape (n_rows,)
        Higher means sooner.
    endpoint : str, optional
        By default the first.
    y_train : DataFrame or structured array, optional
        Where the distribution of the censoring is estimated; by default in ``y`` itself.
    tau : float, optional
        Only events before this time count. Events beyond the reach of the censoring estimate (its last time, or before it if its
        last subject was censored) never do; a warning says so.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row of ``y`` stands; they also count in the distribution of the censoring, unless ``y_train`` is given.

    Returns
    -------
    float
        NaN, with a warning, if no two subjects can be compared.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino and Wei, On the C-statistics for evaluating overall adequacy of risk prediction procedures with
    censored survival data, Statistics in Medicine 30 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (True, 5.0), (False, 6.0)], dtype=[("event", bool), ("time", float)])
    >>> round(concordance_index_ipcw(y, [0.9, 0.1, 0.1, 0.9]), 4)
    0.4762
    """
    return uno(*observe(y, endpoint, y_train, sample_weight), risk, tau=tau).value


def harrell(observed: Observed, risk: Any, *, with_error: bool = False) -> Estimate:
    """Harrell's index, with its standard error if asked for; ``risk`` is of all rows of the table."""
    risk = as_predictions(risk, observed.rows.size)[observed.rows]
    metric = f"the concordance index of {observed.name!r}"
    reason = _obstacle(observed, risk)
    if reason:
        return Estimate(undefined(metric, reason), np.nan)
    ones = observed.weighted(np.ones(risk.size))
    return _index(metric, observed, risk, observed.event, ones, ones, with_error)


def uno(observed: Observed, train: Observed, risk: Any, *, tau: float | None = None, with_error: bool = False) -> Estimate:
    """Uno's index, with its standard error if asked for; ``risk`` is of all rows of the table."""
    risk = as_predictions(risk, observed.rows.size)[observed.rows]
    metric = f"Uno's concordance index of {observed.name!r}"
    reason = _obstacle(observed, risk)
    if reason:
        return Estimate(undefined(metric, reason), np.nan)
    if not train.event.any():
        return Estimate(undefined(metric, "there are no events where the censoring is estimated"), np.nan)
    censoring = train.censoring()
    end = np.inf if tau is None else float(tau)
    before_end = observed.event & (observed.time < end)
    uncensored = np.where(observed.time <= censoring.last, censoring.between(observed.entry, observed.time), 0.0)
    beyond = before_end & (uncensored == 0.0)
    if beyond.any():
        end = min(censoring.last, float(observed.time[beyond].min()))
        warn(f"{metric} leaves out {count(beyond.sum(), 'event')}: nothing is known of the censoring from {end:g} on", MetricWarning)
    counted = before_end & ~beyond
    if not counted.any():
        return Estimate(undefined(metric, f"there are no events before {end:g}"), np.nan)
    # A pair of i, with an event at t, and j has the weight 1 / (G(t) / G(a)) of i times 1 / G(t) times G(b) of j.
    reference = censoring.without_losses()
    weight = np.divide(1.0, uncensored * reference.at(observed.time), out=np.zeros(risk.size), where=counted)
    at_entry = np.where(observed.entry > 0.0, reference.at(observed.entry), 1.0)
    return _index(metric, observed, risk, counted, observed.weighted(weight), observed.weighted(at_entry), with_error)


def _obstacle(observed: Observed, risk: Array) -> str:
    """Why nothing can be computed, if so."""
    if observed.time.size < 2:
        return "there are fewer than two subjects"
    if not observed.event.any():
        return "there are no events"
    return "" if np.isfinite(risk).all() else "predictions are missing or infinite"


def _index(metric: str, observed: Observed, risk: Array, counted: Booleans, weight: Array, mass: Array, with_error: bool) -> Estimate:
    """The weight of agreeing pairs over that of all.

    With N and D the two sums, and :math:`N_s`, :math:`D_s` the parts in which subject s is one of the two, its influence on the index
    C = N / D is :math:`(N_s - C D_s) / D`. The sum of their squares is the variance of C by the infinitesimal jackknife, in which
    the weights are taken as known.
    """
    pairs = Pairs.of(observed.time, observed.event, observed.entry, risk, counted)
    sums = pairs.by_event(mass)
    compared = float(weight @ sums.compared)
    if not compared > 0.0:
        return Estimate(undefined(metric, "no two subjects can be compared"), np.nan)
    index = float(weight @ sums.agreeing) / compared
    if not with_error:
        return Estimate(index, np.nan)
    other = pairs.by_comparator(weight)
    influence = weight * (sums.agreeing - index * sums.compared) + mass * (other.agreeing - index * other.compared)
    influence = observed.per_subject(influence) / compared
    return Estimate(index, float(np.linalg.norm(influence)), influence)
