"""Answers averaged over rows that all have one value of a column, and how sure they are.

Standardisation: everybody in the table is given the value, all else stays as it is, and the answers are averaged. It compares like with
like as far as the other columns say what is alike; by itself it is no statement about causes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.model.answering import Answering
from harmonium.model.confidence import Scale, interval_of
from harmonium.model.deviations import Question
from harmonium.table.columns import Column
from harmonium.table.frames import as_typed, columns_of, to_pandas
from harmonium.typing import Array

__all__ = ["Sure", "column_named", "rows_with", "standardised"]


@dataclass(frozen=True)
class Sure:
    """Numbers with their deviations along all directions.

    Attributes
    ----------
    value : ndarray
    deviations : ndarray of shape (n_directions, *value.shape)
        Empty if nobody asked how sure they are.
    shift : ndarray or float
        From the value to the middle of its interval: what the prior has shrunk.
    """

    value: Array
    deviations: Array
    shift: Array | float = 0.0

    def __sub__(self, other: Sure) -> Sure:
        return Sure(self.value - other.value, self.deviations - other.deviations, self.shift - other.shift)

    def __add__(self, other: Sure) -> Sure:
        return Sure(self.value + other.value, self.deviations + other.deviations, self.shift + other.shift)

    def __neg__(self) -> Sure:
        return Sure(-self.value, -self.deviations, -self.shift)

    def part(self, places: slice) -> Sure:
        """Some of the numbers."""
        return Sure(self.value[places], self.deviations[:, places], np.broadcast_to(self.shift, self.value.shape)[places])

    def over(self, other: Sure) -> Sure:
        """The ratio."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / other.value
            moved = ratio * (self.shift / self.value - other.shift / other.value)
            return Sure(ratio, ratio * (self.deviations / self.value - other.deviations / other.value), moved)

    @property
    def error(self) -> Array:
        """Standard errors."""
        return np.asarray(np.sqrt(np.sum(self.deviations**2, axis=0)))

    def columns(self, level: float | None, scale: Scale) -> dict[str, Array]:
        """Estimate and, with a level, the ends of its interval."""
        if level is None:
            return {"estimate": self.value}
        return interval_of(self.value, self.error, level, scale, self.shift)._asdict()


def standardised(
    fitted: Answering, tables: Sequence[pd.DataFrame], question: Question, sure: bool, quick: Question | None = None
) -> list[Sure]:
    """The answers to a question about each of some tables of equal length, averaged over rows; ``quick`` will do for deviations."""
    prognosis = fitted.ask(np.concatenate([fitted.encoding.covariates(table) for table in tables]), None)

    def averaged(answer: Array) -> Array:
        return np.asarray(answer.reshape(len(tables), -1, *answer.shape[1:]).mean(axis=1))

    values = averaged(question(prognosis))
    if not sure:
        return [Sure(value, np.empty((0, *value.shape))) for value in values]
    found = [averaged(own) for own in prognosis.deviations(quick or question, thorough=True)[1]]
    deviations, moved = np.array(found).reshape(-1, *values.shape), averaged(prognosis.displacement(quick or question))
    shift = moved - moved.mean(axis=0)  # the prior shrinks differences, and what all tables have in common is not shrunk
    return [Sure(value, deviations[:, number], shift[number]) for number, value in enumerate(values)]


def column_named(fitted: Answering, name: Any) -> Column:
    """A column of the model, which must take part in it."""
    named = {column.name: column for column in fitted.encoding.columns}
    if name not in named:
        raise ValueError(f"the model has no column {name!r}; it has {', '.join(map(repr, named)) or 'none'}")
    if named[name].role == "ignored":
        raise ValueError(f"column {name!r} is ignored by the model")
    return named[name]


def rows_with(fitted: Answering, X: Any, column: Any) -> Callable[[Any], pd.DataFrame]:
    """What makes tables in which all rows have one value of a column; levels must be those of the model."""
    own, frame = column_named(fitted, column), to_pandas(X)
    if not len(frame):
        raise ValueError("X has no rows to standardise over")
    columns_of(frame, [column])

    def table(value: Any) -> pd.DataFrame:
        if own.role != "numeric" and value not in own.levels:
            raise ValueError(f"column {column!r} has no level {as_typed(value)}; it has {', '.join(map(as_typed, own.levels))}")
        out = frame.copy()
        kept = frame[column].dtype if own.role != "numeric" else np.float64
        out[column] = pd.Series([value] * len(frame), index=frame.index, dtype=kept)
        return out

    return table
