"""A fitted model as a notebook shows it: its endpoints, its covariates, how it was fitted, and how well it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from harmonium.model.answering import Answering
from harmonium.model.words import outcome
from harmonium.table.summary import median_follow_up, words_of_column

__all__ = ["model_html"]

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
