"""Labels of rows: two tables whose rows belong together have the same, in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import IndexWarning, TableError, warn
from harmonium.table.frames import as_typed

__all__ = ["check_index", "check_labels", "has_other_labels"]


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
