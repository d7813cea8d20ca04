"""What the model was trained on, and what it has learned."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from dash import html

from harmonium.explorer.answers import tables
from harmonium.explorer.controls import attributes, graph, table
from harmonium.explorer.figures import fields_figure
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.validation import Patient
from harmonium.table.state_graph import StateGraph
from harmonium.table.summary import median_follow_up, words_of_column

__all__ = ["layout"]

_N_SAME = 64
_METRICS = {
    "concordance": "C-index",
    "concordance_ipcw": "Uno's C",
    "integrated_brier_score": "IBS",
    "kaplan_meier_ibs": "IBS, one curve for all",
    "d_calibration_p": "D-cal. p",
}


def layout(model: Any, schema: Schema) -> html.Div:
    """Tables and the receptive fields; nothing here changes."""
    nobody, _ = tables(schema, [Patient.unknown(schema)])
    return html.Div(
        [
            html.H2("The model"),
            html.Div([_training(model, schema), _endpoints(model, schema)], className="columns even"),
            _columns(model),
            _metrics(model),
            html.H3("Receptive fields"),
            html.P(
                "What happens to a column when a hidden unit goes from off to on: orange is more or later, blue is less or sooner. Numbers "
                "are changes of the mean in standard deviations, of log odds, or of the mean event time as a fraction of its scale."
            ),
            _fields(model.receptive_fields(nobody)),
            _dependence(model, schema, nobody),
            _settings(model),
        ]
    )


def _fields(fields: pd.DataFrame) -> html.Div:
    """The map, which scrolls by itself where there is no room for it."""
    figure = fields_figure(fields)
    size = {"height": f"{figure['layout']['height']}px", "minWidth": f"{360 + 42 * fields.shape[1]}px"}
    drawn = graph("fields-figure", "Receptive fields of the hidden units", figure, "figure fields-map", **size)
    return html.Div(drawn, className="scroll", tabIndex=0, role="region", **attributes(aria_label="Receptive fields"))


def _training(model: Any, schema: Schema) -> html.Div:
    facts = [
        ["patients in training", model.training.n_rows],
        ["covariates", len(schema.columns)],
        ["endpoints", len(schema.endpoints)],
        ["hidden units", model.n_hidden],
        ["covariate units", model.n_covariate_units],
        ["objective", str(model.training.settings.get("objective"))],
        ["iterations", model.training.n_iter],
    ]
    return table("Training", ["", ""], facts, numbers=(1,))


def _endpoints(model: Any, schema: Schema) -> html.Div:
    rows = []
    for endpoint, last in zip(model.encoding.endpoints, schema.last, strict=True):
        found, median = endpoint.counts, median_follow_up(model.encoding, endpoint)
        missing = _fraction(1.0 - found.rows / max(model.training.n_rows, 1))
        rows.append([short(endpoint.name), found.happened, found.intervals, found.censored, missing, number(median), number(last)])
    header = ["endpoint", "events", "within intervals", "censored", "unknown", "median follow-up", "last observed"]
    return table("Endpoints" + (f" ({schema.unit})" if schema.unit else ""), header, rows, numbers=range(1, 7))


def _columns(model: Any) -> html.Div:
    rows = [[short(column.name), column.role, words_of_column(column), _fraction(column.missing)] for column in model.encoding.columns]
    return table("Covariates", ["column", "role", "levels, or mean ± standard deviation (range)", "missing"], rows, numbers=(3,))


def _fraction(fraction: float) -> str:
    return f"{fraction:.1%}" if fraction else "-"


def _metrics(model: Any) -> html.Div:
    heading, evaluation = html.H3("Metrics"), model.training.evaluation
    if evaluation is None:
        words = "How well the model predicts was not measured when it was made; harmonium fit with --report does, by cross-validation."
        return html.Div([heading, html.P(words)])
    words = (
        "A C-index of 0.5 is chance. The integrated Brier score (IBS) is an error, to be compared with that of one curve for everybody, "
        "without covariates: Kaplan and Meier's or, if a terminal event may prevent the endpoint, Aalen and Johansen's."
    )
    shown = {name: title for name, title in _METRICS.items() if name in next(iter(evaluation["scores"].values()))}
    rows = [[short(name), *(_score(scores[metric]) for metric in shown)] for name, scores in evaluation["scores"].items()]
    found = table(f"Predictions, by {evaluation['method']}", ["endpoint", *shown.values()], rows, numbers=range(1, len(shown) + 1))
    return html.Div([heading, html.P(words), found])


def _score(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _dependence(model: Any, schema: Schema, nobody: Any) -> html.Div:
    if schema.graph is not None:
        return _cross_ratios(model, schema.graph, nobody)
    if len(schema.endpoints) < 2:
        return html.Div()
    several = nobody.loc[[0] * _N_SAME].reset_index(drop=True)  # states of large models are drawn, one for each row, and compared in pairs
    found = model.dependence(several)
    rows = [[f"{short(a)}, {short(b)}", f"{tau:.2f}"] for (a, b), tau in found["tau"].items()]
    words = "Positive: patients who have one event early tend to have the other early. Between patients of whom nothing else is known."
    return html.Div(
        [html.H3("Dependence between endpoints"), html.P(words), table("Kendall's tau", ["endpoints", "tau"], rows, numbers=(1,))]
    )


def _cross_ratios(model: Any, graph: StateGraph, nobody: Any) -> html.Div:
    """How those fare who had an event, and those who had none; where an event ends the other's follow-up, there is no Kendall's tau."""
    tables = []
    for event in graph.intermediate:
        for endpoint in graph.terminal:
            found = model.cross_ratio(nobody[:1], event, endpoint)
            rows = [[f"{time:.3g}", *(f"{value:.2f}" for value in row)] for time, row in zip(found.index, found.to_numpy(), strict=True)]
            head = [f"{short(event)} at", "survival after", "without", "ratio of hazards"]
            tables.append(table(f"{short(event)} and {short(endpoint)}", head, rows, numbers=range(4)))
    if not tables:
        return html.Div()
    words = (
        "Survival of those who had the event at a time, and of those who had none until then, over the median time from the event to its "
        "end; of patients of whom nothing else is known. The ratio is that of cumulative hazards; at 1 the event would tell nothing."
    )
    return html.Div([html.H3("What an event says about those who had it"), html.P(words), *tables])


def _settings(model: Any) -> html.Details:
    rows = [[name, str(value)] for name, value in model.training.settings.items()]
    return html.Details([html.Summary("Settings of training"), table("Settings", ["name", "value"], rows)])
