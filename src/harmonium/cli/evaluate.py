"""``harmonium evaluate``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harmonium.cli.options import Data, EndpointColumns, Ends, Jobs, Json, Model, Quiet, Weights, flag, numbers
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium evaluate model.harmonium test.csv -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event

harmonium evaluate model.harmonium test.csv -e os=os_mth,os_event --times 6,12,24,36 --json
"""


def run(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: EndpointColumns,
    ends: Ends = None,
    times: Annotated[
        str | None,
        typer.Option(
            "--times",
            "-t",
            metavar="T,T,...",
            show_default="the middle 80 % of the event times",
            help="Times over which the Brier score is integrated.",
        ),
    ] = None,
    likelihood: Annotated[
        bool, flag("--likelihood", help="Show the log-likelihood also beyond 14 hidden units, where it is sampled, which is slow.")
    ] = False,
    weights: Weights = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare predictions with what happened.

    For each endpoint: Harrell's C-index and Uno's, the integrated Brier score (IBS) and that of one curve for everybody
    (Kaplan–Meier; Aalen–Johansen if a terminal event may prevent the endpoint), the p-value of D-calibration (a small one means that
    predicted probabilities are off), and the mean log-likelihood per row; ± is a standard error.
    Rows that were used for training flatter the model. Endpoints are written as for fit (see harmonium fit --help).
    """
    from harmonium.cli.problems import agree_on_terminal, endpoints_beside, weights_in
    from harmonium.model.storage import read_contents
    from harmonium.table.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.table.files.opening import open_table
    from harmonium.table.training_values import TrainingValues

    terminal: Terminal = context.obj
    asked = "central" if times is None else list(numbers("--times", times).values())
    contents = read_contents(model_file)
    agree_on_terminal(contents.encoding, ends)
    table = open_table(data)
    reader = EndpointReader(endpoint, table.columns, contents.encoding)
    require_endpoints(reader.names, contents.encoding.endpoint_names)
    covariates = TrainingValues(contents.encoding.columns)
    needed = [*covariates.names, *reader.columns, *([] if weights is None else [weights])]
    table.require(needed)
    frame = table.read(list(dict.fromkeys(needed)), text=covariates.text, codes=reader.codes)
    X = covariates.of(frame)
    y = endpoints_beside(X, frame, reader, contents.encoding)
    reader.check()
    terminal.warn(*covariates.unseen)
    from harmonium.model.loading import model_in  # takes longer than all messages above

    _show(terminal, model_in(contents, jobs), X, y, weights_in(frame, weights), asked, likelihood, table.called)


def _show(
    terminal: Terminal, model: Any, X: pd.DataFrame, y: pd.DataFrame, weights: Any, times: Any, likelihood: bool, source: str
) -> None:
    import numpy as np

    from harmonium.cli.summaries import METRICS, metric_cells
    from harmonium.engine.states import EXACT_LIMIT
    from harmonium.metrics.evaluation import evaluate
    from harmonium.table.endpoints import parse_endpoints

    sampled = not likelihood and model.n_hidden > EXACT_LIMIT
    found = evaluate(model, X, y, times=times, likelihood=not sampled, sample_weight=weights)
    known = parse_endpoints(y).reordered(model.endpoint_names)
    together = math.nan if sampled else float(np.average(model.log_likelihood(X, known.to_frame(y.index)), weights=weights))
    by_endpoint = {str(name): row for name, row in zip(found.index, found.to_dict("records"), strict=True)}
    rows = [[name, *metric_cells(row)] for name, row in by_endpoint.items()]
    if len(rows) > 1 and not math.isnan(together):
        rows.append(["all together", str(len(X)), *[""] * (len(METRICS) - 2), f"{together:.4f}"])
    terminal.table(f"{len(X)} rows of {source}", ["endpoint", *METRICS.values()], rows, right=range(1, len(METRICS) + 1))
    terminal.result({"rows": len(X), "endpoints": by_endpoint, "log_likelihood": together})
