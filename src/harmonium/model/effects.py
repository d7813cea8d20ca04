"""One table of effects: what a step in each column goes with, and what the column is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from harmonium.model.answering import Answering
from harmonium.model.asked import observed_endpoints
from harmonium.model.confidence import between, check_level
from harmonium.model.contrast import Measure, measure_of
from harmonium.model.generation import sample
from harmonium.model.standardised import Sure, standardised
from harmonium.model.usual_question import usual_time
from harmonium.table.columns import Column
from harmonium.table.frames import columns_of, to_pandas
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.typing import Array

__all__ = ["effects"]

_MOST_ROWS = 100  # over which effects are standardised
_QUARTILES = (0.25, 0.75)
_LATE = 0.9  # quantile of event times until which restricted means are taken


def effects(fitted: Answering, X: Any, y: Any, time: float | None, until: float | None, interval: float | None) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.summary`."""
    level = None if interval is None else check_level(interval)
    frame = _drawn(fitted) if X is None else to_pandas(X)
    rows = np.unique(np.linspace(0, len(frame) - 1, _MOST_ROWS).astype(int)) if len(frame) else np.arange(0)
    chosen = frame.iloc[rows]
    columns = [column for column in fitted.encoding.columns if column.role != "ignored"]
    asked = [_asked(fitted, endpoint, time, until) for endpoint in fitted.encoding.endpoints]
    measures = [own for _, _, both in asked for own in both]
    out: dict[tuple[Any, str, str], dict[str, Any]] = {}
    steps = {column.name: _steps(column, frame) for column in columns}
    for name, found in _answered(fitted, chosen, steps, measures, level is not None).items():
        values = steps[name]
        worth = {} if y is None else _importance(fitted, frame, y, name, level)
        for number, value in enumerate(values[1:], start=1):
            for e, (at, end, _) in enumerate(asked):
                happened, mean = (found[number][2 * e + k] - found[0][2 * e + k] for k in range(2))
                row = {"time": at, **_columns("difference", -happened, level, 1.0)}
                row |= {"until": end, **_columns("mean_difference", mean, level, end)} | worth
                out[name, f"{_written(values[0])} to {_written(value)}", fitted.encoding.endpoint_names[e]] = row
    return pd.DataFrame(list(out.values()), index=pd.MultiIndex.from_tuples(out, names=["column", "step", "endpoint"]))


def _asked(fitted: Answering, endpoint: LearnedEndpoint, time: float | None, until: float | None) -> tuple[float, float, list[Measure]]:
    """By default at the median event time, and until a time at which most events have happened."""
    at = usual_time(fitted.encoding, endpoint.name) if time is None else float(time)
    end = float(np.quantile(endpoint.event_times, _LATE)) if until is None else float(until)
    measures = [measure_of(fitted, "incidence", endpoint.name, [at], None), measure_of(fitted, "restricted_mean", endpoint.name, None, end)]
    return at, end, measures


def _answered(
    fitted: Answering, chosen: pd.DataFrame, steps: dict[Any, list[Any]], measures: list[Measure], sure: bool
) -> dict[Any, list[list[Sure]]]:
    """All measures at all values of the columns; one prognosis answers them."""

    def question(own: Any) -> Array:
        return np.concatenate([measure.question(own) for measure in measures], axis=1)

    def quick(own: Any) -> Array:
        return np.concatenate([(measure.quick or measure.question)(own) for measure in measures], axis=1)

    found = standardised(fitted, chosen, steps, question, sure, quick, np.array([measure.most for measure in measures]))
    return {name: [[one.part(slice(k, k + 1)) for k in range(len(measures))] for one in own] for name, own in found.items()}


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _drawn(fitted: Answering) -> pd.DataFrame:
    """Covariates as the model has learned that they are distributed."""
    unknown = np.full((1, len(fitted.encoding.modelled)), np.nan)
    return sample(fitted, unknown, None, _MOST_ROWS, False, np.random.default_rng(fitted.seed))[0]


def _steps(column: Column, frame: pd.DataFrame) -> list[Any]:
    """The first level and all others, or the quartiles of a number."""
    if column.role != "numeric":
        return list(column.levels)
    (values,) = columns_of(frame, [column.name])
    return [float(q) for q in np.nanquantile(values.to_numpy(dtype=np.float64), _QUARTILES)]


def _columns(name: str, own: Sure, level: float | None, most: float) -> dict[str, float]:
    found = own.columns(level, between(-most, most))
    labels: Sequence[str] = (name, f"{name}_lower", f"{name}_upper")
    return {label: float(value[0]) for label, value in zip(labels, found.values(), strict=False)}


def _importance(fitted: Answering, frame: pd.DataFrame, y: Any, column: Any, level: float | None) -> dict[str, float]:
    """What the log-likelihood of a row loses, on average, if nobody knows the column."""
    covariates = fitted.encoding.covariates(frame)
    observed = observed_endpoints(fitted, frame, y, len(covariates))
    hidden = covariates.copy()
    hidden[:, [own.name for own in fitted.encoding.modelled].index(column)] = np.nan
    lost = fitted.log_likelihood_of(covariates, observed, "conditional") - fitted.log_likelihood_of(hidden, observed, "conditional")
    out = {"importance": float(lost.mean())}
    if level is not None:
        reach = float(norm.ppf(0.5 + 0.5 * level) * lost.std(ddof=1) / np.sqrt(lost.size))
        out |= {"importance_lower": out["importance"] - reach, "importance_upper": out["importance"] + reach}
    return out
