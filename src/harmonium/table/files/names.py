"""Names of a table's columns: unique, and all that are needed; errors name the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from harmonium.errors import Problem, TableError
from harmonium.table.frames import columns_of

__all__ = ["require_columns", "unique_names"]


def unique_names(called: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, if none is there twice.

    Examples
    --------
    >>> unique_names("a.csv", ["age", "sex", "age"])
    Traceback (most recent call last):
    harmonium.errors.TableError: a.csv: column names must be unique; found 'age' more than once
    """
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(Problem(f"{called}: column names must be unique; found {name!r} more than once", name) for name in twice)
    return tuple(names)


def require_columns(called: str, columns: Sequence[str], names: Collection[str]) -> None:
    """Refuse a table in which columns are missing; for each, name the one that was probably meant."""
    try:
        columns_of(pd.DataFrame(columns=list(columns)), list(names))
    except TableError as error:
        raise TableError(replace(problem, message=f"{called}: {problem.message}") for problem in error.problems) from None
