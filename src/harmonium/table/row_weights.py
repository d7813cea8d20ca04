"""Weights of a training table's rows: for how many subjects each of them stands.

A row with the weight two is the row twice, and one with the weight zero is not there. Whatever counts rows, counts weights: time scales and
numeric scales, the likelihood, what is told of a column or an endpoint.

One rule looks at rows rather than at sums: an event time that several rows have is an interval (:mod:`harmonium.table.tied_times`). So that
a row twice and a row with the weight two are the same to it, and all weights times ten change nothing, it asks whether more weight lies on
a time than the smallest weight of any row of the table, equal rows being taken together. Without weights that is one, unless every row of
the table is there several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError, WeightWarning, warn
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import as_typed, numbers_of, row_of, to_pandas
from harmonium.table.labels import check_labels
from harmonium.typing import Array, Integers

__all__ = ["UNWEIGHTED", "RowWeights", "parse_weights", "rows_left_out", "total_or_count", "with_positive_weight", "words_of_weight"]

_SAME = 1e-9  # relative difference
_FEW, _MANY = 0.1, 10.0  # mean weights beyond which they were probably meant to be multiplied by something


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of the rows of a table.

    Attributes
    ----------
    values : ndarray of shape (n_rows,) or None
        Positive; None if every row stands for itself.
    smallest : float
        The smallest weight of a row, equal rows being taken together.
    """

    values: Array | None = None
    smallest: float = 1.0

    @classmethod
    def of(cls, values: Array | None, X: Any, y: Endpoints) -> RowWeights:
        """Of a table, without rows of weight zero.

        Examples
        --------
        >>> import numpy as np
        >>> time = np.array([[1.0], [2.0], [2.0]])
        >>> y = Endpoints(("os",), time, time, np.zeros((3, 1)))
        >>> RowWeights.of(np.array([2.0, 0.5, 0.5]), np.array([[7.0], [8.0], [8.0]]), y).smallest
        1.0
        """
        if values is None and any(_has_one_alone(times) for times in y.lower.T):
            return UNWEIGHTED
        return cls(values, _smallest(np.ones(len(y.lower)) if values is None else values, X, y))

    def part(self, rows: Any) -> RowWeights:
        """Of some of the rows, which are still rows of the same table."""
        return self if self.values is None else RowWeights(self.values[rows], self.smallest)


UNWEIGHTED = RowWeights()
"""Every row stands for itself."""


def parse_weights(sample_weight: Any, n_rows: int, index: Any = None, called: str = "sample_weight") -> Array | None:
    """Weights that can be used, as an array; None if there are none. Anything else is refused with the row.

    Labels of the rows are compared with ``index``, that of X, where both have some.

    Examples
    --------
    >>> parse_weights([1, 0, 2.5], 3)
    array([1. , 0. , 2.5])
    >>> parse_weights([1, -1], 2)
    Traceback (most recent call last):
    harmonium.errors.TableError: sample_weight must not be negative; found -1 in row 1. Give a row the weight 0 to leave it out
    """
    if sample_weight is None:
        return None
    check_labels(index, getattr(sample_weight, "index", None), called)
    array = np.asarray(sample_weight)
    if array.shape != (n_rows,):
        found = str(array.size) if array.ndim == 1 else f"an object of shape {array.shape}"
        raise TableError(f"{called} must hold a number for each of {n_rows} rows; found {found}")
    given = pd.Series(array, name=called)
    weights = numbers_of(given)
    for wrong, rule, advice in (
        (np.isnan(weights), "must not be missing", "Give a row the weight 0 to leave it out"),
        (weights < 0.0, "must not be negative", "Give a row the weight 0 to leave it out"),
        (np.isinf(weights), "must be finite", "Cut weights to the largest that you trust"),
    ):
        row = row_of(wrong)
        if row is not None:
            raise TableError(f"{called} {rule}; found {as_typed(given.iloc[row])} in row {row}. {advice}", row=row)
    if not weights.any():
        raise TableError(f"{called} is zero in all of {n_rows} rows, so that none is left; give those that count a positive weight")
    return weights


