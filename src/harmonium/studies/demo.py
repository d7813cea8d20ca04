"""The demonstration: the NVALT-8 trial from table to report, against a Cox model, with a prognosis that changes as more becomes known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harmonium.datasets.paper import load_paper_study
from harmonium.datasets.studies import load_nvalt8
from harmonium.estimator import SurvivalHarmonium
from harmonium.metrics.brier import integrated_brier_score
from harmonium.metrics.concordance import concordance_index
from harmonium.report.cross_validation import OutOfFold, cross_validated
from harmonium.report.document import Document
from harmonium.report.drawing import WIDE
from harmonium.report.effects import effects_of_columns, table_of_effects
from harmonium.report.html import as_html
from harmonium.report.method import hidden_units
from harmonium.report.observation import missing_values, observed_endpoints
from harmonium.report.performance import evaluated, performance
from harmonium.report.profiles import three_profiles
from harmonium.report.study import N_STEPS as REPORT_STEPS
from harmonium.studies.benchmark.rivals import RIVALS
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.landmark import landmark
from harmonium.typing import Array

__all__ = ["N_STEPS", "Demonstration", "demonstrate", "in_months"]

N_STEPS = REPORT_STEPS
_MONTH = 12.0
_TIMES = np.linspace(6.0, 60.0, 40)


@dataclass(frozen=True)
class Demonstration:
    """What is shown in the terminal, and the page.

    Attributes
    ----------
    scores : DataFrame
        Of overall survival in cross-validation, by model and by what it was given.
    medians : dict
        One patient's median overall survival, in months, by what is known of him.
    html : str
    """

    scores: pd.DataFrame
    medians: dict[str, float]
    html: str


def in_months(median: float) -> str:
    """A median in words.

    Examples
    --------
    >>> in_months(20.3), in_months(float("inf"))
    ('20 months', 'not reached')
    """
    return f"{median:.0f} months" if isfinite(median) else "not reached"


def demonstrate(done: Callable[[], None] = lambda: None) -> Demonstration:
    """Fit, compare, and write the page."""
    X, y = load_nvalt8()
    model = SurvivalHarmonium(random_state=0).fit(X, y)
    done()
    predicted = cross_validated(model, X, y, 5, done)
    scores = _compare(predicted, X, y)
    figure, medians = _patient(model, X, y)
    page = Document("NVALT-8: overall and recurrence-free survival of 200 patients with resected lung cancer")
    page.text(
        "Two endpoints, each censored on its own, and covariates with missing values. One harmonium models all of it; nothing was imputed, "
        "nothing was left out, and nothing was tuned."
    )
    page.heading("A prognosis that changes as more becomes known")
    page.figure(figure, f"Overall survival of one patient. Median: {'; '.join(f'{in_months(m)} {k}' for k, m in medians.items())}.")
    page.heading("Against a Cox model")
    page.text(
        "Overall survival in 5-fold cross-validation, patients ranked by their mean survival from month 6 to 60, the Brier score over the "
        "same months (the section on predictions ranks by risk and takes other months). The Cox model takes the columns without missing "
        "values and overall survival only. The last three rows are for patients alive at month 12: from covariates alone, and given "
        "whether and when their cancer had come back by then, by a Cox model that was fitted for month 12 and told so, and by the "
        "harmonium, which was not fitted again (docs/landmark.md compares more)."
    )
    page.table(scores)
    prognosis = predicted.prognosis(X)
    observed_endpoints(page, model.encoding_, X, y, {name: prognosis.risk(name) for name in model.endpoint_names}, "months")
    effects_of_columns(page, table_of_effects(model, X, y), "months")
    done()
    performance(page, predicted, evaluated(predicted, X, y), X, y, "months")
    missing_values(page, model.encoding_, X)
    three_profiles(page, model.fitted, X, y, "months")
    hidden_units(page, model.fitted, X, y)
    page.footer("Made by harmonium demo. Data: the NVALT-8 trial, as published with the paper (see NOTICE).")
    done()
    return Demonstration(scores, medians, as_html(page))


def _compare(predicted: OutOfFold, X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """Concordance and integrated Brier score of overall survival."""
    everybody = np.ones(len(X), dtype=bool)
    alive = parse_endpoints(y).lower[:, 0] > _MONTH
    later = _TIMES[_TIMES > _MONTH + 1.0]
    prognosis = predicted.prognosis(X)
    harmonium, at_month = prognosis.survival("os", _TIMES), prognosis.survival("os", [_MONTH])
    dynamic = predicted.prognosis(X, given=landmark(y, _MONTH)).survival("os", _TIMES)
    rows = [
        _row("Cox, covariates", y, _cox_curves(predicted), _TIMES, everybody),
        _row("harmonium, covariates", y, harmonium, _TIMES, everybody),
        _row("harmonium at month 12, covariates", y, harmonium[:, -later.size :] / at_month, later, alive),
        _row("Cox fitted at month 12, and what is known by then", y, _landmark_cox_curves(predicted, alive, later), later, alive),
        _row("harmonium at month 12, and what is known by then", y, dynamic[:, -later.size :], later, alive),
    ]
    return pd.DataFrame(rows)


def _row(name: str, y: pd.DataFrame, curves: Array, times: Array, chosen: Any) -> dict[str, Any]:
    observed = y[chosen]
    return {
        "model": name,
        "patients": int(chosen.sum()),
        "C-index": concordance_index(observed, -curves[chosen].mean(axis=1), endpoint="os"),
        "IBS": integrated_brier_score(observed, curves[chosen], times, endpoint="os"),
    }


def _cox_curves(predicted: OutOfFold) -> Array:
    """In the same folds, with a light ridge penalty."""
    X, y = load_paper_study("nvalt8", complete=True)
    out = np.empty((len(X), _TIMES.size))
    cox = RIVALS["cox"]
    for k in range(len(predicted.models)):
        train, test = predicted.fold != k, predicted.fold == k
        fitted = cox.fit({"penalizer": 0.1}, X[train], y[train], 0)
        out[test] = cox.predict(fitted, X[test], 0.0, _TIMES, None).survival
    return out


def _landmark_cox_curves(predicted: OutOfFold, alive: Any, times: Array) -> Array:
    """In the same folds: fitted to those alive at month 12, told whether and how long ago the cancer had come back."""
    X, y = load_paper_study("nvalt8", complete=True)
    known = parse_endpoints(y)
    back = known.upper[:, 1] <= _MONTH
    X = X.assign(back=back.astype(float), since=np.where(back, _MONTH - known.lower[:, 1], 0.0))
    shifted = y.copy()
    shifted["os"] -= _MONTH  # an infinite bound stays infinite
    out = np.full((len(X), times.size), np.nan)
    cox = RIVALS["cox"]
    for k in range(len(predicted.models)):
        train, test = (predicted.fold != k) & alive, (predicted.fold == k) & alive
        fitted = cox.fit({"penalizer": 0.1}, X[train], shifted[train], 0)
        out[test] = cox.predict(fitted, X[test], 0.0, times - _MONTH, None).survival
    return out


def _patient(model: SurvivalHarmonium, X: pd.DataFrame, y: pd.DataFrame) -> tuple[Figure, dict[str, float]]:
    """One patient: from covariates, then a year later without and with a recurrence."""
    one = X.iloc[[3]]
    well, ill = (_known_at_month_12(recurrence) for recurrence in (None, 8.0))
    prognoses = {given: model.prognosis(one, given=known) for given, known in (("nothing", None), ("well", well), ("ill", ill))}
    medians = {
        "at the operation": float(prognoses["nothing"].median("os")[0]),
        "if well at month 12": float(prognoses["well"].median("os")[0]),
        "if the cancer came back at month 8": float(prognoses["ill"].median("os")[0]),
    }
    times = np.linspace(0.0, 90.0, 181)
    figure = Figure(figsize=(WIDE, 3.6), layout="constrained")
    ax = figure.subplots()
    styles = (
        ("at the operation", "nothing", ":", "#555555"),
        ("well at month 12", "well", "-", "#0072B2"),
        ("back at month 8", "ill", "--", "#D55E00"),
    )
    for label, given, line, colour in styles:
        curve = prognoses[given].survival("os", times)[0]
        ax.plot(times, curve, linestyle=line, color=colour, label=label, linewidth=1.8)
    ax.axvline(_MONTH, color="0.8", linewidth=0.8)
    ax.set(xlabel="Months", ylabel="Probability of being alive", xlim=(0, 90), ylim=(0, 1.02))
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure, medians


def _known_at_month_12(recurrence: float | None) -> pd.DataFrame:
    """Alive at month 12, with a recurrence at some month or without."""
    bounds = (_MONTH, np.inf) if recurrence is None else (recurrence, recurrence)
    known = {("os", "lower"): [_MONTH], ("os", "upper"): [np.inf], ("rfs", "lower"): [bounds[0]], ("rfs", "upper"): [bounds[1]]}
    return pd.DataFrame(known)
