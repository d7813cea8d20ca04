"""``harmonium sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harmonium.cli.options import Force, Id, Jobs, Json, Model, Quiet, Seed, TableOutput, flag
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from harmonium.table.encoding import Encoding

EXAMPLES = """
Examples:

harmonium sample model.harmonium -n 1000 --censored -o cohort.csv

harmonium sample model.harmonium --given-covariates patients.csv -n 20 --id patient -o futures.parquet
"""


def run(
    context: typer.Context,
    model_file: Model,
    n: Annotated[
        int | None,
        typer.Option(
            "--number",
            "-n",
            metavar="NUMBER",
            min=1,
            help="Subjects to draw, or subjects per given row.",
            show_default="1000, or 1 per given row",
        ),
    ] = None,
    censored: Annotated[bool, flag("--censored", help="Censor the subjects as those in training were.")] = False,
    rows: Annotated[
        Path | None,
        typer.Option(
            "--given-covariates",
            metavar="DATA",
            show_default=False,
            help="A table of covariates; missing values, and columns that it does not have, are drawn.",
        ),
    ] = None,
    identifier: Id = None,
    seed: Seed = 0,
    output: TableOutput = "-",
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw a synthetic cohort.

    Writes the covariates and, for each endpoint NAME, NAME_time and NAME_event (1: event, 0: censored).

    Subjects whose covariates are all given have the event times that predict would predict for them.
    """
    import pandas as pd

    from harmonium.cli.writing import check_output, side_by_side, table_writer
    from harmonium.model.storage import read_contents

    terminal: Terminal = context.obj
    check_output(output, force, inputs=[rows, model_file], as_json=as_json)
    contents = read_contents(model_file)
    if rows is not None:
        n = n or 1
        X, names = _given(terminal, contents.encoding, rows, identifier)
        names = names.loc[names.index.repeat(n)].reset_index(drop=True)
    elif identifier:
        raise ValueError("--id needs --given-covariates: there is no table to take it from")
    else:
        n, X, names = n or 1000, None, pd.DataFrame(index=range(n or 1000))
    from harmonium.model.loading import model_in  # takes longer than all messages above

    model = model_in(contents, jobs)
    covariates, y = model.sample(n, X=X, censored=censored, random_state=seed)
    times = {}
    for name in model.endpoint_names:
        times[f"{name}_time"] = y[name, "lower"]
        times[f"{name}_event"] = (y[name, "lower"] == y[name, "upper"]).astype(int)
    cohort = side_by_side(names, covariates, pd.DataFrame(times))
    with table_writer(output, force) as write:
        write(cohort)
    terminal.wrote(output, len(cohort), list(cohort.columns))


def _given(terminal: Terminal, encoding: Encoding, rows: Path, identifier: str | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates, missing where columns are not there, and the column that identifies them, if there is one."""
    from harmonium.table.files.opening import open_table
    from harmonium.table.training_values import TrainingValues

    own = [identifier] if identifier else []
    table = open_table(rows)
    table.require(own)
    covariates = TrainingValues(encoding.columns)
    there = [name for name in covariates.names if name in table.columns]
    absent = [name for name in covariates.names if name not in table.columns]
    unused = [name for name in table.columns if name not in (*there, *own)]
    if not there:
        raise ValueError(f"{rows} has none of the covariates {', '.join(map(repr, covariates.names))}")
    if absent:
        terminal.warn(f"covariates that {rows} does not have are drawn: {', '.join(map(repr, absent))}")
    if unused:
        terminal.warn(f"columns of {rows} that are not covariates of the model are not used: {', '.join(map(repr, unused))}")
    frame = table.read(list(dict.fromkeys([*there, *own])), text=[*covariates.text, *own])
    X = covariates.of(frame.reindex(columns=covariates.names))
    terminal.warn(*covariates.unseen)
    return X, frame[own]
