"""Groups of subjects whose densities are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harmonium.plots.style import MARKERS
from harmonium.table.frames import as_typed, columns_of, to_pandas

__all__ = ["Group", "at_level", "groups_of", "rows_of"]


@dataclass(frozen=True)
class Group:
    """Subjects whose density is averaged, what is known of their endpoints, and the level of a column that they have in common."""

    level: Any
    X: pd.DataFrame
    given: Any


def groups_of(model: Any, X: Any, given: Any, by: Any) -> list[Group]:
    """One group, or one for each level of a column; without ``X``, a subject of whom nothing but that level is known."""
    column = None if by is None else _column(model, by)
    if X is None:
        levels = [None] if column is None else _levels_of(column)
        frame = _unknown(model, len(levels))
        if column is not None:
            frame[column.name] = pd.Series(levels, dtype=frame[column.name].dtype)
        if given is not None and len(given) != 1:
            raise ValueError(f"without X, given must have one row, which is meant for all groups; found {len(given)}")
        known = given.reset_index(drop=True) if hasattr(given, "reset_index") else given  # it is nobody's row in particular
        return [Group(level, frame.iloc[[row]].reset_index(drop=True), known) for row, level in enumerate(levels)]
    frame = to_pandas(X)
    if not len(frame):
        raise ValueError("X has no rows: there is nobody to draw a density of")
    if given is not None and len(given) != len(frame):
        raise ValueError(f"given must have as many rows as X; found {len(given)} and {len(frame)}")
    if column is None:
        return [Group(None, frame, given)]
    (values,) = columns_of(frame, [by])
    levels = _present(values, column)
    chosen = [np.flatnonzero(at_level(values, level)) for level in levels]
    return [Group(level, frame.iloc[rows], rows_of(given, rows)) for level, rows in zip(levels, chosen, strict=True)]


def at_level(values: pd.Series, level: Any) -> NDArray[np.bool_]:
    """Which rows have a level; missing values do not."""
    out: NDArray[np.bool_] = np.array([not pd.isna(value) and value == level for value in values], dtype=bool)
    return out


def rows_of(table: Any, rows: Any) -> Any:
    """Some rows of a table or structured array, or None of None."""
    if table is None:
        return None
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _column(model: Any, by: Any) -> Any:
    named = {column.name: column for column in model.fitted.encoding.columns}
    if by not in named:
        raise ValueError(f"the model has no column {by!r} to group by; it has {', '.join(map(repr, named)) or 'none'}")
    return named[by]


def _levels_of(column: Any) -> list[Any]:
    if column.role not in ("binary", "categorical"):
        raise ValueError(f"without X, by must be a binary or categorical column; {column.name!r} is {column.role}")
    return _few(list(column.levels), column.name)


def _present(values: pd.Series, column: Any) -> list[Any]:
    """Levels in the table, in the model's order as far as it knows them; missing values make no group."""
    present = list(pd.unique(values.dropna()))
    if not present:
        raise ValueError(f"column {column.name!r} has no value to group by")
    known = [level for level in column.levels if level in present]
    return _few(known + sorted(level for level in present if level not in known), column.name)


def _few(levels: list[Any], name: Any) -> list[Any]:
    if len(levels) > len(MARKERS):
        shown = ", ".join(map(as_typed, levels[:3]))
        raise ValueError(f"at most {len(MARKERS)} groups can be distinguished; column {name!r} has {len(levels)} values: {shown}, ...")
    return levels


def _unknown(model: Any, n_rows: int) -> pd.DataFrame:
    """Subjects of whom nothing is known."""
    frame: pd.DataFrame = model.fitted.encoding.decode_covariates(np.full((n_rows, len(model.fitted.encoding.modelled)), np.nan))
    return frame
