"""Covariates: what kind of variable a column is, and its encoding to numbers and back.

Roles are inferred, or given by the user:

* **numeric**: numbers with more than two distinct values; mapped to normal scores (:mod:`harmonium.table.numeric_scale`).
* **binary**: booleans, or two distinct values of any kind.
* **categorical**: text or pandas categories with more than two levels.
* **ignored**: nothing but missing values, or one value: such a column carries no information and takes no part in the model.

A level that was not seen in training is treated as missing, with a warning. Refused with the column's name and, where there is one,
the row: dates, lists, text mixed with numbers, infinite values, and text with so many levels that it looks like an identifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError, UnseenLevelWarning, warn
from harmonium.table.column_summary import ColumnSummary, finite_numbers, summarise_column
from harmonium.table.dates import looks_like_dates, of_dates
from harmonium.table.frames import as_typed, distinct_values, reads_as_number, row_of
from harmonium.table.numeric_scale import NumericScale, fit_numeric_scale, linear_scale
from harmonium.table.odd_values import bare, warn_of_far_values
from harmonium.table.rules import Finite, NotNegative, Share, one_of
from harmonium.typing import Array, Integers

if TYPE_CHECKING:
    from harmonium.units.contract import Unit

__all__ = ["ROLES", "Column", "check_role", "conclude_column", "infer_column", "learn_column"]

ROLES = ("numeric", "binary", "categorical", "ignored")

_FEW = 8
_MOST_WORDS = 3  # that are shown
_MOST_LEVELS = 20  # a text column with more levels than this and than half of the rows looks like an identifier


@dataclass(frozen=True)
class Column:
    """A covariate's name, role, and what is needed to encode and decode it.

    Attributes
    ----------
    name : str or int
    role : str
        One of :data:`ROLES`.
    kind : str
        The pandas type in which values are given back, such as "int64", "boolean", "object" (text) or "category".
    levels : tuple
        Of a binary or categorical column, or the only value of an ignored one.
    mean, deviation, lowest, highest : float
        Of a numeric column.
    scale : NumericScale or None
        Of a numeric column: from its values to scores and back.
    categories : tuple
        Of a pandas category: all that were declared, whether they occurred or not.
    ordered : bool
        Whether a pandas category has an order.
    missing : float
        Fraction of the training rows in which it is missing.
    """

    name: Any
    role: Annotated[str, one_of(ROLES)]
    kind: str
    levels: tuple[Any, ...] = ()
    mean: Finite = 0.0
    deviation: NotNegative = 1.0
    lowest: float = -np.inf
    highest: float = np.inf
    scale: NumericScale | None = None
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    missing: Share = 0.0

    @property
    def unit(self) -> Unit:
        """The visible unit that models it."""
        from harmonium.units import Bernoulli, Categorical, Gaussian  # noqa: PLC0415 - compiled code, which a summary does not need

        if self.role == "numeric":
            return Gaussian()
        return Bernoulli() if self.role == "binary" else Categorical(len(self.levels))

    def encode(self, series: pd.Series, numbers: Array | None = None) -> Array:
        """Values as the unit takes them, NaN where missing; ``numbers`` if they have been read already.

        Levels are compared as Python does: True, 1 and 1.0 are the same, "1" is another. Blanks around text do not count.
        """
        if self.scale is not None:
            return self.scale.to_score(self._numbers(series) if numbers is None else numbers)
        places, distinct = distinct_values(series) if len(series) > _FEW else _places_of_few(series)
        code_of = {level: float(code) for code, level in enumerate(self.levels)}
        codes: Array = np.array([*(code_of.get(value, code_of.get(bare(value), np.nan)) for value in distinct), np.nan])[places]
        unseen = np.isnan(codes) & (places >= 0)
        row = row_of(unseen)
        if row is not None:
            others = f" and {unseen.sum() - 1} more rows" if unseen.sum() > 1 else ""
            warn(
                f"column {self.name!r} holds {as_typed(distinct[places[row]])} (row {row}{others}), which was not seen in training; "
                "it is treated as missing",
                UnseenLevelWarning,
            )
        return codes

    def _numbers(self, series: pd.Series) -> Array:
        """Of a numeric column; those far from what was seen in training give a warning."""
        numbers = finite_numbers(series)
        warn_of_far_values(self.name, numbers, self.lowest, self.highest)
        return numbers

    def decode(self, values: Array) -> pd.Series:
        """Encoded values as the user had them; whole numbers and booleans with missing values in pandas' nullable type."""
        if self.scale is not None:
            return self._given_back(self.scale.from_score(values))
        levels = np.array([*self.levels, None], dtype=object)
        return self._given_back(levels[np.where(np.isnan(values), len(self.levels), values).astype(int)])

    def _given_back(self, values: Any) -> pd.Series:
        if self.kind == "category":
            return pd.Series(pd.Categorical(values, categories=list(self.categories), ordered=self.ordered), name=self.name)
        kind = self.kind
        if kind.lower() in _WHOLE:
            limits = np.iinfo(kind.lower())
            values = np.clip(np.round(values.astype(float)), limits.min, limits.max)
        if pd.isna(values).any() and kind in _NULLABLE:
            kind = _NULLABLE[kind]
        return pd.Series(values, name=self.name).astype(kind)

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        distinct, numeric = len(set(self.levels)), self.role == "numeric"
        return {
            "its levels must be unique": distinct == len(self.levels),
            "its categories must be unique": len(set(self.categories)) == len(self.categories),
            f"it is {self.role} and cannot have {distinct} levels": {"binary": distinct == 2, "categorical": distinct >= 2}.get(
                self.role, True
            ),
            "its range must ascend": not numeric or self.lowest <= self.highest,
            "it has a scale if it is numeric, and only then": numeric == (self.scale is not None),
        }


