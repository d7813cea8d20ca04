"""Items of TRIPOD+AI (Collins et al., BMJ 2024;385:e078378): what can be told from the data, and what only the authors can fill in."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harmonium.report.document import Document
from harmonium.report.drawing import in_unit
from harmonium.table.learned_endpoint import LearnedEndpoint

__all__ = ["checklist", "tripod"]

OPEN = "open: to be filled in"
_ONLY_AUTHORS = (
    ("3a", "Background: context and rationale"),
    ("3c", "Known inequalities between groups"),
    ("4", "Objectives"),
    ("5a", "Source of data, and why it represents the population"),
    ("5b", "Dates of recruitment and end of follow-up"),
    ("6a", "Setting: centres, countries"),
    ("6b", "Eligibility"),
    ("6c", "Treatments received"),
    ("8b", "Who assessed the outcome, and was blinded to what"),
    ("9b", "How and when predictors were measured"),
    ("14", "Fairness: performance in groups"),
    ("17", "Ethical approval"),
    ("18", "Funding, conflicts, protocol, registration, data and code sharing, patient involvement"),
    ("25", "Interpretation, limitations, usability"),
)


def tripod(page: Document, model: Any, X: pd.DataFrame, unit: str) -> None:
    """The checklist as a table."""
    page.heading("TRIPOD+AI")
    page.text("Items of the reporting guideline for prediction models. What follows from the data and the model is filled in.")
    page.table(checklist(model, X, unit))


def checklist(model: Any, X: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Item, what it asks for, and what is known."""
    fitted = model.fitted
    encoding, training = fitted.encoding, fitted.training
    outcomes = "; ".join(_outcome(endpoint, unit) for endpoint in encoding.endpoints)
    cells = X[[column.name for column in encoding.modelled]].isna()
    complete = int((~cells.any(axis=1)).sum())
    missing = f"{complete} rows complete; missing values integrated out, no row excluded" if cells.any(axis=None) else "none"
    found = [
        ("8a", "Outcomes", outcomes),
        ("9a", "Predictors", ", ".join(str(column.name) for column in encoding.modelled)),
        ("10", "Sample size", f"all {training.n_rows} rows of the table; no calculation was made by this program"),
        ("11", "Missing data", missing),
        (
            "12a",
            "Use of the data",
            "fitted to all rows; performance by cross-validation, each fold predicted by a model that had not seen it",
        ),
        ("12b", "Handling of predictors", "numbers by normal scores, categories by indicators; see Covariates and missing values"),
        (
            "12c",
            "Type of model",
            f"survival harmonium, {fitted.n_hidden} + {fitted.n_covariate_units} hidden units; see Method and settings",
        ),
        ("12e", "Measures of performance", "concordance, Brier score against Kaplan–Meier, calibration; see Predictive performance"),
        ("12f", "Updating of the model", "none"),
        ("20", "Flow of participants", f"{len(X)} rows read and used"),
        ("22", "Full model", "the model file, as harmonium fit and model.save write it"),
        ("23", "Performance with intervals", "see Predictive performance"),
    ]
    rows = [*found, *((item, what, OPEN) for item, what in _ONLY_AUTHORS)]
    table = pd.DataFrame(rows, columns=["item", "what", "here"])
    order = table["item"].str.extract(r"(\d+)")[0].astype(int)
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def _outcome(endpoint: LearnedEndpoint, unit: str) -> str:
    counts = endpoint.counts
    followed = in_unit(endpoint.follow_up.last, unit)
    return f"{endpoint.name}: {counts.words()}; {counts.censored} censored, followed until {followed}"
