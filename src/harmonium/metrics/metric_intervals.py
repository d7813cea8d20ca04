"""Intervals of metrics from their standard errors over subjects, on scales on which they stay where they belong."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import norm

__all__ = ["with_intervals"]


def with_intervals(found: pd.DataFrame, level: Any) -> pd.DataFrame:
    """A table of metrics with the ends of intervals after every standard error.

    Indices lie between 0 and 1 and are nearly normal as log odds, scores are positive and so as logarithms, likelihoods as they are.

    Examples
    --------
    >>> table = pd.DataFrame({"concordance": [0.98], "concordance_se": [0.02]})
    >>> with_intervals(table, 0.95).round(3).to_numpy().tolist()
    [[0.98, 0.02, 0.869, 0.997]]
    """
    if isinstance(level, bool) or not (isinstance(level, Real) and 0.0 < float(level) < 1.0):
        raise ValueError(f"interval must be a probability, such as 0.95; found {level!r}")
    reach, out = float(norm.ppf(0.5 + 0.5 * float(level))), {}
    for name in found:
        out[name] = found[name]
        metric = str(name).removesuffix("_se")
        if metric != name:
            value, width = found[metric], reach * found[name]
            with np.errstate(divide="ignore", invalid="ignore"):
                if metric.startswith("concordance"):
                    ends = [expit(logit(value) + sign * width / (value * (1.0 - value))) for sign in (-1.0, 1.0)]
                elif metric.endswith("score"):
                    ends = [value * np.exp(sign * width / value) for sign in (-1.0, 1.0)]
                else:
                    ends = [value - width, value + width]
            out[f"{metric}_lower"], out[f"{metric}_upper"] = (end.where(width > 0.0, value.where(width == 0.0)) for end in ends)
    return pd.DataFrame(out)
