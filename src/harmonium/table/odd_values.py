"""Odd values of a covariate.

Levels that look like one another: "ii" and "II", "lI" and "II", "T0" and "TO" are probably the same, typed twice.

Words among numbers: one "unknown" would make a column of numbers a category with very many levels.

Numbers far from all that training has seen: an age of 250 is a slip, or in another unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import LevelWarning, RangeWarning, TableError, warn
from harmonium.table.frames import also, as_typed, distinct_values, reads_as_number, rows_of
from harmonium.typing import Array, Booleans

__all__ = ["FarValues", "bare", "is_far", "refuse_stray_words", "warn_of_alike_levels", "warn_of_far_values"]

_SAME_SHAPE = str.maketrans({"l": "1", "I": "1", "|": "1", "O": "0"})
_MOST_LEVELS = 200  # among which pairs are looked for


def bare(value: Any) -> Any:
    """Text without blanks around it; anything else as it is.

    Examples
    --------
    >>> bare("II "), bare(2)
    ('II', 2)
    """
    return value.strip() if isinstance(value, str) else value


def warn_of_alike_levels(series: pd.Series, levels: Sequence[Any]) -> None:
    """Warn of levels that differ only in capitals, or in signs that look alike; the rarer of two is named with its rows.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_alike_levels(pd.Series(["I", "II", "II", "lI"], name="stage"), ["I", "II", "lI"])
    >>> str(caught[0].message)
    "column 'stage' holds 'lI' in row 3, which looks like 'II'; if they are the same, use one spelling"
    """
    places, distinct = distinct_values(series)
    by_level: dict[Any, list[int]] = {}
    for pair in _alike([level for level in levels if isinstance(level, str)][:_MOST_LEVELS]):
        for level in pair:
            numbers = [number for number, value in enumerate(distinct) if bare(value) == level]
            by_level[level] = rows_of(pd.Series(places).isin(numbers))
        rare, usual = sorted(pair, key=lambda level: len(by_level[level]))
        rows = by_level[rare]
        if rows:
            found = f"column {series.name!r} holds {rare!r} in row {rows[0]}{also(rows)}, which looks like {usual!r}"
            warn(f"{found}; if they are the same, use one spelling", LevelWarning)


def _alike(levels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of them."""
    for a, b in combinations(levels, 2):
        if a.casefold() == b.casefold() or a.translate(_SAME_SHAPE) == b.translate(_SAME_SHAPE):
            yield a, b


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


def is_far(values: Any, lowest: float, highest: float) -> Booleans:
    """Whether numbers are further from a range than it is wide; NaN is not.

    Examples
    --------
    >>> is_far([250.0, 100.0, np.nan], 44.0, 92.0)
    array([ True, False, False])
    """
    span = highest - lowest
    values = np.asarray(values, dtype=np.float64)
    return np.asarray((values < lowest - span) | (values > highest + span))


def warn_of_far_values(name: Any, values: Array, lowest: float, highest: float) -> None:
    """Warn of such numbers in a column."""
    far = is_far(values, lowest, highest)
    if far.any():
        found = FarValues(name, lowest, highest)
        found.add(values, np.arange(values.size))
        warn(found.line, RangeWarning)


@dataclass
class FarValues:
    """Those of a column of a table that may come in parts.

    Attributes
    ----------
    name : str or int
        Of the column.
    lowest, highest : float
        What was seen in training.
    """

    name: Any
    lowest: float
    highest: float

    def __post_init__(self) -> None:
        self.rows: list[int] = []
        self.first = np.nan

    def add(self, values: Array, rows: Any) -> None:
        """Look at some values, whose rows have these numbers."""
        far = rows_of(is_far(values, self.lowest, self.highest))
        if far and not self.rows:
            self.first = float(values[far[0]])
        self.rows += [int(rows[place]) for place in far]

    @property
    def line(self) -> str:
        """What to say of them, if there are any.

        Examples
        --------
        >>> age = FarValues("age", 44.0, 92.0)
        >>> age.add(np.array([60.0, 250.0]), [0, 1])
        >>> age.line
        "column 'age' holds 250 in row 1, far from what was seen in training, 44 to 92; is it a slip, or another unit?"
        """
        return (
            f"column {self.name!r} holds {self.first:g} in row {self.rows[0]}{also(self.rows)}, far from what was seen in training, "
            f"{self.lowest:g} to {self.highest:g}; is it a slip, or another unit?"
        )
