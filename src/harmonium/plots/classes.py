"""Groups of rows for which curves are drawn: levels of a column, or classes of a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.plots.groups import at_level
from harmonium.typing import Integers

__all__ = ["classes_of", "cut"]

_MOST_GROUPS = 8
_N_CLASSES = 3
_MISSING = "missing"


def classes_of(by: Any, n_rows: int) -> list[tuple[str, Integers]]:
    """Labels and rows: levels in the order of a category, or sorted; a number with many values is cut at its tertiles."""
    if by is None:
        return [("all", np.arange(n_rows))]
    values = by.reset_index(drop=True) if isinstance(by, pd.Series) else pd.Series(np.asarray(by))
    if len(values) != n_rows:
        raise ValueError(f"by must have a group for each of {n_rows} rows; found {len(values)}")
    if values.nunique() > _MOST_GROUPS and pd.api.types.is_numeric_dtype(values):
        values = cut(values)
    present = values.dropna().unique()
    levels = [level for level in values.cat.categories if level in present] if hasattr(values, "cat") else sorted(present, key=_order)
    if len(levels) > _MOST_GROUPS:
        raise ValueError(f"at most {_MOST_GROUPS} groups can be distinguished; by has {len(levels)} values, which are no numbers")
    groups = [(str(level), np.flatnonzero(at_level(values, level))) for level in levels]
    missing = np.flatnonzero(values.isna().to_numpy())
    return [*groups, *([(_MISSING, missing)] if missing.size else [])]


def cut(values: pd.Series) -> pd.Series:
    """Thirds of a column of numbers, each called by its lowest and highest value; equal numbers are in one class.

    Examples
    --------
    >>> cut(pd.Series([50.0, 51, 60, 61, 70, 71])).unique().tolist()
    ['50 to 51', '60 to 61', '70 to 71']
    """
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    known = numbers[~np.isnan(numbers)]
    edges = np.quantile(known, np.arange(1, _N_CLASSES) / _N_CLASSES)
    number = np.searchsorted(edges, numbers, side="left")
    labels = {
        k: f"{own.min():.4g} to {own.max():.4g}" for k in range(_N_CLASSES) if (own := numbers[(number == k) & ~np.isnan(numbers)]).size
    }
    found = [None if np.isnan(value) else labels[k] for k, value in zip(number, numbers, strict=True)]
    return pd.Series(pd.Categorical(found, list(labels.values())), name=values.name)


def _order(level: Any) -> tuple[str, Any]:
    return ("", level) if isinstance(level, int | float | np.integer | np.floating) else (type(level).__name__, level)
