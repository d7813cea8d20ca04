"""What a column holds, in a form that summaries of several parts of a table can be merged into.

Learning a column is summarising it, then concluding what it is (:mod:`harmonium.table.columns`). A table in one place is summarised
whole; the parts of one that lies on several machines are summarised where they are, and merged in order.

Where parts disagree, the whole is what pandas makes of them: whole numbers and decimal ones are decimal, plain and nullable types are
nullable, and a part without a single value has no say. Text in one part and numbers in another are refused, as in one table.

Distinct numbers and how often they occur, in a form that tallies of several parts of a table can be merged into.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from harmonium.errors import TableError
from harmonium.table.dates import of_dates
from harmonium.table.endpoint_summary import MOST_TIMES, with_digits
from harmonium.table.frames import also, numbers_of, row_of, rows_of
from harmonium.table.odd_values import bare, refuse_stray_words
from harmonium.table.row_weights import total_or_count
from harmonium.typing import Array

__all__ = ["NOTHING", "ColumnSummary", "Moments", "Tally", "finite_numbers", "summarise_column"]

_ALL_DIGITS, _FIRST_CUT, _FEWEST_DIGITS = 52, 20, 4  # of a number's binary fraction


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct numbers, ascending, and in how many rows they are.

    A tally that is merged holds at most 200,000 numbers; beyond, they are cut to fewer binary digits, as times are
    (:mod:`harmonium.table.endpoint_summary`).

    Attributes
    ----------
    values : ndarray
    counts : ndarray
        Rows, or their weight.
    digits : int
        Binary digits that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> Tally.of(np.array([2.0, 1.0, 2.0])).merged(Tally.of(np.array([1.0]))).counts
    array([2, 2])
    """

    values: Array
    counts: Any
    digits: int = _ALL_DIGITS

    @classmethod
    def of(cls, numbers: Array, weights: Array | None = None) -> Tally:
        """Of numbers without NaN, whose rows may have weights."""
        if weights is None:
            values, counts = np.unique(numbers + 0.0, return_counts=True)  # -0 is 0
            return cls(values, counts.astype(np.int64))
        values, place = np.unique(numbers + 0.0, return_inverse=True)
        return cls(values, np.bincount(place, weights, minlength=values.size))

    def merged(self, other: Tally, most: int = MOST_TIMES) -> Tally:
        """Of both; numbers are cut if there are more than ``most``."""
        out = _added(self, other, min(self.digits, other.digits))
        while out.values.size > most and out.digits > _FEWEST_DIGITS:
            out = _added(out, NOTHING, min(out.digits - 1, _FIRST_CUT))
        return out


NOTHING = Tally(np.empty(0), np.empty(0, dtype=np.int64))
"""Of no numbers."""


def _added(a: Tally, b: Tally, digits: int) -> Tally:
    numbers = np.concatenate([part.values if part.digits == digits else with_digits(part.values, digits) for part in (a, b)])
    values, place = np.unique(numbers, return_inverse=True)
    counts = np.bincount(place, np.concatenate([a.counts, b.counts]), minlength=values.size)
    return Tally(values, counts.astype(np.result_type(a.counts, b.counts)), digits)


_ENOUGH = 3  # distinct numbers: more are not told apart


@dataclass(frozen=True)
class Moments:
    """Number, mean and variance of some numbers in units of the largest of them, so that squares stay in range; and their range."""

    n: float
    size: float
    mean: float
    variance: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, numbers: Array, weights: Array | None = None) -> Moments | None:
        """Of numbers without NaN, whose rows may have weights; None if there are none."""
        if not numbers.size:
            return None
        size = float(np.abs(numbers).max())
        scaled = numbers / (size or 1.0)
        lowest, highest = float(numbers.min()), float(numbers.max())
        if weights is None:
            return cls(numbers.size, size, float(scaled.mean()), float(scaled.var()), lowest, highest)
        total = float(weights.sum())
        mean = float(weights @ scaled) / total
        return cls(total, size, mean, float(weights @ (scaled - mean) ** 2) / total, lowest, highest)

    def merged(self, other: Moments) -> Moments:
        """Of both (Chan, Golub and LeVeque 1979).

        Examples
        --------
        >>> import numpy as np
        >>> both = Moments.of(np.array([1.0, 3.0])).merged(Moments.of(np.array([8.0])))
        >>> both.size * both.mean, round(both.size**2 * both.variance, 9)
        (4.0, 8.666666667)
        """
        size, n = max(self.size, other.size), self.n + other.n
        mine, theirs = self.size / (size or 1.0), other.size / (size or 1.0)
        mean, step = self.mean * mine, other.mean * theirs - self.mean * mine
        spread = self.n * self.variance * mine**2 + other.n * other.variance * theirs**2 + step**2 * (self.n * other.n / n)
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return Moments(n, size, mean + step * (other.n / n), spread / n, lowest, highest)


