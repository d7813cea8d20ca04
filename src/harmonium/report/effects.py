"""The table of effects: what a step in each column goes with, with intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harmonium.report.document import Document
from harmonium.report.drawing import in_unit

__all__ = ["effects_of_columns", "readable_effects"]

_LEVEL = 0.95


def effects_of_columns(page: Document, model: Any, X: pd.DataFrame, y: pd.DataFrame, unit: str) -> None:
    """One table for each endpoint; without intervals if the model has none."""
    interval = None if model.fitted.spread is None else _LEVEL
    table = model.summary(X, y, interval=interval)
    page.heading("What a step in each column goes with")
    page.text(
        "Differences between subjects who are alike in everything else that was recorded, averaged over the subjects of this table: from "
        "the first level of a column to another, or from the lower to the upper quartile of a number. Positive is better."
        + (f" In brackets {_LEVEL:.0%} intervals." if interval else "")
        + " They describe; without randomisation they are no effects of a treatment."
    )
    for name in model.endpoint_names:
        own = table.xs(name, level="endpoint")
        at, until = in_unit(float(own["time"].iloc[0]), unit), in_unit(float(own["until"].iloc[0]), unit)
        page.table(readable_effects(own, at, until, unit), caption=name)
    page.text(
        "Importance is what the log-likelihood of a subject's outcomes loses, on average, if the column is not known; in thousandths, and "
        "for all endpoints together."
    )


def readable_effects(own: pd.DataFrame, at: str, until: str, unit: str) -> pd.DataFrame:
    """Numbers as a reader wants them: probabilities in per cent, times in their unit."""
    rows = {
        "column": [str(name) for name in own.index.get_level_values("column")],
        "step": [str(step) for step in own.index.get_level_values("step")],
        f"no event until {at}, difference (%)": [_bracketed(row, "difference", 100.0, "+.0f") for _, row in own.iterrows()],
        f"mean time until {until}, difference" + (f" ({unit})" if unit else ""): [
            _bracketed(row, "mean_difference", 1.0, "+.1f") for _, row in own.iterrows()
        ],
    }
    if "importance" in own:
        rows["importance"] = [f"{1000.0 * value:.0f}" for value in own["importance"]]
    return pd.DataFrame(rows)


def _bracketed(row: pd.Series, name: str, factor: float, digits: str) -> str:
    shown = f"{factor * row[name]:{digits}}"
    if f"{name}_lower" not in row:
        return shown
    return f"{shown} [{factor * row[f'{name}_lower']:{digits}} to {factor * row[f'{name}_upper']:{digits}}]"
