"""Levels that look like one another: "ii" and "II", "lI" and "II", "T0" and "TO" are probably the same, typed twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from harmonium.errors import LevelWarning, warn
from harmonium.table.frames import also, distinct_values, rows_of

__all__ = ["bare", "warn_of_alike_levels"]

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
