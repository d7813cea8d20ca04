"""A fitted model in a few lines of text, as a console shows it.

A fitted model as a notebook shows it: its endpoints, its covariates, how it was fitted, and how well it predicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from harmonium.model.answering import Answering
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.table.summary import median_follow_up, words_of_column

__all__ = ["model_html", "model_words", "outcome"]

_MOST_ENDPOINTS = 6


def model_words(model: Answering, title: str) -> str:
    """Rows, covariates, endpoints with events, hidden units, and how the fit ended."""
    encoding, training = model.encoding, model.training
    unit = f" {encoding.unit}" if encoding.unit else ""
    endpoints = [f"{_observed(own)} until {own.follow_up.last:.4g}{unit}" for own in encoding.endpoints]
    more = len(endpoints) - _MOST_ENDPOINTS
    shown = endpoints if more <= 0 else [*endpoints[:_MOST_ENDPOINTS], f"and {more} more endpoints"]
    n_covariates = len(encoding.modelled)
    lines = [
        f"{title}: {model.n_hidden} hidden units and {model.n_covariate_units} of covariates",
        f"{training.n_rows} rows, {n_covariates} covariate{'s' * (n_covariates != 1)}",
        *shown,
        f"fit {outcome(training.converged)} after {training.n_iter} iterations",
    ]
    return "\n  ".join(lines)


def _observed(own: LearnedEndpoint) -> str:
    return f"{own.name}: {own.counts.words(f'in {own.counts.rows} rows')}, observed"


def outcome(converged: bool | None) -> str:
    """How a fit ended.

    Examples
    --------
    >>> outcome(True), outcome(None)
    ('converged', 'ended')
    """
    return {True: "converged", False: "did not converge", None: "ended"}[converged]


_MOST_COLUMNS = 30
_METRICS = {"concordance": "C-index", "integrated_brier_score": "IBS", "kaplan_meier_ibs": "IBS, one curve for all"}


def model_html(model: Answering, title: str) -> str:
    """A small page, without a script; all text of the user's is escaped."""
    encoding, training = model.encoding, model.training
    unit = f" ({encoding.unit})" if encoding.unit else ""
    endpoints = [
        [own.name, own.counts.rows, own.counts.happened, f"{median_follow_up(encoding, own):.4g}", f"{own.follow_up.last:.4g}"]
        for own in encoding.endpoints
    ]
    columns = [
        [column.name, column.role, words_of_column(column), f"{column.missing:.0%}" if column.missing else ""]
        for column in encoding.columns[:_MOST_COLUMNS]
    ]
    more = len(encoding.columns) - _MOST_COLUMNS
    if more > 0:
        columns.append([f"and {more} more", "", "", ""])
    fit: list[list[Any]] = [
        ["rows", training.n_rows],
        ["hidden units", model.n_hidden],
        ["optimiser", f"{outcome(training.converged)} after {training.n_iter} iterations"],
    ]
    parts = [
        f"<strong>{escape(title)}</strong>",
        _table(["endpoint", "rows", "events", f"median follow-up{unit}", f"last observed{unit}"], endpoints),
        _table(["covariate", "role", "levels, or mean ± standard deviation", "missing"], columns),
        _table(["fit", ""], fit),
        _metrics(training.evaluation),
    ]
    return "<div>" + "".join(parts) + "</div>"


def _metrics(evaluation: Mapping[str, Any] | None) -> str:
    """If they were measured."""
    if evaluation is None:
        return ""
    names = [name for name in _METRICS if any(name in own for own in evaluation["scores"].values())]
    rows = [[endpoint, *(_number(own.get(name)) for name in names)] for endpoint, own in evaluation["scores"].items()]
    return _table([f"predictions, by {evaluation['method']}", *(_METRICS[name] for name in names)], rows)


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
