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
from harmonium.model.completions import Completions
from harmonium.model.confidence import Scale, interval_of
from harmonium.model.deviations import Question
from harmonium.table.columns import Column
from harmonium.table.frames import as_typed, to_pandas
from harmonium.typing import Array

__all__ = ["Sure", "column_named", "standardised"]

_FARTHEST = 0.9  # of the way to a bound that an average is moved: the step that moves it is linear
_COMPLETED = 100  # rows in the place of those with missing values, at least: draws then add a tenth of what rows differ by


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
        Whether deviations are found, and what shrinkage has taken is added to the averages.
    quick : callable, optional
        A question that will do for deviations.
    most : ndarray or float
        The largest answers there may be; the least is 0.
    """
    own = [(column_named(fitted, column), value) for column, values in steps.items() for value in values]
    covariates, weights = _complete(fitted, X)
    prognosis = fitted.ask(np.concatenate([_with_value(fitted, covariates, *one) for one in own]), None)

    def averaged(answer: Array) -> Array:
        """Over the rows of all tables."""
        return np.asarray(np.tensordot(answer.reshape(len(own), weights.size, *answer.shape[1:]), weights, axes=(1, 0)))

    answers = averaged(question(prognosis))
    deviations = np.empty((0, *answers.shape))
    if sure:
        along = [averaged(one) for one in prognosis.deviations(quick or question, thorough=True)[1]]
        deviations = np.array(along).reshape(-1, *answers.shape)
        lost = averaged(prognosis.correction(quick or question))
    out, start = dict[Any, list[Sure]](), 0
    for column, values in steps.items():
        if sure:  # what all values have in common is known from the average over everybody
            part = slice(start, start + len(values))
            own_loss = lost[part] - lost[part].mean(axis=0)
            answers[part] += np.clip(own_loss, -_FARTHEST * answers[part], _FARTHEST * (most - answers[part]))
        out[column] = [Sure(answers[k], deviations[:, k]) for k in range(start, start + len(values))]
        start += len(values)
    return out


def _complete(fitted: Answering, X: Any) -> tuple[Array, Array]:
    """Encoded rows without missing values, several of which may stand for one row, and the weights of all.

    What is missing is completed given the row as it is, before anybody is given a value: values that go with a column must not go with
    what it is set to.
    """
    frame = to_pandas(X)
    if not len(frame):
        raise ValueError("X has no rows to standardise over")
    covariates = fitted.encoding.covariates(frame)
    incomplete = np.flatnonzero(np.isnan(covariates).any(axis=1))
    weights = np.full(len(covariates), 1.0 / len(covariates))
    if not incomplete.size:
        return covariates, weights
    found = Completions.of(fitted.parameters, fitted.covariate_units, fitted.encoding.cells(covariates[incomplete]), fitted.n_jobs)
    some = found.thinned(max(_COMPLETED // incomplete.size, 1))
    whole = np.delete(np.arange(len(covariates)), incomplete)
    completed = some.covariates
    return np.concatenate([covariates[whole], completed]), np.concatenate([weights[whole], some.weights / len(covariates)])


def column_named(fitted: Answering, name: Any) -> Column:
    """A column of the model, which must take part in it."""
    named = {column.name: column for column in fitted.encoding.columns}
    if name not in named:
        raise ValueError(f"the model has no column {name!r}; it has {', '.join(map(repr, named)) or 'none'}")
    if named[name].role == "ignored":
        raise ValueError(f"column {name!r} is ignored by the model")
    return named[name]


def _with_value(fitted: Answering, covariates: Array, own: Column, value: Any) -> Array:
    """Covariates of rows that all have one value of a column; a level must be one of the model."""
    if own.role != "numeric" and value not in own.levels:
        raise ValueError(f"column {own.name!r} has no level {as_typed(value)}; it has {', '.join(map(as_typed, own.levels))}")
    out = covariates.copy()
    one = pd.Series([value], dtype=object if own.role != "numeric" else np.float64, name=own.name)
    out[:, fitted.encoding.modelled.index(own)] = own.encode(one)
    return out
