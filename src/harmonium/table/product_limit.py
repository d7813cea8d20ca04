"""Kaplan and Meier's product-limit estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.typing import Array

__all__ = ["product_limit"]


def product_limit(time: Array, ended: Any, at: Array) -> Array:
    """The share of subjects whose time has not ended just after each of some ascending times.

    Parameters
    ----------
    time : ndarray
        Until when each subject was watched.
    ended : ndarray of bool
        Whether what is waited for took place then.
    at : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> product_limit(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]), np.array([1.0, 2.0, 3.0]))
    array([0.75, 0.5 , 0.  ])
    """
    everybody, gone = np.sort(time), np.sort(time[ended])
    at_risk = time.size - np.searchsorted(everybody, at, side="left")
    ending = np.searchsorted(gone, at, side="right") - np.searchsorted(gone, at, side="left")
    return np.cumprod(1.0 - ending / at_risk, dtype=np.float64)
