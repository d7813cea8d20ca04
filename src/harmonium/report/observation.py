"""What was observed: endpoints, curves by group with numbers at risk, and missing values."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.report.document import Document
from harmonium.report.drawing import drawn, time_label
from harmonium.table.encoding import Encoding
from harmonium.table.summary import endpoints_summary, words_of_column
from harmonium.typing import Array

__all__ = ["missing_values", "observed_endpoints", "table_of_columns", "table_of_endpoints"]

_TREATMENT = re.compile(r"^(arm|trt|rx|tx|treat\w*|therapy|hormon\w*|randomi[sz]\w*|trt01[ap])$", re.IGNORECASE)
_MOST_LEVELS = 5
_THIRDS = ["low risk", "middle", "high risk"]


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
    column = _grouping(encoding, X, next(iter(risks.values())))
    for name, risk in risks.items():
        label = time_label(unit)
        if column is not None:
            figure = drawn(partial(plots.observed, y, endpoint=name, by=X[column], time_label=label), (7.0, 4.6))
            page.figure(figure, f"{name} by {column}, with numbers at risk. Ticks are times of censoring.")
        figure = drawn(partial(plots.observed, y, endpoint=name, by=_thirds(risk), time_label=label), (7.0, 4.4))
        page.figure(figure, f"{name} by thirds of the risk that was predicted by models which had not seen the subjects.")


def _grouping(encoding: Encoding, X: pd.DataFrame, risk: Array) -> Any:
    """The column to show curves by: the treatment, or what tells most of the predicted risk; None if there is nothing with few levels."""
    few = [c.name for c in encoding.modelled if c.role in ("binary", "categorical") and 2 <= X[c.name].nunique() <= _MOST_LEVELS]
    treatment = [name for name in few if _TREATMENT.match(str(name))]
    if treatment or not few:
        return treatment[0] if treatment else None
    return max(few, key=lambda name: _explained(X[name], risk))


def _explained(values: pd.Series, risk: Array) -> float:
    """The share of the variance of risk between groups."""
    groups = values.astype(object).where(values.notna(), "missing")
    means = pd.Series(risk, index=values.index).groupby(groups).transform("mean")
    return float(np.var(means) / max(float(np.var(risk)), 1e-300))


def _thirds(risk: Array) -> pd.Series:
    edges = np.quantile(risk, [1.0 / 3.0, 2.0 / 3.0])
    return pd.Series(pd.Categorical.from_codes(np.searchsorted(edges, risk, side="left"), _THIRDS))


def table_of_endpoints(encoding: Encoding) -> pd.DataFrame:
    """What was observed of every endpoint."""
    table = pd.DataFrame(endpoints_summary(encoding)).rename(columns={"name": "endpoint"})
    rare = [name for name, usual in (("intervals", 0), ("late_entries", 0), ("horizon", np.inf)) if (table[name] == usual).all()]
    return table.drop(columns=rare).rename(columns=lambda name: name.replace("_", " ").replace("follow up", "follow-up"))


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
    cells = X[[column.name for column in encoding.modelled]].isna()
    if not cells.to_numpy().any():
        page.text("Nothing is missing.")
        return
    complete = int((~cells.any(axis=1)).sum())
    page.text(
        f"{complete} of {len(X)} subjects are complete. The others were neither left out nor filled in: the model sums over everything "
        "that a missing value may have been, given the rest of the row. This is right if values are missing for reasons that are in the "
        "table."
    )
