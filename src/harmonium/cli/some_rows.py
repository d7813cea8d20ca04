"""Rows of a table that a model is asked about, chosen by their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALL", "Asked", "Rows", "asked"]

ALL = "all"
"""In place of numbers of rows."""

Rows = Annotated[
    str | None,
    typer.Option("--rows", metavar="N,N,...", help="Rows of the table, counted from 0.", show_default="the first 5"),
]


class Asked(NamedTuple):
    """A model, the covariates of some rows, and one column more of these rows, if that was asked for."""

    model: Any
    X: pd.DataFrame
    beside: pd.Series | None


def asked(terminal: Terminal, model_file: Path, data: Path, rows: str | None, endpoint: str | None, beside: str | None = None) -> Asked:
    """Read them; what is wrong is said before the model is loaded, which takes longer."""
    from harmonium.model.storage import read_contents
    from harmonium.table.endpoint_columns import require_endpoints
    from harmonium.table.files.opening import open_table
    from harmonium.table.training_values import TrainingValues

    contents = read_contents(model_file)
    require_endpoints([] if endpoint is None else [endpoint], contents.encoding.endpoint_names)
    table, covariates = open_table(data), TrainingValues(contents.encoding.columns)
    more = [] if beside is None else [beside]
    table.require([*covariates.names, *more])
    frame = table.read(list(dict.fromkeys([*covariates.names, *more])), text=[*covariates.text, *more])
    numbers = _row_numbers(rows, len(frame))
    chosen = frame.iloc[numbers]
    X = covariates.of(chosen, numbers)
    terminal.warn(*covariates.unseen)
    from harmonium.model.loading import model_in

    return Asked(model_in(contents, None), X, None if beside is None else chosen[beside])


def _row_numbers(text: str | None, n_rows: int) -> list[int]:
    """Rows that the user named, which must be there."""
    if text is None or text == ALL:
        return list(range(n_rows if text == ALL else min(5, n_rows)))
    parts = [part.strip() for part in text.split(",")]
    wrong = [part for part in parts if not part.isdecimal() or int(part) >= n_rows]
    if wrong:
        raise ValueError(f"--rows must be numbers from 0 to {n_rows - 1}, such as 0,3; found {wrong[0]!r}")
    return [int(part) for part in parts]