def _places_of_few(series: pd.Series) -> tuple[Integers, list[Any]]:
    """As :func:`distinct_values`, for so few values that its preparations would take longer; values need not be distinct."""
    values = series.tolist()
    if any(isinstance(value, list | dict | set | np.ndarray) for value in values):
        distinct_values(series)  # refuses it
    places = [-1 if _is_missing(value) else place for place, value in enumerate(values)]
    return np.array(places, dtype=np.int64), values


def _is_missing(value: Any) -> bool:
    return bool(value is None or value is pd.NA or value != value)  # noqa: PLR0124 - only a NaN is not itself


_WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NULLABLE = {"bool": "boolean", **{name: name.replace("int", "Int").replace("u", "U") for name in _WHOLE}}


def infer_column(series: pd.Series, role: str | None = None) -> Column:
    """Find a column's role, unless it is given, and its encoding.

    Examples
    --------
    >>> import pandas as pd
    >>> infer_column(pd.Series(["I", "II", None, "III"], name="stage")).levels
    ('I', 'II', 'III')
    >>> infer_column(pd.Series([0, 1, 1], name="female")).role
    'binary'
    """
    return learn_column(series, role)[0]


def learn_column(
    series: pd.Series, role: str | None = None, numeric_scale: str = "scores", weights: Array | None = None
) -> tuple[Column, Array | None]:
    """As :func:`infer_column`, together with the numbers of a numeric column, which have been read on the way; rows may have weights."""
    check_role(series.name, role)
    summary, numbers = summarise_column(series, role, weights=weights)
    column = conclude_column(summary, role, numeric_scale)
    return column, numbers if column.role == "numeric" else None


def check_role(name: Any, role: str | None) -> None:
    """Refuse a role that there is not."""
    if role is not None and role not in ROLES:
        raise TableError(f"the role of column {name!r} must be one of {', '.join(ROLES)}; found {role!r}", column=name)


def conclude_column(summary: ColumnSummary, role: str | None = None, numeric_scale: str = "scores") -> Column:
    """The column of which this is the summary, in the role that was given or that its values suggest."""
    name, missing = summary.name, summary.n_missing / summary.n_rows if summary.n_rows else 0.0
    if role == "ignored":
        return Column(name, "ignored", "object", missing=missing)
    moments = summary.moments
    if moments is not None and summary.is_numeric_as(role):
        mean, deviation = moments.size * moments.mean, moments.size * float(np.sqrt(moments.variance)) or moments.size
        kind = summary.kind if summary.content == "numbers" else "float64"
        linear, precision = numeric_scale == "linear", _precision(kind)
        scale = linear_scale(summary.tally, mean, deviation, precision) if linear else fit_numeric_scale(summary.tally, precision)
        return Column(name, "numeric", kind, (), mean, deviation, moments.lowest, moments.highest, scale, missing=missing)
    levels = summary.sorted_levels()
    role = _role_with_levels(summary, role, levels)
    return Column(name, role, summary.kind, levels, categories=summary.categories, ordered=summary.ordered, missing=missing)


def _precision(kind: str) -> float:
    """Relative, of numbers of a pandas type."""
    return float(np.finfo(kind.lower()).eps) if kind.lower() in ("float16", "float32") else 2.0**-52


def _refuse_words_among_numbers(name: Any, levels: tuple[Any, ...]) -> None:
    """Refuse a column of numbers which a few words, or decimal commas, make one of text with very many levels."""
    commas = [level for level in levels if not reads_as_number(level) and reads_as_number(str(level).replace(",", "."))]
    words = [level for level in levels if not reads_as_number(str(level).replace(",", "."))]
    if len(words) >= len(levels) // 2 or not (words or commas):
        return
    if not words:
        raise TableError(f"column {name!r} holds numbers with decimal commas ({as_typed(commas[0])}); write decimal points", column=name)
    shown = ", ".join(map(as_typed, words[:_MOST_WORDS])) + (", ..." if len(words) > _MOST_WORDS else "")
    raise TableError(f"column {name!r} holds numbers, and {shown} among them; write a number there, or leave it empty", column=name)


def _role_with_levels(summary: ColumnSummary, role: str | None, levels: tuple[Any, ...]) -> str:
    """What a column with these levels is, if it can be what was asked for."""
    if len(levels) < 2:
        return "ignored"
    if role == "binary" and len(levels) > 2:
        raise TableError(
            f"column {summary.name!r} cannot be binary: it has {len(levels)} levels, {list(levels)[:5]} among them", column=summary.name
        )
    if role is not None:
        return role
    if summary.content != "category" and looks_like_dates(levels):
        raise TableError(of_dates(summary.name, levels[0]), column=summary.name)
    if len(levels) > max(_MOST_LEVELS, summary.n_rows // 2):
        _refuse_words_among_numbers(summary.name, levels)
        raise TableError(
            f"column {summary.name!r} has {len(levels)} levels in {summary.n_rows:g} rows and looks like an identifier; "
            "drop it, or state its role",
            column=summary.name,
        )
    return "binary" if len(levels) == 2 else "categorical"
