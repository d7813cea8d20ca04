"""The report of a study: what was inferred, what the model says, and how well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harmonium import plots
from harmonium.report.cross_validation import OutOfFold, cross_validated, endpoint_scores
from harmonium.report.page import Page
from harmonium.table.endpoints import parse_endpoints

__all__ = ["StudyReport", "study_report", "table_of_columns", "table_of_endpoints"]

_N_FOLDS = 5
_RISKS = ["low risk", "middle", "high risk"]
N_STEPS = _N_FOLDS + 2
"""How often ``done`` is called."""


class StudyReport(NamedTuple):
    """A page, and the metrics in it in the form of a model's ``evaluation_``."""

    html: str
    evaluation: dict[str, Any]


def study_report(model: Any, X: pd.DataFrame, y: pd.DataFrame, title: str, done: Callable[[], None] = lambda: None) -> StudyReport:
    """A page about a fitted model and the table it was fitted to.

    Parameters
    ----------
    model : SurvivalHarmonium
    X, y : DataFrame
        What it was fitted to.
    title : str
    done : callable
        Called after each of :data:`N_STEPS` steps.
    """
    page = Page(title)
    inferred(page, model, y)
    if len(model.history_):
        page.heading("Training")
        page.figure(_drawn(lambda ax: plots.training_history(model, ax=ax), (7.0, 3.0)), "Objective by evaluations of the gradient.")
    done()
    predicted = cross_validated(model, X, y, _N_FOLDS, done)
    scores = endpoint_scores(predicted, X, y)
    performance(page, predicted, scores, X, y)
    understanding(page, model, X, y)
    done()
    page.footer(f"Made by harmonium. The model has {model.parameters_.n_hidden} hidden units and was fitted to {model.n_rows_} rows.")
    by_endpoint = scores.set_index("endpoint").astype(float).to_dict(orient="index")
    return StudyReport(page.html(), {"method": f"{_N_FOLDS}-fold cross-validation", "scores": by_endpoint})


def inferred(page: Page, model: Any, y: pd.DataFrame) -> None:
    """Sections on the table."""
    page.heading("What was inferred from the table")
    page.table(table_of_columns(model))
    page.table(table_of_endpoints(y), digits=1)


def table_of_columns(model: Any) -> pd.DataFrame:
    """Role, content and gaps of every covariate."""
    rows = []
    for column in model.encoding_.columns:
        levels = ", ".join(map(str, column.levels)) if column.levels else f"mean {column.mean:.3g}, standard deviation {column.scale:.3g}"
        content = "nothing but gaps" if column.role == "ignored" and not column.levels else levels
        rows.append(
            {"column": column.name, "role": column.role, "content": content, "missing": f"{column.missing:.1%}" if column.missing else "-"}
        )
    return pd.DataFrame(rows, columns=["column", "role", "content", "missing"])


def table_of_endpoints(y: Any) -> pd.DataFrame:
    """Events and censored times of every endpoint."""
    known = parse_endpoints(y)
    rows = []
    for e, name in enumerate(known.names):
        event, unknown = known.event[:, e], known.unknown[:, e]
        between = np.isfinite(known.upper[:, e]) & ~event
        recorded = known.lower[~unknown, e]
        rows.append(
            {
                "endpoint": name,
                "events": int(event.sum()),
                "within an interval": int(between.sum()),
                "censored": int((~event & ~between & ~unknown).sum()),
                "unknown": int(unknown.sum()),
                "median recording": float(np.median(recorded)) if recorded.size else np.nan,
                "last recording": float(recorded.max()) if recorded.size else np.nan,
            }
        )
    return pd.DataFrame(rows)


def performance(page: Page, predicted: OutOfFold, scores: pd.DataFrame, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Sections on predictions of subjects that the model has not seen."""
    page.heading(f"Predictions of subjects that the model has not seen ({len(predicted.models)}-fold cross-validation)")
    page.text("A C-index of 0.5 is chance. The integrated Brier score is an error, to be compared with that of the Kaplan-Meier curve.")
    page.table(scores)
    known = parse_endpoints(y)
    for e, name in enumerate(known.names):
        events = known.lower[known.event[:, e], e]
        if events.size < 20:
            continue
        time = float(f"{np.median(events):.2g}")
        figure = _drawn(partial(_calibration, predicted, X, y, name, time), (4.5, 4.5))
        page.figure(figure, f"Calibration of {name} at time {time:.3g}: predicted and observed probability of the event, in four groups.")


def understanding(page: Page, model: Any, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Sections on what the model says and has learned."""
    page.heading("Survival of three subjects")
    for name in model.endpoint_names_:
        order = np.argsort(model.predict(X, name))
        chosen = X.iloc[[order[len(order) // 10], order[len(order) // 2], order[-len(order) // 10]]]
        figure = _drawn(partial(_curves, model, chosen, name, y), (7.0, 4.0))
        page.figure(figure, f"Survival ({name}) of subjects at the tenth, fiftieth and ninetieth percentile of risk; the study in grey.")
    if len(model.endpoint_names_) > 1:
        page.heading("Dependence between endpoints")
        table = model.dependence(X)
        page.figure(_drawn(lambda ax: plots.dependence(table, ax=ax), (6.5, 1.6 + 0.5 * len(table))), "Kendall's tau under the model.")
    if model.parameters_.n_hidden:
        page.heading("What the hidden units stand for")
        fields = model.receptive_fields(X, y)
        size = (2.5 + 0.8 * fields.shape[1], 1.0 + 0.27 * len(fields))
        figure = _drawn(lambda ax: plots.receptive_fields(model, X, y, ax=ax), size)
        page.figure(figure, "Change of every column when a hidden unit goes from off to on.")


def _calibration(predicted: OutOfFold, X: pd.DataFrame, y: pd.DataFrame, name: str, time: float, ax: Any) -> None:
    plots.calibration(predicted, X, y, name, time=time, n_bins=4, ax=ax)


def _curves(model: Any, chosen: pd.DataFrame, name: str, y: pd.DataFrame, ax: Any) -> None:
    plots.survival_curves(model, chosen, name, labels=_RISKS, cohort=y, ax=ax)


def _drawn(draw: Callable[[Any], Any], size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    return figure
