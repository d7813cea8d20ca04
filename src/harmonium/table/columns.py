"""Covariates: what kind of variable a column is, and its encoding to numbers and back.

Roles are inferred, or given by the user:

* **numeric**: numbers with more than two distinct values; standardised.
* **binary**: booleans, or two distinct values of any kind.
* **categorical**: text or pandas categories with more than two levels.
* **ignored**: nothing but gaps, or one value: such a column carries no information and takes no part in the model.

A level that was not seen in training is treated as missing, with a warning.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.units import Bernoulli, Categorical, Gaussian, Unit
from harmonium.units.arguments import first_offender
from harmonium.units.contract import Array

__all__ = ["ROLES", "Column", "infer_column"]

ROLES = ("numeric", "binary", "categorical", "ignored")

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
        How values are given back: "bool", "int", "float", "str" or "category".
    levels : tuple
        Of a binary or categorical column, or the only value of an ignored one.
    mean, scale : float
        Of a numeric column.
    """

    name: Any
    role: str
    kind: str
    levels: tuple[Any, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def unit(self) -> Unit:
        """The visible unit that models it."""
        if self.role == "numeric":
            return Gaussian()
        return Bernoulli() if self.role == "binary" else Categorical(len(self.levels))

    def encode(self, series: pd.Series) -> Array:
        """Values as the unit takes them, NaN where missing."""
        if self.role == "numeric":
            return (_numbers(series) - self.mean) / self.scale
        codes = np.full(len(series), np.nan)
        values = _plain(series)
        for code, level in enumerate(self.levels):
            codes[np.array([not gap and value == level for value, gap in zip(values, pd.isna(values), strict=True)])] = code
        row = first_offender(np.isnan(codes) & ~pd.isna(values))
        if row:
            warnings.warn(
                f"column {self.name!r} holds {values[row]!r} (row {row[0]}), which was not seen in training; it is treated as missing",
                UserWarning,
                stacklevel=2,
            )
        return codes

    def decode(self, values: Array) -> pd.Series:
        """Encoded values as the user had them."""
        if self.role == "numeric":
            numbers = self.mean + self.scale * values
            if self.kind == "int":
                return pd.Series(np.round(numbers), name=self.name).astype("Int64" if np.isnan(numbers).any() else "int64")
            return pd.Series(numbers, name=self.name)
        levels = np.empty(len(self.levels) + 1, dtype=object)
        levels[:-1] = self.levels
        levels[-1] = None
        chosen = levels[np.where(np.isnan(values), len(self.levels), values).astype(int)]
        if self.kind == "category":
            return pd.Series(pd.Categorical(chosen, categories=list(self.levels)), name=self.name)
        return pd.Series(chosen, name=self.name).infer_objects()

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {**asdict(self), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Column:
        """From a model file."""
        return cls(**{**stored, "levels": tuple(stored["levels"])})


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
    kind = _kind(series)
    if role == "ignored":
        return Column(series.name, "ignored", kind)
    if kind in ("int", "float") and role not in ("binary", "categorical"):
        numbers = _numbers(series)
        observed = numbers[~np.isnan(numbers)]
        if role == "numeric" or np.unique(observed).size > 2:
            scale = float(observed.std()) if observed.size else 0.0
            return Column(series.name, "numeric", kind, mean=float(observed.mean()) if observed.size else 0.0, scale=scale or 1.0)
    if role == "numeric":
        raise ValueError(f"column {series.name!r} cannot be numeric: it holds {_first(series)!r}")
    levels = _levels(series, kind)
    if len(levels) < 2:
        return Column(series.name, "ignored", kind, levels)
    if role == "binary" and len(levels) != 2:
        raise ValueError(f"column {series.name!r} cannot be binary: it has {len(levels)} levels, {list(levels)[:5]} among them")
    if role is None and len(levels) > max(_MOST_LEVELS, len(series) // 2):
        raise ValueError(
            f"column {series.name!r} has {len(levels)} levels in {len(series)} rows and looks like an identifier; "
            "drop it, or state its role"
        )
    return Column(series.name, role or ("binary" if len(levels) == 2 else "categorical"), kind, levels)


def _first(series: pd.Series) -> Any:
    return series.dropna().iloc[0] if series.notna().any() else None


def _kind(series: pd.Series) -> str:
    """What the column holds, whatever its dtype is called."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    for kind, holds in _DTYPES.items():
        if holds(dtype):
            return kind
    if not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)):
        raise ValueError(f"column {series.name!r} has the type {dtype}, which cannot be modelled; turn it into numbers or categories")
    observed = series.dropna()
    text = np.array([isinstance(value, str) for value in observed], dtype=bool)
    if text.any() and not text.all():
        value = observed[text].iloc[0]
        row = int(np.argmax((series == value).to_numpy()))
        raise ValueError(f"column {series.name!r} mixes numbers and text; found {value!r} in row {row}")
    if text.any():
        return "str"
    return "bool" if len(observed) and all(isinstance(value, (bool, np.bool_)) for value in observed) else "float"


_DTYPES = {"bool": pd.api.types.is_bool_dtype, "int": pd.api.types.is_integer_dtype, "float": pd.api.types.is_float_dtype}


def _numbers(series: pd.Series) -> Array:
    """Numbers with NaN for gaps; refuses text and infinities with their row."""
    try:
        numbers: Array = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        row = first_offender((pd.to_numeric(series, errors="coerce").isna() & series.notna()).to_numpy())
        place = row[0] if row else 0
        raise ValueError(f"column {series.name!r} must hold numbers; found {series.iloc[place]!r} in row {place}") from None
    row = first_offender(np.isinf(numbers))
    if row:
        raise ValueError(f"column {series.name!r} must hold finite numbers; found {numbers[row]:g} in row {row[0]}")
    return numbers


def _plain(series: pd.Series) -> Any:
    """Values as Python objects that compare and can be stored."""
    return np.array([value.item() if isinstance(value, np.generic) else value for value in series.astype(object)], dtype=object)


def _levels(series: pd.Series, kind: str) -> tuple[Any, ...]:
    """Distinct values: pandas categories in their order, all else sorted."""
    if kind in ("int", "float"):
        _numbers(series)
    present = set(_plain(series.dropna()))
    if kind == "category":
        return tuple(level for level in _plain(pd.Series(series.cat.categories)) if level in present)
    return tuple(sorted(present))
