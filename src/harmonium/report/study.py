"""The report of a study: what was inferred, what the model says, and how well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harmonium import plots
from harmonium.errors import MetricWarning, silenced
from harmonium.metrics.competing import is_prevented
from harmonium.metrics.evaluation import evaluate
from harmonium.report.cross_validation import OutOfFold, cross_validated
from harmonium.report.page import Page
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.summary import endpoints_summary, words_of_column

__all__ = ["StudyReport", "study_report", "table_of_columns", "table_of_endpoints"]

_N_FOLDS = 5
_RISKS = ["low risk", "middle", "high risk"]
N_STEPS = _N_FOLDS + 2
"""How often ``done`` is called."""


class StudyReport(NamedTuple):
    """A page, and the metrics in it: how they were found, and by endpoint."""

    html: str
    method: str
    scores: dict[str, dict[str, float]]


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
    page, fitted = Page(title), model.fitted
    inferred(page, fitted.encoding)
    if len(model.history_):
        page.heading("Training")
        page.figure(_drawn(lambda ax: plots.training_history(model, ax=ax), (7.0, 3.0)), "Objective by evaluations of the gradient.")
    done()
    predicted = cross_validated(model, X, y, _N_FOLDS, done)
    scores = evaluated(predicted, X, y)
    performance(page, predicted, scores, X, y)
    understanding(page, fitted, X, y)
    done()
    page.footer(
        f"Made by harmonium. The model has {fitted.n_hidden} hidden units, and {fitted.n_covariate_units} more for how covariates are "
        f"distributed; it was fitted to {fitted.training.n_rows} rows."
    )
    by_endpoint = {str(name): {str(key): float(value) for key, value in row.items()} for name, row in scores.iterrows()}
    return StudyReport(page.html(), f"{_N_FOLDS}-fold cross-validation", by_endpoint)


def evaluated(predicted: OutOfFold, X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """The table of metrics; undefined ones are shown as such."""
    with silenced(MetricWarning):
        return evaluate(predicted, X, y)


def inferred(page: Page, encoding: Encoding) -> None:
    """Sections on the table."""
    page.heading("What was inferred from the table")
    page.table(table_of_columns(encoding))
    page.table(table_of_endpoints(encoding), digits=1)


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


def table_of_endpoints(encoding: Encoding) -> pd.DataFrame:
    """What was observed of every endpoint."""
    table = pd.DataFrame(endpoints_summary(encoding)).rename(columns={"name": "endpoint"})
    rare = [name for name, usual in (("intervals", 0), ("late_entries", 0), ("horizon", np.inf)) if (table[name] == usual).all()]
    return table.drop(columns=rare).rename(columns=lambda name: name.replace("_", " ").replace("follow up", "follow-up"))


def performance(page: Page, predicted: OutOfFold, scores: pd.DataFrame, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Sections on predictions of subjects that the model has not seen."""
    page.heading(f"Predictions of subjects that the model has not seen ({len(predicted.models)}-fold cross-validation)")
    page.text(
        "A C-index of 0.5 is chance. The integrated Brier score (IBS) is an error, to be compared with that of the Kaplan–Meier curve. A "
        "small p-value of D-calibration means that predicted probabilities are off. Standard errors follow ±."
    )
    if parse_endpoints(y).terminal:
        page.text(
            "Of an endpoint that a terminal event may prevent, incidences are judged: the Brier score is that of the cumulative incidence, "
            "to be compared with that of the Aalen–Johansen estimate, and those with the terminal event count as never having the other."
        )
    page.table(_readable(scores))
    known = parse_endpoints(y)
    for e, name in enumerate(known.names):
        events = known.lower[known.event[:, e], e]
        if events.size < 20:
            continue
        if is_prevented(known, name):
            figure = _drawn(partial(plots.incidence, predicted, X, y, endpoint=name), (7.0, 4.0))
            page.figure(figure, f"Cumulative incidence of {name} in thirds of predicted risk, over the Aalen–Johansen estimates.")
            continue
        time = float(f"{np.median(events):.2g}")
        figure = _drawn(partial(plots.calibration, predicted, X, y, endpoint=name, time=time, n_bins=4), (4.5, 4.5))
        page.figure(figure, f"Calibration of {name} at time {time:.3g}: predicted and observed probability of the event, in four groups.")


def _readable(scores: pd.DataFrame) -> pd.DataFrame:
    """The metrics that readers look for, with their standard errors."""
    titles = {
        "concordance": "C-index",
        "concordance_ipcw": "Uno's C",
        "integrated_brier_score": "IBS",
        "kaplan_meier_ibs": "Kaplan–Meier IBS",
        "d_calibration_p": "D-calibration p",
    }
    out = {"endpoint": [str(name) for name in scores.index], "rows": scores["rows"].to_list(), "events": scores["events"].to_list()}
    for name, title in titles.items():
        errors = scores.get(f"{name}_se")
        out[title] = [_with_error(value, None if errors is None else errors.iloc[k]) for k, value in enumerate(scores[name])]
    return pd.DataFrame(out)


def _with_error(value: float, error: float | None) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f}" if error is None or np.isnan(error) else f"{value:.3f} ±{error:.3f}"


def understanding(page: Page, model: Any, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Sections on what the model says and has learned."""
    everybody, known = model.prognosis(X), parse_endpoints(y)
    if known.terminal:
        state_figures(page, model, X, everybody.risk(known.terminal[0]))
    else:
        page.heading("Survival of three subjects")
    for name in model.endpoint_names if not known.terminal else ():
        order = np.argsort(everybody.risk(name))
        chosen = X.iloc[[order[len(order) // 10], order[len(order) // 2], order[-len(order) // 10]]]
        figure = _drawn(partial(plots.survival_curves, model, chosen, endpoint=name, labels=_RISKS, cohort=y), (7.0, 4.0))
        page.figure(figure, f"Survival ({name}) of subjects at the tenth, fiftieth and ninetieth percentile of risk; the study in grey.")
    if len(model.endpoint_names) > 1 and not known.terminal:
        page.heading("Dependence between endpoints")
        table = model.dependence(X)
        page.figure(_drawn(lambda ax: plots.dependence(table, ax=ax), (6.5, 1.6 + 0.5 * len(table))), "Kendall's tau under the model.")
    if model.n_hidden:
        page.heading("What the hidden units stand for")
        fields = model.receptive_fields(X, given=y)
        size = (2.5 + 0.8 * fields.shape[1], 1.0 + 0.27 * len(fields))
        figure = _drawn(lambda ax: plots.receptive_fields(model, X, given=y, ax=ax), size)
        page.figure(figure, "Change of every column when a hidden unit goes from off to on.")


def state_figures(page: Page, model: Any, X: pd.DataFrame, risk: Any) -> None:
    """Sections on the states of the cohort, and of three subjects."""
    page.heading("States over time")
    page.figure(_drawn(partial(plots.states, model, X), (7.5, 4.0)), "Mean probability of every state in this study.")
    order = np.argsort(risk)
    for label, place in zip(_RISKS, (len(order) // 10, len(order) // 2, -len(order) // 10), strict=True):
        figure = _drawn(partial(plots.states, model, X.iloc[[order[place]]]), (7.5, 3.2))
        page.figure(figure, f"A subject at the tenth, fiftieth or ninetieth percentile of risk: {label}.")


def _drawn(draw: Callable[..., Any], size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    draw(ax=figure.subplots())
    return figure
