"""Covariates: what kind of variable a column is, and its encoding to numbers and back.

Roles are inferred, or given by the user:

* **numeric**: numbers with more than two distinct values; standardised.
* **binary**: booleans, or two distinct values of any kind.
* **categorical**: text or pandas categories with more than two levels.
* **ignored**: nothing but missing values, or one value: such a column carries no information and takes no part in the model.

A level that was not seen in training is treated as missing, with a warning. Refused with the column's name and, where there is one,
the row: dates, lists, text mixed with numbers, infinite values, and text with so many levels that it looks like an identifier.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types

from harmonium.errors import TableError, UnseenLevelWarning, warn
from harmonium.table.frames import as_typed, distinct_values, numbers_of, row_of
from harmonium.typing import Array, Integers

if TYPE_CHECKING:
    from harmonium.units.contract import Unit

__all__ = ["ROLES", "Column", "infer_column", "learn_column"]

ROLES = ("numeric", "binary", "categorical", "ignored")

_FEW = 8
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
    mean, scale, lowest, highest : float
        Of a numeric column.
    categories : tuple
        Of a pandas category: all that were declared, whether they occurred or not.
    ordered : bool
        Whether a pandas category has an order.
    missing : float
        Fraction of the training rows in which it is missing.
    """

    name: Any
    role: str
    kind: str
    levels: tuple[Any, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    lowest: float = -np.inf
    highest: float = np.inf
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    missing: float = 0.0

    @property
    def unit(self) -> Unit:
        """The visible unit that models it."""
        from harmonium.units import Bernoulli, Categorical, Gaussian  # noqa: PLC0415 - compiled code, which a summary does not need

        if self.role == "numeric":
            return Gaussian()
        return Bernoulli() if self.role == "binary" else Categorical(len(self.levels))

    def encode(self, series: pd.Series, numbers: Array | None = None) -> Array:
        """Values as the unit takes them, NaN where missing; ``numbers`` if they have been read already.

        Levels are compared as Python does: True, 1 and 1.0 are the same, "1" is another.
        """
        if self.role == "numeric":
            return ((_finite_numbers(series) if numbers is None else numbers) - self.mean) / self.scale
        places, distinct = distinct_values(series) if len(series) > _FEW else _places_of_few(series)
        code_of = {level: float(code) for code, level in enumerate(self.levels)}
        codes: Array = np.array([*(code_of.get(value, np.nan) for value in distinct), np.nan])[places]
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

    def decode(self, values: Array) -> pd.Series:
        """Encoded values as the user had them; whole numbers and booleans with missing values in pandas' nullable type."""
        if self.role == "numeric":
            return self._given_back(self.mean + self.scale * values)
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

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {**asdict(self), "levels": list(self.levels), "categories": list(self.categories)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Column:
        """From a model file."""
        return cls(**{**stored, "levels": tuple(stored["levels"]), "categories": tuple(stored["categories"])})


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


def learn_column(series: pd.Series, role: str | None = None) -> tuple[Column, Array | None]:
    """As :func:`infer_column`, together with the numbers of a numeric column, which have been read on the way."""
    if role is not None and role not in ROLES:
        raise TableError(f"the role of column {series.name!r} must be one of {', '.join(ROLES)}; found {role!r}", column=series.name)
    missing = float(series.isna().mean()) if len(series) else 0.0
    if role == "ignored":
        return Column(series.name, "ignored", "object", missing=missing), None
    content, kind = _content(series)
    numbers = _finite_numbers(series) if content == "numbers" or role == "numeric" else None
    if numbers is not None:
        n_distinct = np.unique(numbers[~np.isnan(numbers)]).size
        if (role is None and n_distinct > 2) or (role == "numeric" and n_distinct > 1):
            column = _numeric(series.name, kind if content == "numbers" else "float64", numbers)
            return replace(column, missing=missing), numbers
    categories = tuple(_plain(series.name, series.cat.categories)) if content == "category" else ()
    levels = _levels(series, categories)
    ordered = bool(series.cat.ordered) if content == "category" else False
    role = _role_with_levels(series, role, levels)
    return Column(series.name, role, kind, levels, categories=categories, ordered=ordered, missing=missing), None


def _role_with_levels(series: pd.Series, role: str | None, levels: tuple[Any, ...]) -> str:
    """What a column with these levels is, if it can be what was asked for."""
    if len(levels) < 2:
        return "ignored"
    if role == "binary" and len(levels) > 2:
        raise TableError(
            f"column {series.name!r} cannot be binary: it has {len(levels)} levels, {list(levels)[:5]} among them", column=series.name
        )
    if role is not None:
        return role
    if len(levels) > max(_MOST_LEVELS, len(series) // 2):
        raise TableError(
            f"column {series.name!r} has {len(levels)} levels in {len(series)} rows and looks like an identifier; "
            "drop it, or state its role",
            column=series.name,
        )
    return "binary" if len(levels) == 2 else "categorical"


def _numeric(name: Any, kind: str, numbers: Array) -> Column:
    observed = numbers[~np.isnan(numbers)]
    size = float(np.abs(observed).max())  # squares of very large or small numbers would leave the range
    scale = size * float((observed / size).std()) or size
    mean, lowest, highest = size * float((observed / size).mean()), float(observed.min()), float(observed.max())
    return Column(name, "numeric", kind, mean=mean, scale=scale, lowest=lowest, highest=highest)


def _content(series: pd.Series) -> tuple[str, str]:
    """What the column holds (category, booleans, numbers or text), and the pandas type in which to give it back."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category", "category"
    ordinary = "[" not in str(dtype)  # unlike int64[pyarrow] or Sparse[float64, nan], which need not be there where a model is loaded
    for content, holds, usual in _DTYPES:
        if holds(dtype):
            return content, str(dtype) if ordinary else usual
    if not (types.is_object_dtype(dtype) or types.is_string_dtype(dtype)):
        raise TableError(
            f"column {series.name!r} has the type {dtype}, which cannot be modelled; turn it into numbers or categories", column=series.name
        )
    inferred = types.infer_dtype(series, skipna=True)
    if inferred in _OBJECTS:
        content, usual = _OBJECTS[inferred]
        return content, str(dtype) if content == "text" and ordinary else usual
    text = np.array([isinstance(value, str) for value in series], dtype=bool)
    other = series.notna().to_numpy() & ~np.array([isinstance(value, Real | Decimal) for value in series], dtype=bool)
    row = row_of(other)
    if row is None:
        return "numbers", "float64"
    wrong = "mixes numbers and text" if text.any() else "must hold numbers, text or booleans"
    raise TableError(f"column {series.name!r} {wrong}; found {series.iloc[row]!r} in row {row}", column=series.name, row=row)


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


def _finite_numbers(series: pd.Series) -> Array:
    numbers = numbers_of(series)
    row = row_of(np.isinf(numbers))
    if row is not None:
        raise TableError(
            f"column {series.name!r} must hold finite numbers; found {numbers[row]:g} in row {row}", column=series.name, row=row
        )
    return numbers


def _levels(series: pd.Series, categories: tuple[Any, ...]) -> tuple[Any, ...]:
    """Distinct values: pandas categories in their order, all else sorted."""
    present = set(_plain(series.name, pd.unique(series.dropna())))
    return tuple(level for level in categories if level in present) if categories else tuple(sorted(present))


def _plain(name: Any, values: Any) -> list[Any]:
    """Levels as Python objects that compare and can be stored."""
    plain = [value.item() if isinstance(value, np.generic) else float(value) if isinstance(value, Decimal) else value for value in values]
    for value in plain:
        if not isinstance(value, str | bool | int | float):
            raise TableError(
                f"column {name!r} has levels such as {value!r}; turn them into text with .cat.rename_categories(str)", column=name
            )
    return plain
