"""What the model was trained on, and what it has learned."""

from __future__ import annotations

from typing import Any

import pandas as pd
from dash import html

from harmonium.estimator import OF_THE_SESSION
from harmonium.explorer.answers import tables
from harmonium.explorer.controls import attributes, graph, table
from harmonium.explorer.figures import fields_figure
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.validation import Patient
from harmonium.table.columns import Column

__all__ = ["layout"]

_MOST_LEVELS = 12
_N_SAME = 64


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
                "are changes of the mean in standard deviations, of log odds, or of the mean event time as a share of its scale."
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
        ["patients in training", model.n_rows_],
        ["covariates", len(schema.columns)],
        ["endpoints", len(schema.endpoints)],
        ["hidden units", model.n_hidden],
        ["objective", str(model.objective)],
        ["iterations", model.n_iter_],
    ]
    return table("Training", ["", ""], facts, numbers=(1,))


def _endpoints(model: Any, schema: Schema) -> html.Div:
    encoding, rows = model.encoding_, []
    for e, name in enumerate(schema.endpoints):
        found, median = encoding.recordings[e], encoding.follow_up[e].median
        missing = _share(1.0 - found.rows / model.n_rows_)
        rows.append([short(name), found.events, found.intervals, found.censored, missing, number(median), number(schema.last[e])])
    header = ["endpoint", "events", "within intervals", "censored", "unknown", "median follow-up", "last recording"]
    return table("Endpoints" + (f" ({schema.unit})" if schema.unit else ""), header, rows, numbers=range(1, 7))


def _columns(model: Any) -> html.Div:
    rows = [[short(column.name), column.role, _content(column), _share(column.missing)] for column in model.encoding_.columns]
    return table("Covariates", ["column", "role", "levels, or mean ± standard deviation (range)", "missing"], rows, numbers=(3,))


def _share(share: float) -> str:
    return f"{share:.1%}" if share else "-"


def _metrics(model: Any) -> html.Div:
    heading, evaluation = html.H3("Metrics"), model.evaluation_
    if evaluation is None:
        told = "How well the model predicts was not measured when it was made; harmonium fit with --report does, by cross-validation."
        return html.Div([heading, html.P(told)])
    told = "A C-index of 0.5 is chance. The integrated Brier score is an error, to be compared with that of the Kaplan-Meier curve."
    metrics = list(next(iter(evaluation["scores"].values())))
    rows = [[short(name), *(f"{value:.3f}" for value in scores.values())] for name, scores in evaluation["scores"].items()]
    found = table(f"Predictions of {evaluation['method']}", ["endpoint", *metrics], rows, numbers=range(1, len(metrics) + 1))
    return html.Div([heading, html.P(told), found])


def _content(column: Column) -> str:
    if column.role == "numeric":
        return f"{column.mean:.4g} ± {column.scale:.3g} ({column.lowest:g} to {column.highest:g})"
    if column.role == "ignored":
        return "takes no part in the model"
    more = len(column.levels) - _MOST_LEVELS
    return ", ".join(short(level) for level in column.levels[:_MOST_LEVELS]) + (f", and {more} more" if more > 0 else "")


def _dependence(model: Any, schema: Schema, nobody: Any) -> html.Div:
    if len(schema.endpoints) < 2:
        return html.Div()
    several = nobody.loc[[0] * _N_SAME].reset_index(drop=True)  # states of large models are drawn, one for each row, and compared in pairs
    found = model.dependence(several)
    rows = [[f"{short(a)}, {short(b)}", f"{tau:.2f}"] for (a, b), tau in found["tau"].items()]
    told = "Positive: whoever has one event early tends to have the other early. Between patients of whom nothing else is known."
    return html.Div(
        [html.H3("Dependence between endpoints"), html.P(told), table("Kendall's tau", ["endpoints", "tau"], rows, numbers=(1,))]
    )


def _settings(model: Any) -> html.Details:
    rows = [[name, str(value)] for name, value in model.get_params(deep=False).items() if name not in OF_THE_SESSION]
    return html.Details([html.Summary("Settings of training"), table("Settings", ["name", "value"], rows)])
