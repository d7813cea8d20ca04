"""All problems of a table are reported in one run, a line for each."""

import pytest

from tests.cli.conftest import UNORDERED


def changed(study, **values):
    """The study with some cells changed: column=(row, value)."""
    frame = study.drop(columns="patient").copy()
    for name, (row, value) in values.items():
        frame[name] = frame[name].astype(object).mask(frame.index == row, value)
    return frame


@pytest.fixture
def errors_of(run, tmp_path, monkeypatch):
    """The lines that a command complains with; nothing is written."""
    monkeypatch.chdir(tmp_path)

    def refused(frame, *arguments):
        frame.to_csv("bad.csv", index=False)
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]
        assert "Traceback" not in done.err
        return done.err.splitlines()

    return refused


def test_fit_reports_problems_of_endpoints_and_covariates_together(errors_of, study):
    frame = changed(study, os_event=(7, 2), rfs_mth=(9, -3), bmi=(11, "inf"))
    assert errors_of(frame, "fit", "bad.csv", *UNORDERED, "-o", "new.harmonium") == [
        "error: column 'os_event' must hold 0 and 1; found 2 in row 7. If a value means an event, say so: os=os_mth,os_event:VALUE",
        "error: column 'rfs_mth' must not hold negative times; found -3 in row 9",
        "error: column 'bmi' must hold finite numbers; found inf in row 11",
    ]


def test_fit_reports_all_covariates_that_cannot_be_used(errors_of, study):
    frame = changed(study, bmi=(11, "inf"))
    roles = ["--role", "stage=numeric", "--role", "smoker=binary"]
    lines = errors_of(frame, "fit", "bad.csv", *UNORDERED, *roles, "-o", "new.harmonium")
    assert len(lines) == 3
    for name, line in zip(("smoker", "bmi", "stage"), lines, strict=True):
        assert line.startswith("error: ")
        assert f"column '{name}'" in line


@pytest.mark.parametrize("command", ["predict", "evaluate", "impute"])
def test_a_model_is_not_asked_about_a_table_with_three_problems(errors_of, study, model_file, command):
    frame = changed(study, age=(3, "old"), bmi=(5, "inf"), os_mth=(7, -1))
    given = ["--given" if command == "predict" else "--endpoint", "os=os_mth,os_event"]
    output = [] if command == "evaluate" else ["-o", "new.csv"]
    assert sorted(errors_of(frame, command, model_file, "bad.csv", *given, *output)) == [
        "error: column 'age' must hold numbers; found 'old' in row 3",
        "error: column 'bmi' must hold finite numbers; found inf in row 5",
        "error: column 'os_mth' must not hold negative times; found -1 in row 7",
    ]


def test_every_missing_column_has_its_line(errors_of, study, model_file):
    frame = study.drop(columns=["patient", "age"]).rename(columns={"bmi": "bmi2", "stage": "stages"})
    lines = errors_of(frame, "predict", model_file, "bad.csv", "-o", "new.csv")
    assert [line.partition(";")[0] for line in lines] == [f"error: bad.csv: column '{name}' is missing" for name in ("age", "bmi", "stage")]
    assert lines[2].endswith("did you mean 'stages'?")
