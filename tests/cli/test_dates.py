"""Dates and units on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import harmonium as hm

OS = "os=seen,dead,from=surgery,unit=months"


@pytest.fixture
def dated(study, tmp_path, monkeypatch):
    """A file in which survival is two dates, and another with the same in months."""
    surgery = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(len(study)) * 5, unit="D")
    seen = surgery + pd.to_timedelta((study["os_mth"] * 365.25 / 12).round().to_numpy(), unit="D")
    X = study[["arm", "age", "stage"]]
    dates = {"surgery": surgery.strftime("%d/%m/%Y"), "seen": seen.strftime("%d/%m/%Y"), "dead": study["os_event"].astype(int)}
    X.assign(**dates).to_csv(tmp_path / "dates.csv", index=False)
    months = (seen - surgery).days / (365.25 / 12)
    X.assign(os_mth=months, dead=dates["dead"]).to_csv(tmp_path / "months.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SMALL = ["--hidden", 1, "--starts", 1, "--iterations", 5, "--covariate-units", 0]


def test_dates_give_the_model_that_times_give(run, dated):
    for data, endpoint in (("dates.csv", OS), ("months.csv", "os=os_mth,dead,unit=months"), ("months.csv", "os=os_mth,dead")):
        assert run("fit", data, "-e", endpoint, "--unit", "months", *SMALL, "-o", "m.harmonium", "--force").code == 0
        model = hm.load("m.harmonium")
        assert model.encoding.unit == "months"
        X = pd.read_csv("months.csv")
        alive = model.predict_survival_function(X, times=[12.0, 36.0], return_array=True)
        if data == "dates.csv":
            first = alive
        np.testing.assert_array_equal(alive, first)


def test_the_summary_shows_the_unit_and_a_model_converts(run, dated):
    shown = run("fit", "dates.csv", "-e", OS, "--dry-run")
    assert " months" in shown.out
    assert json.loads(run("fit", "dates.csv", "-e", OS, "--dry-run", "--json").out)["endpoints"][0]["unit"] == "months"
    assert run("fit", "dates.csv", "-e", OS, *SMALL, "-o", "m.harmonium").code == 0
    assert " months" in run("info", "m.harmonium").out
    months, dates = (
        json.loads(run("evaluate", "m.harmonium", data, "-e", endpoint, "--json").out)["endpoints"]["os"]
        for data, endpoint in (("months.csv", "os=os_mth,dead"), ("dates.csv", "os=seen,dead,from=surgery,unit=days"))
    )
    for name, value in months.items():
        assert dates[name] == (value if value is None else pytest.approx(value, rel=1e-6)), name
    done = run("predict", "m.harmonium", "dates.csv", "--given", OS, "--landmark", 12, "--times", 24, "-o", "out.csv")
    assert done.code == 0


@pytest.mark.parametrize(
    ("endpoint", "fragment"),
    [
        ("os=seen,dead", "column 'seen' holds dates (01/03/2018), and must hold times"),
        ("os=seen,dead,from=surgery", "say in which unit its times are wanted"),
        ("os=surgery,dead,from=seen,unit=days", "which is before 'seen'"),
        ("os=seen,dead,from=surgery,unit=cycles", "days cannot be converted to 'cycles'"),
        ("os=seen,dead,from=surgry,unit=days", "did you mean 'surgery'?"),
        ("os=seen,dead,from=surgery,unit=days,dayfirst=perhaps", "dayfirst must be yes or no"),
        ("os=seen,dead,from=surgery,unit=days,dayfirst=no", "with the month first"),
        ("os=seen,dead,from=arm,unit=days", "column 'arm' must hold dates"),
    ],
)
def test_a_bad_definition_is_refused(run, dated, endpoint, fragment):
    done = run("fit", "dates.csv", "-e", endpoint, "--drop", "surgery", "-o", "m.harmonium")
    assert (done.code, done.out) == (2, "")
    assert any(fragment in line for line in done.err.splitlines()), done.err


def test_a_column_called_censored_is_pointed_out(run, study, tmp_path):
    study.rename(columns={"os_event": "CNSR"}).drop(columns="patient").to_csv(tmp_path / "a.csv", index=False)
    arguments = ["fit", tmp_path / "a.csv", "--drop", "rfs_mth", "--drop", "rfs_event", "--dry-run"]
    assert "warning: column 'CNSR' is used as an event, and its name says" in run(*arguments, "-e", "os=os_mth,CNSR").err
    for value in (0, 1):
        assert run(*arguments, "-e", f"os=os_mth,CNSR:{value}").err == ""
