"""Why this patient: what each known covariate contributes to the difference from the average; a part of the tab Patient."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.answers import reasons_of
from harmonium.explorer.controls import CHOSEN, choice, graph, message
from harmonium.explorer.figures import NOTHING, reasons_figure
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, short
from harmonium.explorer.validation import checked_place, parse_form

__all__ = ["layout", "register"]


def layout(schema: Schema) -> html.Div:
    """A question, asked by a button since the answer takes a moment, and the answer below."""
    endpoints = [(str(e), short(name)) for e, name in enumerate(schema.endpoints)]
    return html.Div(
        [
            html.H2("Why this patient"),
            html.Div([choice("why-endpoint", "Endpoint", endpoints), html.Button("Explain", id="why")], className="fields"),
            message("why-message"),
            html.P("", id="why-words", role="status"),
            html.Div(graph("why-figure", f"What each known value adds to the {schema.probability('event')}"), id="why-drawn", hidden=True),
        ]
    )


def register(app: Dash, model: Any, schema: Schema) -> None:
    """Explain the patient as described when asked."""

    @app.callback(
        Output("why-figure", "figure"),
        Output("why-words", "children"),
        Output("why-drawn", "hidden"),
        Output("why-message", "children"),
        Input("why", "n_clicks"),
        State("why-endpoint", CHOSEN),
        State("patient", "data"),
        prevent_initial_call=True,
    )
    @answering(3)
    def explain(n_clicks: Any, endpoint: Any, form: Any) -> tuple[Any, ...]:
        if not n_clicks:
            raise PreventUpdate
        e = checked_place("the endpoint", endpoint, len(schema.endpoints))
        patient = parse_form(schema, form)
        if all(value is None for value in patient.values):
            return NOTHING, "No covariate is known, so there is nothing to explain.", True
        reasons = reasons_of(model, schema, patient, e)
        name, at = short(schema.endpoints[e]), schema.time(reasons.time)
        what = schema.probability(f"{name} event").capitalize()
        words = (
            f"{what} until {at}, from the covariates alone: {reasons.prediction:.0%}; of all patients {reasons.average:.0%}. Bars say what "
            "each known value adds; they add up to the difference. Blue is better, orange is worse."
        )
        return reasons_figure(reasons), words, False
