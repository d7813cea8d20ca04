"""The application: tabs, their callbacks, and the guard around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dash import ALL, Dash, Input, Output, dcc, html

from harmonium.explorer.answers import curves_of
from harmonium.explorer.controls import attributes, in_browser
from harmonium.explorer.guard import guard
from harmonium.explorer.schema import Schema, short
from harmonium.explorer.tabs import cohort, compare, patient, states, together
from harmonium.explorer.tabs import model as model_tab
from harmonium.explorer.validation import Patient

__all__ = ["make_app"]

_TABS = ("Patient", "Compare", "Together", "Cohort", "Model")
_THIRD = _TABS.index("Together")


def make_app(model: Any, *, unit: str = "", title: str = "harmonium", local: bool = True) -> Dash:
    """A Dash application about a fitted model.

    Parameters
    ----------
    model : Fitted
        What :func:`harmonium.load` returns, or an estimator's ``fitted_``.
    unit : str
        Of time, for labels.
    title : str
        Of the page.
    local : bool
        Answer only requests that call this machine by its loopback name.

    Returns
    -------
    dash.Dash
        Its ``server`` is a Flask application.
    """
    schema = Schema.of(model, unit)
    average = curves_of(model, schema, [Patient.unknown(schema)])
    app = Dash(
        "harmonium.explorer",
        title=short(title),
        update_title="",
        assets_folder=str(Path(__file__).parent / "assets"),
        serve_locally=True,
        add_log_handler=False,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    both = together if schema.graph is None else states  # endpoints that are free of each other, or ordered
    tabs = _TABS if schema.graph is None else (*_TABS[:_THIRD], "States", *_TABS[_THIRD + 1 :])
    panels = [
        patient.layout(schema),
        compare.layout(schema),
        both.layout(schema),
        cohort.layout(model, schema),
        model_tab.layout(model, schema),
    ]
    app.index_string = app.index_string.replace("<html>", '<html lang="en">')
    app.layout = _page(short(title), tabs, panels)
    in_browser(
        app,
        "openTab",
        Output({"type": "panel", "index": ALL}, "hidden"),
        Output({"type": "tab", "index": ALL}, "aria-current"),
        Output("tab", "data"),
        Input({"type": "tab", "index": ALL}, "n_clicks"),
    )
    patient.register(app, model, schema, average)
    compare.register(app, model, schema, average)
    both.register(app, model, schema, _THIRD)
    cohort.register(app, model, schema)
    guard(app, local=local)
    return app


def _page(title: str, names: tuple[str, ...], panels: list[Any]) -> html.Div:
    tabs = [
        html.Button(name, id={"type": "tab", "index": i}, className="page-tab", **attributes(aria_current="true" if i == 0 else "false"))
        for i, name in enumerate(names)
    ]
    bodies = [
        html.Section(panel, id={"type": "panel", "index": i}, hidden=i > 0, className="panel", **attributes(aria_label=names[i]))
        for i, panel in enumerate(panels)
    ]
    return html.Div(
        [
            html.Header([html.H1(title), html.Nav(tabs, className="tabs", **attributes(aria_label="Parts of the page"))]),
            html.Main(bodies),
            html.Footer("A model's answers, not advice. What you enter is answered and not kept."),
            dcc.Store(id="tab", data=0),
        ],
        className="page",
    )
