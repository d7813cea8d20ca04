"""``harmonium plot``: figures of a table and of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Chosen, Data, EndpointColumns, Ends, Force, Model, Quiet, TimeUnit
from harmonium.cli.some_rows import ALL, Rows, asked
from harmonium.cli.terminal import Terminal

__all__ = ["COMMANDS"]

_FIGURES = (".png", ".pdf", ".svg")

Figure = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg file.", show_default=False)]
Until = Annotated[float | None, typer.Option("--until", metavar="TIME", help="Where the axis of time ends.", show_default=False)]


def kaplan_meier(
    context: typer.Context,
    data: Data,
    endpoint: EndpointColumns,
    output: Figure,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="A curve for each of its values, or third of a number.", show_default=False)
    ] = None,
    ends: Ends = None,
    unit: TimeUnit = None,
    until: Until = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw what was observed: Kaplan–Meier curves with numbers at risk, each as long as five of its group are observed.

    The first endpoint is drawn; if another is terminal and may prevent it, the curves are Aalen–Johansen estimates. Endpoints are written
    as for fit (see harmonium fit --help).
    """
    from harmonium.table.endpoint_columns import EndpointReader
    from harmonium.table.files.opening import open_table

    _check(output, force, data)
    table = open_table(data)
    reader = EndpointReader(endpoint, table.columns, () if ends == ["none"] else ends, unit)
    table.require([*reader.columns, *([by] if by else [])])
    frame = table.read(list(dict.fromkeys([*reader.columns, *([by] if by else [])])), codes=reader.codes)
    y = reader.read(frame)
    reader.check()

    def draw() -> Any:
        from harmonium import plots

        return plots.kaplan_meier(y, endpoint=reader.names[0], by=None if by is None else frame[by], until=until)

    _write(context.obj, draw, output, force)


