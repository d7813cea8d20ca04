"""D-calibration: whether predicted distributions of event times are right over all subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from harmonium.metrics.observed import Observed, as_predictions, observe
from harmonium.metrics.undefined import undefined
from harmonium.table.row_weights import total_or_count
from harmonium.typing import Array

__all__ = ["DCalibration", "calibration", "d_calibration"]


@dataclass(frozen=True)
class DCalibration:
    """What :func:`harmonium.metrics.d_calibration` finds.

    Parameters
    ----------
    statistic : float
        Pearson's, of the bins' counts against equal ones; 0 if calibrated perfectly.
    p_value : float
        Probability of as large a statistic if the model is calibrated; conservative where subjects are censored.
    proportions : ndarray of shape (n_bins,)
        Proportion of the subjects in each bin of predicted survival, from [0, 1 / n_bins) up.
    """

    statistic: float
    p_value: float
    proportions: Array


def d_calibration(y: Any, survival: Any, *, endpoint: str | None = None, n_bins: int = 10, sample_weight: Any = None) -> DCalibration:
    r"""Test whether predicted survival at the event is uniform, as it is if the model is right (Haider et al. 2020).

    With :math:`s_i = S_i(t_i)`, predicted survival at the observed time, a subject with an event counts in the bin that holds
    :math:`s_i`. Of a censored one it is known only that survival at its event will be below :math:`s_i`, so it is spread evenly
    over :math:`[0, s_i]`: bin :math:`[a, b)` gets

    .. math:: \frac{\min(b, s_i) - \min(a, s_i)}{s_i}.

    With :math:`N_b` subjects in bin b of B, the statistic :math:`\sum_b (N_b - n / B)^2 / (n / B)` is compared with a
    :math:`\chi^2` distribution of B - 1 degrees of freedom.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time). Rows unknown for the endpoint, and those whose
        event lies between two times, do not count.
    survival : array_like of shape (n_rows,)
        Predicted probability of no event until the subject's own observed time. For subjects that entered late, given that there
        was none until entry, S(t) / S(entry).
    endpoint : str, optional
        By default the first.
    n_bins : int
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands; the p-value takes their sum for the number of subjects.

    Returns
    -------
    DCalibration
        All NaN, with a warning, if there are no subjects.

    References
    ----------
    Haider, Hoehn, Davis and Greiner, Effective ways to build and evaluate individual survival distributions, Journal of Machine
    Learning Research 21 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (True, 3.0), (False, 4.0)], dtype=[("event", bool), ("time", float)])
    >>> d_calibration(y, [0.9, 0.1, 0.75], n_bins=2)
    DCalibration(statistic=0.0370..., p_value=0.8473..., proportions=array([0.55555556, 0.44444444]))
    """
    return calibration(observe(y, endpoint, sample_weight=sample_weight)[0], survival, n_bins)


def calibration(observed: Observed, survival: Any, n_bins: int) -> DCalibration:
    """D-calibration; ``survival`` is of all rows of the table."""
    survival = as_predictions(survival, observed.rows.size)[observed.rows]
    metric = f"D-calibration of {observed.name!r}"
    nothing = np.full(n_bins, np.nan)
    if not survival.size:
        return DCalibration(undefined(metric, "there are no subjects"), np.nan, nothing)
    if np.isnan(survival).any():
        return DCalibration(undefined(metric, "predictions are missing"), np.nan, nothing)
    if (survival < 0.0).any() or (survival > 1.0).any():
        raise ValueError(f"survival must lie between 0 and 1; found {survival.min():g} to {survival.max():g}")
    at_event = np.minimum((survival[observed.event] * n_bins).astype(int), n_bins - 1)
    of_events, of_others = (None if observed.weight is None else observed.weight[rows] for rows in (observed.event, ~observed.event))
    counts = np.bincount(at_event, of_events, minlength=n_bins) + _spread(survival[~observed.event], n_bins, of_others)
    expected = observed.n_subjects / n_bins
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return DCalibration(statistic, float(chi2.sf(statistic, n_bins - 1)), counts / observed.n_subjects)


def _spread(survival: Array, n_bins: int, weights: Array | None) -> Array:
    """Censored subjects' parts in every bin, summed."""
    positive = survival[survival > 0.0, None]
    edges = np.arange(n_bins + 1) / n_bins
    parts = np.diff(np.minimum(edges, positive), axis=1) / positive
    out: Array = parts.sum(axis=0) if weights is None else weights[survival > 0.0] @ parts
    out[0] += total_or_count(survival == 0.0, weights)
    return out
