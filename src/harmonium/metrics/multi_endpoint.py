r"""Concordance of several endpoints: between subjects, within a subject, and of all endpoints at once.

What is known of an event time T is an interval, from a lower to an upper bound (:mod:`harmonium.table.endpoints`). Event A is *known to
precede* event B if A's upper bound lies before B's lower bound, or is equal to it while B is not known exactly: an event at t precedes
a time censored at t, as in Harrell's index. Two events at the same time, and anything unknown, cannot be compared. If B came under
observation late, it must have done so before A: otherwise the order says only who was selected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.metrics.concordance import harrell
from harmonium.metrics.observed import as_predictions, right_censored
from harmonium.metrics.pairs import TIED
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array, Booleans

__all__ = ["global_concordance", "joint_concordance", "local_concordance", "mean_of_defined"]


def global_concordance(y: Any, risk: Any, *, sample_weight: Any = None) -> float:
    r"""Concordance between subjects, averaged over endpoints: :math:`\frac{1}{K} \sum_k C_k` with Harrell's :math:`C_k`.

    Tjandra, He and Wiens (2021) call this global: subjects are ordered event by event. Every endpoint has the same weight, however
    many pairs it has.

    Parameters
    ----------
    y : DataFrame or structured array
        As in :func:`harmonium.metrics.concordance_index`.
    risk : array_like of shape (n_rows, n_endpoints)
        Higher means sooner; scales may differ between endpoints.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands.

    Returns
    -------
    float
        Between 0 and 1, where 0.5 is chance. Endpoints without comparable pairs are left out, with a warning; NaN if there are no others.

    References
    ----------
    Tjandra, He and Wiens, A hierarchical approach to multi-event survival analysis, Proceedings of the AAAI Conference on Artificial
    Intelligence 35 (2021).

    Examples
    --------
    >>> import pandas as pd
    >>> import harmonium as hm
    >>> df = pd.DataFrame({"relapse": [2, 3, 5], "relapsed": [1, 1, 1], "death": [6, 4, 9], "dead": [1, 0, 1]})
    >>> y = hm.endpoints(df, relapse=("relapse", "relapsed"), death=("death", "dead"))
    >>> global_concordance(y, [[3, 1], [1, 2], [2, 3]])  # two of three pairs for relapse, none of one for death
    0.3333333333333333
    """
    known = parse_endpoints(y)
    risk = as_predictions(risk, *known.lower.shape)
    observed = [right_censored(known, name, sample_weight=sample_weight) for name in known.names]
    return mean_of_defined([harrell(own, risk[:, e]).value for e, own in enumerate(observed)])


def mean_of_defined(values: list[float]) -> float:
    """Mean of those that are not NaN; NaN if there are none.

    Examples
    --------
    >>> mean_of_defined([0.5, float("nan"), 1.0])
    0.75
    """
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def local_concordance(y: Any, times: Any, *, sample_weight: Any = None) -> float:
    r"""Concordance within subjects: how often, of two events of one subject, the one predicted first comes first.

    With :math:`A = \{(i, k, l)\}` where event k of subject i is known to precede its event l, and predicted times :math:`\hat t`,

    .. math:: \frac{1}{|A|} \sum_{(i, k, l) \in A} [\hat t_{ik} < \hat t_{il}] + \tfrac12 [\hat t_{ik} = \hat t_{il}].

    All pairs count alike. (The local consistency of Tjandra, He and Wiens averages over each event's later events first, which is the same
    for two endpoints, and compares survival curves rather than predicted times.) Where one event cannot come after another by
    definition, as relapse-free survival and death, the order of that pair is no achievement.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns. Times censored or known to an interval count where they settle the order.
    times : array_like of shape (n_rows, n_endpoints)
        Predicted times, or anything else that is higher for later events and has one scale for all endpoints. May be infinite.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands.

    Returns
    -------
    float
        Between 0 and 1, where 0.5 is chance; NaN, with a warning, if no two events can be compared.

    Examples
    --------
    >>> import pandas as pd
    >>> import harmonium as hm
    >>> df = pd.DataFrame({"relapse": [2, 3, 5], "relapsed": [1, 1, 0], "death": [6, 4, 9], "dead": [1, 0, 1]})
    >>> y = hm.endpoints(df, relapse=("relapse", "relapsed"), death=("death", "dead"))
    >>> local_concordance(y, [[1, 2], [3, 2], [1, 2]])  # subject 2 may relapse before or after death
    0.5
    """
    known = parse_endpoints(y)
    times = as_predictions(times, *known.lower.shape)
    metric = "the local concordance"
    if np.isnan(times).any():
        return undefined(metric, "predictions are missing")
    weights = parse_weights(sample_weight, len(times))
    first = _known_to_precede(known, np.s_[:, :, None], np.s_[:, None, :])
    if weights is not None:
        first &= (weights > 0.0)[:, None, None]
    earlier, later = times[:, :, None], times[:, None, :]
    agreement = (earlier < later) + 0.5 * (earlier == later)
    if not first.any():
        return undefined(metric, "no two events of a subject can be compared")
    return float(np.average(agreement[first], weights=None if weights is None else weights[first.nonzero()[0]]))


def joint_concordance(y: Any, risk: Any, *, sample_weight: Any = None) -> float:
    r"""Concordance of all endpoints at once: how often the order of two subjects is predicted rightly for every endpoint.

    A pair of subjects counts if its order is known for every endpoint; the orders need not agree: one may relapse first and the
    other die first. With P the set of such pairs,

    .. math:: \frac{1}{|P|} \sum_{(i, j) \in P} \prod_k c_{ijk},

    where :math:`c_{ijk}` is 1 if the risks of endpoint k order the two as their events came, 1/2 if the risks are tied, and 0
    otherwise. There is no settled definition for several events in one subject; this one is Harrell's index for one endpoint,
    asks for the whole pattern of orders, depends on nothing but the order of risks, and never exceeds the concordance of any
    endpoint over the same pairs. Chance is :math:`2^{-K}` for independent risks and 1/2 for one risk that serves all endpoints
    if these always agree in their order.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns. Times censored or known to an interval count where they settle the order.
    risk : array_like of shape (n_rows, n_endpoints)
        Higher means sooner; scales may differ between endpoints.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands: a pair counts with the product of both weights.

    Returns
    -------
    float
        Between 0 and 1; NaN, with a warning, if no two subjects can be compared.

    Examples
    --------
    >>> import pandas as pd
    >>> import harmonium as hm
    >>> df = pd.DataFrame({"relapse": [2, 3, 5], "relapsed": [1, 1, 1], "death": [6, 4, 9], "dead": [1, 1, 1]})
    >>> y = hm.endpoints(df, relapse=("relapse", "relapsed"), death=("death", "dead"))
    >>> joint_concordance(y, [[3, 2], [2, 3], [1, 3]])  # of pairs 01, 02 and 12 right, wrong and tied in the second risk
    0.5
    """
    known = parse_endpoints(y)
    risk = as_predictions(risk, *known.lower.shape)
    metric = "the joint concordance"
    if not np.isfinite(risk).all():
        return undefined(metric, "predictions are missing or infinite")
    weights = parse_weights(sample_weight, len(risk))
    weights = np.ones(len(risk)) if weights is None else weights
    total, n_pairs = 0.0, 0.0
    for i in range(len(risk) - 1):  # subject by subject, so that memory does not grow with the square of their number
        one, others = np.s_[i : i + 1], np.s_[i + 1 :]
        sooner, later = _known_to_precede(known, one, others), _known_to_precede(known, others, one)
        comparable = (sooner | later).all(axis=1)
        agreement = _agreement(risk[one] - risk[others], sooner)
        number = weights[i] * weights[others][comparable]
        total += float(np.sum(number * agreement[comparable].prod(axis=1)))
        n_pairs += float(number.sum())
    return total / n_pairs if n_pairs else undefined(metric, "no two subjects can be compared for every endpoint")


def _agreement(excess: Array, sooner: Booleans) -> Array:
    """1 where a positive excess of risk goes with being sooner or a negative one with being later, 1/2 if risks are tied."""
    return np.where(np.abs(excess) <= TIED, 0.5, (excess > 0.0) == sooner)


def _known_to_precede(known: Endpoints, a: Any, b: Any) -> Booleans:
    """Whether the events at index ``a`` are known to precede those at index ``b``, which were under observation by then."""
    earliest, latest, lower, entry = known.lower[a], known.upper[a], known.lower[b], known.entry[b]
    precede = ((latest < lower) | ((latest == lower) & ~known.event[b])) & ~known.unknown[b]
    entered = (entry == 0.0) | (entry < earliest) | ((entry == earliest) & (earliest < latest))
    out: Booleans = precede & entered
    return out
