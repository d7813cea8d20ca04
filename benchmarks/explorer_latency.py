"""How soon does the page answer? Server time of its callbacks on NVALT-8 with 8 hidden units, through Flask, from request to response.

The goal is an answer to an edit of the patient in less than 100 ms.
"""

from __future__ import annotations

import json
import time
from importlib import metadata
from typing import Any

import numpy as np

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.explorer.answers import Edits
from harmonium.explorer.app import make_app
from harmonium.explorer.schema import Schema

__all__ = ["run"]

Row = dict[str, Any]

_N_HIDDEN = 8
_N_EDITS = 60


def run() -> None:
    """Measure, print and keep."""
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(_N_HIDDEN, trainer=hm.Exact(n_starts=1), random_state=0, n_jobs=1).fit(X, y).fitted_
    app = make_app(model, unit="months")
    client, schema = app.server.test_client(), Schema.of(model)

    def measure(what: str, bodies: list[Row]) -> Row:
        spent, used = [], time.process_time()
        for body in [bodies[0], *bodies]:
            begin = time.perf_counter()
            response = client.post("/_dash-update-component", json=body)
            spent.append(1e3 * (time.perf_counter() - begin))
            if response.status_code != 200:
                raise RuntimeError(f"{what}: status {response.status_code}, {response.text}")
        kept = np.array(spent[1:])
        cpu = 1e3 * (time.process_time() - used) / len(spent)
        size = len(response.data) / 1024.0
        return {"question": what, "median ms": np.median(kept), "90 % ms": np.quantile(kept, 0.9), "mean CPU ms": cpu, "kB": size}

    rows = [
        measure("patient", [_patient(app, schema, number) for number in range(_N_EDITS)]),
        *(measure(f"together, {n} x {n}", [_together(app, schema, n) for _ in range(_N_EDITS // 6)]) for n in (60, 200)),
    ]
    print_table(f"Server time of the explorer, NVALT-8, {_N_HIDDEN} hidden units", rows)
    path = write_result("explorer_latency", rows, peer_versions={"dash": metadata.version("dash")})
    print(f"\nwritten to {path.relative_to(path.parents[2])}")


def _body(app: Any, first: str, inputs: list[Any], state: list[Any]) -> Row:
    """A request as the page sends it."""
    output = next(key for key in app.callback_map if key.strip(".").startswith(first))
    parts = [part.rsplit(".", 1) for part in output.strip(".").split("...")]
    outputs = [{"id": name, "property": prop} for name, prop in parts]
    return {"output": output, "outputs": outputs, "inputs": inputs, "state": state, "changedPropIds": []}


def _patient(app: Any, schema: Schema, number: int) -> Row:
    """An edit: the age changes, and every other time so does the recurrence."""
    rng = np.random.default_rng(number)
    numbers, levels = [], []
    for i, column in enumerate(schema.columns):
        if column.role == "numeric":
            value = f"{rng.normal(column.mean, column.deviation):.1f}" if rng.random() < 0.7 else ""
            numbers.append({"id": {"type": "number", "index": i}, "property": "value", "value": value})
        else:
            value = str(rng.integers(len(column.levels))) if rng.random() < 0.7 else ""
            levels.append({"id": {"type": "level", "index": i}, "property": "data-value", "value": value})
    known = ["", "event"] if number % 2 else ["free", ""]
    states = [{"id": {"type": "state", "index": e}, "property": "data-value", "value": state} for e, state in enumerate(known)]
    times = [{"id": {"type": "time", "index": e}, "property": "value", "value": f"{rng.uniform(1, 40):.1f}"} for e in range(2)]
    empty = {"covariates": [""] * len(schema.columns), "states": ["", ""], "times": ["", ""]}
    history = {"id": "history", "property": "data", "value": Edits(empty, empty, (99.0, 76.0), (99.0, 76.0)).to_json()}
    body = _body(app, "patient-figure", [numbers, levels, states, times], [history])
    return dict(json.loads(json.dumps(body)))


def _together(app: Any, schema: Schema, n: int) -> Row:
    form = {"covariates": [""] * len(schema.columns), "states": ["", "free"], "times": ["", "6"]}
    asked = {"together-first": "0", "together-second": "1", "together-kind": "density", "together-grid": str(n)}
    inputs: list[Any] = [{"id": name, "property": "data-value", "value": value} for name, value in asked.items()]
    inputs += [{"id": "patient", "property": "data", "value": form}, {"id": "tab", "property": "data", "value": 2}]
    return _body(app, "together-figure", inputs, [])
