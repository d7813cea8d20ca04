"""Competing risks written as one time and a cause: an endpoint for each cause, and the first of them ends everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import as_typed, columns_of, distinct_values, row_of
from harmonium.table.status_words import refuse_variants
from harmonium.table.time_columns import finite_times, from_the_start
from harmonium.typing import Array

__all__ = ["bounds_by_cause"]


def bounds_by_cause(frame: pd.DataFrame, form: Mapping[str, Any], whole: bool) -> dict[str, tuple[Array, Array]]:
    """Lower and upper bound of each cause's time, by the cause's name; ``whole`` says whether these are all rows of a table.

    Examples
    --------
    >>> frame = pd.DataFrame({"years": [2.0, 3.0, 5.0], "why": [1, 0, 2]})
    >>> found = bounds_by_cause(frame, {"time": "years", "cause": "why", "causes": {"relapse": 1, "death": 2}}, True)
    >>> found["relapse"]
    (array([2., 3., 5.]), array([ 2., inf, inf]))
    """
    time = finite_times(frame, form["time"])
    (series,) = columns_of(frame, [form["cause"]])
    places, distinct = distinct_values(series)
    row = row_of((places < 0) & ~np.isnan(time))
    if row is not None:
        raise TableError(
            f"column {series.name!r} must say for every time which event ended it, or that none did; row {row} is missing",
            column=series.name,
            row=row,
        )
    codes = dict(form["causes"])
    for code in codes.values():
        refuse_variants(series, places, distinct, code, others=(*codes.values(), form.get("censored")), typed=False)
    _check_codes(series, places, distinct, codes, form, whole)
    lower = from_the_start(time)
    out = {}
    for name, code in codes.items():
        seen = np.array([*(value == code for value in distinct), False], dtype=bool)[places] & ~np.isnan(time)
        out[str(name)] = lower, np.where(seen, lower, np.inf)
    return out


def _check_codes(series: pd.Series, places: Any, distinct: Any, codes: Mapping[str, Any], form: Mapping[str, Any], whole: bool) -> None:
    """Refuse causes that do not occur, and values that may be causes or may mean censored."""
    shown = ", ".join(map(as_typed, distinct[:6]))
    absent = [name for name, code in codes.items() if not any(value == code for value in distinct)]
    if absent and whole:
        raise TableError(
            f"column {series.name!r} never holds {as_typed(codes[absent[0]])}, the code of cause {absent[0]!r}; it holds {shown}. "
            'Write the codes as they stand there: "causes": {"relapse": 1, "death": 2}',
            column=series.name,
        )
    if "censored" in form:
        censored = [form["censored"]]
        others = [value for value in distinct if value not in codes.values() and value not in censored]
        rule = f"is neither a cause nor {as_typed(form['censored'])}, which means censored"
    else:
        others = [value for value in distinct if value not in codes.values()]
        others = others if len(others) > 1 else []
        rule = "is one of several values that are no cause, of which only one can mean censored"
    if others:
        row = int(np.flatnonzero(places == list(distinct).index(others[0]))[0])
        raise TableError(
            f"column {series.name!r} holds {as_typed(others[0])} in row {row}, which {rule}; name every cause under causes, "
            'and say what means censored: "censored": 0',
            column=series.name,
            row=row,
        )
