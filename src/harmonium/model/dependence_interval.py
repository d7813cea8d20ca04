"""Tables of numbers that depend on the model alone, such as Kendall's tau, with intervals along its spread, without refits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.model.answering import Answering
from harmonium.model.confidence import CORRELATION, Scale, check_level, interval_of
from harmonium.model.explanation import dependence
from harmonium.model.spread import STEP, moved
from harmonium.typing import Array

__all__ = ["dependence_with_spread", "with_spread"]


def dependence_with_spread(fitted: Answering, covariates: Array, interval: float) -> pd.DataFrame:
    """Tau of each pair of endpoints and, on Fisher's scale, its interval."""
    level, out = check_level(interval), dependence(fitted, covariates)
    return with_spread(out, fitted, lambda model: dependence(model, covariates), (CORRELATION, CORRELATION), level)


def with_spread(
    table: pd.DataFrame, fitted: Answering, ask: Callable[[Any], pd.DataFrame], scales: Sequence[Scale], level: float
) -> pd.DataFrame:
    """A table and the limits of its columns, each on a scale of its own; components of a mixture deviate from it as well.

    ``ask`` is the question of which the table is the answer, or one whose answer moves as much with the model.
    """
    base, variance = ask(fitted).to_numpy(), np.zeros(table.shape)
    components: Any = fitted.components  # models of their own, each of which can be asked
    for weight, model in components:
        own = ask(model).to_numpy()
        variance += weight * (own - base) ** 2
        for candidate in _moved(model):
            variance += weight * ((ask(candidate).to_numpy() - own) / STEP) ** 2
    out = table.copy()
    for k, (name, scale) in enumerate(zip(table.columns, scales, strict=True)):
        found = interval_of(table[name].to_numpy(), np.sqrt(variance[:, k]), level, scale)
        out[f"{name}_lower"], out[f"{name}_upper"] = found.lower, found.upper
    return out


def _moved(model: Any) -> Iterator[Any]:
    """The model with parameters that are a little further along each direction of its spread, and of those of single endpoints."""
    if model.spread is None:
        raise ValueError("the model has no intervals: it was trained without a likelihood; a bootstrap refits it (n_bootstrap=50)")
    for direction in model.spread.directions[1:]:
        yield replace(model, parameters=moved(model.parameters, STEP * direction))
    if model.endpoint_models is not None:
        for e, own in enumerate(model.endpoint_models.models):
            for direction in () if own.spread is None else own.spread.directions[1:]:
                yield replace(model, endpoint_models=model.endpoint_models.moved(e, None, STEP * direction))
