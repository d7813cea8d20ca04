"""How well subjects are predicted that the model has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from harmonium import plots
from harmonium.errors import MetricWarning, RangeWarning, UnseenLevelWarning, silenced
from harmonium.metrics.competing import is_prevented
from harmonium.metrics.evaluation import evaluate
from harmonium.metrics.observed import interval_censored
from harmonium.report.cross_validation import OutOfFold
from harmonium.report.document import Document
from harmonium.report.drawing import SQUARE, WIDE, drawn, in_unit, time_label
from harmonium.table.endpoints import parse_endpoints

__all__ = ["beside_others", "evaluated", "performance"]

_FEWEST_EVENTS = 20  # for a figure


def evaluated(
    predicted: OutOfFold, X: pd.DataFrame, y: pd.DataFrame, sample_weight: Any = None, *, likelihood: bool = True
) -> pd.DataFrame:
    """The table of metrics; undefined ones are shown as such."""
    with silenced(MetricWarning), silenced(UnseenLevelWarning, RangeWarning):  # a fold may lack a rare level
        return evaluate(predicted, X, y, sample_weight=sample_weight, likelihood=likelihood)


def performance(page: Document, predicted: OutOfFold, scores: pd.DataFrame, X: pd.DataFrame, y: pd.DataFrame, unit: str = "") -> None:
    """Discrimination and calibration."""
    page.heading(f"Predictive performance ({len(predicted.models)}-fold cross-validation)")
    page.text(
        "A C-index of 0.5 is chance. The integrated Brier score (IBS) is a prediction error, to be compared with that of one Kaplan–Meier "
        "curve for all subjects, without covariates. A small p-value of D-calibration means that predicted probabilities are off. Numbers "
        "after ± are standard errors."
    )
    known = parse_endpoints(y)
    if known.terminal:
        page.text(
            "Endpoints that a terminal event may prevent are judged by their cumulative incidence, compared with the Aalen–Johansen "
            "estimate for all subjects. Subjects with the terminal event count as event-free from then on."
        )
    between = [name for e, name in enumerate(known.names) if interval_censored(known)[:, e].any()]
    if between:
        page.text(
            f"These measures need the times of events. They leave out subjects in whom {' or '.join(between)} is only known to lie within "
            "an interval."
        )
    page.table(_readable(scores))
    for e, name in enumerate(known.names):
        events = known.lower[known.event[:, e], e]
        if events.size < _FEWEST_EVENTS:
            continue
        if is_prevented(known, name):
            draw = partial(plots.incidence, predicted, X, y, endpoint=name, time_label=time_label(unit))
            page.figure(
                drawn(draw, (WIDE, 3.6)), f"Cumulative incidence of {name} by tertile of predicted risk, with the Aalen–Johansen estimates."
            )
            continue
        time = float(f"{np.median(events):.2g}")
        figure = drawn(partial(plots.calibration, predicted, X, y, endpoint=name, time=time, n_bins=4), (SQUARE, SQUARE))
        page.figure(
            figure, f"Calibration of {name} at {in_unit(time, unit)}: predicted and observed probability of the event, in four groups."
        )


def beside_others(page: Document, scores: pd.DataFrame, others: Mapping[str, pd.DataFrame]) -> None:
    """The same metrics of other models on the same folds, and of the curve for everybody."""
    rows = []
    for endpoint in scores.index:
        for name, own in {"harmonium": scores, **others}.items():
            rows.append([str(endpoint), name, *(_of(own.loc[endpoint], metric) for metric in ("concordance", "integrated_brier_score"))])
        rows.append([str(endpoint), "one curve for all", "0.500", f"{scores.loc[endpoint, 'kaplan_meier_ibs']:.3f}"])
    page.table(pd.DataFrame(rows, columns=["endpoint", "model", "C-index", "IBS"]), caption="Compared with other models, on the same folds")


def _of(row: pd.Series, metric: str) -> str:
    return _with_error(float(row[metric]), float(row[f"{metric}_se"]))


def _readable(scores: pd.DataFrame) -> pd.DataFrame:
    """The metrics that readers look for, with their standard errors."""
    titles = {
        "concordance": "C-index",
        "concordance_ipcw": "Uno's C",
        "integrated_brier_score": "IBS",
        "kaplan_meier_ibs": "IBS, one curve for all",
        "d_calibration_p": "D-cal. p",
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