def _warn_of_size(weights: Array) -> None:
    """Weights that add up to something else than a number of subjects make the prior too strong, or too weak."""
    mean = float(weights.mean())
    whole = bool((weights == np.round(weights)).all())
    if mean < _FEW or (mean > _MANY and not whole):
        warn(
            f"the weights of {weights.size} rows add up to {weights.sum():.4g}: to the prior, and to whatever counts rows, that is "
            "the number of subjects. Divide them by their mean if every row is one subject",
            WeightWarning,
        )


def with_positive_weight(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
    """Two tables without the rows of weight zero, and the weights of the others."""
    if sample_weight is None:
        return X, y, None
    frame = to_pandas(X)
    weights = parse_weights(sample_weight, len(frame), getattr(X, "index", None))
    assert weights is not None
    kept = weights > 0.0
    _warn_of_size(weights[kept])
    if kept.all() or len(y) != len(frame):  # the latter is refused elsewhere
        return X, y, weights
    rows = np.flatnonzero(kept)
    X = X[rows] if isinstance(X, np.ndarray) else frame.iloc[rows]
    return X, y.iloc[rows] if hasattr(y, "iloc") else y[rows], weights[rows]


@contextmanager
def rows_left_out(sample_weight: Any, kept: Array | None) -> Iterator[None]:
    """Errors count rows; say so if those of weight zero are not among them."""
    try:
        yield
    except TableError as error:
        n = 0 if sample_weight is None or kept is None else np.size(sample_weight) - kept.size
        if not n or all(problem.row is None for problem in error.problems):
            raise
        hint = f" (counted without the {n} rows of weight 0)"
        raise TableError(
            problem if problem.row is None else replace(problem, message=problem.message + hint) for problem in error.problems
        ) from None


def total_or_count(chosen: Any, weights: Array | None) -> Any:
    """The weight of the rows that are chosen, or how many there are."""
    return int(chosen.sum()) if weights is None else float(weights[chosen].sum())


def words_of_weight(weight: float) -> float:
    """A sum of weights as people read it: a whole number if it is one, and with one decimal otherwise.

    Examples
    --------
    >>> words_of_weight(84.0), words_of_weight(84.06)
    (84, 84.1)
    """
    whole = round(float(weight))
    return whole if abs(weight - whole) < _SAME * max(1.0, weight) else max(round(float(weight), 1), 0.1)


def _has_one_alone(times: Array) -> bool:
    """Whether a time occurs once: the row that has it is then there once. As good as always, and quickly found."""
    new = np.diff(np.sort(times)) > 0.0
    return bool((np.append(new, True) & np.insert(new, 0, True)).any())


def _smallest(weights: Array, X: Any, y: Endpoints) -> float:
    """The smallest weight of a row, equal rows being taken together: columns are looked at until one row of that weight stands alone."""
    least = float(weights.min(initial=np.inf))
    group, found = np.zeros(len(weights), dtype=np.int64), float(weights.sum())
    if not group.size:
        return 1.0
    for codes in _columns(X, y):
        _, group = np.unique(group * (int(codes.max()) + 2) + codes + 1, return_inverse=True)
        found = float(np.bincount(group, weights).min())
        if found <= least * (1.0 + _SAME):
            break
    return found


def _columns(X: Any, y: Endpoints) -> Any:
    """The places of all columns' values among their distinct ones, endpoints first: their times tell most rows apart."""
    for bounds in (y.lower, y.upper, y.entry):
        for values in bounds.T:
            yield np.unique(values, return_inverse=True)[1].reshape(-1)
    frame = to_pandas(X)
    for name in frame.columns:
        try:
            codes: Integers = pd.factorize(frame[name])[0]
        except TypeError:  # lists, which are refused elsewhere
            continue
        yield codes
