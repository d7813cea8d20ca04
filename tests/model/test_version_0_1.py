"""Answers are those of version 0.1, for the same parameters and scales. tests/data/version_0_1/make.py made the files with commit e49ca44.

Numeric columns were standardised then, and came back without their decimals; follow-up in cohorts depended on nothing.
"""

import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.engine.parameters import Parameters
from harmonium.model.fitted import Fitted
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.table.endpoint_summary import summarise_endpoints
from harmonium.table.endpoints import parse_endpoints
from harmonium.units.registry import unit_code
from tests.model.version_0_1_scale import OldScale

pytestmark = pytest.mark.filterwarnings("ignore")
FOLDER = Path(__file__).parents[1] / "data" / "version_0_1"
STUDIES = sorted(path.stem for path in FOLDER.glob("*.npz"))


class Study:
    """A study with the parameters that version 0.1 had found, and what it answered."""

    def __init__(self, name):
        self.arrays = np.load(FOLDER / f"{name}.npz")
        self.tables = json.loads((FOLDER / f"{name}.json").read_text())
        self.X, self.y = hm.datasets.load_study(name)
        settings = self.tables["settings"]
        time_scale = settings.get("time_scale", "kaplan-meier")
        known = parse_endpoints(self.y)
        encoding, _ = Encoding.learn(self.X, known, time_scale=time_scale, numeric_scale="linear")
        if time_scale == "kaplan-meier":
            pairs = zip(encoding.endpoints, summarise_endpoints(known), strict=True)
            encoding = replace(encoding, endpoints=tuple(replace(own, scale=OldScale(times), calibration=None) for own, times in pairs))
        encoding = replace(encoding, observation=None)
        summary = TrainingSummary({"objective": settings.get("objective", "conditional"), "random_state": 0})
        self.model = Fitted(encoding, self.parameters(encoding, old_places(encoding)), summary)
        old = InTheOrderOfTheTable(encoding.columns, encoding.endpoints)
        self.model_in_old_order = Fitted(old, self.parameters(old), summary)

    def parameters(self, encoding, places=None):
        """Those of the file, with the columns of each block from given places."""
        places = places or [slice(None)] * len(encoding.layout.blocks)
        n_hidden = self.tables["settings"]["n_hidden"]
        blocks = tuple(
            {name: self.arrays[f"parameter.{i}.{name}"][own] for name in block.unit.parameter_shapes(n_hidden)}
            for i, (block, own) in enumerate(zip(encoding.layout.blocks, places, strict=True))
        )
        return Parameters(encoding.layout, self.arrays["parameter.b"], blocks)

    @property
    def rows(self):
        return self.X.iloc[self.arrays["rows"]], self.y.iloc[self.arrays["rows"]]


class InTheOrderOfTheTable(Encoding):
    """The layout of version 0.1, which kept the table's order within a block; random draws go through columns in the layout's order."""

    @cached_property
    def modelled(self):
        return tuple(sorted(super().modelled, key=lambda column: (unit_code(column.unit), len(column.levels), self.columns.index(column))))


def old_places(encoding):
    """Where the columns of each block were in version 0.1."""
    table, now = ([column.name for column in columns] for columns in (encoding.columns, encoding.modelled))
    places = []
    for block in encoding.layout.blocks:
        names = now[block.columns]
        then = sorted(names, key=table.index)
        places.append(slice(None) if block.outcome else [then.index(name) for name in names])
    return places


@pytest.fixture(scope="module", params=STUDIES)
def study(request):
    return Study(request.param)


def equal(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("word", ["", ".given"])
def test_predictions(study, word):
    X, y = study.rows
    for e, name in enumerate(study.model.endpoint_names):
        times = study.arrays[f"{e}.times"]
        prognosis = study.model.prognosis(X, given=hm.landmark(y, float(times[2])) if word else None)
        equal(prognosis.survival(name, times), study.arrays[f"{e}.survival{word}"])
        equal(prognosis.density(name, times), study.arrays[f"{e}.density{word}"])
        equal(prognosis.cumulative_hazard(name, times), study.arrays[f"{e}.cumulative_hazard{word}"])
        equal(prognosis.quantile(name, 0.25), study.arrays[f"{e}.quantile{word}"])
        equal(prognosis.median(name), study.arrays[f"{e}.median{word}"])
        equal(prognosis.risk(name), study.arrays[f"{e}.risk{word}"])
        wanted = study.arrays[f"{e}.hazard{word}"]
        known = np.isfinite(wanted)  # version 0.1 lost hazards where survival is too small, and where an event is known
        equal(prognosis.hazard(name, times)[known], wanted[known])


def test_predictions_of_several_endpoints(study):
    names = study.model.endpoint_names
    if len(names) < 2:
        pytest.skip("one endpoint")
    prognosis = study.model.prognosis(study.rows[0])
    grid = {name: study.arrays[f"{e}.times"][[1, 3]] for e, name in enumerate(names)}
    equal(prognosis.joint_survival(grid), study.arrays["joint_survival"])
    equal(prognosis.joint_density(grid), study.arrays["joint_density"])
    equal(study.model.dependence(study.X), study.arrays["dependence"])


def test_likelihoods(study):
    equal(study.model.log_likelihood(study.X, study.y), study.arrays["log_likelihood"])
    equal(study.model.log_likelihood(study.X, study.y, kind="joint"), study.arrays["joint_log_likelihood"])


def test_explanations(study):
    equal(study.model.transform(study.X, given=study.y), study.arrays["codes"])
    fields, old = (model.receptive_fields(study.X, given=study.y) for model in (study.model, study.model_in_old_order))
    equal(old, study.arrays["fields"])
    equal(fields.loc[old.index], study.arrays["fields"])


def test_draws(study):
    X, y = study.rows
    known = hm.landmark(y, float(study.arrays["0.times"][1]))
    equal(study.model.draw_times(X, n_draws=3, given=known, random_state=1), study.arrays["draws"])


def test_imputations_and_cohorts(study):
    (completed, times), *_ = study.model_in_old_order.impute(study.X.iloc[:60], study.y.iloc[:60], random_state=2)
    cohort, drawn = study.model_in_old_order.sample(20, censored=True, random_state=3)
    for found, wanted in ((completed, "completed"), (times, "times"), (cohort, "cohort"), (drawn, "drawn")):
        for name, values in study.tables[wanted].items():
            column = found[tuple(name.split("|")) if wanted in ("times", "drawn") else name]
            if any(isinstance(value, str) and value != "inf" for value in values):
                assert [None if pd.isna(value) else str(value) for value in column] == [None if v is None else str(v) for v in values]
            else:
                equal(column.astype(float), on_grid(study, name, np.array(values, dtype=float)))


def on_grid(study, name, values):
    """Numbers as they are given back now: with the decimals of training."""
    scale = next((column.scale for column in study.model.encoding.columns if column.name == name), None)
    return values if scale is None or scale.grid is None else scale.grid.nearest(values)
