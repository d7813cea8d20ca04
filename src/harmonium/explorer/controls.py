"""Controls with labels, and tables. Selects are the browser's own: keyboards, phones and screen readers know them.

Dash has no component for a plain select, so ``assets/explorer.js`` carries what is chosen into the attribute ``data-value``, which
callbacks listen to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dash import ClientsideFunction, dcc, html

from harmonium.explorer.figures import CONFIG, NOTHING

__all__ = ["CHOSEN", "attributes", "choice", "dom_id", "entry", "graph", "in_browser", "message", "table"]

Id = str | dict[str, Any]
CHOSEN = "data-value"
"""The attribute of a select that callbacks listen to."""


def dom_id(name: Id) -> str:
    """The identifier of a component in the page."""
    return name if isinstance(name, str) else json.dumps(name, sort_keys=True, separators=(",", ":"))


def attributes(**named: Any) -> dict[str, Any]:
    """Attributes whose names have hyphens.

    Examples
    --------
    >>> attributes(aria_label="Figure")
    {'aria-label': 'Figure'}
    """
    return {name.replace("_", "-"): value for name, value in named.items()}


def in_browser(app: Any, function: str, *parts: Any, prevent_initial_call: bool = True) -> None:
    """Register a callback that runs in the browser; ``function`` is in ``assets/explorer.js``."""
    app.clientside_callback(ClientsideFunction("explorer", function), *parts, prevent_initial_call=prevent_initial_call)


def choice(name: Id, label: str, options: Sequence[tuple[str, str]]) -> html.Div:
    """A labelled select of (value, text); the first is chosen."""
    items = [html.Option(text, value=value) for value, text in options]
    select = html.Select(items, id=name, **attributes(data_value=options[0][0]))
    return html.Div([html.Label(label, htmlFor=dom_id(name)), select], className="field")


def entry(
    name: Id,
    label: str,
    placeholder: str = "",
    *,
    number: bool = True,
    debounce: bool = False,
    disabled: bool = False,
    longest: int = 60,
) -> html.Div:
    """A labelled line of text, by default for a number."""
    keyboard: dict[str, Any] = {"inputMode": "decimal"} if number else {}
    line = dcc.Input(
        id=name,
        type="text",
        value="",
        placeholder=placeholder,
        debounce=debounce,
        disabled=disabled,
        maxLength=longest,
        autoComplete="off",
        **keyboard,
    )
    return html.Div([html.Label(label, htmlFor=dom_id(name)), line], className="field")


def graph(name: str, label: str, figure: Any = None, class_name: str = "figure", **style: str) -> html.Div:
    """A figure, which a screen reader calls by its label."""
    config: Any = CONFIG
    inner = dcc.Graph(id=name, figure=figure or NOTHING, config=config, responsive=True)
    return html.Div(inner, className=class_name, style=style, role="figure", **attributes(aria_label=label))


def message(name: str) -> html.P:
    """Where an error is said, aloud too."""
    return html.P("", id=name, className="message", role="alert")


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int] = ()) -> html.Div:
    """A plain table; ``numbers`` are columns to be aligned to the right. It scrolls by itself on a narrow screen."""

    def kind(column: int) -> str:
        return "number" if column in numbers else ""

    head = html.Thead(html.Tr([html.Th(name, scope="col", className=kind(c)) for c, name in enumerate(header)]))
    body = html.Tbody([html.Tr([html.Td(cell, className=kind(c)) for c, cell in enumerate(row)]) for row in rows])
    return html.Div(
        html.Table([html.Caption(caption), head, body]), className="scroll", tabIndex=0, role="region", **attributes(aria_label=caption)
    )
