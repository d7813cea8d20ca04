"""One patient: everything that may be known of them, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import ALL, MATCH, Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.answers import BAND, Curves, Edits, advance, bands_of, curves_of, describe, words_of_change
from harmonium.explorer.controls import CHOSEN, choice, entry, graph, in_browser, message, table
from harmonium.explorer.figures import patient_figure
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.tabs import why
from harmonium.explorer.validation import parse_form

__all__ = ["empty_form", "form_of", "layout", "register"]

SLOTS = ("A", "B", "C")
"""Scenarios."""

_STATES = (("", "unknown"), ("free", "no event until"), ("event", "event at"))


def layout(schema: Schema) -> html.Div:
    """The form on the left, answers on the right."""
    endpoints = [_endpoint(schema, e) for e in range(len(schema.endpoints))]
    copy = [html.Button(f"Copy to {slot}", id={"type": "copy", "index": i, "place": "patient"}) for i, slot in enumerate(SLOTS)]
    form = html.Div(
        [
            html.H2("What is known"),
            html.Fieldset([html.Legend("Endpoints"), *endpoints]),
            html.Fieldset(
                [html.Legend("Covariates"), html.Div([_covariate(schema, i) for i in range(len(schema.columns))], className="fields")]
            ),
            html.Div(html.Button("Everything unknown", id="reset"), className="buttons"),
        ],
        id="patient-form",
        className="form",
    )
    answers = html.Div(
        [
            html.H2("What follows"),
            html.P("Nothing is known yet: this is the average over all patients.", id="change", className="change", role="status"),
            html.P("", id="patient-known", className="printed"),
            message("patient-message"),
            html.Ul([], id="patient-hints", className="hints"),
            graph("patient-figure", "Survival curves of all endpoints; medians are in the table below", class_name="figure tall"),
            message("bands-message"),
            html.P(f"Shaded, a moment later: {BAND:.0%} intervals of this patient's curves, time by time.", className="note"),
            html.Div(id="medians"),
            html.Div([html.Span("Keep as a scenario:"), *copy], className="buttons"),
            html.P("", id="copied", role="status"),
            html.Div([html.Button("Copy a link to this patient", id="link"), html.Button("Print", id="print")], className="buttons"),
            html.P("The address of this page describes the patient, after the #, which browsers send nowhere.", className="note"),
            html.P("", id="linked", role="status"),
            why.layout(schema),
        ],
        className="answers",
    )
    stores = [
        dcc.Store(id="patient", data=empty_form(schema)),
        dcc.Store(id="settled"),  # the same, once nobody has typed for a moment: intervals take longer than curves
        dcc.Store(id="settling"),
        dcc.Store(id="history"),
        dcc.Store(id="fields", data=_fields(schema)),
    ]
    return html.Div([form, answers, *stores], className="columns")


def _fields(schema: Schema) -> dict[str, Any]:
    """Names of all fields, and of levels, for links: a link says what is known in the table's own words."""
    levels = [None if column.role == "numeric" else [str(level) for level in column.levels] for column in schema.columns]
    return {"columns": [str(column.name) for column in schema.columns], "levels": levels, "endpoints": list(schema.endpoints)}


def _covariate(schema: Schema, place: int) -> html.Div:
    column = schema.columns[place]
    if column.role == "numeric":
        return entry({"type": "number", "index": place}, short(column.name), f"unknown ({column.lowest:.4g} to {column.highest:.4g})")
    levels = [("", "unknown"), *((str(k), short(level)) for k, level in enumerate(column.levels))]
    return choice({"type": "level", "index": place}, short(column.name), levels)


def _endpoint(schema: Schema, e: int) -> html.Div:
    name = short(schema.endpoints[e])
    at = entry({"type": "time", "index": e}, f"time of {name}" + (f" ({schema.unit})" if schema.unit else ""), "time", disabled=True)
    return html.Div([choice({"type": "state", "index": e}, name, _STATES), at], className="pair")


def empty_form(schema: Schema) -> dict[str, Any]:
    """The form of a patient of whom nothing is known."""
    return {"covariates": [""] * len(schema.columns), "states": [""] * len(schema.endpoints), "times": [""] * len(schema.endpoints)}


def form_of(schema: Schema, numbers: Any, levels: Any, states: Any, times: Any) -> dict[str, Any]:
    """What the page sends, put together: numbers and levels each come in the order of the schema."""
    parts = {"numbers": numbers, "levels": levels, "states": states, "times": times}
    n_numeric = sum(column.role == "numeric" for column in schema.columns)
    expected = {
        "numbers": n_numeric,
        "levels": len(schema.columns) - n_numeric,
        "states": len(schema.endpoints),
        "times": len(schema.endpoints),
    }
    for name, n in expected.items():
        if not isinstance(parts[name], list) or len(parts[name]) != n:
            raise ValueError(f"the form must have a list of {n} {name}")
    sources = {"numeric": iter(numbers), "other": iter(levels)}
    covariates = [next(sources["numeric" if column.role == "numeric" else "other"]) for column in schema.columns]
    return {"covariates": covariates, "states": states, "times": times}


