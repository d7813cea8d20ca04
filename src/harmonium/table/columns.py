"""Covariates: what kind of variable a column is, and its encoding to numbers and back.

Roles are inferred, or given by the user:

* **numeric**: numbers with more than two distinct values; standardised.
* **binary**: booleans, or two distinct values of any kind.
* **categorical**: text or pandas categories with more than two levels.
* **ignored**: nothing but gaps, or one value: such a column carries no information and takes no part in the model.

A level that was not seen in training is treated as missing, with a warning. Refused with the column's name and, where there is one,
the row: dates, text among numbers, infinite values, and text with so many levels that it looks like an identifier.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from harmonium.errors import first_offender
from harmonium.table.frames import as_typed, numbers_of
from harmonium.typing import Array
from harmonium.units import Bernoulli, Categorical, Gaussian, Unit

__all__ = ["ROLES", "Column", "infer_column"]

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
        Share of the training rows in which it has a gap.
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
        if self.role == "numeric":
            return Gaussian()
        return Bernoulli() if self.role == "binary" else Categorical(len(self.levels))

    def encode(self, series: pd.Series) -> Array:
        """Values as the unit takes them, NaN where missing.

        Levels are compared as Python does: True, 1 and 1.0 are the same, "1" is another.
        """
        if self.role == "numeric":
            return (_finite_numbers(series) - self.mean) / self.scale
        places, distinct = pd.factorize(series) if len(series) > _FEW else _places_of_few(series)
        code_of = {level: float(code) for code, level in enumerate(self.levels)}
        codes: Array = np.array([*(code_of.get(value, np.nan) for value in distinct), np.nan])[places]
        unseen = np.isnan(codes) & (places >= 0)
        row = first_offender(unseen)
        if row:
            others = f" and {unseen.sum() - 1} more rows" if unseen.sum() > 1 else ""
            warnings.warn(
                f"column {self.name!r} holds {as_typed(distinct[places[row]])} (row {row[0]}{others}), which was not seen in training; "
                "it is treated as missing",
                UserWarning,
                stacklevel=2,
            )
        return codes

    def decode(self, values: Array) -> pd.Series:
        """Encoded values as the user had them; whole numbers and booleans with gaps in pandas' nullable type."""
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


def _places_of_few(series: pd.Series) -> tuple[NDArray[np.int64], list[Any]]:
    """As :func:`pandas.factorize`, for so few values that its preparations would take longer; values need not be distinct."""
    values = series.tolist()
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
    if role is not None and role not in ROLES:
        raise ValueError(f"the role of column {series.name!r} must be one of {', '.join(ROLES)}; found {role!r}")
    if role == "ignored":
        return Column(series.name, "ignored", "object")
    content, kind = _content(series)
    if content == "numbers" or role == "numeric":
        numbers = _finite_numbers(series)
        n_distinct = np.unique(numbers[~np.isnan(numbers)]).size
        if (role is None and n_distinct > 2) or (role == "numeric" and n_distinct > 1):
            return _numeric(series.name, kind if content == "numbers" else "float64", numbers)
    categories = tuple(_plain(series.name, series.cat.categories)) if content == "category" else ()
    levels = _levels(series, categories)
    if len(levels) < 2:
        role = "ignored"
    elif role == "binary" and len(levels) > 2:
        raise ValueError(f"column {series.name!r} cannot be binary: it has {len(levels)} levels, {list(levels)[:5]} among them")
    elif role is None:
        if len(levels) > max(_MOST_LEVELS, len(series) // 2):
            raise ValueError(
                f"column {series.name!r} has {len(levels)} levels in {len(series)} rows and looks like an identifier; "
                "drop it, or state its role"
            )
        role = "binary" if len(levels) == 2 else "categorical"
    ordered = bool(series.cat.ordered) if content == "category" else False
    return Column(series.name, role, kind, levels, categories=categories, ordered=ordered)


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
        raise ValueError(f"column {series.name!r} has the type {dtype}, which cannot be modelled; turn it into numbers or categories")
    inferred = types.infer_dtype(series, skipna=True)
    if inferred in _OBJECTS:
        content, usual = _OBJECTS[inferred]
        return content, str(dtype) if content == "text" and ordinary else usual
    text = np.array([isinstance(value, str) for value in series], dtype=bool)
    other = series.notna().to_numpy() & ~np.array([isinstance(value, Real | Decimal) for value in series], dtype=bool)
    row = first_offender(other)
    if row is None:
        return "numbers", "float64"
    wrong = "mixes numbers and text" if text.any() else "can hold numbers, text or booleans"
    raise ValueError(f"column {series.name!r} {wrong}; found {series.iloc[row[0]]!r} in row {row[0]}")


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
    row = first_offender(np.isinf(numbers))
    if row:
        raise ValueError(f"column {series.name!r} must hold finite numbers; found {numbers[row]:g} in row {row[0]}")
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
            raise ValueError(f"column {name!r} has levels such as {value!r}; turn them into text with .cat.rename_categories(str)")
    return plain
