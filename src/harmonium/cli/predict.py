"""``harmonium predict``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harmonium.cli.options import Data, Force, Id, Jobs, Json, Model, Quiet, TableOutput, flag, numbers
from harmonium.cli.terminal import Terminal
from harmonium.errors import Problem, TableError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium predict model.harmonium data.csv --times 12,24,36 --endpoint os --id patient -o predictions.csv

harmonium predict model.harmonium data.csv --median --given os=os_mth,os_event --given rfs=rfs_mth,rfs_event --landmark 12 -o later.csv

harmonium predict model.harmonium data.csv --times 12,24 --interval 0.95 -o predictions.csv

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
    times: Annotated[
        str | None,
        typer.Option(
            "--times",
            "-t",
            metavar="T,T,...",
            help="Times at which to predict survival.",
            show_default="three times within follow-up, unless there is --median",
        ),
    ] = None,
    median: Annotated[bool, flag("--median", help="Also predict the median event time, as without --times.")] = False,
    interval: Annotated[
        float | None,
        typer.Option("--interval", metavar="P", help="Also write intervals of this probability, such as 0.95.", show_default=False),
    ] = None,
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
        float | None, typer.Option("--landmark", metavar="TIME", help="Ignore anything observed after TIME.", show_default=False)
    ] = None,
    identifier: Id = None,
    output: TableOutput = "-",
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict risk, survival and median event times for the rows of a table.

    Writes, for each endpoint NAME: NAME_risk (higher means sooner), NAME_survival_T for each of the times, and NAME_median. Where an
    endpoint is terminal, NAME_incidence_T, the probability that the event has happened until T, and the probability of every state. If
    neither --times nor --median is given, there are three round times and the median, and a line says which. With --interval, every number
    has a _lower and an _upper beside it. The table is read and written in parts, so it may be larger than memory.

    With --given, what is already known of the endpoints is used. Columns are written as for fit (see harmonium fit --help). With
    --landmark T, predictions are made as if at T: anything observed later is ignored.
    """
    from harmonium.cli.problems import endpoints_beside
    from harmonium.cli.writing import check_output, table_writer
    from harmonium.model.storage import read_contents
    from harmonium.table.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.table.files.opening import open_table
    from harmonium.table.landmark import landmark as known_at
    from harmonium.table.training_values import TrainingValues

    terminal: Terminal = context.obj
    check_output(output, force, inputs=[data, model_file], as_json=as_json)
    asked = {} if times is None else numbers("--times", times)
    if landmark is not None and not given:
        raise ValueError("--landmark cuts what is given; say what that is with --given NAME=TIME,EVENT")
    contents = read_contents(model_file)
    names = list(dict.fromkeys(endpoint or contents.encoding.endpoint_names))
    require_endpoints(names, contents.encoding.endpoint_names)
    table = open_table(data)
    known = EndpointReader(given or [], table.columns, contents.encoding)
    require_endpoints(known.names, contents.encoding.endpoint_names)
    covariates = TrainingValues(contents.encoding.columns)
    own = [identifier] if identifier else []
    columns = list(dict.fromkeys([*covariates.names, *known.columns, *own]))
    table.require(columns)
    from harmonium.model.loading import model_in  # takes longer than all messages above

    model = model_in(contents, jobs)
    unsaid = times is None and not median
    if unsaid:
        asked, median = _usual(model), True

    n_rows, written = 0, []
    with terminal.progress("predicting", shown=output != "-") as advance, table_writer(output, force) as write:
        for part in table.parts(columns, text=[*covariates.text, *own], codes=known.codes):
            try:
                X = covariates.of(part.frame)
                facts = endpoints_beside(X, part.frame, known, contents.encoding) if given else None
                if landmark is not None:
                    facts = known_at(facts, landmark)
                answers = _answers(model.prognosis(X, given=facts), part.frame[own], names, asked, median, interval)
            except ValueError as error:
                raise _counted_from(part.first, error) from error
            write(answers)
            n_rows, written = n_rows + len(answers), list(answers.columns)
            advance(part.fraction)
        known.check()
    terminal.warn(*covariates.unseen)
    if unsaid:
        _say_when(terminal, model, asked)
    terminal.wrote(output, n_rows, written)


def _usual(model: Any) -> dict[str, float]:
    """Times at which people who name none get an answer."""
    from harmonium.model.usual_question import usual_times

    return {f"{time:g}": time for time in usual_times(model.encoding)}


def _say_when(terminal: Terminal, model: Any, times: dict[str, float]) -> None:
    from harmonium.model.usual_question import usual_measure

    unit = model.encoding.unit
    if times:
        terminal.note(f"without --times: {usual_measure(model.encoding)} at {', '.join(times)}{f' {unit}' if unit else ''}")


def _answers(
    prognosis: Any, identifiers: pd.DataFrame, names: list[str], times: dict[str, float], median: bool, interval: float | None
) -> pd.DataFrame:
    """Predictions for some rows, from one prognosis."""
    import pandas as pd

    from harmonium.cli.writing import side_by_side

    out: dict[str, Any] = {}
    at, ordered = list(times.values()), prognosis.encoding.ordered is not None
    for name in names:
        out |= _columns(f"{name}_risk", prognosis.risk(name, interval=interval))
        if times and ordered:
            out |= _by_time(f"{name}_incidence", times, prognosis.cumulative_incidence(name, at, interval=interval))
        elif times:
            out |= _by_time(f"{name}_survival", times, prognosis.survival(name, at, interval=interval))
        if median:
            out |= _columns(f"{name}_median", prognosis.median(name, interval=interval))
    if times and ordered:
        for label, share in prognosis.state_probabilities(at, interval=interval).items():
            out |= _by_time(label, times, share)
    return side_by_side(identifiers, pd.DataFrame(out, index=identifiers.index))


def _by_time(name: str, times: dict[str, float], answer: Any) -> dict[str, Any]:
    """Columns of an answer (rows, times)."""
    out: dict[str, Any] = {}
    for number, text in enumerate(times):
        own = tuple(part[:, number] for part in answer) if isinstance(answer, tuple) else answer[:, number]
        out |= _columns(f"{name}_{text}", own)
    return out


def _columns(name: str, answer: Any) -> dict[str, Any]:
    """An answer and, if it is an interval, its ends."""
    return dict(zip((name, f"{name}_lower", f"{name}_upper"), answer, strict=True)) if isinstance(answer, tuple) else {name: answer}


def _counted_from(first: int, error: ValueError) -> TableError:
    """The error with rows counted from the start of the file rather than of a part of it."""
    problems = error.problems if isinstance(error, TableError) else (Problem(str(error)),)
    return TableError(
        replace(problem, message=re.sub(r"\brow (\d+)\b", lambda found: f"row {first + int(found[1])}", problem.message))
        for problem in problems
    )
