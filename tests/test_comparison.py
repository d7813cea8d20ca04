"""What docs/comparison.md says of other libraries, tried with those that are installed here."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from hazardous import SurvivalBoost
from lifelines import CoxPHFitter, WeibullAFTFitter
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from tests.documents import ROOT

MATRIX = (ROOT / "docs/comparison.md").read_text()


def row(name):
    cells = next(line for line in MATRIX.splitlines() if line.startswith(f"| {name}"))
    return [cell.strip() for cell in cells.strip("|").split("|")][2:5]  # lifelines, scikit-survival, hazardous


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    X.iloc[::10, 0] = np.nan
    return X, rng.exponential(size=200) + 0.01, rng.integers(0, 3, size=200)


def test_missing_covariates(table):
    X, time, event = table
    assert row("Missing covariates in regression") == ["no", "trees and forests", "yes"]
    with pytest.raises(TypeError, match="NaN"):
        CoxPHFitter().fit(X.assign(time=time, event=event > 0), "time", "event")
    target = Surv.from_arrays(event > 0, time)
    with pytest.raises(ValueError, match="NaN"):
        CoxPHSurvivalAnalysis().fit(X, target)
    assert np.isfinite(RandomSurvivalForest(5, random_state=0).fit(X, target).predict(X)).all()


def test_competing_events_and_missing_values_by_boosting(table):
    X, time, event = table
    assert row("Incidence of competing events")[2] == "yes"
    boosted = SurvivalBoost(n_iter=2, show_progressbar=False, random_state=0).fit(X, pd.DataFrame({"event": event, "duration": time}))
    assert boosted.predict_cumulative_incidence(X[:2]).shape[:2] == (2, 3)


def test_interval_censoring_and_late_entry():
    assert row("Interval censoring in regression") == ["parametric", "no", "no"]
    assert row("Late entry in regression") == ["yes", "no", "no"]
    assert hasattr(WeibullAFTFitter, "fit_interval_censoring")
    assert "entry_col" in inspect.signature(CoxPHFitter.fit).parameters
    for other in (CoxPHSurvivalAnalysis, RandomSurvivalForest, SurvivalBoost):
        assert not {"entry", "entry_col", "lower"} & set(inspect.signature(other.fit).parameters)


def test_weights():
    assert row("Weights of rows in regression") == ["yes", "forests", "no"]
    assert "weights_col" in inspect.signature(CoxPHFitter.fit).parameters
    assert "sample_weight" in inspect.signature(RandomSurvivalForest.fit).parameters
    assert not any("weight" in name for other in (CoxPHSurvivalAnalysis, SurvivalBoost) for name in inspect.signature(other.fit).parameters)


def test_every_yes_of_ours_leads_somewhere():
    ours = [line.strip("|").split("|")[1].strip() for line in MATRIX.splitlines() if re.match(r"\| [A-Z]", line) and line.count("|") == 7]
    assert len(ours) > 10
    for cell in ours[:-1]:
        assert re.fullmatch(r"\[yes\]\([\w/.#-]+\)", cell), cell
        page, _, anchor = cell[6:-1].partition("#")
        text = (ROOT / "docs" / page).read_text()
        headings = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}
        assert not anchor or anchor in headings, cell
