"""Words among numbers: one "unknown" would make a column of numbers a category with very many levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import also, as_typed, distinct_values, reads_as_number, rows_of

__all__ = ["refuse_stray_words"]

_MOST_NUMBERED_LEVELS = 10  # a category may well have the levels 0, 1, 2, 3 and 4+
_NUMBERS = 0.9  # of the values, from which on the others are strays
_MOST_WORDS = 3  # that are shown


def refuse_stray_words(series: pd.Series) -> None:
    """Refuse text of which nine tenths are numbers, more than a scale has; what is no number is named with its rows.

    Examples
    --------
    >>> refuse_stray_words(pd.Series([*map(str, range(20)), "?"], name="age"))
    Traceback (most recent call last):
    harmonium.errors.TableError: column 'age' holds numbers, and '?' in row 20 among them; write a number there, or leave it empty if \
it is missing; if the column is a category, state its role: roles={'age': 'categorical'} (--role age=categorical)
    """
    if series.dtype.kind != "O" and not isinstance(series.dtype, pd.StringDtype):
        return
    places, distinct = distinct_values(series)
    text = [value if isinstance(value, str) else "0" for value in distinct]
    strays = np.array([not reads_as_number(value.replace(",", ".")) for value in text], dtype=bool)
    commas = not strays.any()
    if commas:
        strays = np.array([not reads_as_number(value) for value in text], dtype=bool)
    wrong, n_known = np.append(strays, False)[places], int((places >= 0).sum())
    if not strays.any() or (~strays).sum() <= _MOST_NUMBERED_LEVELS or wrong.sum() > (1.0 - _NUMBERS) * n_known:
        return
    rows = rows_of(wrong)
    words = [value for value, stray in zip(distinct, strays, strict=True) if stray]
    found = [_with_rows(places, distinct, word) for word in words[:_MOST_WORDS]]
    found += [f"{len(words) - _MOST_WORDS} more"] if len(words) > _MOST_WORDS else []
    shown = found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
    advice = "write decimal points, not commas" if commas else "write a number there, or leave it empty if it is missing"
    raise TableError(
        f"column {series.name!r} holds numbers, and {shown} among them; {advice}; if the column is a category, state its role: "
        f"roles={{{series.name!r}: 'categorical'}} (--role {series.name}=categorical)",
        column=series.name,
        row=rows[0],
        others=rows[1:],
    )


def _with_rows(places: Any, distinct: Any, word: str) -> str:
    """A word, and where it stands."""
    rows = rows_of(places == list(distinct).index(word))
    return f"{as_typed(word)} in row {rows[0]}{also(rows)}"