def register(app: Dash, model: Any, schema: Schema, cohort: Curves) -> None:
    """Answer while the user types."""

    @app.callback(
        Output("patient-figure", "figure"),
        Output("medians", "children"),
        Output("change", "children"),
        Output("patient-hints", "children"),
        Output("patient", "data"),
        Output("history", "data"),
        Output("patient-known", "children"),
        Output("patient-message", "children"),
        Input({"type": "number", "index": ALL}, "value"),
        Input({"type": "level", "index": ALL}, CHOSEN),
        Input({"type": "state", "index": ALL}, CHOSEN),
        Input({"type": "time", "index": ALL}, "value"),
        State("history", "data"),
    )
    @answering(7)
    def answer(numbers: Any, levels: Any, states: Any, times: Any, history: Any) -> tuple[Any, ...]:
        form = form_of(schema, numbers, levels, states, times)
        now = parse_form(schema, form)
        curves = curves_of(model, schema, [now])
        past = advance(Edits.from_json(schema, history), form, curves.medians[0])
        before = parse_form(schema, past.before)
        words = words_of_change(schema, before, now, past.before_medians, past.now_medians)
        if not words and form == empty_form(schema):
            words = "Nothing is known yet: this is the average over all patients."
        figure = patient_figure(schema, curves, cohort)
        hints = [html.Li(hint) for hint in now.hints]
        known = f"Known: {'; '.join(describe(schema, now)) or 'nothing'}."
        return figure, _medians(schema, now.known, curves, cohort), words, hints, form, past.to_json(), known

    @app.callback(
        Output("patient-figure", "figure", allow_duplicate=True),
        Output("bands-message", "children"),
        Input("settled", "data"),
        prevent_initial_call=True,
    )
    @answering(1)
    def add_bands(form: Any) -> tuple[Any, ...]:
        now = parse_form(schema, form)
        bands = bands_of(model, schema, now)
        if bands is None:
            raise PreventUpdate
        return (patient_figure(schema, curves_of(model, schema, [now]), cohort, bands),)

    in_browser(app, "settle", Output("settling", "data"), Input("patient", "data"), prevent_initial_call=False)
    _link_and_print(app)
    why.register(app, model, schema)
    in_browser(
        app,
        "lacksTime",
        Output({"type": "time", "index": MATCH}, "disabled"),
        Input({"type": "state", "index": MATCH}, CHOSEN),
        prevent_initial_call=False,
    )
    in_browser(
        app,
        "reset",
        Output({"type": "number", "index": ALL}, "value"),
        Output({"type": "level", "index": ALL}, CHOSEN),
        Output({"type": "state", "index": ALL}, CHOSEN),
        Output({"type": "time", "index": ALL}, "value"),
        Input("reset", "n_clicks"),
    )


def _link_and_print(app: Dash) -> None:
    """The address follows the form, and a form is filled from the address; both in the browser alone."""
    in_browser(
        app,
        "followLink",
        Output("linked", "children"),
        Input("patient", "data"),
        Input("link", "n_clicks"),
        State("fields", "data"),
        prevent_initial_call=False,
    )
    in_browser(app, "print", Output("print", "title"), Input("print", "n_clicks"))


def _medians(schema: Schema, known: Any, curves: Curves, cohort: Curves) -> Any:
    rows: list[list[Any]] = []
    for e, name in enumerate(schema.endpoints):
        median = curves.medians[0, e]
        shown = number(median)
        if known[e][0] == known[e][1]:
            shown = f"event at {number(known[e][0])}"
        elif schema.last[e] < median < np.inf:
            shown += " *"
        rows.append([short(name), html.Span(shown, id={"type": "median", "index": e}), _starred(cohort.medians[0, e], schema.last[e])])
    unit = f" ({schema.unit})" if schema.unit else ""
    out: list[Any] = [table(f"Median time to the event{unit}", ["endpoint", "this patient", "average"], rows, numbers=(1, 2))]
    if any("*" in str(row[1].children) + row[2] for row in rows):
        out.append(html.P("* beyond the last observed time in training: an extrapolation to the horizon", className="note"))
    return out


def _starred(median: float, last: float) -> str:
    return number(median) + (" *" if last < median < np.inf else "")
