"""Kendall's tau with intervals along the directions of a model's spread, without refits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.model.answering import Answering
from harmonium.model.confidence import CORRELATION, check_level, interval_of
from harmonium.model.explanation import dependence
from harmonium.model.spread import STEP, moved
from harmonium.typing import Array

__all__ = ["dependence_with_spread"]


def dependence_with_spread(fitted: Answering, covariates: Array, interval: float) -> pd.DataFrame:
    """Tau of each pair of endpoints and, on Fisher's scale, its interval; components of a mixture deviate from it as well."""
    level, out = check_level(interval), dependence(fitted, covariates)
    base, variance = out.to_numpy(), np.zeros(out.shape)
    components: Any = fitted.components  # models of their own, each of which can be asked
    for weight, model in components:
        spread = model.spread
        if spread is None:
            raise ValueError("the model has no intervals: it was trained without a likelihood; a bootstrap refits it (n_bootstrap=50)")
        own = dependence(model, covariates).to_numpy()
        variance += weight * (own - base) ** 2
        for direction in spread.directions[1:]:
            candidate = replace(model, parameters=moved(model.parameters, STEP * direction))
            variance += weight * ((dependence(candidate, covariates).to_numpy() - own) / STEP) ** 2
    found = interval_of(base, np.sqrt(variance), level, CORRELATION)
    for k, name in enumerate(["tau", "tau_given_covariates"]):
        out[f"{name}_lower"], out[f"{name}_upper"] = found.lower[:, k], found.upper[:, k]
    return out
