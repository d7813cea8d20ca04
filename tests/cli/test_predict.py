"""``harmonium predict``: the library's numbers, for tables of any size."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import UnknownEndpointWarning
from harmonium.model.prognosis import Prognosis
from harmonium.table.files import formats
from tests.cli.conftest import ENDPOINTS


def test_predictions_are_those_of_the_library(run, csv, model_file, model, X, study, tmp_path):
    output = tmp_path / "out.csv"
    done = run("predict", model_file, csv, "--times", "12, 24.5", "--median", "--id", "patient", "-o", output)
    assert done.code == 0
    found = pd.read_csv(output, dtype={"patient": str}, float_precision="round_trip")
    assert list(found["patient"]) == list(study["patient"])
    for name in ("os", "rfs"):
        np.testing.assert_array_equal(found[f"{name}_risk"], model.predict(X, endpoint=name))
        alive = model.prognosis(X).survival(name, [12.0, 24.5])
        np.testing.assert_array_equal(found[[f"{name}_survival_12", f"{name}_survival_24.5"]], alive)
        np.testing.assert_array_equal(found[f"{name}_median"], model.predict_median(X, endpoint=name))
    assert f"wrote 200 rows and 9 columns to {output}" in done.err


def test_intervals_stand_beside_every_number(run, csv, model_file, model, X):
    done = run("predict", model_file, csv, "--times", 12, "--median", "-e", "os", "--interval", 0.9)
    found = pd.read_csv(io.StringIO(done.out), float_precision="round_trip")
    names = ["os_risk", "os_survival_12", "os_median"]
    assert list(found.columns) == [f"{name}{end}" for name in names for end in ("", "_lower", "_upper")]
    alive = model.prognosis(X).survival("os", [12.0], interval=0.9)
    np.testing.assert_allclose(found["os_survival_12_upper"], alive.upper[:, 0], rtol=1e-9)
    done = run("predict", model_file, csv, "--interval", 95)
    assert done.code != 0
    assert "interval must be a probability" in done.err


def test_parts_make_no_difference(run, csv, folder, model_file, tmp_path, monkeypatch):
    arguments = ["--times", 12, "--given", "rfs=rfs_mth,rfs_event", "--id", "patient"]
    run("predict", model_file, csv, *arguments, "-o", tmp_path / "whole.csv")
    monkeypatch.setattr(formats, "PART_ROWS", 33)
    run("predict", model_file, csv, *arguments, "-o", tmp_path / "parts.csv")
    run("predict", model_file, folder / "data.parquet", *arguments, "-o", tmp_path / "parts.parquet")
    read = {"dtype": {"patient": str}, "float_precision": "round_trip"}
    whole, parts = (pd.read_csv(tmp_path / f"{name}.csv", **read) for name in ("whole", "parts"))
    assert len(whole) == 200
    pd.testing.assert_frame_equal(parts, whole, rtol=1e-12)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "parts.parquet"), whole, rtol=1e-12)


def test_what_is_given_and_landmarks(run, csv, model_file, model, X, y):
    given = ["--given", "rfs=rfs_mth,rfs_event"]
    found = pd.read_csv(io.StringIO(run("predict", model_file, csv, "-e", "os", "--times", 36, *given).out), float_precision="round_trip")
    with pytest.warns(UnknownEndpointWarning, match="nothing about 'os'"):
        alive = model.prognosis(X, given=y[["rfs"]]).survival("os", [36.0])
    np.testing.assert_array_equal(found["os_survival_36"], alive[:, 0])
    both = [*given, "--given", "os=os_mth,os_event", "--landmark", 12]
    found = pd.read_csv(io.StringIO(run("predict", model_file, csv, "-e", "os", "--times", 36, *both).out), float_precision="round_trip")
    alive = model.prognosis(X, given=hm.landmark(y, 12.0)).survival("os", [36.0])
    np.testing.assert_array_equal(found["os_survival_36"], alive[:, 0])
    assert list(found.columns) == ["os_risk", "os_survival_36"]


def test_without_times_there_are_three_and_the_median(run, csv, model_file, model, X):
    done = run("predict", model_file, csv, "-e", "os")
    assert done.err == "without --times: survival at 25, 50, 75\n"
    found = pd.read_csv(io.StringIO(done.out), float_precision="round_trip")
    assert list(found.columns) == ["os_risk", "os_survival_25", "os_survival_50", "os_survival_75", "os_median"]
    np.testing.assert_allclose(found["os_survival_50"], model.prognosis(X).survival("os", [50.0])[:, 0], rtol=1e-12)


def test_standard_output_holds_the_table_and_nothing_else(run, csv, model_file):
    done = run("predict", model_file, csv, "--times", 12)
    assert len(pd.read_csv(io.StringIO(done.out))) == 200
    assert done.err == ""


def test_json_and_quiet(run, csv, model_file, tmp_path):
    done = run("predict", model_file, csv, "-e", "os", "--median", "-o", tmp_path / "out.csv", "--json")
    assert json.loads(done.out) == {"output": str(tmp_path / "out.csv"), "rows": 200, "columns": ["os_risk", "os_median"]}
    assert run("predict", model_file, csv, "-o", tmp_path / "out.csv", "--force", "--quiet") == (0, "", "")


@pytest.fixture
def coded(run, tmp_path):
    """A model of a text column whose levels look like numbers, but for one, and of two values that are numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.exponential(size=90), "e": 1, "code": np.tile(["1", "2", "x"], 30), "sex": np.tile([0, 1], 45)})
    frame["t"] *= np.where(frame["code"] == "1", 5.0, 1.0) * np.where(frame["sex"] == 1, 5.0, 1.0)
    frame.to_csv(tmp_path / "coded.csv", index=False)
    assert run("fit", tmp_path / "coded.csv", "-e", "os=t,e", "--hidden", 1, "--starts", 1, "-o", tmp_path / "coded.harmonium").code == 0
    return frame, tmp_path / "coded.harmonium"


