"""What else is wrong: a table is read once more without the rows that have been refused, so that one run finds all problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from harmonium.errors import HarmoniumWarning, Problem, TableError, silenced

__all__ = ["looking_again"]

_LOOKS = 3  # beyond the first: what is wrong with times hides what is wrong with their order


_Read = Callable[[pd.DataFrame], pd.DataFrame]


def looking_again(read: _Read, frame: pd.DataFrame, again: _Read | None = None) -> pd.DataFrame:
    """What ``read`` makes of a table; if it refuses some rows, all that it (or ``again``) says of the others is said as well.

    Rows keep their numbers: those that were refused hold nothing when the table is read again.

    Examples
    --------
    >>> from harmonium.table.frames import numbers_of
    >>> looking_again(lambda frame: [numbers_of(frame["a"]), numbers_of(frame["b"])], pd.DataFrame({"a": ["x", 1], "b": [2, "y"]}))
    Traceback (most recent call last):
    harmonium.errors.TableError: column 'a' must hold numbers; found 'x' in row 0
    column 'b' must hold numbers; found 'y' in row 1
    """
    try:
        return read(frame)
    except TableError as error:
        found = list(error.problems)
    for _ in range(_LOOKS):
        more = _problems(again or read, _without(frame, found))
        said = {_kind(problem) for problem in found}
        new = [problem for problem in more if problem.rows and _kind(problem) not in said]
        if not new:
            break
        found += new
    raise TableError(found)


def _kind(problem: Problem) -> str:
    """What is wrong, in whichever rows."""
    return re.sub(r"\d+", "", problem.message)


def _problems(read: _Read, frame: pd.DataFrame) -> Sequence[Problem]:
    """What is wrong with a table."""
    try:
        with silenced(HarmoniumWarning):
            read(frame)
    except TableError as error:
        return error.problems
    except ValueError:  # not about the table, or about nothing being left of it
        return ()
    return ()


def _without(frame: pd.DataFrame, problems: Iterable[Problem]) -> pd.DataFrame:
    """The table, with nothing in rows in which something is wrong."""
    wrong = np.zeros(len(frame), dtype=bool)
    wrong[[row for problem in problems for row in problem.rows]] = True
    return pd.DataFrame({name: series.mask(wrong) for name, series in frame.items()}, index=frame.index)
