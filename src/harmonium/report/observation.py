"""What was observed: endpoints, curves by group with numbers at risk, and missing values."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.metrics.observed import as_found, interval_censored
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE, drawn, time_label
from harmonium.report.thirds import thirds
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.summary import endpoints_summary, words_of_column
from harmonium.typing import Array

__all__ = ["far_from_others", "missing_values", "observed_endpoints", "table_of_columns", "table_of_endpoints"]

_TREATMENT = re.compile(r"^(arm|trt|rx|tx|treat\w*|therapy|hormon\w*|randomi[sz]\w*|trt01[ap])$", re.IGNORECASE)
_MOST_LEVELS = 5
_FEWEST, _LEAST = 5, 0.05  # subjects still observed, and their fraction, until which curves are drawn
_APART = 3.0  # how much further a value lies from its neighbour than this from the median, to be doubted
_FEW_VALUES = 20  # of a column, among which nothing is far from the others


def observed_endpoints(page: Document, encoding: Encoding, X: pd.DataFrame, y: pd.DataFrame, risks: dict[str, Array], unit: str) -> None:
    """Sections on the endpoints: counts, and curves by a column and by predicted risk.

    Parameters
    ----------
    page : Document
    encoding : Encoding
    X, y : DataFrame
    risks : dict of ndarray
        Predicted for subjects that the model has not seen, by endpoint.
    unit : str
        Of time.
    """
    page.heading("What was observed")
    page.table(table_of_endpoints(encoding), digits=1, caption="Endpoints" + (f" (times in {unit})" if unit else ""))
    page.text(
        f"Curves end when fewer than {_LEAST:.0%} of all subjects, or {_FEWEST} of the group, are at risk. Ticks: censored."
        + " Events within intervals are shown at the ends of these, when they were found."
        * bool(interval_censored(parse_endpoints(y)).any())
    )
    column = _grouping(encoding, X, next(iter(risks.values())))
    for name, risk in risks.items():
        draw = partial(plots.kaplan_meier, y, endpoint=name, fewest=_FEWEST, until=_long_enough(y, name), time_label=time_label(unit))
        if column is not None:
            figure = drawn(partial(draw, by=X[column]), (WIDE, 3.7))
            page.figure(figure, f"Observed {name} by {column}, with numbers at risk.")
        if encoding.modelled:
            figure = drawn(partial(draw, by=thirds(risk).set_axis(y.index)), (WIDE, 3.7))
            page.figure(figure, f"Observed {name} by tertile of cross-validated predicted risk.")
        else:
            page.figure(drawn(draw, (WIDE, 3.7)), f"Observed {name}.")


def _long_enough(y: pd.DataFrame, name: str) -> float | None:
    """Until when enough subjects are observed; beyond, one event more or less is a large step."""
    known = as_found(parse_endpoints(y))
    times = np.sort(known.lower[:, known.names.index(name)])
    times = times[np.isfinite(times) & (times > 0.0)]
    enough = max(_FEWEST, int(np.ceil(_LEAST * times.size)))
    return float(times[-enough]) if times.size > enough else None


def _grouping(encoding: Encoding, X: pd.DataFrame, risk: Array) -> Any:
    """The column to show curves by: the treatment, or what tells most of the predicted risk; None if there is nothing with few levels."""
    few = [c.name for c in encoding.modelled if c.role in ("binary", "categorical") and 2 <= X[c.name].nunique() <= _MOST_LEVELS]
    treatment = [name for name in few if _TREATMENT.match(str(name))]
    if treatment or not few:
        return treatment[0] if treatment else None
    return max(few, key=lambda name: _explained(X[name], risk))


def _explained(values: pd.Series, risk: Array) -> float:
    """The proportion of the variance of risk that lies between groups."""
    groups = values.astype(object).where(values.notna(), "missing")
    means = pd.Series(risk, index=values.index).groupby(groups).transform("mean")
    return float(np.var(means) / max(float(np.var(risk)), 1e-300))


def table_of_endpoints(encoding: Encoding) -> pd.DataFrame:
    """What was observed of every endpoint."""
    table = pd.DataFrame(endpoints_summary(encoding)).rename(columns={"name": "endpoint"})
    rare = [name for name, usual in (("intervals", 0), ("late_entries", 0), ("horizon", np.inf)) if (table[name] == usual).all()]
    found = table.drop(columns=[*rare, "unit"]).rename(columns={"intervals": "within intervals"})
    return found.rename(columns=lambda name: name.replace("_", " ").replace("follow up", "follow-up"))


def table_of_columns(encoding: Encoding) -> pd.DataFrame:
    """Role, content and missing values of every covariate."""
    rows = [
        {
            "column": column.name,
            "role": column.role,
            "content": words_of_column(column),
            "missing": f"{column.missing:.1%}" if column.missing else "-",
        }
        for column in encoding.columns
    ]
    return pd.DataFrame(rows, columns=["column", "role", "content", "missing"])


def missing_values(page: Document, encoding: Encoding, X: pd.DataFrame) -> None:
    """What is missing, and what was done about it."""
    page.heading("Covariates and missing values")
    page.table(table_of_columns(encoding))
    doubtful = [text for column in encoding.columns if column.role == "numeric" for text in far_from_others(X[column.name])]
    if doubtful:
        page.text("Values far from all others, which may be errors of data entry:")
        page.items(doubtful)
    cells = X[[column.name for column in encoding.modelled]].isna()
    if not cells.to_numpy().any():
        page.text("Nothing is missing.")
        return
    complete = int((~cells.any(axis=1)).sum())
    page.text(
        f"{complete} of {len(X)} subjects are complete. The others were neither excluded nor imputed: missing values were integrated out, "
        "given everything that is known of the subject. This assumes that values are missing at random given the recorded variables."
    )


def far_from_others(values: pd.Series) -> list[str]:
    """A sentence on the lowest and on the highest value of a column, if it lies far from the one next to it.

    Examples
    --------
    >>> far_from_others(pd.Series([393.0, *range(18, 41)], name="bmi"))
    ['bmi: 393; all other values are at most 40']
    """
    numbers = np.sort(values.dropna().to_numpy(dtype=np.float64))
    if np.unique(numbers).size < _FEW_VALUES:
        return []
    middle, found = float(np.median(numbers)), []
    for value, neighbour, words in ((numbers[0], numbers[1], "at least"), (numbers[-1], numbers[-2], "at most")):
        if abs(value - neighbour) > _APART * abs(neighbour - middle):
            found.append(f"{values.name}: {value:g}; all other values are {words} {neighbour:g}")
    return found
