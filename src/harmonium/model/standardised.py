"""Answers averaged over rows that all have one value of a column, and how sure they are.

Standardisation: everybody in the table is given the value, all else stays as it is, and the answers are averaged. It compares like with
like as far as the other columns say what is alike; by itself it is no statement about causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

__all__ = ["Sure", "column_named", "standardised"]

_FARTHEST = 0.9  # of the way to a bound that an average is moved


@dataclass(frozen=True)
class Sure:
    """Numbers with their deviations along all directions.

    Attributes
    ----------
    value : ndarray
    deviations : ndarray of shape (n_directions, *value.shape)
        Empty if nobody asked how sure they are.
    """

    value: Array
    deviations: Array

    def __sub__(self, other: Sure) -> Sure:
        return Sure(self.value - other.value, self.deviations - other.deviations)

    def __add__(self, other: Sure) -> Sure:
        return Sure(self.value + other.value, self.deviations + other.deviations)

    def __neg__(self) -> Sure:
        return Sure(-self.value, -self.deviations)

    def part(self, places: slice) -> Sure:
        """Some of the numbers."""
        return Sure(self.value[places], self.deviations[:, places])

    def over(self, other: Sure) -> Sure:
        """The ratio."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / other.value
            return Sure(ratio, ratio * (self.deviations / self.value - other.deviations / other.value))

    @property
    def error(self) -> Array:
        """Standard errors."""
        return np.asarray(np.sqrt(np.sum(self.deviations**2, axis=0)))

    def columns(self, level: float | None, scale: Scale) -> dict[str, Array]:
        """Estimate and, with a level, the ends of its interval."""
        if level is None:
            return {"estimate": self.value}
        return interval_of(self.value, self.error, level, scale)._asdict()


def standardised(
    fitted: Answering,
    X: Any,
    steps: Mapping[Any, Sequence[Any]],
    question: Question,
    sure: bool,
    quick: Question | None = None,
    most: Array | float = 1.0,
) -> dict[Any, list[Sure]]:
    """The answers to a question about some rows, were they all to have one value of a column, averaged over rows.

    Parameters
    ----------
    fitted : Answering
    X : DataFrame
    steps : mapping
        Columns, and for each of them values.
    question : callable
        Of a prognosis; rows come first in the answers.
    sure : bool
        Whether deviations are found. Then what the prior has shrunk is added to the averages, too.
    quick : callable, optional
        A question that will do for deviations.
    most : ndarray or float
        The largest answers there may be; the least is 0.
    """
    tables = {column: [_encoded(fitted, X, column, value) for value in values] for column, values in steps.items()}
    prognosis = fitted.ask(np.concatenate([rows for own in tables.values() for rows in own]), None)
    n_tables = sum(map(len, tables.values()))
    answers = _averaged(question(prognosis), n_tables)
    deviations = np.empty((0, *answers.shape))
    if sure:
        along = [_averaged(own, n_tables) for own in prognosis.deviations(quick or question, thorough=True)[1]]
        deviations = np.array(along).reshape(-1, *answers.shape)
    out, start = dict[Any, list[Sure]](), 0
    for column, own in tables.items():
        values = answers[start : start + len(own)]
        if sure:
            lost = _shrunk(fitted, column, own, quick or question)
            values = values + np.clip(lost, -_FARTHEST * values, _FARTHEST * (most - values))
        out[column] = [Sure(value, deviations[:, start + k]) for k, value in enumerate(values)]
        start += len(own)
    return out


def _averaged(answer: Array, n_tables: int) -> Array:
    """Over the rows of tables of equal length."""
    return np.asarray(answer.reshape(n_tables, -1, *answer.shape[1:]).mean(axis=1))


def _shrunk(fitted: Answering, column: Any, tables: Sequence[Array], question: Question) -> Array:
    """What the prior has taken from averages at values of a column: differences, so that what all of them have in common is left out."""
    place = [own.name for own in fitted.encoding.modelled].index(column)
    moved = _averaged(fitted.ask(np.concatenate(tables), None).displacement(question, place), len(tables))
    return np.asarray(moved - moved.mean(axis=0))


def column_named(fitted: Answering, name: Any) -> Column:
    """A column of the model, which must take part in it."""
    named = {column.name: column for column in fitted.encoding.columns}
    if name not in named:
        raise ValueError(f"the model has no column {name!r}; it has {', '.join(map(repr, named)) or 'none'}")
    if named[name].role == "ignored":
        raise ValueError(f"column {name!r} is ignored by the model")
    return named[name]


def _encoded(fitted: Answering, X: Any, column: Any, value: Any) -> Array:
    """Covariates of rows that all have one value of a column; a level must be one of the model."""
    own, frame = column_named(fitted, column), to_pandas(X)
    if not len(frame):
        raise ValueError("X has no rows to standardise over")
    columns_of(frame, [column])
    if own.role != "numeric" and value not in own.levels:
        raise ValueError(f"column {column!r} has no level {as_typed(value)}; it has {', '.join(map(as_typed, own.levels))}")
    kept = frame[column].dtype if own.role != "numeric" else np.float64
    return fitted.encoding.covariates(frame.assign(**{column: pd.Series([value] * len(frame), index=frame.index, dtype=kept)}))