def risks(run, model_file, frame, path):
    frame.to_csv(path, index=False)
    done = run("predict", model_file, path, "--median")
    return pd.read_csv(io.StringIO(done.out))["os_risk"].to_numpy(), done.err


def test_levels_are_what_they_were_in_training_whatever_pandas_makes_of_them(run, coded, tmp_path, monkeypatch):
    frame, model_file = coded
    expected = hm.load(model_file).predict(frame)
    assert np.unique(expected).size == 6
    numbers_only = (frame["code"] != "x").to_numpy()
    found, warned = risks(run, model_file, frame[numbers_only], tmp_path / "numbers.csv")
    np.testing.assert_allclose(found, expected[numbers_only], rtol=1e-12)
    assert warned == ""
    as_decimals = frame[numbers_only].assign(sex=frame["sex"].map({0: "0.0", 1: "1"}))
    np.testing.assert_allclose(risks(run, model_file, as_decimals, tmp_path / "decimals.csv")[0], expected[numbers_only], rtol=1e-12)
    monkeypatch.setattr(formats, "PART_ROWS", 1)
    np.testing.assert_allclose(risks(run, model_file, frame[:5], tmp_path / "parts.csv")[0], expected[:5], rtol=1e-12)


def test_levels_not_seen_in_training_are_named_once_and_count_as_missing(run, coded, tmp_path, monkeypatch):
    frame, model_file = coded
    monkeypatch.setattr(formats, "PART_ROWS", 10)
    strange = frame.assign(sex=frame["sex"].astype(object).mask(frame.index % 9 == 0, "unknown"))
    found, warned = risks(run, model_file, strange, tmp_path / "strange.csv")
    assert warned == "warning: column 'sex': 10 values not seen in training ('unknown'), treated as missing\n"
    missing = frame.assign(sex=frame["sex"].astype(float).mask(frame.index % 9 == 0))
    np.testing.assert_allclose(found, hm.load(model_file).predict(missing), rtol=1e-12)


def test_rows_are_counted_from_the_start_of_the_file(run, model_file, study, tmp_path, monkeypatch):
    study.assign(age=study["age"].astype(object).mask(study.index == 150, "old")).to_csv(tmp_path / "bad.csv", index=False)
    monkeypatch.setattr(formats, "PART_ROWS", 60)
    done = run("predict", model_file, tmp_path / "bad.csv", "-o", tmp_path / "out.csv")
    assert done.code == 2
    assert "column 'age'" in done.err
    assert "'old' in row 150" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_a_value_that_means_an_event_may_be_absent_from_a_part_but_not_from_the_whole(run, model_file, study, tmp_path, monkeypatch):
    status = np.where(study.index < 100, np.where(study.index % 2, "alive", "lost"), "dead")
    study.assign(status=status).to_csv(tmp_path / "status.csv", index=False)
    monkeypatch.setattr(formats, "PART_ROWS", 40)
    command = ["predict", model_file, tmp_path / "status.csv", "-o", tmp_path / "out.csv"]
    assert run(*command, "--given", "os=os_mth,status:dead").code == 0
    (tmp_path / "out.csv").unlink()
    done = run(*command, "--given", "os=os_mth,status:died")
    assert done.code == 2
    assert "'status' never holds 'died'" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_an_interruption_leaves_nothing_behind(run, csv, model_file, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PART_ROWS", 50)
    calls = []

    def risk(self, endpoint=None, *, interval=None):
        calls.append(endpoint)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.zeros(self.n_rows)

    monkeypatch.setattr(Prognosis, "risk", risk)
    for ending in ("csv", "parquet"):
        calls.clear()
        done = run("predict", model_file, csv, "-e", "os", "--median", "-o", tmp_path / f"out.{ending}")
        assert done == (130, "", "interrupted\n")
        assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_if_the_new_one_fails(run, csv, model_file, tmp_path):
    (tmp_path / "out.csv").write_text("precious")
    assert run("predict", model_file, csv, "--given", "os=os_mth,arm:no", "-o", tmp_path / "out.csv", "--force").code == 2
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert run("predict", model_file, csv, *ENDPOINTS[:1], "os", "-o", tmp_path / "out.csv", "--force").code == 0
    assert len(pd.read_csv(tmp_path / "out.csv")) == 200
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_what_is_not_given_and_what_is_extrapolated_is_said(run, csv, model_file, tmp_path):
    done = run(
        "predict", model_file, csv, "--endpoint", "os", "--times", "24,5000", "--given", "rfs=rfs_mth,rfs_event", "-o", tmp_path / "p.csv"
    )
    assert "warning: an event is given, and nothing about 'os': if there had been no such event by then, give that too" in done.err
    assert "warning: 5000 lies beyond the last observed time of 'os' in training, 96.1314: survival there is at most" in done.err


def test_numbers_far_from_training_are_named_once(run, study, model_file, tmp_path):
    study.assign(age=study["age"].mask(study.index == 3, 250)).to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model_file, tmp_path / "new.csv", "--times", 12, "--interval", 0.9, "-o", tmp_path / "out.csv")
    assert done.code == 0
    assert done.err.count("warning: column 'age' holds 250 in row 3, far from what was seen in training") == 1
