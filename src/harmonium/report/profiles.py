"""What the model says of the cohort, and of three profiles: typical subjects of low to high risk, none of whom is a row of the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.numerics.round_times import three_times
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn, in_unit, time_label
from harmonium.report.thirds import THIRDS, thirds
from harmonium.table.columns import Column
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import columns_of
from harmonium.typing import Array

__all__ = ["predicted_of", "profiles_by", "three_profiles"]

_LEVEL = 0.95


def three_profiles(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame, unit: str = "") -> None:
    """Curves, or states, of typical subjects of low, middle and high risk."""
    everybody, known = model.prognosis(X), parse_endpoints(y)
    if known.terminal:
        page.heading("States over time")
        figure = drawn(partial(plots.states, model, X, time_label=time_label(unit)), (WIDE, 3.2))
        page.figure(figure, "Mean probability of every state in this study.")
    page.heading("Three profiles")
    page.text(
        "Medians and most frequent values of the third of the subjects with the lowest predicted risk, of the middle and of the highest. "
        "They are typical and no subjects of this table."
    )
    if known.terminal:
        three = profiles_by(model.encoding.modelled, X, everybody.risk(known.terminal[0]))
        page.table(_known_of(three))
        page.table(predicted_of(model, three, list(model.endpoint_names), unit), caption=_caption(model))
        for row, label in enumerate(THIRDS):
            figure = drawn(partial(plots.states, model, three[row : row + 1], time_label=time_label(unit)), (WIDE, 2.7))
            page.figure(figure, f"States of the profile of {label.removesuffix(' risk')} risk.")
        return
    for name in model.endpoint_names:
        three = profiles_by(model.encoding.modelled, X, everybody.risk(name))
        page.table(_known_of(three), caption=f"By risk of {name}" if len(model.endpoint_names) > 1 else "")
        page.table(predicted_of(model, three, [name], unit), caption=_caption(model))
        draw = partial(plots.survival_curves, model, three, endpoint=name, labels=THIRDS, cohort=y, time_label=time_label(unit))
        page.figure(drawn(draw, (WIDE, 3.6)), f"{name} of the three; the study in grey.")


def predicted_of(model: Any, three: pd.DataFrame, names: list[str], unit: str) -> pd.DataFrame:
    """The probability of the event by a few times, in per cent, with intervals if the model has them."""
    prognosis, ordered = model.prognosis(three), model.encoding.episodes is not None
    level = None if model.spread is None else _LEVEL
    rows = []
    for endpoint in model.encoding.endpoints:
        if endpoint.name not in names:
            continue
        times = three_times(endpoint.follow_up.last, unit)
        if ordered:
            found = prognosis.cumulative_incidence(endpoint.name, times, interval=level)
        else:
            survival = prognosis.survival(endpoint.name, times, interval=level)
            found = 1.0 - survival if level is None else tuple(1.0 - part for part in (survival[0], survival[2], survival[1]))
        parts = (found,) if level is None else found
        for k, time in enumerate(times):
            shown = [_per_cent([float(part[row, k]) for part in parts]) for row in range(len(three))]
            rows.append([f"{endpoint.name} within {in_unit(time, unit)}", *shown])
    return pd.DataFrame(rows, columns=["", *THIRDS])


def _caption(model: Any) -> str:
    return "Predicted" if model.spread is None else f"Predicted, with {_LEVEL:.0%} intervals"


def _per_cent(parts: list[float]) -> str:
    estimate, *ends = (f"{100.0 * part:.0f}" for part in parts)
    return f"{estimate}%" + (f" [{ends[0]} to {ends[1]}]" if ends else "")


def profiles_by(columns: tuple[Column, ...], X: pd.DataFrame, risk: Array) -> pd.DataFrame:
    """A row for each third of risk: medians of numbers, and the most frequent levels; missing where a third knows nothing of a column."""
    groups = [np.flatnonzero(thirds(risk) == label) for label in THIRDS]
    values = columns_of(X, [column.name for column in columns])
    return pd.DataFrame(
        {column.name: [_typical(column, own.iloc[rows]) for rows in groups] for column, own in zip(columns, values, strict=True)}
    )


def _typical(column: Column, values: pd.Series) -> Any:
    known = values.dropna()
    if column.role == "numeric":
        return float(np.median(known.to_numpy(dtype=np.float64))) if len(known) else np.nan
    return known.value_counts().idxmax() if len(known) else None


def _known_of(three: pd.DataFrame) -> pd.DataFrame:
    """The covariates of the three, one line for each column."""
    rows = {"covariate": [str(name) for name in three.columns]}
    for row, label in enumerate(THIRDS):
        rows[label] = ["missing" if pd.isna(value) else _short(value) for value in three.iloc[row]]
    return pd.DataFrame(rows)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
