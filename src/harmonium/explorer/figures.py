"""Figures for Plotly, as plain dictionaries. Names are the user's, so they are escaped: Plotly takes text for a kind of HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.explorer.answers import Bands, Curves, Joint, Reasons, States
from harmonium.explorer.schema import Schema, short
from harmonium.typing import Array

__all__ = [
    "COLOURS",
    "CONFIG",
    "DASHES",
    "NOTHING",
    "as_text",
    "comparison_figure",
    "fields_figure",
    "joint_figure",
    "patient_figure",
    "reasons_figure",
    "states_figure",
]

Figure = dict[str, Any]

# Okabe and Ito's, without yellow, which is lost on white; with as many kinds of lines that nobody needs the colours.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_PATTERNS = ("", "/", ".", "\\", "x", "-", "+")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SHORT = 3  # letters of the name of a hidden unit that stand beside those of its neighbours
GREY, INK, GRID = "#8c8c8c", "#222222", "#e6e6e6"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

NOTHING: Figure = {"data": [], "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}}}
"""Where there is nothing to draw, without the axes that Plotly would invent."""

CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "showSendToCloud": False,
    "showEditInChartStudio": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "sendDataToCloud"],
    "toImageButtonOptions": {"format": "svg"},
}


def as_text(name: Any, longest: int = 40) -> str:
    """A name that Plotly shows as it is.

    Examples
    --------
    >>> as_text("<b>stage</b>")
    '&lt;b&gt;stage&lt;/b&gt;'
    """
    return html.escape(short(name, longest), quote=False)


def patient_figure(schema: Schema, patient: Curves, cohort: Curves, bands: Bands | None = None) -> Figure:
    """All endpoints of one patient, with the cohort behind them in grey, and intervals if there are any."""
    data = [] if bands is None else [_band(schema, bands, e) for e in range(len(schema.endpoints))]
    data += [
        _line(cohort.times, _drawn(schema, cohort.survival[0, e]), f"{as_text(name)}, average", GREY, e, width=1.5)
        for e, name in enumerate(schema.endpoints)
    ]
    data += [
        _line(patient.times, _drawn(schema, patient.survival[0, e]), as_text(name), _colour(e), e)
        for e, name in enumerate(schema.endpoints)
    ]
    return {"data": data, "layout": _survival_layout(schema, schema.probability("event"))}


def comparison_figure(
    schema: Schema, labels: Sequence[str], places: Sequence[int], scenarios: Curves, cohort: Curves, endpoint: int
) -> Figure:
    """One endpoint of some scenarios; ``places`` say which of the three each is, so that it keeps its colour."""
    data = [_line(cohort.times, _drawn(schema, cohort.survival[0, endpoint]), "average", GREY, 0, width=1.5)]
    data += [
        _line(scenarios.times, _drawn(schema, scenarios.survival[s, endpoint]), as_text(label), _colour(place), place)
        for s, (label, place) in enumerate(zip(labels, places, strict=True))
    ]
    name = as_text(schema.endpoints[endpoint])
    return {"data": data, "layout": _survival_layout(schema, schema.probability(f"{name} event"))}


def states_figure(schema: Schema, states: States) -> Figure:
    """Probabilities of all states, stacked."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": states.times.tolist(),
            "y": own.tolist(),
            "name": as_text(name),
            "stackgroup": "states",
            "line": {"color": "#ffffff", "width": 0.5},
            "fillcolor": _colour(place),
            "fillpattern": {
                "shape": _PATTERNS[place % len(_PATTERNS)],
                "bgcolor": _colour(place),
                "fgcolor": "#ffffff",
                "size": 7,
                "solidity": 0.12,
            },
            "hovertemplate": "%{y:.2f}",
        }
        for place, (name, own) in enumerate(states.probabilities.items())
    ]
    layout = _survival_layout(schema, "probability")
    layout["yaxis"] = {**layout["yaxis"], "range": [0, 1]}
    layout["legend"] = {**layout["legend"], "traceorder": "normal"}
    return {"data": data, "layout": layout}


def reasons_figure(reasons: Reasons) -> Figure:
    """A bar for each known value, in percentage points; blue is better, orange is worse."""
    shown, better = reasons.contributions[::-1], 1.0 if reasons.measure == "survival" else -1.0
    values = [100.0 * share for _, share in shown]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": [as_text(words) for words, _ in shown],
        "text": [f"{value:+.1f}" for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [COLOURS[0] if better * value >= 0.0 else COLOURS[1] for value in values]},
        "hoverinfo": "skip",
    }
    reach = 1.6 * max(1.0, *(abs(value) for value in values))
    layout = {
        **_LAYOUT,
        "height": 110 + 28 * len(values),
        "xaxis": {**_AXIS, "title": {"text": "percentage points"}, "range": [-reach, reach], "zeroline": True, "fixedrange": True},
        "yaxis": {"automargin": True, "fixedrange": True},
    }
    return {"data": [bars], "layout": layout}


def _band(schema: Schema, bands: Bands, e: int) -> Figure:
    """The area between two curves."""
    lower, upper = (_drawn(schema, bound[e]) for bound in (bands.lower, bands.upper))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([bands.times, bands.times[::-1]]).tolist(),
        "y": np.concatenate([lower, upper[::-1]]).tolist(),
        "fill": "toself",
        "fillcolor": _colour(e),
        "opacity": 0.18,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _drawn(schema: Schema, survival: Array) -> Array:
    return survival if schema.graph is None else np.asarray(1.0 - survival)


