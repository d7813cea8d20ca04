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


def central_times(y: Any, *, endpoint: str | None = None) -> Array:
    """60 equally spaced times between the 10 % and 90 % quantiles of an endpoint's event times.

    Parameters
    ----------
    y : DataFrame or structured array
        What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time).
    endpoint : str, optional
        By default the first.

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
    return grid_of(right_censored(parse_endpoints(y), endpoint), CENTRAL)


def grid_of(observed: Observed, times: Any) -> Array:
    """Times as given, or the central ones of an endpoint, of which there are none if there are no events."""
    if isinstance(times, str):
        if times != CENTRAL:
            raise ValueError(f"times must be {CENTRAL!r} or hold numbers; found {times!r}")
        at = observed.time[observed.event]
        return np.linspace(np.quantile(at, 0.1), np.quantile(at, 0.9), _N_TIMES) if at.size else np.empty(0)
    return np.atleast_1d(np.asarray(times, dtype=np.float64))
