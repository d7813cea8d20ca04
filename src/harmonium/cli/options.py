"""Arguments and options of several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "AnyEndpointColumns",
    "Chosen",
    "Data",
    "Drop",
    "EndpointColumns",
    "Ends",
    "Force",
    "Id",
    "Jobs",
    "Json",
    "Model",
    "Quiet",
    "Roles",
    "Seed",
    "TableOutput",
    "TimeUnit",
    "Weights",
    "flag",
    "numbers",
]


def flag(*names: str, help: str, callback: Callable[..., Any] | None = None) -> Any:  # noqa: A002 - typer's own name
    """An option without a value."""
    return typer.Option(*names, help=help, callback=callback, metavar="")


def _set_quiet(context: typer.Context, wanted: bool) -> bool:
    context.obj.quiet = wanted
    return wanted


def _set_json(context: typer.Context, wanted: bool) -> bool:
    context.obj.as_json = wanted
    return wanted


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, written by fit.", show_default=False)]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A table: CSV, Parquet, Feather, Excel, Stata, SPSS or SAS; - is a CSV on standard input.", show_default=False
    ),
]
_ENDPOINT = typer.Option(
    "--endpoint",
    "-e",
    metavar="NAME=COLUMNS",
    help="An endpoint and its columns, such as os=os_mth,os_event; may be repeated.",
    show_default=False,
)
EndpointColumns = Annotated[list[str], _ENDPOINT]
AnyEndpointColumns = Annotated[list[str] | None, _ENDPOINT]
Chosen = Annotated[
    str | None,
    typer.Option("--endpoint", "-e", metavar="NAME", help="Which endpoint of the model.", show_default="the first"),
]
Ends = Annotated[
    list[str] | None,
    typer.Option(
        "--terminal",
        metavar="NAME",
        help="An endpoint that ends everything, such as death; may be repeated. none says that there is none.",
        show_default=False,
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="COLUMN=ROLE",
        show_default=False,
        help="A column's role, where it should not be inferred: numeric, binary, categorical or ignored; may be repeated.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="A column that is not a covariate; may be repeated.", show_default=False),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        "--unit", metavar="UNIT", help="Unit of time, such as months; endpoints in other units are converted.", show_default=False
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="A column that says for how many subjects each row stands; it is no covariate.",
        show_default=False,
    ),
]
TableOutput = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file, or - for CSV on standard output.")
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="A column that identifies rows; it is copied to the output.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="NUMBER", min=1, help="Threads.", show_default="all cores")]
Force = Annotated[bool, flag("--force", "-f", help="Overwrite the output file if it exists.")]
Quiet = Annotated[bool, flag("--quiet", "-q", callback=_set_quiet, help="Show errors only.")]
Json = Annotated[bool, flag("--json", callback=_set_json, help="Print the result as JSON, and nothing else, on standard output.")]


def numbers(option: str, text: str) -> dict[str, float]:
    """Numbers separated by commas, by what the user wrote for each; none is negative or infinite.

    Examples
    --------
    >>> numbers("--times", "12, 24.50")
    {'12': 12.0, '24.50': 24.5}
    """
    out: dict[str, float] = {}
    for item in (part.strip() for part in text.split(",")):
        try:
            value = float(item)
        except ValueError:
            value = -1.0
        if not 0.0 <= value < float("inf"):
            raise ValueError(f"{option} must be numbers that are not negative, such as 12,24,36; found {item!r}")
        if value in out.values():
            raise ValueError(f"{option} has {item!r} more than once")
        out[item] = value
    return out
