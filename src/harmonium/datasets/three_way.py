"""The three-way problem: two event times that tell a colour only together (docs/model.md, section 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from harmonium.table.endpoints import endpoints
from harmonium.typing import Array
from harmonium.units.truncated_gamma import interval_mass, sample

__all__ = ["BLOBS", "make_three_way", "three_way_log_density"]

EARLY, LATE = (8.127, 28.508), (58.233, 76.310)
"""Shape and rate of a truncated gamma with its mode at 1/4 and at 3/4."""

BLOBS = (("red", EARLY, EARLY), ("red", LATE, LATE), ("blue", LATE, EARLY), ("blue", EARLY, LATE))
"""Colour and the two times' parameters of four equally likely blobs."""


def make_three_way(n_samples: int = 1000, *, random_state: int | np.random.Generator | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw from the three-way problem; each time above 3/4 is censored at 3/4 with probability 75 %.

    Parameters
    ----------
    n_samples : int
    random_state : int or numpy.random.Generator, optional

    Returns
    -------
    X : DataFrame
        The column ``colour``.
    y : DataFrame
        Endpoints ``t1`` and ``t2``.

    Examples
    --------
    >>> X, y = make_three_way(5, random_state=0)
    >>> X["colour"].tolist()
    ['blue', 'blue', 'blue', 'red', 'red']
    """
    rng = np.random.default_rng(random_state)
    blob = rng.integers(len(BLOBS), size=n_samples)
    columns: dict[str, object] = {"colour": np.array([colour for colour, *_ in BLOBS])[blob]}
    for i, name in enumerate(("t1", "t2")):
        shape, rate = np.array([times[i] for _, *times in BLOBS]).T
        time = sample(shape[blob], rate[blob], 0.0, 1.0, rng)
        censored = (time > 0.75) & (rng.random(n_samples) < 0.75)
        columns[name], columns[f"{name}_event"] = np.where(censored, 0.75, time), ~censored
    frame = pd.DataFrame(columns)
    return frame[["colour"]], endpoints(frame, t1=("t1", "t1_event"), t2=("t2", "t2_event"))


def three_way_log_density(colour: str, t1: tuple[ArrayLike, ArrayLike], t2: tuple[ArrayLike, ArrayLike]) -> Array:
    """Log density of the generator; times are pairs (lower, upper), equal at a point, an interval otherwise."""
    total = np.array(-np.inf)
    for blob_colour, *times in BLOBS:
        if blob_colour == colour:
            logs = [_log_density(*bounds, *parameters) for bounds, parameters in zip((t1, t2), times, strict=True)]
            total = np.logaddexp(total, np.log(0.25) + logs[0] + logs[1])
    return total


def _log_density(lower: ArrayLike, upper: ArrayLike, shape: float, rate: float) -> Array:
    lower, upper = np.broadcast_arrays(np.asarray(lower, float), np.minimum(upper, 1.0))
    point = lower == upper
    out = np.empty(lower.shape)
    out[point] = (shape - 1.0) * np.log(lower[point]) - rate * lower[point]
    out[~point] = interval_mass(shape, rate, lower[~point], upper[~point])[0]
    return out - interval_mass(shape, rate, 0.0, 1.0)[0]