@dataclass(frozen=True)
class ColumnSummary:
    """Of a column, or of a part of it.

    Attributes
    ----------
    name : str or int
    n_rows, n_missing : int or float
        Rows, or their weight.
    content, kind : str
        What it holds (category, booleans, numbers or text), and the pandas type in which to give it back.
    distinct : tuple of float
        Up to three distinct numbers.
    moments : Moments or None
        Of numbers.
    tally : Tally
        Distinct numbers, and how often they occur.
    levels : frozenset
        Distinct values, unless the column is certainly one of numbers.
    categories, ordered
        Of a pandas category.
    part : int
        The first part of the table in which there is a value.
    """

    name: Any
    n_rows: float
    n_missing: float
    content: str
    kind: str
    distinct: tuple[float, ...] = ()
    moments: Moments | None = None
    tally: Tally = field(default=NOTHING, compare=False)
    levels: frozenset[Any] = frozenset()
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    part: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no value at all."""
        return self.n_missing == self.n_rows

    def is_numeric_as(self, role: str | None) -> bool:
        """Whether it is a number in this role, or without one."""
        return (role is None and len(self.distinct) > 2) or (role == "numeric" and len(self.distinct) > 1)

    def sorted_levels(self) -> tuple[Any, ...]:
        """Pandas categories in their order, all else sorted."""
        if self.categories:
            return tuple(level for level in self.categories if level in self.levels)
        as_decimals = self.content == "numbers" and "float" in self.kind.lower()
        if as_decimals and all(float(level).is_integer() for level in self.levels):
            return tuple(sorted(map(int, self.levels)))  # 2 and 3 rather than 2.0 and 3.0, which they are only because of missing values
        return tuple(sorted(map(float, self.levels) if as_decimals else self.levels))

    def merged(self, other: ColumnSummary) -> ColumnSummary:
        """Of both parts."""
        first = other if self.is_empty and not other.is_empty else self
        content, kind = _common_type(self, other)
        moments = self.moments.merged(other.moments) if self.moments and other.moments else self.moments or other.moments
        if content == "category" and self.categories != other.categories and (self.ordered or other.ordered):
            raise TableError(
                f"column {self.name!r} is an ordered category with other categories in part {other.part} of the table than in part "
                f"{self.part}; give all parts the same categories",
                column=self.name,
            )
        return replace(
            first,
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            content=content,
            kind=kind,
            distinct=tuple(sorted({*self.distinct, *other.distinct})[:_ENOUGH]),
            moments=moments,
            tally=self.tally.merged(other.tally),
            levels=self.levels | other.levels,
            categories=tuple(dict.fromkeys((*self.categories, *other.categories))) if content == "category" else (),
        )


def _common_type(a: ColumnSummary, b: ColumnSummary) -> tuple[str, str]:
    """Content and kind of two parts together."""
    if a.content == b.content == "numbers":
        return "numbers", _common_kind(a.kind, b.kind)
    if a.is_empty or b.is_empty:
        chosen = b if a.is_empty else a
        return chosen.content, chosen.kind
    contents = {a.content, b.content}
    if len(contents) == 1:
        return a.content, a.kind if a.kind == b.kind else "boolean" if a.content == "booleans" else "object"
    if contents == {"booleans", "numbers"}:
        return "numbers", "float64"
    if contents == {"category", "text"}:
        return "text", "object"
    raise TableError(
        f"column {a.name!r} holds {a.content} in part {a.part} of the table and {b.content} in part {b.part}; "
        "give all parts the same type, or correct it",
        column=a.name,
    )


def _common_kind(a: str, b: str) -> str:
    """The type of numbers of two types together, nullable if one of them is."""
    if a == b:
        return a
    common = np.result_type(a.lower(), b.lower()).name
    return common.replace("u", "U").replace("int", "Int").replace("float", "Float") if a != a.lower() or b != b.lower() else common


def summarise_column(
    series: pd.Series, role: str | None = None, part: int = 0, weights: Array | None = None
) -> tuple[ColumnSummary, Array | None]:
    """A column's summary, together with its numbers if it holds any; rows may have weights."""
    missing = series.isna().to_numpy(dtype=bool)
    n_rows, n_missing = total_or_count(np.ones(len(series), dtype=bool), weights), total_or_count(missing, weights)
    if role == "ignored":
        return ColumnSummary(series.name, n_rows, n_missing, "text", "object", part=part), None
    if role is None:
        refuse_stray_words(series)
    content, kind = _content(series)
    numbers = finite_numbers(series) if content == "numbers" or role == "numeric" else None
    summary = ColumnSummary(series.name, n_rows, n_missing, content, kind, part=part)
    if numbers is not None:
        seen = ~np.isnan(numbers)
        observed, own = numbers[seen], None if weights is None else weights[seen]
        tally = Tally.of(observed, own)
        summary = replace(summary, moments=Moments.of(observed, own), tally=tally, distinct=tuple(map(float, tally.values[:_ENOUGH])))
    if summary.is_numeric_as(role):
        return summary, numbers
    if content == "category":
        summary = replace(summary, categories=tuple(_plain(series.name, series.cat.categories)), ordered=bool(series.cat.ordered))
    levels = _plain(series.name, pd.unique(series.dropna()))
    return replace(summary, levels=frozenset(map(bare, levels) if content == "text" else levels)), numbers


