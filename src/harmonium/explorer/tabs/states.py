"""Where a patient is over time, for models in which an endpoint is terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import Dash, Input, Output, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.answers import States, describe, states_of
from harmonium.explorer.controls import graph, message, table
from harmonium.explorer.figures import states_figure
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, short
from harmonium.explorer.validation import parse_form

__all__ = ["layout", "register"]


def layout(schema: Schema) -> html.Div:
    """Areas above, the same in numbers below."""
    return html.Div(
        [
            html.H2("Where the patient is over time"),
            html.P("Described in the tab Patient. At every time the areas add up to one."),
            html.P("", id="states-known", role="status"),
            message("states-message"),
            graph("states-figure", "Probabilities of all states over time, stacked; they are in the table below", class_name="figure tall"),
            html.Div(id="states-table"),
        ]
    )


def register(app: Dash, model: Any, schema: Schema, tab: int) -> None:
    """Draw for the patient as they are described, when the tab is open."""

    @app.callback(
        Output("states-figure", "figure"),
        Output("states-table", "children"),
        Output("states-known", "children"),
        Output("states-message", "children"),
        Input("patient", "data"),
        Input("tab", "data"),
    )
    @answering(3)
    def draw(form: Any, opened: Any) -> tuple[Any, ...]:
        if opened != tab:
            raise PreventUpdate
        patient = parse_form(schema, form)
        states = states_of(model, schema, patient)
        known = "; ".join(describe(schema, patient))
        words = f"Given: {known}." if known else "With nothing known: all patients."
        return states_figure(schema, states), _numbers(schema, states), words


def _numbers(schema: Schema, states: States) -> html.Div:
    shown = schema.round_times
    header = ["state", *(f"at {schema.time(time)}" for time in shown), f"mean time in it until {schema.time(states.until)}"]
    rows = [
        [short(name), *(f"{p:.2f}" for p in np.interp(shown, states.times, own)), schema.time(round(states.means[name], 1))]
        for name, own in states.probabilities.items()
    ]
    return table("Probabilities, and time", header, rows, numbers=range(1, len(header)))
