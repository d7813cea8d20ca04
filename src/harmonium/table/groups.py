"""Groups of rows that belong together, such as the patients of a hospital: resampling takes all rows of a group, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import row_of
from harmonium.table.labels import check_labels
from harmonium.typing import Integers

__all__ = ["parse_groups"]


def parse_groups(groups: Any, n_rows: int, called: str = "groups", index: Any = None) -> Integers:
    """The number of each row's group, in the order in which groups appear; a row without one is refused.

    Labels of the rows are compared with ``index``, that of X, where both have some.

    Examples
    --------
    >>> parse_groups(["north", "south", "north"], 3)
    array([0, 1, 0])
    """
    check_labels(index, getattr(groups, "index", None), called)
    array = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)  # NumPy would turn a missing one into text
    if array.shape != (n_rows,):
        found = str(array.size) if array.ndim == 1 else f"an object of shape {array.shape}"
        raise TableError(f"{called} must say for each of {n_rows} rows to which group it belongs; found {found}")
    codes = np.asarray(pd.factorize(array)[0], dtype=np.int64)
    row = row_of(codes < 0)
    if row is not None:
        raise TableError(f"{called} must not be missing; found none in row {row}. A row on its own is a group of its own", row=row)
    return codes
