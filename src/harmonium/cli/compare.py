"""``harmonium compare``."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harmonium.cli.options import Data, Drop, EndpointColumns, Ends, Jobs, Json, Quiet, Roles, Seed, TimeUnit
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium compare data.csv -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event --drop patient

harmonium compare data.csv -e os=os_mth,os_event --rivals forest.py --folds 10 --json
"""


def run(
    context: typer.Context,
    data: Data,
    endpoint: EndpointColumns,
    ends: Ends = None,
    unit: TimeUnit = None,
    role: Roles = None,
    drop: Drop = None,
    folds: Annotated[int, typer.Option("--folds", metavar="NUMBER", min=2, help="Parts of the table, each predicted by the others.")] = 5,
    rivals: Annotated[
        str | None,
        typer.Option(
            "--rivals",
            metavar="FILE",
            show_default=False,
            help="A Python file with more models: a mapping MODELS of names to objects with fit(X, y).",
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare a harmonium with Cox regression and one curve for everybody in cross-validation, all of them on the same folds.

    For each endpoint and model: Harrell's C-index and the integrated Brier score (IBS) of predictions for rows that were left out of the
    fit; ± is a standard error. The gain is how much better the harmonium is, subject by subject, with a 95 % interval: if it holds 0, the
    table does not tell which is better. Endpoints are written as for fit (see harmonium fit --help).

    The curve is Kaplan and Meier's or, where a terminal event may prevent an endpoint, Aalen and Johansen's. Cox regression needs lifelines
    (the extra bench); it gets means in place of missing values. Other models, such as the random survival
    forest of scikit-survival, come from a file: benchmarks/forest.py is one.
    """
    from harmonium.cli.fit import pair, training_table

    terminal: Terminal = context.obj
    roles = dict(pair("--role", "COLUMN=ROLE", text) for text in role or [])
    from harmonium.studies.files import models_at

    further = {} if rivals is None else models_at(rivals, "MODELS")
    X, y, _ = training_table(data, endpoint, ends, unit, drop or [], roles)
    from harmonium.studies.comparison import compare, usual_models  # takes longer than all messages above
    from harmonium.table.encoding import Encoding
    from harmonium.table.endpoints import parse_endpoints

    Encoding.learn(X, parse_endpoints(y), roles)  # what there is to say of the table is said once, and not for every fold
    models = usual_models(roles, random_state=seed, n_jobs=jobs)
    if find_spec("lifelines") is None:
        terminal.warn("Cox regression is left out: it needs lifelines, pip install 'harmonium[bench]'")
        del models["Cox"]
    models |= further
    with terminal.steps("comparing", len(models) * folds) as done:
        found = compare(X, y, models=models, n_folds=folds, random_state=seed, done=done)
    _show(terminal, found, len(X), folds)


def _show(terminal: Terminal, found: pd.DataFrame, n_rows: int, folds: int) -> None:
    header = ["endpoint", "model", "events", "C-index", "gain in C-index", "IBS", "gain in IBS"]
    rows = []
    for (endpoint, model), row in found.iterrows():
        cells = [part for metric in ("concordance", "integrated_brier_score") for part in (_value(row, metric), _gain(row, metric))]
        rows.append([str(endpoint), str(model), f"{row['events']:.0f}", *cells])
    terminal.table(f"{n_rows} rows, {folds}-fold cross-validation", header, rows, right=range(2, 7))
    by_endpoint: dict[str, dict[str, Any]] = {}
    for (endpoint, model), row in found.iterrows():
        by_endpoint.setdefault(str(endpoint), {})[str(model)] = row.to_dict()
    terminal.result({"rows": n_rows, "folds": folds, "endpoints": by_endpoint})


def _value(row: Any, metric: str) -> str:
    return "-" if math.isnan(row[metric]) else f"{row[metric]:.4f} ±{row[f'{metric}_se']:.4f}"


def _gain(row: Any, metric: str) -> str:
    """With its interval; there is none of a model over itself."""
    if math.isnan(row[f"{metric}_gain_se"]):
        return ""
    return f"{row[f'{metric}_gain']:+.4f} ({row[f'{metric}_gain_lower']:+.4f} to {row[f'{metric}_gain_upper']:+.4f})"
