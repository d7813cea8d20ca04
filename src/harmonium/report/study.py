"""The report of a study: what a reader wants first, and how it was made last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from harmonium.report.cross_validation import cross_validated, on_the_same_folds
from harmonium.report.document import Document
from harmonium.report.effects import effects_of_columns, largest_effects, table_of_effects
from harmonium.report.method import hidden_units, method
from harmonium.report.observation import missing_values, observed_endpoints
from harmonium.report.opening import opening_words
from harmonium.report.performance import beside_others, evaluated, performance
from harmonium.report.profiles import three_profiles
from harmonium.report.tripod import tripod
from harmonium.version import __version__

__all__ = ["StudyReport", "study_report"]

_N_FOLDS = 5
N_STEPS = _N_FOLDS + 3
"""How often ``done`` is called."""


class StudyReport(NamedTuple):
    """A document, and the metrics in it: how they were found, and by endpoint."""

    document: Document
    method: str
    scores: dict[str, dict[str, float]]


def study_report(
    model: Any,
    X: pd.DataFrame,
    y: pd.DataFrame,
    title: str,
    done: Callable[[], None] = lambda: None,
    *,
    unit: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    others: Mapping[str, Any] | None = None,
) -> StudyReport:
    """A report about a fitted model and the table it was fitted to.

    Parameters
    ----------
    model : SurvivalHarmonium
    X, y : DataFrame
        What it was fitted to.
    title : str
    done : callable
        Called after each of :data:`N_STEPS` steps.
    unit : str
        Of time, such as "months", for labels; by default the one that the endpoints have, if they do.
    sample_weight : array_like of shape (n_rows,), optional
        With which it was fitted; the metrics count them too. Figures show rows.
    groups : array_like of shape (n_rows,), optional
        Rows of one group are in one fold.
    others : mapping, optional
        Names, and other models to be judged on the same folds: what their ``fit(X, y)`` returns has a ``prognosis``.
    """
    page, fitted = Document(title), model.fitted
    unit = unit or fitted.encoding.unit or ""
    done()
    predicted = cross_validated(model, X, y, _N_FOLDS, done, sample_weight=sample_weight, groups=groups)
    scores = evaluated(predicted, X, y, sample_weight)
    effects = table_of_effects(model, X, y) if fitted.encoding.modelled else None
    largest = {name: "" if effects is None else largest_effects(effects, name, unit) for name in fitted.endpoint_names}
    for words in opening_words(fitted.encoding, X, y, scores, unit, largest, groups):
        page.text(words, leading=True)
    if sample_weight is not None:
        page.text("Rows have weights: the model, the numbers of rows and events, and the metrics count them; figures show rows.")
    prognosis = predicted.prognosis(X)
    observed_endpoints(page, fitted.encoding, X, y, {name: prognosis.risk(name) for name in fitted.endpoint_names}, unit)
    if effects is not None:
        effects_of_columns(page, effects, unit)
    done()
    performance(page, predicted, scores, X, y, unit)
    if others:
        rivals = {name: on_the_same_folds(other, X, y, predicted.fold) for name, other in others.items()}
        beside_others(page, scores, {name: evaluated(rival, X, y, sample_weight, likelihood=False) for name, rival in rivals.items()})
    missing_values(page, fitted.encoding, X)
    three_profiles(page, fitted, X, y, unit)
    hidden_units(page, fitted, X, y)
    method(page, model)
    tripod(page, model, X, unit)
    done()
    page.footer(f"Made by harmonium {__version__}.")
    by_endpoint = {str(name): {str(key): float(value) for key, value in row.items()} for name, row in scores.iterrows()}
    how = f"{_N_FOLDS}-fold cross-validation" + ("" if groups is None else ", groups kept together")
    return StudyReport(page, how, by_endpoint)
