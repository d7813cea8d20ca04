"""What a model has inferred from its training table, for people and for programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.cli.terminal import Terminal
from harmonium.table.columns import Column
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints

__all__ = ["columns_summary", "endpoints_summary", "recordings_summary", "show_columns", "show_endpoints"]

_MOST_LEVELS_SHOWN = 6


def columns_summary(encoding: Encoding, X: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """Of every covariate: its name, role, and levels or mean; with the table at hand, the share that is missing."""
    out = []
    for column in encoding.columns:
        row: dict[str, Any] = {"name": column.name, "role": column.role}
        if column.role == "numeric":
            row |= {"mean": column.mean, "standard_deviation": column.scale, "lowest": column.lowest, "highest": column.highest}
        elif column.role != "ignored":
            row["levels"] = list(column.levels)
        if X is not None:
            row["missing"] = float(X[column.name].isna().mean())
        out.append(row)
    return out


def endpoints_summary(encoding: Encoding, event_times: dict[str, Any]) -> list[dict[str, Any]]:
    """Of every endpoint: what the model file tells."""
    return [
        {
            "name": name,
            "time_scale": scale.name,
            "horizon": scale.horizon,
            "distinct_event_times": int(event_times[name].size),
            "first_event": float(event_times[name].min()) if event_times[name].size else None,
            "last_event": float(event_times[name].max()) if event_times[name].size else None,
            "median_follow_up": _median_follow_up(encoding, e),
        }
        for e, (name, scale) in enumerate(zip(encoding.endpoint_names, encoding.scales, strict=True))
    ]


def recordings_summary(encoding: Encoding, y: Any) -> list[dict[str, Any]]:
    """Of every endpoint: what its columns hold."""
    known = parse_endpoints(y)
    between = (known.lower < known.upper) & np.isfinite(known.upper)
    return [
        {
            "name": name,
            "rows": int((~known.unknown[:, e]).sum()),
            "events": int(known.event[:, e].sum()),
            "intervals": int(between[:, e].sum()),
            "censored": int((np.isinf(known.upper[:, e]) & ~known.unknown[:, e]).sum()),
            "late_entries": int((known.entry[:, e] > 0.0).sum()),
            "median_follow_up": _median_follow_up(encoding, e),
        }
        for e, name in enumerate(known.names)
    ]


def _median_follow_up(encoding: Encoding, endpoint: int) -> float:
    """By the Kaplan-Meier estimate with the roles of event and censoring exchanged."""
    return float(encoding.follow_up[endpoint].at(np.array(0.5)))


def show_columns(terminal: Terminal, encoding: Encoding, X: pd.DataFrame | None = None) -> None:
    """A table of the covariates."""
    rows = [[str(column.name), column.role, _content(column)] for column in encoding.columns]
    header = ["column", "role", "levels, or mean ± standard deviation"]
    if X is not None:
        header.append("missing")
        rows = [[*row, _share(X[column.name].isna().mean())] for row, column in zip(rows, encoding.columns, strict=True)]
    n = len(encoding.columns)
    terminal.table(f"{n} covariate{'s' * (n != 1)}", header, rows, right=(3,))


def show_endpoints(terminal: Terminal, summaries: list[dict[str, Any]]) -> None:
    """A table of the endpoints; columns that hold nothing but zeros are left out."""
    optional = ("intervals", "late_entries")
    keys = [key for key in summaries[0] if key not in optional or any(row[key] for row in summaries)]
    rows = [[_cell(row[key]) for key in keys] for row in summaries]
    header = ["endpoint", *(key.replace("_", " ").replace("follow up", "follow-up") for key in keys[1:])]
    n = len(summaries)
    numbers = [number for number, key in enumerate(keys) if not isinstance(summaries[0][key], str)]
    terminal.table(f"{n} endpoint{'s' * (n != 1)}", header, rows, right=numbers)


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
