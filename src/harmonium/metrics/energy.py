"""Energy score of predicted vectors of event times, some of them censored."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.censoring import CensoringDistribution, last_contact
from harmonium.metrics.observed import count, interval_censored
from harmonium.metrics.undefined import undefined
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.typing import Array

__all__ = ["energy_score"]

_N_ENDS = 10
"""Possible follow-ups over which a subject's score is averaged if its own is not known."""


def energy_score(y: Any, draws: Any, *, y_train: Any = None) -> float:
    r"""Distance between predicted and observed vectors of event times; the multivariate continuous ranked probability score.

    For a subject observed until :math:`c = (c_1, \dots, c_K)`, times are compared as far as they can be observed. With observed times t
    and predicted ones T, T', independent of one another,

    .. math:: \mathrm{E}\,\lVert \min(T, c) - \min(t, c) \rVert - \tfrac12 \mathrm{E}\,\lVert \min(T, c) - \min(T', c) \rVert,

    the energy score of what is observable. It is proper for every c that does not depend on the event times: no prediction has a lower
    expected score than the true distribution. The means are over all draws and all pairs of different draws, so the score does not
    favour any number of draws.

    Of a censored endpoint, :math:`c_k` is known. Of an endpoint with an event it is not: to leave its times as they are, and cut only
    those of censored subjects, would reward predictions of early events. Its :math:`c_k` is the subject's follow-up, which is

    * the subject's last observed time, if an endpoint was censored then;
    * otherwise unknown, but longer; the score is averaged over its distribution given that it is (Kaplan and Meier's estimate,
      ``harmonium.metrics.censoring``), which leaves the expected score what it would be were it known.

    So follow-up is taken to be common to a subject's endpoints and independent of its events. Nothing is compared beyond the longest
    follow-up.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). An endpoint of which nothing is known does not
        contribute. Rows with an event between two times are left out, with a warning.
    draws : array_like of shape (n_draws, n_rows, n_endpoints)
        Independent draws from the joint predictive distribution of every subject, at least two; if subjects entered late, given that
        there was no event until entry.
    y_train : DataFrame or structured array, optional
        Where the distribution of the follow-up is estimated; by default in ``y`` itself.

    Returns
    -------
    float
        Mean over subjects, in the unit of the times; lower is better. NaN, with a warning, if nothing can be compared.

    References
    ----------
    Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, Journal of the American Statistical Association
    102 (2007). Jonkers et al., Proper scoring rules for right-censored survival data, arXiv:2606.06393 (2026).

    Examples
    --------
    >>> import pandas as pd
    >>> import harmonium as hm
    >>> df = pd.DataFrame({"relapse": [3.0], "relapsed": [1], "death": [9.0], "dead": [0]})
    >>> y = hm.endpoints(df, relapse=("relapse", "relapsed"), death=("death", "dead"))
    >>> energy_score(y, [[[3.0, 12.0]], [[6.0, 5.0]]])  # distances 0 and 5 to (3, 9), 5 between the two
    0.0
    """
    known = parse_endpoints(y)
    draws = np.asarray(draws, dtype=np.float64)
    n_rows, n_endpoints = known.lower.shape
    if draws.ndim != 3 or draws.shape[1:] != known.lower.shape or len(draws) < 2:
        raise ValueError(f"draws must have the shape (n_draws, {n_rows}, {n_endpoints}), with at least two draws; found {draws.shape}")
    between = interval_censored(known).any(axis=1)
    if between.any():
        warn(f"the energy score leaves out {count(between.sum(), 'row')}: an event lies between two times", MetricWarning)
    rows = ~between & ~known.unknown.all(axis=1)
    if not rows.any():
        return undefined("the energy score", "nothing was observed")
    known, train = _subset(known, rows), known if y_train is None else parse_endpoints(y_train)
    follow_up = CensoringDistribution.fit(_subset(train, ~interval_censored(train).any(axis=1)))
    contact, ended = last_contact(known)
    scores = np.empty(len(contact))
    for i, predicted in enumerate(np.moveaxis(draws[:, rows], 1, 0)):
        ends = contact[i : i + 1] if ended[i] else follow_up.quantiles_after(contact[i], _N_ENDS)
        until = np.where(known.event[i], np.minimum(ends, follow_up.horizon)[:, None], np.minimum(known.lower[i], follow_up.horizon))
        scores[i] = np.mean([_score(np.minimum(known.lower[i], end), np.minimum(predicted, end)) for end in until])
    score = float(scores.mean())
    return score if np.isfinite(score) else undefined("the energy score", "predictions are missing or infinite")


def _score(observed: Array, predicted: Array) -> float:
    with np.errstate(invalid="ignore"):  # infinite draws
        return float(np.linalg.norm(predicted - observed, axis=1).mean() - 0.5 * pdist(predicted).mean())


def _subset(known: Endpoints, rows: Any) -> Endpoints:
    return known.part(rows)
