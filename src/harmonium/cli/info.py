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
    from harmonium.model.component_tensors import n_covariate_units
    from harmonium.model.storage import read_contents
    from harmonium.table.summary import columns_summary, endpoints_summary

    terminal: Terminal = context.obj
    contents = read_contents(model_file)
    endpoints, training = endpoints_summary(contents.encoding), contents.training[0]
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
    for number, own in enumerate(contents.training):
        part = "" if len(contents.training) == 1 else f" of component {number + 1}, with weight {contents.weights[number]:.3f}"
        shown = {"rows in training": own.n_rows, "covariate units": n_covariate_units(contents.tensors[number]), "l2 used": own.l2}
        shown |= {"iterations": own.n_iter, "converged": own.converged, **own.settings}
        rows = [[name, _shown(value)] for name, value in shown.items() if value not in (None, {})]
        terminal.table(f"training and settings{part}", ["name", "value"], rows)
    described = {"columns": columns_summary(contents.encoding), "endpoints": endpoints, "settings": dict(training.settings)}
    components = [{"weight": weight, "settings": own.settings} for weight, own in zip(contents.weights, contents.training, strict=True)]
    terminal.result({"model": str(model_file), **fitted, **described, "components": components})


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        settings = ", ".join(f"{name}={_shown(setting)}" for name, setting in value.items() if name != "name")
        return f"{value['name']}({settings})" if "name" in value else settings
    return f"{value:.4g}" if isinstance(value, float) else str(value)
