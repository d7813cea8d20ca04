"""Two or three scenarios side by side."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.answers import Curves, curves_of, describe, scenario_table
from harmonium.explorer.controls import CHOSEN, choice, entry, graph, in_browser, message, table
from harmonium.explorer.downloads import as_csv
from harmonium.explorer.figures import comparison_figure
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.tabs.patient import SLOTS
from harmonium.explorer.validation import Patient, checked_label, checked_place, parse_form

__all__ = ["layout", "register"]

_EMPTY = "empty"


def layout(schema: Schema) -> html.Div:
    """Scenarios above, their curves and medians below."""
    slots = [
        html.Section(
            [
                html.H3(f"Scenario {slot}", className=f"slot-{slot}"),
                entry({"type": "label", "index": i}, f"Label of {slot}", f"Scenario {slot}", number=False),
                html.P(_EMPTY, id={"type": "known", "index": i}, className="known"),
                html.Div(
                    [
                        html.Button(f"Copy the patient to {slot}", id={"type": "copy", "index": i, "place": "compare"}),
                        html.Button(f"Remove {slot}", id={"type": "remove", "index": i}),
                    ],
                    className="buttons",
                ),
            ],
            className="slot",
        )
        for i, slot in enumerate(SLOTS)
    ]
    endpoints = [(str(e), short(name)) for e, name in enumerate(schema.endpoints)]
    return html.Div(
        [
            html.H2("Scenarios side by side"),
            html.P("Describe a patient in the tab Patient and copy them here; change something, and copy them again."),
            html.Div(slots, className="slots"),
            message("compare-message"),
            html.Div(choice("compare-endpoint", "Endpoint", endpoints), className="fields"),
            graph("compare-figure", "Survival curves of the scenarios; medians are in the table below", class_name="figure tall"),
            html.Div(id="compare-table"),
            html.Div(
                [html.Button("Download figure (SVG)", id="compare-svg"), html.Button("Download numbers (CSV)", id="compare-csv")],
                className="buttons",
            ),
            dcc.Download(id="compare-download"),
            dcc.Store(id="scenarios", data=[None] * len(SLOTS)),
            dcc.Store(id="compare-svg-done"),
        ]
    )


def _scenarios(schema: Schema, forms: Any, labels: Any) -> tuple[list[int], list[str], list[Patient]]:
    """Those that are filled: their places, labels and patients."""
    if not isinstance(forms, list) or not isinstance(labels, list) or not len(forms) == len(labels) == len(SLOTS):
        raise ValueError(f"there must be {len(SLOTS)} scenarios with as many labels")
    places = [i for i, form in enumerate(forms) if form is not None]
    named = [checked_label(labels[i], f"Scenario {SLOTS[i]}") for i in places]
    return places, named, [parse_form(schema, forms[i]) for i in places]


def register(app: Dash, model: Any, schema: Schema, cohort: Curves) -> None:
    """Draw, and hand out what was drawn."""
    _copy_and_draw(app)

    @app.callback(
        Output("compare-figure", "figure"),
        Output("compare-table", "children"),
        Output({"type": "known", "index": ALL}, "children"),
        Output("compare-message", "children"),
        Input("scenarios", "data"),
        Input({"type": "label", "index": ALL}, "value"),
        Input("compare-endpoint", CHOSEN),
    )
    @answering(3)
    def compare(forms: Any, labels: Any, endpoint: Any) -> tuple[Any, ...]:
        places, named, patients = _scenarios(schema, forms, labels)
        e = checked_place("the endpoint", endpoint, len(schema.endpoints))
        known = [_EMPTY] * len(SLOTS)
        for place, patient in zip(places, patients, strict=True):
            known[place] = "; ".join(describe(schema, patient)) or "nothing known"
        curves = curves_of(model, schema, patients) if patients else Curves(cohort.times, cohort.survival[:0], cohort.medians[:0])
        figure = comparison_figure(schema, named, places, curves, cohort, e)
        rows = [[label, *(number(median) for median in curves.medians[s])] for s, label in enumerate(named)]
        rows.append(["average", *(number(median) for median in cohort.medians[0])])
        unit = f" ({schema.unit})" if schema.unit else ""
        header = ["scenario", *(short(name) for name in schema.endpoints)]
        return figure, table(f"Median time to the event{unit}", header, rows, numbers=range(1, len(header))), known

    @app.callback(
        Output("compare-download", "data"),
        Output("compare-message", "children", allow_duplicate=True),
        Input("compare-csv", "n_clicks"),
        State("scenarios", "data"),
        State({"type": "label", "index": ALL}, "value"),
        prevent_initial_call=True,
    )
    @answering(1)
    def download(n_clicks: Any, forms: Any, labels: Any) -> tuple[Any]:
        if not n_clicks:
            raise PreventUpdate
        _, named, patients = _scenarios(schema, forms, labels)
        if not patients:
            raise ValueError("there is no scenario yet; copy the patient to one")
        numbers = scenario_table(schema, named, patients, curves_of(model, schema, patients))
        return ({"content": as_csv(numbers), "filename": "scenarios.csv", "type": "text/csv"},)


def _copy_and_draw(app: Dash) -> None:
    """What the browser does alone: copy and remove scenarios, and save the figure."""
    in_browser(
        app,
        "scenarios",
        Output("scenarios", "data"),
        Output("copied", "children"),
        Input({"type": "copy", "index": ALL, "place": ALL}, "n_clicks"),
        Input({"type": "remove", "index": ALL}, "n_clicks"),
        State({"type": "number", "index": ALL}, "value"),
        State({"type": "level", "index": ALL}, CHOSEN),
        State({"type": "state", "index": ALL}, CHOSEN),
        State({"type": "time", "index": ALL}, "value"),
        State("scenarios", "data"),
    )
    in_browser(
        app,
        "downloadFigure",
        Output("compare-svg-done", "data"),
        Input("compare-svg", "n_clicks"),
    )
