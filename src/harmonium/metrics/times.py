"""The times over which curves are compared if none are given: one rule for the whole library."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.metrics.observed import Observed, right_censored
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["CENTRAL", "central_times", "grid_of"]

CENTRAL = "central"
"""Name of the default grid."""

_N_TIMES = 60


def central_times(y: Any, *, endpoint: str | None = None, sample_weight: Any = None) -> Array:
    """60 equally spaced times between the 10 % and 90 % quantiles of an endpoint's event times.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time).
    endpoint : str, optional
        By default the first.
    sample_weight : array_like of shape (n_rows,), optional
        For how many subjects each row stands.

    Returns
    -------
    ndarray of shape (60,)
        Of shape (0,) if there are no events.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.load_nvalt8()
    >>> central_times(y, endpoint="os")[[0, -1]].round(1)
    array([ 7.5, 60.9])
    """
    return grid_of(right_censored(parse_endpoints(y), endpoint, sample_weight=sample_weight), CENTRAL)


def grid_of(observed: Observed, times: Any) -> Array:
    """Times as given, or the central ones of an endpoint, of which there are none if there are no events."""
    if isinstance(times, str):
        if times != CENTRAL:
            raise ValueError(f"times must be {CENTRAL!r} or hold numbers; found {times!r}")
        at = observed.time[observed.event]
        if not at.size:
            return np.empty(0)
        if observed.weight is None:
            return np.linspace(np.quantile(at, 0.1), np.quantile(at, 0.9), _N_TIMES)
        first, last = _weighted_quantiles(at, observed.weight[observed.event], np.array([0.1, 0.9]))
        return np.linspace(first, last, _N_TIMES)
    return np.atleast_1d(np.asarray(times, dtype=np.float64))


def _weighted_quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """As :func:`numpy.quantile` finds them among values that are repeated as often as their weights say.

    If some weights are smaller than 1, the smallest is the unit.
    """
    order = np.argsort(values, kind="stable")
    until = np.cumsum(weights[order]) / min(1.0, float(weights.min()))
    place = levels * (until[-1] - 1.0)
    first = np.searchsorted(until, np.floor(place) * (1.0 + 1e-12), side="right")
    second = np.searchsorted(until, np.floor(place + 1.0) * (1.0 + 1e-12), side="right")
    low, high = (values[order][np.minimum(found, values.size - 1)] for found in (first, second))
    out: Array = low + (place - np.floor(place)) * (high - low)
    return out