def curves(
    context: typer.Context,
    model_file: Model,
    data: Data,
    output: Figure,
    endpoint: Chosen = None,
    rows: Rows = None,
    until: Until = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw predicted survival of some rows of a table; incidence, if an endpoint of the model is terminal."""
    _check(output, force, data)
    model, X, _ = asked(context.obj, model_file, data, rows, endpoint)

    def draw() -> Any:
        from harmonium import plots
        from harmonium.model.usual_question import usual_measure

        return plots.survival_curves(model, X, endpoint=endpoint, measure=usual_measure(model.encoding), until=until)

    _write(context.obj, draw, output, force)


def states(
    context: typer.Context,
    model_file: Model,
    data: Data,
    output: Figure,
    rows: Rows = None,
    until: Until = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw the probability of every state over time, the mean of some rows of a table, by a model with a terminal endpoint."""
    _check(output, force, data)
    model, X, _ = asked(context.obj, model_file, data, rows, None)
    if model.encoding.ordered is None:
        raise ValueError(f"{model_file} has no terminal endpoint, and so no states; fit it with --terminal NAME")

    def draw() -> Any:
        from harmonium import plots

        return plots.states(model, X, until=until)

    _write(context.obj, draw, output, force)


def calibration(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: EndpointColumns,
    time: Annotated[float, typer.Option("--time", metavar="TIME", help="By when the event is predicted.", show_default=False)],
    output: Figure,
    groups: Annotated[int, typer.Option("--groups", metavar="NUMBER", min=1, help="Of rows with similar predictions.")] = 5,
    ends: Ends = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw predicted against observed probabilities of an event by some time; rows that were used for training flatter the model."""
    _check(output, force, data)
    reader, model, X, y = _beside_outcomes(context.obj, model_file, data, endpoint, ends)

    def draw() -> Any:
        from harmonium import plots

        return plots.calibration(model(), X, y, endpoint=reader.names[0], time=time, n_bins=groups)

    _write(context.obj, draw, output, force)


def incidence(
    context: typer.Context,
    model_file: Model,
    data: Data,
    endpoint: EndpointColumns,
    output: Figure,
    groups: Annotated[int, typer.Option("--groups", metavar="NUMBER", min=1, help="Of rows with similar predictions.")] = 3,
    until: Until = None,
    ends: Ends = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw predicted incidences of the first endpoint over what was observed, by a model with a terminal endpoint.

    Rows that were used for training flatter the model. Name all endpoints: those with the terminal event count.
    """
    _check(output, force, data)
    reader, model, X, y = _beside_outcomes(context.obj, model_file, data, endpoint, ends)

    def draw() -> Any:
        from harmonium import plots

        return plots.incidence(model(), X, y, endpoint=reader.names[0], n_groups=groups, until=until)

    _write(context.obj, draw, output, force)


def _beside_outcomes(
    terminal: Terminal, model_file: Path, data: Path, endpoint: list[str], ends: list[str] | None
) -> tuple[Any, Callable[[], Any], Any, Any]:
    """Endpoints that were named, the model, which takes longer to make than all messages, and both tables."""
    from harmonium.cli.problems import agree_on_terminal, endpoints_beside
    from harmonium.model.storage import read_contents
    from harmonium.table.endpoint_columns import EndpointReader, require_endpoints
    from harmonium.table.files.opening import open_table
    from harmonium.table.training_values import TrainingValues

    contents = read_contents(model_file)
    agree_on_terminal(contents.encoding, ends)
    table = open_table(data)
    reader = EndpointReader(endpoint, table.columns, contents.encoding)
    require_endpoints(reader.names, contents.encoding.endpoint_names)
    covariates = TrainingValues(contents.encoding.columns)
    table.require([*covariates.names, *reader.columns])
    frame = table.read(list(dict.fromkeys([*covariates.names, *reader.columns])), text=covariates.text, codes=reader.codes)
    X = covariates.of(frame)
    y = endpoints_beside(X, frame, reader, contents.encoding)
    terminal.warn(*covariates.unseen)

    def model() -> Any:
        from harmonium.model.loading import model_in

        return model_in(contents, None)

    return reader, model, X, y


def effects(
    context: typer.Context,
    model_file: Model,
    data: Data,
    output: Figure,
    time: Annotated[
        float | None,
        typer.Option("--time", metavar="TIME", help="By when there is no event.", show_default="each endpoint's median event time"),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw what a step in each column goes with, for each endpoint, all else being as in a table: a forest plot with 95 % intervals."""
    _check(output, force, data)
    model, X, _ = asked(context.obj, model_file, data, ALL, None)

    def draw() -> Any:
        from harmonium import plots

        return plots.effects(model.summary(X, time=time), unit=model.encoding.unit)

    _write(context.obj, draw, output, force)


COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "kaplan-meier": (kaplan_meier, "harmonium plot kaplan-meier data.csv -e os=os_mth,os_event --by arm -o observed.png"),
    "curves": (curves, "harmonium plot curves model.harmonium new.csv --rows 0,3 --endpoint os -o curves.png"),
    "states": (states, "harmonium plot states model.harmonium new.csv --rows 0 -o states.png"),
    "incidence": (
        incidence,
        "harmonium plot incidence model.harmonium test.csv -e recurrence=rec_mth,rec -e death=os_mth,os_event -o incidence.png",
    ),
    "effects": (effects, "harmonium plot effects model.harmonium data.csv -o effects.png"),
    "calibration": (calibration, "harmonium plot calibration model.harmonium test.csv -e os=os_mth,os_event --time 24 -o calibration.png"),
}
"""Figures by name, and an example of each."""


def _check(output: str, force: bool, data: Path) -> None:
    from harmonium.cli.writing import check_output

    require_matplotlib()
    check_output(output, force, _FIGURES, inputs=[data])


def _write(terminal: Terminal, draw: Callable[[], Any], output: str, force: bool) -> None:
    """Draw, and write the figure whole or not at all."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    from harmonium.cli.writing import replacing

    ax = draw()
    with replacing(output, force) as temporary:
        ax.figure.savefig(temporary, format=Path(output).suffix[1:].lower(), dpi=150, bbox_inches="tight")
    plt.close(ax.figure)
    terminal.note(f"wrote {output}")
