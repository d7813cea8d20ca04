"""Effects: what a step in each column goes with, in words, as a forest plot and as tables, with intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harmonium import plots
from harmonium.metrics.predictions import has_intervals
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn, in_unit, signed

__all__ = ["effects_of_columns", "largest_effects", "readable_effects", "table_of_effects"]

_LEVEL = 0.95
_MOST_STEPS = 40  # in a figure that fits on a page
_MOST_NAMED = 3
_INCHES = 0.24  # for a step


def table_of_effects(model: Any, X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """What ``model.summary`` returns; without intervals if the model has none."""
    table: pd.DataFrame = model.summary(X, y, interval=_LEVEL if has_intervals(model) else None)
    return table


def effects_of_columns(page: Document, table: pd.DataFrame, unit: str) -> None:
    """A forest plot, and a table for each endpoint.

    Parameters
    ----------
    page : Document
    table : DataFrame
        What :func:`table_of_effects` returns.
    unit : str
        Of time.
    """
    names = list(dict.fromkeys(table.index.get_level_values("endpoint")))
    page.heading("What a step in each column goes with")
    page.text(
        "Differences between subjects who are alike in everything else that was recorded, averaged over the subjects of this table: from "
        "the first level of a column to another, or from the lower to the upper quartile of a number (its ends, if these are equal). They "
        "are averages of predictions, to which linear effects of all columns are added that the model shrinks. Positive is better."
        + (f" Lines, and numbers in brackets, are {_LEVEL:.0%} intervals." if "difference_lower" in table else "")
        + " They describe; without randomisation they are no effects of a treatment."
    )
    shown = _most_important(table)
    steps = len(shown) // len(names)
    size = (WIDE, 0.9 + (_INCHES + 0.06 * (len(names) - 1)) * steps)
    times = " and ".join(f"{in_unit(_time(table, name, 'time'), unit)} ({name})" for name in names)
    some = "" if len(shown) == len(table) else f" The {shown.index.get_level_values('column').nunique()} columns of greatest importance."
    page.figure(
        drawn(lambda ax: plots.effects(shown, unit=unit, ax=ax), size), f"Difference in the probability of no event until {times}.{some}"
    )
    for name in names:
        own = table.xs(name, level="endpoint")
        at, until = (in_unit(_time(table, name, what), unit) for what in ("time", "until"))
        page.table(readable_effects(own, at, until, unit), caption=name)
    if "importance" in table:
        page.text(
            "Importance is what the log-likelihood of a subject's outcomes loses, on average, if the column is not known; in thousandths"
            + (", and for all endpoints together." if len(names) > 1 else ".")
        )


def largest_effects(table: pd.DataFrame, name: str, unit: str) -> str:
    """The steps that go with most of an endpoint, in a sentence; of those whose interval excludes zero, and none without intervals.

    Examples
    --------
    >>> index = pd.MultiIndex.from_tuples([("sex", "f to m", "os"), ("age", "50 to 70", "os")], names=["column", "step", "endpoint"])
    >>> found = {"time": 60.0, "difference": [-0.01, -0.2], "difference_lower": [-0.1, -0.3], "difference_upper": [0.08, -0.1]}
    >>> largest_effects(pd.DataFrame(found, index=index), "os", "months")
    'All else alike, free of it at 60 months: age (50 to 70) −20 percentage points (95% interval −30 to −10).'
    """
    own = table.xs(name, level="endpoint")
    if "difference_lower" not in own:
        return ""
    own = own[(own["difference_lower"] > 0.0) | (own["difference_upper"] < 0.0)]
    if not len(own):
        return "No single column goes with a difference that these data can tell from none."
    largest = own.loc[own["difference"].abs().sort_values(ascending=False, kind="stable").index][:_MOST_NAMED]
    words = "; ".join(_words(column, step, row, k == 0) for k, ((column, step), row) in enumerate(largest.iterrows()))
    return f"All else alike, free of it at {in_unit(_time(table, name, 'time'), unit)}: {words}."


def _words(column: Any, step: str, row: pd.Series, first: bool) -> str:
    shown = f"{column} ({step}) {signed(100.0 * row['difference'], 0)}{' percentage points' * first}"
    low, high = (signed(100.0 * row[f"difference_{end}"], 0) for end in ("lower", "upper"))
    return f"{shown} ({f'{_LEVEL:.0%} interval ' * first}{low} to {high})"


def readable_effects(own: pd.DataFrame, at: str, until: str, unit: str) -> pd.DataFrame:
    """Numbers as a reader wants them: probabilities in per cent, times in their unit; a column is named once."""
    names = [str(name) for name in own.index.get_level_values("column")]
    first = [k == 0 or name != names[k - 1] for k, name in enumerate(names)]
    rows = {
        "column": [name * new for name, new in zip(names, first, strict=True)],
        "step": [str(step) for step in own.index.get_level_values("step")],
        f"no event until {at}, difference (%)": [_bracketed(row, "difference", 100.0, 0) for _, row in own.iterrows()],
        f"mean time until {until}, difference" + (f" ({unit})" if unit else ""): [
            _bracketed(row, "mean_difference", 1.0, 1) for _, row in own.iterrows()
        ],
    }
    if "importance" in own:
        rows["importance"] = [f"{1000.0 * value:.0f}" * new for value, new in zip(own["importance"], first, strict=True)]
    return pd.DataFrame(rows)


def _bracketed(row: pd.Series, name: str, factor: float, digits: int) -> str:
    shown = signed(factor * row[name], digits)
    if f"{name}_lower" not in row:
        return shown
    low, high = (signed(factor * row[f"{name}_{end}"], digits) for end in ("lower", "upper"))
    return f"{shown} [{low} to {high}]"


def _time(table: pd.DataFrame, name: str, what: str) -> float:
    return float(table.xs(name, level="endpoint")[what].iloc[0])


def _most_important(table: pd.DataFrame) -> pd.DataFrame:
    """As many columns as have room in a figure, in the order of the table."""
    endpoints = table.index.get_level_values("endpoint").nunique()
    steps = table.groupby(level="column", sort=False).size() // endpoints
    if "importance" in table:
        steps = steps.loc[table.groupby(level="column", sort=False)["importance"].first().sort_values(ascending=False, kind="stable").index]
    room = steps.cumsum() <= _MOST_STEPS
    chosen = set(steps.index[room]) or {steps.index[0]}
    return table[[column in chosen for column in table.index.get_level_values("column")]]
