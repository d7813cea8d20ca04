"""``harmonium evaluate``: the library's metrics."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

from harmonium.metrics import scorers
from harmonium.table.endpoints import parse_endpoints
from tests.cli.conftest import ENDPOINTS


def log_likelihood(model, X, y):
    """Ln p of every row, if nothing is known of the model's endpoints but those in ``y``."""
    return model.log_likelihood(X, parse_endpoints(y).reordered(model.endpoint_names).to_frame(y.index))


def test_metrics_are_those_of_the_library(run, csv, model_file, model, X, y):
    done = run("evaluate", model_file, csv, *ENDPOINTS, "--json")
    assert done.err == ""
    found = json.loads(done.out)
    assert found["log_likelihood"] == pytest.approx(scorers.log_likelihood_scorer(model, X, y))
    for name in ("os", "rfs"):
        own = found["endpoints"][name]
        assert own["concordance"] == pytest.approx(scorers.concordance_index_scorer(model, X, y, endpoint=name))
        assert own["concordance_ipcw"] == pytest.approx(scorers.concordance_index_ipcw_scorer(model, X, y, endpoint=name))
        assert own["integrated_brier_score"] == pytest.approx(-scorers.neg_integrated_brier_score_scorer(model, X, y, endpoint=name))
        assert own["d_calibration"] == pytest.approx(-scorers.neg_d_calibration_scorer(model, X, y, endpoint=name))
        assert own["d_calibration_p"] == pytest.approx(chi2.sf(own["d_calibration"], 9))
        known = ~np.isinf(y[name, "upper"]) | (y[name, "lower"] > 0.0)
        assert own["rows"] == known.sum()
        assert own["log_likelihood"] == pytest.approx(log_likelihood(model, X, y[[name]])[known].mean())


def test_one_endpoint_at_times_of_choice(run, folder, model_file, model, X, y):
    times = [6.0, 12.0, 24.0]
    done = run("evaluate", model_file, folder / "data.parquet", "-e", "rfs=rfs_mth,rfs_event", "--times", "6,12,24", "--json")
    found = json.loads(done.out)["endpoints"]
    assert list(found) == ["rfs"]
    assert found["rfs"]["integrated_brier_score"] == pytest.approx(
        -scorers.neg_integrated_brier_score_scorer(model, X, y, endpoint="rfs", times=times)
    )


def test_late_entry_is_taken_into_account(run, model_file, model, study, X, y, tmp_path):
    study.assign(entry=study["os_mth"] / 2.0).to_csv(tmp_path / "late.csv", index=False)
    done = run("evaluate", model_file, tmp_path / "late.csv", "-e", "os=os_mth,os_event,entry=entry", "--json")
    assert "late entry" not in done.err
    late = y[["os"]].copy()
    late["os", "entry"] = study["os_mth"] / 2.0
    own = json.loads(done.out)["endpoints"]["os"]
    assert own["d_calibration"] == pytest.approx(-scorers.neg_d_calibration_scorer(model, X, late, endpoint="os"))
    until_entry = y[["os"]].copy()
    until_entry["os", "lower"], until_entry["os", "upper"] = study["os_mth"] / 2.0, np.inf
    given_entry = log_likelihood(model, X, y[["os"]]) - log_likelihood(model, X, until_entry)
    assert own["log_likelihood"] == pytest.approx(given_entry.mean())


def test_the_table_for_people(run, csv, model_file):
    done = run("evaluate", model_file, csv, *ENDPOINTS)
    lines = [line.split() for line in done.out.splitlines() if line.strip()]
    assert [line[0] for line in lines[3:]] == ["os", "rfs", "all"]
    assert lines[3][1:3] == ["200", "84"]


def test_the_table_breaks_no_word_on_a_narrow_terminal(run, csv, model_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = run("evaluate", model_file, csv, *ENDPOINTS).out.split()
    assert {"endpoint", "events", "C-index", "Uno's", "IBS", "curve", "all", "D-cal.", "log-lik.", "together"} <= set(words)


def test_what_cannot_be_computed_is_null_and_explained(run, model_file, study, tmp_path):
    study.assign(os_event=0).to_csv(tmp_path / "none.csv", index=False)
    done = run("evaluate", model_file, tmp_path / "none.csv", "-e", "os=os_mth,os_event", "--json")
    assert done.code == 0
    assert json.loads(done.out)["endpoints"]["os"]["concordance"] is None
    assert all(line.startswith("warning: ") for line in done.err.splitlines())
    assert "there are no events" in done.err


def test_a_likelihood_that_takes_long_is_sampled_on_demand_only(run, csv, model_file, model, X, y, monkeypatch):
    monkeypatch.setattr("harmonium.engine.states.EXACT_LIMIT", 1)
    asked = ["evaluate", model_file, csv, "-e", "os=os_mth,os_event", "--json"]
    found = json.loads(run(*asked).out)
    assert found["log_likelihood"] is found["endpoints"]["os"]["log_likelihood"] is None
    assert found["endpoints"]["os"]["concordance"] > 0.5
    found = json.loads(run(*asked, "--likelihood").out)
    assert found["log_likelihood"] == pytest.approx(log_likelihood(model, X, y[["os"]]).mean())
