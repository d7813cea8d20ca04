"""``harmonium impute``."""

from __future__ import annotations

from typing import Annotated

import typer

from harmonium.cli.options import AnyEndpointColumns, Data, Force, Jobs, Json, Model, Quiet, Seed, TableOutput
from harmonium.cli.terminal import Terminal

EXAMPLES = """
Examples:

harmonium impute model.harmonium data.csv -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event --draws 5 -o imputed.csv

harmonium impute model.harmonium data.csv --seed 1 -o imputed.parquet
"""


def run(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: AnyEndpointColumns = None,
    draws: Annotated[int, typer.Option("--draws", "-m", metavar="NUMBER", min=1, help="How many completed tables.")] = 1,
    seed: Seed = 0,
    output: TableOutput = "-",
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fill in missing values with draws from the model, given everything that is known of each row.

    Writes one table: the completed tables one below the other, numbered from 1 in the first column, draw. Observed values and other
    columns stay as they are. For each endpoint NAME that is given, the column NAME_drawn has the event time: the observed one, or for
    censored rows a draw from the times that are still possible. Endpoints are written as for fit (see harmonium fit --help).

    Parameters are drawn as well, anew for each of the first ten tables, so that the tables differ by all that is uncertain.
    """
    import pandas as pd

    from harmonium.cli.problems import endpoints_beside
    from harmonium.cli.writing import check_output, side_by_side, table_writer
    from harmonium.model.storage import read_contents
    from harmonium.table.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.table.files.opening import open_table
    from harmonium.table.training_values import TrainingValues

    terminal: Terminal = context.obj
    check_output(output, force, inputs=[data, model_file], as_json=as_json)
    contents = read_contents(model_file)
    table = open_table(data)
    reader = EndpointReader(endpoint or [], table.columns, contents.encoding)
    require_endpoints(reader.names, contents.encoding.endpoint_names)
    covariates = TrainingValues(contents.encoding.columns)
    table.require([*covariates.names, *reader.columns])
    typed = {*covariates.names, *reader.columns} - set(covariates.text)
    frame = table.read(table.columns, text=set(table.columns) - typed, codes=reader.codes)
    X = covariates.of(frame.reindex(columns=[column.name for column in contents.encoding.columns]))
    y = endpoints_beside(X, frame, reader, contents.encoding) if endpoint else None
    reader.check()
    terminal.warn(*covariates.unseen)

    from harmonium.model.loading import model_in  # takes longer than all messages above

    n_rows, columns = 0, []
    completions = model_in(contents, jobs).impute(X, y, n_draws=draws, random_state=seed)
    with table_writer(output, force) as write:
        for number, (completed, times) in enumerate(completions, start=1):
            drawn = pd.DataFrame({f"{name}_drawn": times[name, "lower"] for name in reader.names}, index=frame.index)
            numbered = pd.DataFrame({"draw": number}, index=frame.index)
            whole = side_by_side(numbered, frame.assign(**completed[covariates.names]), drawn)
            write(whole)
            n_rows, columns = n_rows + len(whole), list(whole.columns)
    terminal.wrote(output, n_rows, columns)
