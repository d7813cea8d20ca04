"""What the model says of the cohort, and of three subjects."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn, in_unit, round_times, time_label
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["predicted_of", "three_subjects"]

_RISKS = ["low risk", "middle", "high risk"]
_LEVEL = 0.95
_MOST_TIMES = 3


def three_subjects(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame, unit: str = "") -> None:
    """Curves, or states, of subjects at the tenth, fiftieth and ninetieth percentile of risk."""
    everybody, known = model.prognosis(X), parse_endpoints(y)
    if known.terminal:
        page.heading("States over time")
        figure = drawn(partial(plots.states, model, X, time_label=time_label(unit)), (WIDE, 3.2))
        page.figure(figure, "Mean probability of every state in this study.")
    page.heading("Three subjects")
    page.text("At the tenth, fiftieth and ninetieth percentile of predicted risk.")
    if known.terminal:
        chosen = _at_percentiles(everybody.risk(known.terminal[0]))
        page.table(_known_of(X, chosen))
        page.table(predicted_of(model, X.iloc[chosen], list(model.endpoint_names), unit), caption=_caption(model))
        for label, row in zip(_RISKS, chosen, strict=True):
            figure = drawn(partial(plots.states, model, X.iloc[[row]], time_label=time_label(unit)), (WIDE, 2.7))
            page.figure(figure, f"States of the subject of {label.removesuffix(' risk')} risk.")
        return
    for name in model.endpoint_names:
        chosen = _at_percentiles(everybody.risk(name))
        page.table(_known_of(X, chosen), caption=f"By risk of {name}" if len(model.endpoint_names) > 1 else "")
        page.table(predicted_of(model, X.iloc[chosen], [name], unit), caption=_caption(model))
        draw = partial(plots.survival_curves, model, X.iloc[chosen], endpoint=name, labels=_RISKS, cohort=y, time_label=time_label(unit))
        page.figure(drawn(draw, (WIDE, 3.6)), f"{name} of the three; the study in grey.")


def predicted_of(model: Any, three: pd.DataFrame, names: list[str], unit: str) -> pd.DataFrame:
    """The probability of the event by a few times, in per cent, with intervals if the model has them."""
    prognosis, ordered = model.prognosis(three), model.encoding.episodes is not None
    level = None if model.spread is None else _LEVEL
    rows = []
    for endpoint in model.encoding.endpoints:
        if endpoint.name not in names:
            continue
        times = _a_few(endpoint.follow_up.last)
        if ordered:
            found = prognosis.cumulative_incidence(endpoint.name, times, interval=level)
        else:
            survival = prognosis.survival(endpoint.name, times, interval=level)
            found = 1.0 - survival if level is None else tuple(1.0 - part for part in (survival[0], survival[2], survival[1]))
        parts = (found,) if level is None else found
        for k, time in enumerate(times):
            shown = [_per_cent([float(part[row, k]) for part in parts]) for row in range(len(three))]
            rows.append([f"{endpoint.name} within {in_unit(time, unit)}", *shown])
    return pd.DataFrame(rows, columns=["", *_RISKS])


def _caption(model: Any) -> str:
    return "Predicted" if model.spread is None else f"Predicted, with {_LEVEL:.0%} intervals"


def _a_few(last: float) -> list[float]:
    """Round times until the last that was observed."""
    times = round_times(last)
    return times[:: max(1, -(-len(times) // _MOST_TIMES))]


def _per_cent(parts: list[float]) -> str:
    estimate, *ends = (f"{100.0 * part:.0f}" for part in parts)
    return f"{estimate}%" + (f" [{ends[0]} to {ends[1]}]" if ends else "")


def _at_percentiles(risk: Array) -> list[int]:
    order = np.argsort(risk)
    return [int(order[len(order) // 10]), int(order[len(order) // 2]), int(order[-len(order) // 10])]


def _known_of(X: pd.DataFrame, chosen: list[int]) -> pd.DataFrame:
    """The covariates of the three, one line for each column."""
    rows = {"covariate": [str(name) for name in X.columns]}
    for label, row in zip(_RISKS, chosen, strict=True):
        rows[label] = ["missing" if pd.isna(value) else _short(value) for value in X.iloc[row]]
    return pd.DataFrame(rows)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
