"""Enumeration of hidden states: bit j of a state's number is the value of hidden unit j."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from harmonium.typing import Array

__all__ = ["EXACT_LIMIT", "hidden_states"]

EXACT_LIMIT = 14
"""The largest number of hidden units whose states are enumerated."""


@lru_cache(maxsize=4)
def hidden_states(n_hidden: int) -> Array:
    """All states, one per row.

    Examples
    --------
    >>> hidden_states(2)
    array([[0., 0.],
           [1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    if n_hidden > EXACT_LIMIT:
        raise ValueError(
            f"exact summation takes at most {EXACT_LIMIT} hidden units (2^{EXACT_LIMIT} states); found {n_hidden}. "
            "Use the sampled engine: harmonium.engine.gibbs, and harmonium.engine.annealing for log masses"
        )
    states = ((np.arange(2**n_hidden)[:, None] >> np.arange(n_hidden)) & 1).astype(np.float64)
    states.flags.writeable = False
    return states
