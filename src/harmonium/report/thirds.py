"""Subjects in thirds of predicted risk."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harmonium.typing import Array

__all__ = ["THIRDS", "thirds"]

THIRDS = ["low risk", "middle", "high risk"]


def thirds(risk: Array) -> pd.Series:
    """The third of every subject.

    Examples
    --------
    >>> thirds(np.array([0.1, 0.9, 0.5])).tolist()
    ['low risk', 'high risk', 'middle']
    """
    edges = np.quantile(risk, [1.0 / 3.0, 2.0 / 3.0])
    return pd.Series(pd.Categorical.from_codes(np.searchsorted(edges, risk, side="left"), THIRDS))
