"""Tables on the terminal: what a model has learned from its training table, and how well it predicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from harmonium.cli.terminal import Terminal
from harmonium.table.encoding import Encoding
from harmonium.table.summary import words_of_column

__all__ = ["METRICS", "metric_cells", "show_columns", "show_endpoints", "show_evaluation", "show_model"]

METRICS = {
    "rows": "rows",
    "events": "events",
    "concordance": "C-index",
    "concordance_ipcw": "Uno's C",
    "integrated_brier_score": "IBS",
    "kaplan_meier_ibs": "IBS, one curve for all",
    "d_calibration_p": "D-cal. p",
    "log_likelihood": "log-lik.",
}
"""Columns of :func:`harmonium.metrics.evaluate` that people get to see, and their titles."""

_FORMS = {"rows": "{:.0f}", "events": "{:.0f}", "d_calibration_p": "{:.2g}"}


def show_columns(terminal: Terminal, encoding: Encoding) -> None:
    """A table of the covariates."""
    rows = [[str(column.name), column.role, words_of_column(column), _fraction(column.missing)] for column in encoding.columns]
    header = ["column", "role", "levels, or mean ± standard deviation", "missing"]
    n = len(encoding.columns)
    terminal.table(f"{n} covariate{'s' * (n != 1)}", header, rows, right=(3,))


def show_endpoints(terminal: Terminal, summaries: list[dict[str, Any]]) -> None:
    """A table of the endpoints; what is rare is left out where it did not occur."""
    usual = {"intervals": 0, "late_entries": 0, "horizon": math.inf, "unit": None}
    keys = [key for key in summaries[0] if any(row[key] != usual.get(key) for row in summaries)]
    rows = [[_cell(row[key]) for key in keys] for row in summaries]
    titles = {"intervals": "within intervals", "median_follow_up": "median follow-up"}
    header = ["endpoint", *(titles.get(key, key.replace("_", " ")) for key in keys[1:])]
    n = len(summaries)
    numbers = [number for number, key in enumerate(keys) if not isinstance(summaries[0][key], str)]
    terminal.table(f"{n} endpoint{'s' * (n != 1)}", header, rows, right=numbers)


def show_model(terminal: Terminal, fitted: Any, objective: Any, likelihood: float | None, seconds: float) -> None:
    """A table of what was fitted: what somebody who keeps the file wants to know of it later."""
    encoding, training = fitted.encoding, fitted.training
    events = ", ".join(f"{own.name} ({own.counts.words()})" for own in encoding.endpoints)
    ends = () if encoding.ordered is None else encoding.ordered.graph.terminal
    shown = {
        "rows": str(training.n_rows),
        "covariates": f"{len(encoding.modelled)} used of {len(encoding.columns)}",
        "endpoints": events + (f", in {encoding.unit}" if encoding.unit else ""),
        "terminal": ", ".join(ends),
        "hidden units": f"{fitted.n_hidden}, and {fitted.n_covariate_units} for how covariates are distributed",
        "objective": str(objective),
        "penalty (l2)": f"{training.l2:.4g}" if isinstance(training.l2, float) else "",
        "log-likelihood": "" if likelihood is None else f"{likelihood:.4f} per row in training",
        "optimiser": f"{'converged' if training.converged else 'did not converge'} in {training.n_iter} iterations, {seconds:.1f} s",
    }
    terminal.table("the model", ["name", "value"], [[name, value] for name, value in shown.items() if value])


def show_evaluation(terminal: Terminal, evaluation: Mapping[str, Any] | None) -> None:
    """A table of the metrics, if there are any."""
    if evaluation is not None:
        scores = evaluation["scores"]
        found = next(iter(scores.values()))
        titles = {name: title for name, title in METRICS.items() if name in found} or {name: name.replace("_", " ") for name in found}
        rows = [[name, *metric_cells(of_endpoint, titles)] for name, of_endpoint in scores.items()]
        terminal.table(f"predictions, by {evaluation['method']}", ["endpoint", *titles.values()], rows, right=range(1, len(titles) + 1))


def metric_cells(found: Mapping[str, float], names: Iterable[str] = tuple(METRICS)) -> list[str]:
    """Metrics of an endpoint with their standard errors, as far as there are any.

    Examples
    --------
    >>> metric_cells({"events": 84, "concordance": 0.67989, "concordance_se": 0.0301}, ["events", "concordance"])
    ['84', '0.6799 ±0.030']
    """
    return [_metric(found[name], found.get(f"{name}_se"), _FORMS.get(name, "{:.4f}")) for name in names]


def _metric(value: float | None, error: float | None, form: str) -> str:
    if value is None or math.isnan(value):
        return "-"
    return form.format(value) + ("" if error is None or math.isnan(error) else f" ±{error:.3f}")


def _fraction(fraction: float) -> str:
    return "-" if fraction == 0.0 else f"{fraction:.1%}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "-"
    return str(value)
