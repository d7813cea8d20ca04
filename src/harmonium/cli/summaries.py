"""Tables on the terminal of what a model has learned from its training table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harmonium.cli.terminal import Terminal
from harmonium.table.encoding import Encoding
from harmonium.table.summary import words_of_column

__all__ = ["show_columns", "show_endpoints", "show_evaluation"]


def show_columns(terminal: Terminal, encoding: Encoding) -> None:
    """A table of the covariates."""
    rows = [[str(column.name), column.role, words_of_column(column), _fraction(column.missing)] for column in encoding.columns]
    header = ["column", "role", "levels, or mean ± standard deviation", "missing"]
    n = len(encoding.columns)
    terminal.table(f"{n} covariate{'s' * (n != 1)}", header, rows, right=(3,))


def show_endpoints(terminal: Terminal, summaries: list[dict[str, Any]]) -> None:
    """A table of the endpoints; what is rare is left out where it did not occur."""
    usual = {"intervals": 0, "late_entries": 0, "horizon": math.inf}
    keys = [key for key in summaries[0] if any(row[key] != usual.get(key) for row in summaries)]
    rows = [[_cell(row[key]) for key in keys] for row in summaries]
    header = ["endpoint", *(key.replace("_", " ").replace("follow up", "follow-up") for key in keys[1:])]
    n = len(summaries)
    numbers = [number for number, key in enumerate(keys) if not isinstance(summaries[0][key], str)]
    terminal.table(f"{n} endpoint{'s' * (n != 1)}", header, rows, right=numbers)


def show_evaluation(terminal: Terminal, evaluation: Mapping[str, Any] | None) -> None:
    """A table of the metrics, if there are any."""
    if evaluation is not None:
        scores = evaluation["scores"]
        header = list(next(iter(scores.values())))
        rows = [[name, *(_cell(value, 3) for value in of_endpoint.values())] for name, of_endpoint in scores.items()]
        titles = ["endpoint", *(name.replace("_", " ") for name in header)]
        terminal.table(f"predictions, by {evaluation['method']}", titles, rows, right=range(1, len(header) + 1))


def _fraction(fraction: float) -> str:
    return "-" if fraction == 0.0 else f"{fraction:.1%}"


def _cell(value: Any, digits: int = 0) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.{digits}f}" if digits else f"{value:g}"
    return str(value)
