"""Both halves of a table, covariates and endpoints: the problems of both are found before any is reported."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from harmonium.errors import collecting_problems

if TYPE_CHECKING:
    import pandas as pd

    from harmonium.table.encoding import Encoding
    from harmonium.table.endpoint_columns import EndpointReader
    from harmonium.table.files.formats import TableFile

__all__ = ["agree_on_terminal", "endpoints_beside", "groups_in", "refuse_incomplete", "training_rows", "weights_in"]


def agree_on_terminal(encoding: Encoding, ends: list[str] | None) -> None:
    """Refuse other terminal endpoints than the model has; those it has may be named, as for fit."""
    own = () if encoding.ordered is None else encoding.ordered.graph.terminal
    if ends is not None and set(ends) != (set(own) or {"none"}):
        said = " ".join(f"--terminal {name}" for name in own or ("none",))
        raise ValueError(f"the model was fitted with {said}, and keeps to it; found --terminal {', '.join(ends)}")


def refuse_incomplete(table: TableFile, reader: EndpointReader, drop: list[str], roles: Mapping[str, str]) -> None:
    """Refuse a table in which columns are missing, and say in the same run what else is wrong with it."""
    from harmonium.table.columns import learn_column

    with collecting_problems() as problems:
        with problems.catching():
            table.require([*reader.columns, *drop])
        if not problems:
            return
        missing = [str(problem.column) for problem in problems]
        meant = {near for name in missing for near in get_close_matches(name, table.columns)}
        frame, complete = table.read(table.columns, codes=reader.codes), reader.complete(table.columns)
        if complete.names:
            with problems.catching():
                complete.read(frame)
        for name in frame.columns:
            if name not in (*reader.columns, *drop, *meant):
                with problems.catching():
                    learn_column(frame[name], roles.get(name))


def training_rows(
    frame: pd.DataFrame, reader: EndpointReader, drop: list[str], roles: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and endpoints to fit to."""
    from harmonium.table.columns import learn_column

    X = frame.drop(columns=[*reader.columns, *drop])
    with collecting_problems() as problems:
        with problems.catching():
            y = reader.read(frame)
        with problems.catching():
            reader.check(to_fit=True)
        if problems:  # otherwise the covariates are looked at when the encoding is learned
            for name in X.columns:
                with problems.catching():
                    learn_column(X[name], roles.get(name))
    return X, y


def endpoints_beside(X: pd.DataFrame, frame: pd.DataFrame, reader: EndpointReader, encoding: Encoding) -> pd.DataFrame:
    """Endpoints to ask a model about, beside its covariates in the same table."""
    with collecting_problems() as problems:
        with problems.catching():
            y = reader.read(frame)
        if problems:  # otherwise the covariates are looked at when the model is asked
            with problems.catching():
                encoding.covariates(X)
    return y


def weights_in(frame: pd.DataFrame, column: str | None) -> Any:
    """The weights that a column holds; None without one."""
    from harmonium.table.row_weights import parse_weights

    return None if column is None else parse_weights(frame[column], len(frame), called=f"column {column!r}")


def groups_in(frame: pd.DataFrame, column: str | None) -> Any:
    """The groups that a column holds; None without one."""
    from harmonium.table.labels import parse_groups

    return None if column is None else parse_groups(frame[column], len(frame), called=f"column {column!r}")
