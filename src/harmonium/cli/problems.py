"""Both halves of a table, covariates and endpoints: the problems of both are found before any is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harmonium.errors import collecting_problems

if TYPE_CHECKING:
    import pandas as pd

    from harmonium.cli.endpoint_columns import EndpointReader
    from harmonium.table.encoding import Encoding

__all__ = ["endpoints_beside", "groups_in", "training_rows", "weights_in"]


def training_rows(
    frame: pd.DataFrame, reader: EndpointReader, drop: list[str], roles: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and endpoints to fit to."""
    from harmonium.table.columns import learn_column

    X = frame.drop(columns=[*reader.columns, *drop])
    with collecting_problems() as problems:
        with problems.catching():
            y = reader.read(frame)
            reader.check()
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
    from harmonium.table.groups import parse_groups

    return None if column is None else parse_groups(frame[column], len(frame), called=f"column {column!r}")
