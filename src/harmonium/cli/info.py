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

_CONTRASTIVE = ("learning_rate", "momentum", "batch_size", "n_epochs", "n_steps", "persistent", "optimiser", "centred")


def run(context: typer.Context, model_file: Model, quiet: Quiet = False, as_json: Json = False) -> None:
    """Tell what a model was trained on and how: its covariates, endpoints, settings, and metrics if they were measured."""
    from harmonium.cli.summaries import columns_summary, endpoints_summary, show_columns, show_endpoints, show_evaluation
    from harmonium.engine.states import EXACT_LIMIT
    from harmonium.estimator import OF_THE_SESSION, load

    terminal: Terminal = context.obj
    model = load(model_file)
    endpoints = endpoints_summary(model.encoding_)
    settings = {name: value for name, value in model.get_params().items() if name not in OF_THE_SESSION}
    fitted = {"rows": model.n_rows_, "l2": model.l2_, "iterations": model.n_iter_, "evaluation": model.evaluation_}
    show_columns(terminal, model.encoding_)
    show_endpoints(terminal, endpoints)
    show_evaluation(terminal, model.evaluation_)
    exact = model.trainer == "exact" or (model.trainer == "auto" and model.n_hidden <= EXACT_LIMIT)
    of_no_use = _CONTRASTIVE if exact else ()
    shown = {"rows in training": fitted["rows"], "l2 used": fitted["l2"], "iterations": fitted["iterations"], **settings}
    rows = [[name, _shown(value)] for name, value in shown.items() if name not in of_no_use and value not in (None, {})]
    terminal.table("training and settings", ["name", "value"], rows)
    described = {"columns": columns_summary(model.encoding_), "endpoints": endpoints, "settings": settings}
    terminal.result({"model": str(model_file), **fitted, **described})


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
