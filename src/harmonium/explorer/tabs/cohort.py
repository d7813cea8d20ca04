"""Many patients: a dropped file, answered row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from harmonium.explorer.cohort import MOST_BYTES, cohort_answers, follow_up_in, forms_of, known_of, most_rows, notes_on_times, read_cohort
from harmonium.explorer.controls import entry, in_browser, message
from harmonium.explorer.guard import answering
from harmonium.explorer.schema import Schema, short
from harmonium.explorer.validation import checked_times

__all__ = ["layout", "register"]


def layout(model: Any, schema: Schema) -> html.Div:
    """Where to drop a file; the table is drawn by ``assets/explorer.js``, which sorts and filters it too."""
    unit = f" ({schema.unit})" if schema.unit else ""
    first, *others = schema.endpoints
    example = "; ".join(f"{short(name)}=months,seen" for name in (first, *others[:1]))
    what = "Survival" if schema.graph is None else "Incidence and states"
    return html.Div(
        [
            html.H2("Many patients"),
            html.P(
                f"A CSV file with the columns of training: at most {MOST_BYTES // 2**20} MB and {most_rows(model)} rows. Values may be "
                "missing. What is already known of the endpoints is used if you name its columns, as on the command line. A row that is "
                "clicked opens in the tab Patient. "
                "It is read, answered and forgotten: nothing of it is kept outside of this page."
            ),
            dcc.Upload(html.Button("Drop a CSV file here, or choose one", id="choose"), id="drop", className="drop", multiple=False),
            html.Div(
                [
                    entry("cohort-times", f"{what} at these times{unit}", "such as 12, 24", debounce=True),
                    entry(
                        "cohort-given",
                        "Follow-up in the file: columns of time and event",
                        example,
                        number=False,
                        debounce=True,
                        longest=300,
                    ),
                ],
                className="fields",
            ),
            message("cohort-size"),
            message("cohort-message"),
            html.Ul([], id="cohort-notes", className="hints"),
            html.Div(id="cohort-view"),
            dcc.Store(id="upload"),
            dcc.Store(id="cohort-table"),
            dcc.Store(id="cohort-shown"),
        ]
    )


def register(app: Dash, model: Any, schema: Schema) -> None:
    """Read and answer; the file comes from the browser with every question."""
    limit = most_rows(model)
    in_browser(
        app,
        "takeFile",
        Output("upload", "data"),
        Output("cohort-size", "children"),
        Input("drop", "contents"),
        State("drop", "filename"),
    )
    in_browser(
        app,
        "showTable",
        Output("cohort-shown", "data"),
        Input("cohort-table", "data"),
    )

    @app.callback(
        Output("cohort-table", "data"),
        Output("cohort-notes", "children"),
        Output("cohort-message", "children"),
        Input("upload", "data"),
        Input("cohort-times", "value"),
        Input("cohort-given", "value"),
        prevent_initial_call=True,
    )
    @answering(2)
    def answer(upload: Any, times: Any, columns: Any) -> tuple[Any, ...]:
        at = checked_times(times)
        if upload is None:
            raise PreventUpdate
        if not isinstance(upload, dict):
            raise ValueError("a file must come with its name and contents")
        frame, notes = read_cohort(schema, upload.get("name"), upload.get("contents"), limit)
        name = short(upload.get("name") or "the file")
        try:
            given = follow_up_in(model, upload.get("name"), upload.get("contents"), columns)
            answers = cohort_answers(model, schema, frame, at, given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        notes += notes_on_times(model, given, at)
        lines = [html.Li(f"{name}: {len(frame)} row{'s' * (len(frame) != 1)}"), *(html.Li(note) for note in notes)]
        return {**_as_table(answers), "forms": forms_of(schema, frame), **known_of(schema, given)}, lines


def _as_table(answers: pd.DataFrame) -> dict[str, Any]:
    """For the browser; what is not finite is empty."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in answers.dtypes]
    columns = [
        [_plain(value) for value in answers[name].tolist()] if number else [None if pd.isna(v) else str(v) for v in answers[name]]
        for name, number in zip(answers.columns, numeric, strict=True)
    ]
    return {"names": [str(name) for name in answers.columns], "numeric": numeric, "columns": columns}


def _plain(value: Any) -> Any:
    return value if np.isfinite(value) else None