def _content(series: pd.Series) -> tuple[str, str]:
    """What the column holds (category, booleans, numbers or text), and the pandas type in which to give it back."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category", "category"
    ordinary = "[" not in str(dtype)  # unlike int64[pyarrow] or Sparse[float64, nan], which need not be there where a model is loaded
    for content, holds, usual in _DTYPES:
        if holds(dtype):
            return content, str(dtype) if ordinary else usual
    if types.is_datetime64_any_dtype(dtype) and series.notna().any():
        raise TableError(of_dates(series.name, series.dropna().iloc[0]), column=series.name)
    if not (types.is_object_dtype(dtype) or types.is_string_dtype(dtype)):
        raise TableError(
            f"column {series.name!r} has the type {dtype}, which cannot be modelled; turn it into numbers or categories", column=series.name
        )
    inferred = types.infer_dtype(series, skipna=True)
    if inferred in ("date", "datetime"):
        raise TableError(of_dates(series.name, series.dropna().iloc[0]), column=series.name)
    if inferred in _OBJECTS:
        content, usual = _OBJECTS[inferred]
        return content, str(dtype) if content == "text" and ordinary else usual
    text = np.array([isinstance(value, str) for value in series], dtype=bool)
    other = series.notna().to_numpy() & ~np.array([isinstance(value, Real | Decimal) for value in series], dtype=bool)
    rows = rows_of(other)
    if not rows:
        return "numbers", "float64"
    row, *others = rows
    wrong = "mixes numbers and text" if text.any() else "must hold numbers, text or booleans"
    raise TableError(
        f"column {series.name!r} {wrong}; found {series.iloc[row]!r} in row {row}{also(rows)}", column=series.name, row=row, others=others
    )


_DTYPES = (
    ("booleans", types.is_bool_dtype, "boolean"),
    ("numbers", types.is_integer_dtype, "Int64"),
    ("numbers", types.is_float_dtype, "float64"),
)

_OBJECTS = {  # what pandas infers of a column of objects
    "string": ("text", "object"),
    "boolean": ("booleans", "bool"),
    "integer": ("numbers", "int64"),
    "floating": ("numbers", "float64"),
    "mixed-integer-float": ("numbers", "float64"),
    "decimal": ("numbers", "float64"),
    "empty": ("text", "object"),
}


def finite_numbers(series: pd.Series) -> Array:
    """Numbers, NaN where missing; infinite ones are refused with their row."""
    numbers = numbers_of(series)
    row = row_of(np.isinf(numbers))
    if row is not None:
        raise TableError(
            f"column {series.name!r} must hold finite numbers; found {numbers[row]:g} in row {row}", column=series.name, row=row
        )
    return numbers


def _plain(name: Any, values: Any) -> list[Any]:
    """Levels as Python objects that compare and can be stored."""
    plain = [value.item() if isinstance(value, np.generic) else float(value) if isinstance(value, Decimal) else value for value in values]
    for value in plain:
        if not isinstance(value, str | bool | int | float):
            raise TableError(
                f"column {name!r} has levels such as {value!r}; turn them into text with .cat.rename_categories(str)", column=name
            )
    return plain
