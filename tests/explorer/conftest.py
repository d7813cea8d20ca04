"""A small model of NVALT-8, one with odd names, and questions as the page sends them."""

import json
import logging
import threading

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.explorer.app import make_app
from harmonium.explorer.schema import Schema
from harmonium.explorer.server import bind

SCRIPT = "<script>alert(1)</script>"
QUOTES = "naïve \"stage\" {0}.'x' ≥ 2 & %{y}"


@pytest.fixture(scope="session")
def model():
    X, y = hm.datasets.load_nvalt8()
    fitted = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0, n_jobs=1).fit(X, y).fitted_
    scores = {name: {"concordance": value, "integrated_brier_score": 0.2} for name, value in (("os", 0.613), ("rfs", 0.587))}
    return fitted.with_evaluation("5-fold cross-validation", scores)


@pytest.fixture(scope="session")
def ordered_model():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    return hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0, n_jobs=1).fit(X, y).fitted_


@pytest.fixture(scope="session")
def odd_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({SCRIPT: rng.normal(size=60), QUOTES: rng.choice([SCRIPT, "b'\"", "ü.{x}"], size=60)})
    times = pd.DataFrame({"t": rng.exponential(10.0, 60) + 0.1, "e": 1})
    y = hm.endpoints(times, **{"<img src=x onerror=alert(2)>": ("t", "e"), 'second "{é}"': ("t", "e")})
    trainer = hm.Exact(n_starts=1, max_iter=5)
    return hm.SurvivalHarmonium(n_hidden=1, trainer=trainer, random_state=0, n_jobs=1).fit(X, y).fitted_


@pytest.fixture(scope="session")
def schema(model):
    return Schema.of(model, "months")


@pytest.fixture(scope="session")
def app(model):
    return make_app(model, unit="months", title="nvalt8")


class Page:
    """Asks as the page does."""

    def __init__(self, app, schema):
        self.app, self.schema = app, schema

    def client(self):
        return self.app.server.test_client()

    def post(self, body, client=None):
        return (client or self.client()).post("/_dash-update-component", json=body)

    def body(self, first_output, inputs, state=()):
        output = next(key for key in self.app.callback_map if key.strip(".").startswith(first_output))
        outputs = []
        for part in output.strip(".").split("..."):
            name, prop = part.rsplit(".", 1)
            name = json.loads(name) if name.startswith("{") else name
            prop = prop.split("@")[0]
            if isinstance(name, dict):
                outputs.append([{"id": {**name, "index": i}, "property": prop} for i in range(3)])
            else:
                outputs.append({"id": name, "property": prop})
        if len(outputs) == 1:
            outputs = outputs[0]
        return {"output": output, "outputs": outputs, "inputs": list(inputs), "state": list(state), "changedPropIds": []}

    def patient(self, covariates=None, states=None, times=None, history=None):
        form = self.form(covariates, states, times)
        numeric = [column.role == "numeric" for column in self.schema.columns]

        def fields(kind, prop, values):
            return [{"id": {"type": kind, "index": i}, "property": prop, "value": value} for i, value in values]

        numbered = list(enumerate(form["covariates"]))
        inputs = [
            fields("number", "value", [item for item in numbered if numeric[item[0]]]),
            fields("level", "data-value", [item for item in numbered if not numeric[item[0]]]),
            fields("state", "data-value", enumerate(form["states"])),
            fields("time", "value", enumerate(form["times"])),
        ]
        return self.body("patient-figure", inputs, [{"id": "history", "property": "data", "value": history}])

    def form(self, covariates=None, states=None, times=None):
        place = {column.name: i for i, column in enumerate(self.schema.columns)}
        form = {"covariates": [""] * len(place), "states": [""] * len(self.schema.endpoints), "times": [""] * len(self.schema.endpoints)}
        for name, value in (covariates or {}).items():
            column = self.schema.columns[place[name]]
            form["covariates"][place[name]] = value if column.role == "numeric" else str(column.levels.index(value))
        for name, value in (states or {}).items():
            form["states"][self.schema.endpoints.index(name)] = value
        for name, value in (times or {}).items():
            form["times"][self.schema.endpoints.index(name)] = value
        return form

    def together(self, grid="60", first="0", second="1", kind="density", form=None, tab=2):
        names = ["together-first", "together-second", "together-kind", "together-grid"]
        inputs = [{"id": name, "property": "data-value", "value": v} for name, v in zip(names, [first, second, kind, grid], strict=True)]
        inputs.append({"id": "patient", "property": "data", "value": form or self.form()})
        return self.body("together-figure", [*inputs, {"id": "tab", "property": "data", "value": tab}])

    def cohort(self, upload, times="", given=""):
        values = {"cohort-times": times, "cohort-given": given}
        lines = [{"id": name, "property": "value", "value": value} for name, value in values.items()]
        inputs = [{"id": "upload", "property": "data", "value": upload}, *lines]
        return self.body("cohort-table", inputs)

    def compare(self, forms, labels=("", "", ""), endpoint="0"):
        inputs = [
            {"id": "scenarios", "property": "data", "value": forms},
            [{"id": {"type": "label", "index": i}, "property": "value", "value": label} for i, label in enumerate(labels)],
            {"id": "compare-endpoint", "property": "data-value", "value": endpoint},
        ]
        return self.body("compare-figure", inputs)


@pytest.fixture(scope="session")
def page(app, schema):
    return Page(app, schema)


@pytest.fixture(scope="session")
def serve():
    """Serve applications on ports of their own until the session ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    servers = []

    def start(app):
        server = bind(app, "127.0.0.1", 0)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.port}/"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
