"""Labels of rows: two tables whose rows belong together have the same, in the same order.

Groups of rows that belong together, such as the patients of a hospital: resampling takes all rows of a group, or none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import IndexWarning, TableError, warn
from harmonium.table.frames import as_typed, row_of
from harmonium.typing import Integers

__all__ = ["check_index", "check_labels", "has_other_labels", "parse_groups"]


def check_index(X: Any, y: Any, called: str = "y", first: str = "X") -> None:
    """Refuse rows of y that are those of X in another order; warn if they have other labels altogether."""
    check_labels(getattr(X, "index", None), getattr(y, "index", None), called, first)


def check_labels(ours: Any, theirs: Any, called: str, first: str = "X") -> None:
    """As :func:`check_index`, of labels; what has none is taken by its order."""
    if _differ(ours, theirs, called, first):
        warn(
            f"the rows of {first} and {called} have different labels (the first are {as_typed(ours[0])} and {as_typed(theirs[0])}) "
            "and are matched by their order; reset both indexes if that is right",
            IndexWarning,
        )


def has_other_labels(X: Any, y: Any, called: str = "y", first: str = "X") -> bool:
    """Refuse rows of y that are those of X in another order; otherwise, whether they have other labels altogether."""
    return _differ(getattr(X, "index", None), getattr(y, "index", None), called, first)


def _differ(ours: Any, theirs: Any, called: str, first: str) -> bool:
    if not (isinstance(ours, pd.Index) and isinstance(theirs, pd.Index)) or len(ours) != len(theirs) or ours.equals(theirs):
        return False
    if called == "given" and theirs.equals(pd.RangeIndex(len(theirs))) and len(ours.intersection(theirs)) < len(ours):
        return False  # written down for these rows
    if len(ours.symmetric_difference(theirs)) == 0:
        row = int(np.argmax(np.asarray(ours != theirs)))
        raise TableError(
            f"the rows of {called} are in another order than those of {first} (row {row} is {as_typed(ours[row])} in {first} "
            f"and {as_typed(theirs[row])} in {called}); align them: {called}.loc[{first}.index]",
            row=row,
        )
    return True


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
