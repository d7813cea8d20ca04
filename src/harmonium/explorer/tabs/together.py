"""Two endpoints together."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.answers import JOINT, NoDensityError, describe, joint_of
from harmonium.explorer.controls import CHOSEN, choice, graph, message
from harmonium.explorer.figures import joint_figure
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, short
from harmonium.explorer.validation import checked_choice, checked_grid, checked_place, parse_form

__all__ = ["layout", "register"]

_GRIDS = (("60", "coarse"), ("120", "fine"), ("200", "finest"))
_KINDS = {"density": "density: when both happen", "survival": "survival: neither until then"}


def layout(schema: Schema) -> html.Div:
    """Choices above, the map below."""
    if len(schema.endpoints) < 2:
        return html.Div([html.H2("Two endpoints together"), html.P("The model has one endpoint only.")])
    names = [(str(e), short(name)) for e, name in enumerate(schema.endpoints)]
    return html.Div(
        [
            html.H2("Two endpoints together"),
            html.Div(
                [
                    choice("together-first", "Along the axis", names),
                    choice("together-second", "Upwards", [*names[1:], names[0]]),
                    choice("together-kind", "What", [(kind, _KINDS[kind]) for kind in JOINT]),
                    choice("together-grid", "Grid", _GRIDS),
                ],
                className="fields",
            ),
            html.P("", id="together-known", role="status"),
            message("together-message"),
            graph("together-figure", "Heat map of two endpoints with their margins", class_name="figure square"),
        ]
    )


def register(app: Dash, model: Any, schema: Schema, tab: int) -> None:
    """Draw for the patient as they are described, when the tab is open."""
    if len(schema.endpoints) < 2:
        return

    @app.callback(
        Output("together-figure", "figure"),
        Output("together-known", "children"),
        Output("together-message", "children"),
        Input("together-first", CHOSEN),
        Input("together-second", CHOSEN),
        Input("together-kind", CHOSEN),
        Input("together-grid", CHOSEN),
        Input("patient", "data"),
        Input("tab", "data"),
    )
    @answering(2)
    def draw(first: Any, second: Any, kind: Any, grid: Any, form: Any, opened: Any) -> tuple[Any, ...]:
        n_times = checked_grid(grid)
        if opened != tab:
            raise PreventUpdate
        pair = tuple(checked_place("the endpoint", place, len(schema.endpoints)) for place in (first, second))
        asked = checked_choice("what is drawn", kind, JOINT)
        patient = parse_form(schema, form)
        note = ""
        try:
            joint = joint_of(model, schema, patient, (pair[0], pair[1]), asked, n_times)
        except NoDensityError as reason:
            asked, note = "survival", f" {reason}"
            joint = joint_of(model, schema, patient, (pair[0], pair[1]), asked, n_times)
        known = "; ".join(describe(schema, patient))
        return joint_figure(
            schema, joint, (pair[0], pair[1]), asked
        ), f"Given: {known}.{note}" if known else "With nothing known: all patients."