def joint_figure(schema: Schema, joint: Joint, pair: tuple[int, int], kind: str) -> Figure:
    """A heat map with the margins along its sides."""
    names = [as_text(schema.endpoints[e], 30) for e in pair]
    first, second = joint.times
    top = float(np.quantile(joint.grid, 0.995)) if kind == "density" else 1.0
    scale = top if top > 0.0 else 1.0  # a density in one over squared months means nothing to anybody; its shape does
    heat = {
        "type": "heatmap",
        "x": first.tolist(),
        "y": second.tolist(),
        "z": (joint.grid.T / scale).tolist(),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": [[0.0, "#ffffff"], [0.15, "#cfe6f5"], [0.5, COLOURS[5]], [0.8, COLOURS[0]], [1.0, "#00263d"]],
        "colorbar": {
            "title": {"text": "density, relative to its highest" if kind == "density" else kind, "side": "right"},
            "thickness": 12,
            "x": 1.02,
            "len": 0.76,
            "y": 0.37,
        },
        "hovertemplate": "%{x:.3g}, %{y:.3g}: %{z:.2f}<extra></extra>",
    }
    margins = [
        {**_line(first, joint.margins[0], names[0], _colour(pair[0]), pair[0]), "yaxis": "y2"},
        {**_line(joint.margins[1], second, names[1], _colour(pair[1]), pair[1]), "xaxis": "x2"},
    ]
    for line in margins:
        line |= {"showlegend": False, "hoverinfo": "skip", "line": {"color": line["line"]["color"], "width": 2}}
    if kind == "density":
        margins[0]["fill"], margins[1]["fill"] = "tozeroy", "tozerox"
    small = {"showgrid": False, "zeroline": False, "showticklabels": False, "rangemode": "tozero", "fixedrange": True}
    in_unit = f" ({as_text(schema.unit)})" if schema.unit else ""
    layout = {
        **_LAYOUT,
        "hovermode": "closest",
        "margin": {"l": 60, "r": 40, "t": 10, "b": 50},
        "xaxis": {**_AXIS, "title": {"text": f"time of {names[0]}{in_unit}"}, "range": [0, float(first[-1])], "domain": [0.0, 0.78]},
        "yaxis": {**_AXIS, "title": {"text": f"time of {names[1]}{in_unit}"}, "range": [0, float(second[-1])], "domain": [0.0, 0.76]},
        "xaxis2": {**small, "domain": [0.8, 1.0]},
        "yaxis2": {**small, "domain": [0.79, 1.0]},
    }
    return {"data": [heat, *margins], "layout": layout}


def fields_figure(fields: pd.DataFrame) -> Figure:
    """Receptive fields: what each hidden unit does to each column; empty where the unit's harmonium does not have the column."""
    labels = [as_text(f"{name} = {level}" if level else name, 34) for name, level, _ in fields.index]
    values = fields.to_numpy()
    most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    cells = [[float(value) if np.isfinite(value) else None for value in row] for row in values]
    heat = {
        "type": "heatmap",
        "x": list(range(values.shape[1])),
        "y": list(range(len(labels))),
        "z": cells,
        "text": [["" if value is None else f"{value:.2f}" for value in row] for row in cells],
        "zmid": 0.0,
        "zmin": -most,
        "zmax": most,
        "colorscale": [[0.0, COLOURS[0]], [0.5, "#ffffff"], [1.0, COLOURS[4]]],
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hoverongaps": False,
        "hovertemplate": "%{y}, %{x}: %{z:.3f}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
    }
    if values.shape[1] <= 10:
        heat["texttemplate"] = "%{text}"
    units = [as_text(_unit_words(name)) for name in fields.columns]
    longest = max(map(len, units), default=0)
    layout = {
        **_LAYOUT,
        "hovermode": "closest",
        "height": 90 + 22 * len(labels) + (6 * longest if longest > _SHORT else 0),
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "modebar": {**_TOOLS, "orientation": "h"},
        "xaxis": {
            "side": "top",
            "tickvals": heat["x"],
            "ticktext": units,
            "tickangle": -60 if longest > _SHORT else 0,
            "automargin": True,
            "fixedrange": True,
        },
        "yaxis": {"autorange": "reversed", "tickvals": heat["y"], "ticktext": labels, "automargin": True, "fixedrange": True},
    }
    return {"data": [heat], "layout": layout}


def _unit_words(name: str) -> str:
    """A hidden unit in a few letters.

    Examples
    --------
    >>> _unit_words("hidden0"), _unit_words("death hidden1")
    ('h0', 'death h1')
    """
    endpoint, _, number = name.rpartition("hidden")
    return f"{endpoint}h{number}"


_AXIS = {"gridcolor": GRID, "zeroline": False, "linecolor": INK, "ticks": "outside", "automargin": True}
_TOOLS = {"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": INK}
_LAYOUT: Figure = {
    "font": {"family": _FONT, "size": 14, "color": INK},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "#ffffff",
    "margin": {"l": 60, "r": 40, "t": 10, "b": 50},
    "modebar": {**_TOOLS, "orientation": "v"},  # in the right margin, where it covers neither legend nor curves
    "hovermode": "x unified",
    "uirevision": "stays",
    "legend": {"orientation": "h", "x": 0.0, "y": 1.02, "yanchor": "bottom"},
}


def _survival_layout(schema: Schema, title: str) -> Figure:
    return {
        **_LAYOUT,
        "xaxis": {**_AXIS, "title": {"text": as_text(schema.time_label)}, "range": [0, schema.end], "hoverformat": ".3g"},
        "yaxis": {**_AXIS, "title": {"text": title}, "range": [0, 1.02], "hoverformat": ".2f"},
    }


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _line(x: Array, y: Array, name: str, colour: str, place: int, width: float = 3.0) -> Figure:
    line = {"color": colour, "width": width, "dash": DASHES[place % len(DASHES)]}
    return {"type": "scatter", "mode": "lines", "x": x.tolist(), "y": y.tolist(), "name": name, "line": line}
