"""``harmonium info``."""

from __future__ import annotations

from typing import Any

import typer

from harmonium.cli.options import Json, Model, Quiet
from harmonium.cli.terminal import Terminal

EXAMPLES = """
Examples:

harmonium info model.harmonium

harmonium info model.harmonium --json
"""


def run(context: typer.Context, model_file: Model, quiet: Quiet = False, as_json: Json = False) -> None:
    """Show what a model was trained on and how: its covariates, endpoints, settings, and metrics if they were measured."""
    from harmonium.cli.summaries import show_columns, show_endpoints, show_evaluation
    from harmonium.model.storage import read_contents
    from harmonium.table.summary import columns_summary, endpoints_summary

    terminal: Terminal = context.obj
    contents = read_contents(model_file)
    endpoints, training = endpoints_summary(contents.encoding), contents.training
    show_columns(terminal, contents.encoding)
    show_endpoints(terminal, endpoints)
    show_evaluation(terminal, training.evaluation)
    fitted: dict[str, Any] = {
        "rows": training.n_rows,
        "l2": training.l2,
        "covariate_units": contents.n_covariate_units,
        "iterations": training.n_iter,
        "converged": training.converged,
        "evaluation": training.evaluation,
    }
    shown: dict[str, object] = {"rows in training": training.n_rows, "covariate units": contents.n_covariate_units, "l2 used": training.l2}
    shown |= {"iterations": training.n_iter, "converged": training.converged, **training.settings}
    rows = [[name, _shown(value)] for name, value in shown.items() if value not in (None, {})]
    terminal.table("training and settings", ["name", "value"], rows)
    described = {"columns": columns_summary(contents.encoding), "endpoints": endpoints, "settings": dict(training.settings)}
    terminal.result({"model": str(model_file), **fitted, **described})


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        settings = ", ".join(f"{name}={_shown(setting)}" for name, setting in value.items() if name != "name")
        return f"{value['name']}({settings})" if "name" in value else settings
    return f"{value:.4g}" if isinstance(value, float) else str(value)
