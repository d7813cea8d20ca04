"""What a model has inferred from its training table, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from harmonium.cli.terminal import Terminal
from harmonium.table.columns import Column
from harmonium.table.encoding import Encoding

__all__ = ["columns_summary", "endpoints_summary", "show_columns", "show_endpoints", "show_evaluation"]

_MOST_LEVELS_SHOWN = 6


def columns_summary(encoding: Encoding) -> list[dict[str, Any]]:
    """Of every covariate: its name, role, levels or mean, and the share that was missing in training."""
    out = []
    for column in encoding.columns:
        row: dict[str, Any] = {"name": column.name, "role": column.role}
        if column.role == "numeric":
            row |= {"mean": column.mean, "standard_deviation": column.scale, "lowest": column.lowest, "highest": column.highest}
        elif column.role != "ignored":
            row["levels"] = list(column.levels)
        out.append({**row, "missing": column.missing})
    return out


def endpoints_summary(encoding: Encoding) -> list[dict[str, Any]]:
    """Of every endpoint: its name, what was recorded of it in training, and the end of its time scale.

    The median of follow-up is that of the Kaplan-Meier estimate with the roles of event and censoring exchanged.
    """
    endpoints = zip(encoding.endpoint_names, encoding.recordings, encoding.follow_up, encoding.scales, strict=True)
    return [
        {
            "name": name,
            **asdict(recordings),
            "median_follow_up": follow_up.median,
            "last_recording": follow_up.last,
            "horizon": scale.horizon,
        }
        for name, recordings, follow_up, scale in endpoints
    ]


def show_columns(terminal: Terminal, encoding: Encoding) -> None:
    """A table of the covariates."""
    rows = [[str(column.name), column.role, _content(column), _share(column.missing)] for column in encoding.columns]
    header = ["column", "role", "levels, or mean ± standard deviation", "missing"]
    n = len(encoding.columns)
    terminal.table(f"{n} covariate{'s' * (n != 1)}", header, rows, right=(3,))


def show_endpoints(terminal: Terminal, summaries: list[dict[str, Any]]) -> None:
    """A table of the endpoints; what is rare is left out where it did not occur."""
    usual = {"intervals": 0, "late_entries": 0, "horizon": np.inf}
    keys = [key for key in summaries[0] if any(row[key] != usual.get(key) for row in summaries)]
    rows = [[_cell(row[key]) for key in keys] for row in summaries]
    header = ["endpoint", *(key.replace("_", " ").replace("follow up", "follow-up") for key in keys[1:])]
    n = len(summaries)
    numbers = [number for number, key in enumerate(keys) if not isinstance(summaries[0][key], str)]
    terminal.table(f"{n} endpoint{'s' * (n != 1)}", header, rows, right=numbers)


def show_evaluation(terminal: Terminal, evaluation: dict[str, Any] | None) -> None:
    """A table of the metrics, if there are any."""
    if evaluation is not None:
        scores = evaluation["scores"]
        header = list(next(iter(scores.values())))
        rows = [[name, *(f"{value:.3f}" for value in of_endpoint.values())] for name, of_endpoint in scores.items()]
        terminal.table(f"predictions of {evaluation['method']}", ["endpoint", *header], rows, right=range(1, len(header) + 1))


def _content(column: Column) -> str:
    if column.role == "numeric":
        return f"{column.mean:.4g} ± {column.scale:.3g}   ({column.lowest:g} to {column.highest:g})"
    if column.role == "ignored":
        return f"always {column.levels[0]}" if column.levels else "-"
    more = len(column.levels) - _MOST_LEVELS_SHOWN
    return ", ".join(map(str, column.levels[:_MOST_LEVELS_SHOWN])) + (f", and {more} more" if more > 0 else "")


def _share(share: float) -> str:
    return "-" if share == 0.0 else f"{share:.1%}"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
