"""``harmonium predict``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harmonium.cli.options import Data, Force, Id, Jobs, Json, Model, Quiet, TableOutput, flag, numbers
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium predict model.harmonium data.csv --times 12,24,36 --endpoint os --id patient -o predictions.csv

harmonium predict model.harmonium data.csv --median --given os=os_mth,os_event --given rfs=rfs_mth,rfs_event --landmark 12 -o later.csv

harmonium predict model.harmonium data.csv | head
"""


def run(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: Annotated[
        list[str] | None,
        typer.Option("--endpoint", "-e", metavar="NAME", help="What to predict; may be repeated.", show_default="all endpoints"),
    ] = None,
    times: Annotated[str | None, typer.Option("--times", "-t", metavar="T,T,...", help="Times of survival probabilities.")] = None,
    median: Annotated[bool, flag("--median", help="Also predict the median event time.")] = False,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="NAME=COLUMNS",
            show_default=False,
            help="What is known of an endpoint, such as rfs=rfs_mth,rfs_event; may be repeated.",
        ),
    ] = None,
    landmark: Annotated[
        float | None, typer.Option("--landmark", metavar="TIME", help="Use of what is given only what was known then.", show_default=False)
    ] = None,
    identifier: Id = None,
    output: TableOutput = "-",
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict risk, survival and median event times for the rows of a table.

    Writes, for each endpoint NAME: NAME_risk (higher means sooner), NAME_survival_T for each of the times, and NAME_median. The table is
    read and written in parts, so it may be larger than memory.

    With --given, what the table knows of the endpoints already is used. Columns are written as for fit (see harmonium fit --help). With
    --landmark T, predictions are made as if at T: later recordings are not looked at.
    """
    from harmonium.cli.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.cli.reading import open_table
    from harmonium.cli.writing import check_output, side_by_side, table_writer
    from harmonium.estimator import load
    from harmonium.table.landmark import landmark as known_at
    from harmonium.table.training_values import TrainingValues

    terminal: Terminal = context.obj
    check_output(output, force, as_json=as_json)
    asked = {} if times is None else numbers("--times", times)
    if landmark is not None and not given:
        raise ValueError("--landmark cuts what is given; tell what that is with --given NAME=TIME,EVENT")
    model = load(model_file).set_params(n_jobs=jobs)
    names = list(dict.fromkeys(endpoint or model.endpoint_names_))
    require_endpoints(names, model.endpoint_names_)
    table = open_table(data)
    known = EndpointReader(given or [], table.columns)
    require_endpoints(known.names, model.endpoint_names_)
    if given:
        _warn_of_silence(terminal, model, known.names)
    _warn_of_extrapolation(terminal, model, names, asked)
    covariates = TrainingValues(model.encoding_.columns)
    columns = list(dict.fromkeys([*covariates.names, *known.columns, *([identifier] if identifier else [])]))
    table.require(columns)

    n_rows, written = 0, []
    with terminal.progress("predicting", shown=output != "-") as advance, table_writer(output, force) as write:
        for part in table.parts(columns, text=[*covariates.text, *([identifier] if identifier else [])]):
            try:
                X = covariates.of(part.frame)
                facts = known.read(part.frame) if given else None
                if landmark is not None:
                    facts = known_at(facts, landmark)
                answers = _answers(model, X, names, asked, median, facts)
            except ValueError as error:
                raise ValueError(_counted_from(part.first, str(error))) from error
            if identifier:
                answers = side_by_side(part.frame[[identifier]], answers)
            write(answers)
            n_rows, written = n_rows + len(answers), list(answers.columns)
            advance(part.share)
        known.check()
    terminal.warn(*covariates.unseen)
    terminal.wrote(output, n_rows, written)


def _warn_of_silence(terminal: Terminal, model: Any, given: list[str]) -> None:
    """Whoever tells of a relapse knows more than that: the patient was alive then."""
    silent = [name for name in model.endpoint_names_ if name not in given]
    if silent:
        terminal.warn(f"nothing is given of {', '.join(silent)}: that there was no such event before the others is not known to the model")


def _warn_of_extrapolation(terminal: Terminal, model: Any, names: list[str], times: dict[str, float]) -> None:
    last = {name: follow_up.last for name, follow_up in zip(model.endpoint_names_, model.encoding_.follow_up, strict=True)}
    for name in names:
        late = [text for text, time in times.items() if time > last[name]]
        if late:
            terminal.warn(f"{', '.join(late)} lies beyond the last recording of {name} in training, {last[name]:g}: an extrapolation")


def _answers(model: Any, X: pd.DataFrame, names: list[str], times: dict[str, float], median: bool, given: Any) -> pd.DataFrame:
    """Predictions for some rows."""
    import pandas as pd

    out: dict[str, Any] = {}
    for name in names:
        out[f"{name}_risk"] = model.predict(X, name, given=given)
        if times:
            alive = model.predict_survival_function(X, name, list(times.values()), given=given, return_array=True)
            out |= {f"{name}_survival_{text}": alive[:, number] for number, text in enumerate(times)}
        if median:
            out[f"{name}_median"] = model.predict_median(X, name, given=given)
    return pd.DataFrame(out, index=X.index)


def _counted_from(first: int, message: str) -> str:
    """A message that counts rows from the start of the file rather than of a part of it."""
    return re.sub(r"\brow (\d+)\b", lambda found: f"row {first + int(found[1])}", message)
