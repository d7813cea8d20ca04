"""Covariates that contain the outcome: the time of an endpoint, its event, or those of an endpoint that was not named.

A time is recognized by values that equal observed times, an event by levels that tell who had it. An endpoint that was left among the
covariates has both: until it happens, its time is that at which the subject was last seen, and its event tells where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import LeakageWarning, warn
from harmonium.table.columns import Column
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import distinct_values
from harmonium.typing import Array, Booleans, Integers

__all__ = ["add_leaked_time", "check_leakage", "equal_times", "warn_of_leakage"]

_FEW_ROWS, _LARGE_PART = 10, 0.25  # of rows in which a covariate equals an observed time, beyond which that is no coincidence
_WRONG = (
    0.2  # of the rarer outcome: baseline covariates of 60 public tables fail in 0.65 or more, "relapse or death" tells death but for 0.04
)


def check_leakage(frame: pd.DataFrame, columns: Sequence[Column], numbers: Mapping[Any, Array], y: Endpoints) -> None:
    """Warn of covariates that hold what becomes known only with an endpoint or after it."""
    used = {column.name: _levels(frame[column.name], column.role == "numeric") for column in columns if column.role != "ignored"}
    found: dict[Any, str] = {}
    for name, values in numbers.items():
        for e, (endpoint, same, known) in enumerate(zip(y.names, *equal_times(values, y), strict=True)):
            others = {other: own for other, own in used.items() if other != name} if same >= _FEW_ROWS else {}
            telling = dict(_telling(others, y.lower[:, e] == values, (y.lower[:, e] > 0.0) & ~np.isnan(values)))
            if add_leaked_time(found, name, endpoint, int(same), int(known), event_known=bool(telling)):
                for other, words in telling.items():
                    found.setdefault(other, f"{words} whether {name!r} does")
    for e, endpoint in enumerate(y.names):
        for name, words in _telling(used, np.isfinite(y.upper[:, e]), ~y.unknown[:, e]):
            found.setdefault(name, f"{words} whether endpoint {endpoint!r} has its event")
    warn_of_leakage(found)


def equal_times(values: Array, y: Endpoints) -> tuple[Integers, Integers]:
    """In how many rows a covariate equals the observed time of each endpoint, and in how many both are known."""
    known = (y.lower > 0.0) & ~np.isnan(values)[:, None]
    return (known & (y.lower == values[:, None])).sum(axis=0), known.sum(axis=0)


def add_leaked_time(found: dict[Any, str], name: Any, endpoint: str, n_same: int, n_known: int, event_known: bool = False) -> bool:
    """Note a covariate that equals an observed time too often for a coincidence, or where an event tells that it does; whether so."""
    leaked = n_same >= _FEW_ROWS and (n_same > _LARGE_PART * n_known or event_known)
    if leaked:
        found.setdefault(name, f"column {name!r} equals the observed time of endpoint {endpoint!r} in {n_same} of {n_known} rows")
    return leaked


def warn_of_leakage(found: Mapping[Any, str]) -> None:
    """Say of all such covariates, by name, what was found, and how to drop them."""
    if found:
        options = " ".join(f"--drop {quote(str(name))}" for name in found)
        warn(
            f"{'; '.join(found.values())}. Information that only becomes known later must not be a covariate; drop it: "
            f"X.drop(columns={list(found)}) ({options})",
            LeakageWarning,
        )


def _levels(series: pd.Series, numeric: bool) -> tuple[Integers, str]:
    """The number of each row's level, of which being empty is one; of numbers only that counts. And what tells something then."""
    if numeric:
        return series.notna().to_numpy().astype(np.int64), f"whether column {series.name!r} is empty"
    return distinct_values(series)[0] + 1, f"column {series.name!r}"


def _telling(used: Mapping[Any, tuple[Integers, str]], outcome: Booleans, rows: Booleans) -> Iterator[tuple[Any, str]]:
    """Columns whose levels tell an outcome, and in how many rows."""
    rarer = min(int(outcome[rows].sum()), int((~outcome)[rows].sum()))
    for name, (levels, what) in used.items() if rarer >= _FEW_ROWS else ():
        counts = np.bincount(2 * levels[rows] + outcome[rows], minlength=2 * (int(levels.max()) + 1)).reshape(-1, 2)
        wrong, more_levels = int(counts.min(axis=1).sum()), max(int(counts.any(axis=1).sum()) - 2, 0)
        if wrong + more_levels <= _WRONG * rarer:  # a level more may agree with a row more by chance
            yield name, f"{what} tells in {int(rows.sum()) - wrong} of {int(rows.sum())} rows"
