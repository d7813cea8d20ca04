"""What the model says of the cohort, and of three profiles: typical subjects of low to high risk, none of whom is a row of the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.metrics.predictions import has_intervals
from harmonium.numerics.round_times import three_times
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn, in_unit, time_label
from harmonium.report.thirds import THIRDS, thirds
from harmonium.table.columns import Column
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import columns_of
from harmonium.typing import Array

__all__ = ["predicted_of", "profiles_by", "ranking", "three_profiles"]

_LEVEL = 0.95


def three_profiles(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame, unit: str = "") -> None:
    """Curves, or states, of typical subjects of low, middle and high risk, and by what they are ranked.

    Where endpoints are terminal, any of these events counts; otherwise there are three profiles for each endpoint.
    """
    terminal = parse_endpoints(y).terminal
    if terminal:
        page.heading("States over time")
        figure = drawn(partial(plots.states, model, X, time_label=time_label(unit)), (WIDE, 3.2))
        page.figure(figure, "Mean probability of every state in this study.")
    if not model.encoding.modelled:
        return
    page.heading("Three profiles")
    page.text(
        "Medians and most frequent values of the third of the subjects with the lowest predicted risk, of the middle and of the highest. "
        "They are typical profiles, not actual subjects."
    )
    alone: list[tuple[str, ...]] = [(name,) for name in model.endpoint_names]
    for names in [terminal] if terminal else alone:
        ranked, risk = ranking(model, X, names, unit)
        three = profiles_by(model.encoding.modelled, X, risk)
        page.table(_known_of(three), caption=f"Ranked by the predicted probability of {ranked}")
        events = list(dict.fromkeys([*alone, names])) if terminal else [names]
        page.table(predicted_of(model, three, events, unit), caption=_caption(model))
        if terminal:
            for row, label in enumerate(THIRDS):
                figure = drawn(partial(plots.states, model, three[row : row + 1], time_label=time_label(unit)), (WIDE, 2.7))
                page.figure(figure, f"States of the profile of {label.removesuffix(' risk')} risk.")
        else:
            draw = partial(plots.survival_curves, model, three, endpoint=names[0], labels=THIRDS, cohort=y, time_label=time_label(unit))
            page.figure(drawn(draw, (WIDE, 3.6)), f"Predicted curves of {names[0]} for the three profiles; observed curve in grey.")


def ranking(model: Any, X: pd.DataFrame, names: tuple[str, ...], unit: str) -> tuple[str, Array]:
    """What subjects are ranked by, in words, and its value for each: the probability of any of some events by a time in mid-study."""
    time = _times(model, names, unit)[1]
    happened = model.prognosis(X).cumulative_incidence(_asked(names), [time])
    return f"{' or '.join(names)} within {in_unit(time, unit)}", np.asarray(happened[:, 0])


def _times(model: Any, names: tuple[str, ...], unit: str) -> list[float]:
    """A few, at which all of some endpoints were observed."""
    return three_times(min(own.follow_up.last for own in model.encoding.endpoints if own.name in names), unit)


def _asked(names: tuple[str, ...]) -> Any:
    """One endpoint, or several, of which the first counts."""
    return names if len(names) > 1 else names[0]


def predicted_of(model: Any, three: pd.DataFrame, events: list[tuple[str, ...]], unit: str) -> pd.DataFrame:
    """The probability of each event, or of any of several, by a few times, in per cent, with intervals if the model has them."""
    prognosis, level = model.prognosis(three), _LEVEL if has_intervals(model) else None
    rows = []
    for names in events:
        times = _times(model, names, unit)
        found = prognosis.cumulative_incidence(_asked(names), times, interval=level)
        parts = (found,) if level is None else found
        for k, time in enumerate(times):
            shown = [_per_cent([float(part[row, k]) for part in parts]) for row in range(len(three))]
            rows.append([f"{' or '.join(names)} within {in_unit(time, unit)}", *shown])
    return pd.DataFrame(rows, columns=["", *THIRDS])


def _caption(model: Any) -> str:
    return f"Predicted, with {_LEVEL:.0%} intervals" if has_intervals(model) else "Predicted"


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
