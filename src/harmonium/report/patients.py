"""What the model says of the cohort, and of three subjects."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.report.document import Document
from harmonium.report.drawing import drawn, time_label
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = ["three_subjects"]

_RISKS = ["low risk", "middle", "high risk"]


def three_subjects(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame, unit: str = "") -> None:
    """Curves, or states, of subjects at the tenth, fiftieth and ninetieth percentile of risk."""
    everybody, known = model.prognosis(X), parse_endpoints(y)
    if known.terminal:
        page.heading("States over time")
        figure = drawn(partial(plots.states, model, X, time_label=time_label(unit)), (7.5, 4.0))
        page.figure(figure, "Mean probability of every state in this study.")
    page.heading("Three subjects")
    page.text("At the tenth, fiftieth and ninetieth percentile of predicted risk.")
    if known.terminal:
        chosen = _at_percentiles(everybody.risk(known.terminal[0]))
        page.table(_known_of(X, chosen))
        for label, row in zip(_RISKS, chosen, strict=True):
            figure = drawn(partial(plots.states, model, X.iloc[[row]], time_label=time_label(unit)), (7.5, 3.2))
            page.figure(figure, f"States of the subject of {label.removesuffix(' risk')} risk.")
        return
    for name in model.endpoint_names:
        chosen = _at_percentiles(everybody.risk(name))
        page.table(_known_of(X, chosen), caption=f"By risk of {name}" if len(model.endpoint_names) > 1 else "")
        draw = partial(plots.survival_curves, model, X.iloc[chosen], endpoint=name, labels=_RISKS, cohort=y, time_label=time_label(unit))
        page.figure(drawn(draw, (7.0, 4.0)), f"{name} of the three; the study in grey.")


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
