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
    """A table and the limits of its columns, each on a scale of its own.

    ``ask`` is the question of which the table is the answer, or one whose answer moves as much with the model.
    """
    model: Any = fitted
    base, variance = ask(model).to_numpy(), np.zeros(table.shape)
    for candidate in _moved(model):
        variance += ((ask(candidate).to_numpy() - base) / STEP) ** 2
    out = table.copy()
    for k, (name, scale) in enumerate(zip(table.columns, scales, strict=True)):
        found = interval_of(table[name].to_numpy(), np.sqrt(variance[:, k]), level, scale)
        out[f"{name}_lower"], out[f"{name}_upper"] = found.lower, found.upper
    return out


def _moved(model: Any) -> Iterator[Any]:
    """The model with parameters that are a little further along each direction of its spread, and of those of single endpoints."""
    if model.transitions is not None:
        for e, own in enumerate(model.transitions.models):
            _need(own.spread)
            for direction in own.spread.directions[1:]:
                yield replace(model, transitions=model.transitions.moved(e, None, STEP * direction))
        return
    _need(model.spread)
    for direction in model.spread.directions[1:]:
        yield replace(model, parameters=moved(model.parameters, STEP * direction))


def _need(spread: Any) -> None:
    if spread is None:
        raise ValueError("the model has no intervals: it was trained without a likelihood")
