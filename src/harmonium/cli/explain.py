"""``harmonium explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harmonium.cli.options import Chosen, Data, Force, Id, Json, Model, Quiet
from harmonium.cli.some_rows import Rows, asked
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium explain model.harmonium data.csv --rows 0,3 --endpoint os --time 24

harmonium explain model.harmonium data.csv --rows 0 --interval 0.95 --id patient

harmonium explain model.harmonium data.csv --rows all -o why.csv
"""

_WHOLE = ("average", "prediction")


def run(
    context: typer.Context,
    model_file: Model,
    data: Data,
    rows: Rows = None,
    endpoint: Chosen = None,
    time: Annotated[
        float | None,
        typer.Option("--time", metavar="TIME", help="By when there is an event, or none.", show_default="the endpoint's median event time"),
    ] = None,
    measure: Annotated[
        Literal["survival", "incidence"] | None,
        typer.Option(
            "--measure",
            metavar="WHAT",
            help="survival, or incidence, the probability of the event by TIME.",
            show_default="survival; incidence if an endpoint is terminal",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option("--interval", metavar="P", help="Also show intervals of this probability, such as 0.95.", show_default=False),
    ] = None,
    identifier: Id = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a .csv or .parquet file instead of showing tables.", show_default=False),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Explain predictions: what each known value of a row contributes to its difference from the average.

    Contributions (Shapley values) add up to the difference between the prediction for the row and that for somebody of whom nothing is
    known. Missing values contribute nothing. They say what the model makes of the values, not what changing them would do.
    """
    from harmonium.cli.writing import check_output, table_writer
    from harmonium.model.usual_question import usual_measure, usual_time

    terminal: Terminal = context.obj
    if output is not None:
        check_output(output, force, inputs=[data, model_file], as_json=as_json)
    model, X, names = asked(terminal, model_file, data, rows, endpoint, identifier)
    name = endpoint or model.endpoint_names[0]
    at = usual_time(model.encoding, name) if time is None else time
    what = measure or usual_measure(model.encoding)
    found = model.explain(X, endpoint=name, measure=what, time=at, interval=interval)
    if output is not None:
        table = _as_table(found, identifier, names)
        with table_writer(output, force) as write:
            write(table)
        terminal.wrote(output, len(table), list(table.columns))
        return
    labels = {row: f"row {row}" + ("" if names is None else f", {identifier} {names.loc[row]}") for row in X.index}
    for row, label in labels.items():
        _show(terminal, found.loc[row], f"{label}: {what} of {name} at {at:g}{_unit(model)}")
    about = {"endpoint": name, "measure": what, "time": at, "unit": model.encoding.unit}
    terminal.result({**about, "rows": [_document(row, found.loc[row], names) for row in labels]})


def _unit(model: Any) -> str:
    return f" {model.encoding.unit}" if model.encoding.unit else ""


def _as_table(found: pd.DataFrame, identifier: str | None, names: pd.Series | None) -> pd.DataFrame:
    """A line for each row and column."""
    table = found.reset_index().assign(value=[None if own is None else str(own) for own in found["value"]])
    if names is not None and identifier is not None:
        table.insert(0, identifier, names.loc[table["row"]].to_numpy())
    return table


def _show(terminal: Terminal, own: pd.DataFrame, title: str) -> None:
    """The largest contributions first, between the average and the prediction."""
    parts = own.drop(list(_WHOLE)).sort_values("contribution", key=abs, ascending=False)
    rows = [["average", "", f"{own.loc['average', 'contribution']:.3f}"]]
    for column, part in parts.iterrows():
        ends = f" ({part['lower']:+.3f} to {part['upper']:+.3f})" if "lower" in part else ""
        value = f"{part['value']:.5g}" if isinstance(part["value"], float) else str(part["value"])
        rows.append([str(column), value, f"{part['contribution']:+.3f}{ends}"])
    rows.append(["prediction", "", f"{own.loc['prediction', 'contribution']:.3f}"])
    terminal.table(title, ["column", "value", "contribution"], rows, right=(2,))


def _document(row: Any, own: pd.DataFrame, names: pd.Series | None) -> dict[str, Any]:
    parts = own.drop(list(_WHOLE))
    return {
        "row": row,
        **({} if names is None else {"id": names.loc[row]}),
        **{whole: own.loc[whole, "contribution"] for whole in _WHOLE},
        "contributions": [{"column": str(column), **part.to_dict()} for column, part in parts.iterrows()],
    }
