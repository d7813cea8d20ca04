"""Covariates as they were in training.

A CSV does not tell the number 1 from the text "1", and pandas decides again for every file and part of a file. Which it was in training
decides here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.table.columns import Column
from harmonium.table.frames import as_typed
from harmonium.table.odd_values import FarValues, bare

__all__ = ["TrainingValues"]


class TrainingValues:
    """Brings covariates to the values of training, and counts those that did not occur there.

    Parameters
    ----------
    columns : sequence of Column
        Those of the model.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.names = [column.name for column in columns if column.role != "ignored"]
        self._decimal = [column.name for column in columns if column.role == "numeric" and "int" not in column.kind.lower()]
        self._with_levels = [column for column in columns if column.role in ("binary", "categorical")]
        self._far = [FarValues(column.name, column.lowest, column.highest) for column in columns if column.role == "numeric"]
        self._n_rows = 0
        self._unseen: dict[str, Counter[Any]] = {column.name: Counter() for column in self._with_levels}

    @property
    def text(self) -> list[str]:
        """Columns to be read as they are written."""
        return [column.name for column in self._with_levels]

    def of(self, frame: pd.DataFrame, rows: Sequence[int] | None = None) -> pd.DataFrame:
        """The same table, with levels of training, or missing values, in columns that have levels.

        A table may come in parts, and ``rows`` are their numbers where not all are there.
        """
        for far in self._far:
            numbers = pd.to_numeric(frame[far.name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
            far.add(numbers, self._n_rows + np.arange(len(frame)) if rows is None else rows)
        self._n_rows += len(frame)
        levels = {column.name: self._levels(frame[column.name], column) for column in self._with_levels}
        # whole numbers with missing values could not take up a draw with decimals
        gappy = [name for name in self._decimal if frame[name].dtype.kind in "iu" and frame[name].isna().any()]
        decimals = {name: frame[name].astype(np.float64) for name in gappy}
        return pd.DataFrame({**frame, **levels, **decimals}, index=frame.index)

    @property
    def unseen(self) -> list[str]:
        """A line for each column with levels that did not occur in training, or with numbers far from all that did."""
        lines = [far.line for far in self._far if far.rows]
        for name, counts in self._unseen.items():
            if counts:
                shown = ", ".join(as_typed(value) for value, _ in counts.most_common(3)) + (", ..." if len(counts) > 3 else "")
                n = counts.total()
                lines.append(f"column {name!r}: {n} value{'s' * (n > 1)} not seen in training ({shown}), treated as missing")
        return lines

    def _levels(self, series: pd.Series, column: Column) -> pd.Series:
        places, distinct = pd.factorize(series)
        levels = [_level(value, column.levels) for value in distinct]
        counts = np.bincount(places[places >= 0], minlength=len(distinct))
        unseen = {value: int(n) for value, level, n in zip(distinct, levels, counts, strict=True) if level is None}
        if unseen:
            self._unseen[column.name].update(unseen)
        return pd.Series(np.array([*levels, None], dtype=object)[places], index=series.index, name=series.name)


def _level(value: Any, levels: tuple[Any, ...]) -> Any:
    """The level that a value is, or None."""
    value = bare(value)
    for level in levels:
        if value == level or str(value) == str(level):
            return level
    if isinstance(value, str) and not isinstance(levels[0], str):
        try:
            number = float(value.replace(",", "."))  # a decimal comma, in a column that is read as text
        except ValueError:
            number = {"true": 1.0, "false": 0.0}.get(value.lower(), np.nan)
        return next((level for level in levels if level == number), None)
    return None
