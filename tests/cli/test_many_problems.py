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
        "error: column 'os_event' must hold 0 and 1; found 2 in row 7 (line 9). If a value means an event, "
        "say so: os=os_mth,os_event:VALUE",
        "error: column 'rfs_mth' must not hold negative times; found -3 in row 9 (line 11)",
        "error: column 'bmi' must hold finite numbers; found inf in row 11 (line 13)",
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
        "error: column 'age' must hold numbers; found 'old' in row 3 (line 5)",
        "error: column 'bmi' must hold finite numbers; found inf in row 5 (line 7)",
        "error: column 'os_mth' must not hold negative times; found -1 in row 7 (line 9)",
    ]


def test_every_missing_column_has_its_line(errors_of, study, model_file):
    frame = study.drop(columns=["patient", "age"]).rename(columns={"bmi": "bmi2", "stage": "stages"})
    lines = errors_of(frame, "predict", model_file, "bad.csv", "-o", "new.csv")
    assert [line.partition(";")[0] for line in lines] == [f"error: bad.csv: column '{name}' is missing" for name in ("age", "bmi", "stage")]
    assert lines[2].endswith("did you mean 'stages'?")


SEVERAL = {
    "two misspelt columns and a bad covariate": (
        lambda s: changed(s, bmi=(11, "inf")),
        ["-e", "os=os_mht,os_event", "-e", "rfs=rfs_mth,rfs_evnt"],
        ["'os_mht' is missing", "'rfs_evnt' is missing", "'bmi' must hold finite numbers"],
    ),
    "a misspelt column and a bad endpoint": (
        lambda s: changed(s, os_event=(7, 2)),
        ["-e", "os=os_mth,os_event", "-e", "rfs=rfs_mnth,rfs_event"],
        ["'rfs_mnth' is missing", "'os_event' must hold 0 and 1"],
    ),
    "a misspelt column to drop and a negative time": (
        lambda s: changed(s, os_mth=(7, -2)),
        ["-e", "os=os_mth,os_event", "--drop", "bmj"],
        ["'bmj' is missing; did you mean 'bmi'?", "'os_mth' must not hold negative times"],
    ),
    "two endpoints that are badly written": (
        changed,
        ["-e", "os=os_mth", "-e", "rfs"],
        ["found 'os=os_mth'", "found 'rfs'"],
    ),
    "three bad times": (
        lambda s: changed(s, os_mth=(3, "long"), rfs_mth=(4, -1)),
        ["-e", "os=os_mth,os_event", "-e", "rfs=rfs_mth,rfs_event"],
        ["'os_mth' must hold times; found 'long' in row 3", "'rfs_mth' must not hold negative times; found -1 in row 4"],
    ),
    "dates that are none, twice": (
        lambda s: changed(s).assign(a="2019-02-30", b="soon"),
        ["-e", "os=os_mth,os_event,from=a,unit=days", "-e", "rfs=b,rfs_event,from=rfs_mth,unit=days"],
        ["'a' must hold dates, such as 2019-03-01; found '2019-02-30' in row 0", "must hold dates"],
    ),
    "dates among covariates and an infinite one": (
        lambda s: changed(s, bmi=(5, "inf")).assign(born="1950-03-01"),
        ["-e", "os=os_mth,os_event", "--drop", "rfs_mth", "--drop", "rfs_event", "--role", "born=categorical", "--role", "age=colour"],
        ["the role of column 'age' must be one of", "'bmi' must hold finite numbers"],
    ),
    "an identifier and an infinite covariate": (
        lambda s: changed(s, bmi=(5, "inf")).assign(name=[f"n{i}" for i in s.index]),
        ["-e", "os=os_mth,os_event", "--drop", "rfs_mth", "--drop", "rfs_event"],
        ["'bmi' must hold finite numbers", "'name' has 200 levels in 200 rows"],
    ),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_several_problems_have_a_line_each(errors_of, study, case):
    change, arguments, fragments = SEVERAL[case]
    lines = errors_of(change(study), "fit", "bad.csv", *arguments, "-o", "new.harmonium")
    lines = [line for line in lines if not line.startswith("warning: ")]
    assert len(lines) == len(fragments), lines
    for fragment in fragments:
        assert sum(fragment in line for line in lines) >= 1, (fragment, lines)


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("a,b,a,b,os_mth,os_event\n1,2,3,4,5,1\n", ["'a' more than once", "'b' more than once"]),
        ("a,os_mth,os_event\n1,2,1\n1,2,1,7\n1,2,0\n1,2,3,4,5\n", ["line 3 has 4 fields", "line 5 has 5 fields"]),
    ],
)
def test_several_problems_of_a_file_have_a_line_each(run, tmp_path, content, fragments):
    (tmp_path / "bad.csv").write_text(content)
    done = run("fit", tmp_path / "bad.csv", "-e", "os=os_mth,os_event", "--dry-run")
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == len(fragments)
    for fragment, line in zip(fragments, done.err.splitlines(), strict=True):
        assert fragment in line
