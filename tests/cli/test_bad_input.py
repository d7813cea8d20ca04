"""Bad input: one line that says what is wrong, exit code 2, no traceback, and nothing written."""

import gzip
import io
import shutil
import sys

import pandas as pd
import pytest

from harmonium.model.prognosis import Prognosis
from tests.cli.conftest import ENDPOINTS

OS = ["--endpoint", "os=os_mth,os_event"]


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A directory of one's own with the study's files."""
    for name in ("data.csv", "data.parquet", "model.harmonium"):
        shutil.copy(folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refuse(run, here):
    def check(arguments, *fragments):
        before = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
        done = run(*arguments)
        assert done.code == 2
        assert done.out == ""
        (error,) = [line for line in done.err.splitlines() if not line.startswith("warning: ")]
        assert error.startswith("error: ")
        for fragment in fragments:
            assert fragment in error
        assert {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()} == before

    return check


FIT = ["fit", "data.csv", "--drop", "patient", "-o", "new.harmonium"]
PREDICT = ["predict", "model.harmonium", "data.csv", "-o", "new.csv"]

COMMANDS = {
    "no file": (["fit", "dta.csv", *OS, "-o", "new.harmonium"], "there is no file dta.csv"),
    "a directory": (["fit", ".", *OS, "-o", "new.harmonium"], "is not a file"),
    "no model file": (["predict", "nodel.harmonium", "data.csv"], "nodel.harmonium"),
    "not a model": (["info", "data.csv"], "data.csv"),
    "an unknown ending": (["fit", "model.harmonium", *OS, "-o", "new.harmonium"], "must end with .csv"),
    "no output": (["fit", "data.csv", *OS], "-o model.harmonium"),
    "no endpoint": (
        FIT,
        "there is no --endpoint",
        "data.csv has 'patient', 'arm'",
        "perhaps -e os=os_mth,os_event -e rfs=rfs_mth,rfs_event",
    ),
    "a mistyped column": ([*FIT, "-e", "os=os_mht,os_event"], "did you mean 'os_mth'?"),
    "a mistyped column to drop": ([*FIT, *OS, "--drop", "ptient"], "did you mean 'patient'?"),
    "a mistyped column of a role": ([*FIT, *OS, "--role", "stag=categorical"], "did you mean 'stage'?"),
    "an unknown role": ([*FIT, *OS, "--role", "stage=ordinal"], "numeric, binary, categorical, ignored"),
    "a role without a column": ([*FIT, *OS, "--role", "stage"], "COLUMN=ROLE"),
    "a role that does not fit": ([*FIT, *OS, "--role", "stage=numeric"], "'stage'", "must hold numbers"),
    "an endpoint without columns": ([*FIT, "-e", "os"], "NAME=TIME,EVENT", "'os'"),
    "an endpoint without event": ([*FIT, "-e", "os=os_mth"], "NAME=TIME,EVENT"),
    "an endpoint without upper bound": ([*FIT, "-e", "os=os_mth.."], "LOWER..UPPER"),
    "an endpoint with too many columns": ([*FIT, "-e", "os=os_mth,os_event,age"], "NAME=TIME,EVENT"),
    "an endpoint twice": ([*FIT, *OS, *OS], "'os' is defined more than once"),
    "an event that is neither 0 nor 1": ([*FIT, "-e", "os=os_mth,gender_female", "-e", "x=os_mth,arm"], "'arm'", "x=os_mth,arm:VALUE"),
    "a value that means no event": ([*FIT, "-e", "os=os_mth,arm:CG"], "never holds 'CG'", "'CP/CG'"),
    "time and event exchanged": ([*FIT, "-e", "os=os_event,os_mth"], "'os_mth' must hold 0 and 1"),
    "an unknown objective": ([*FIT, *OS, "--objective", "both"], "--objective", "'both'"),
    "a weight out of range": ([*FIT, *OS, "--objective", "2", "--json"], "objective"),
    "a number that is none": ([*FIT, *OS, "--l2", "much"], "--l2", "'much'"),
    "a horizon too early": ([*FIT, *OS, "--horizon", "5"], "horizon must not lie before"),
    "a horizon of an unknown endpoint": ([*FIT, *OS, "--horizon", "rfs=500"], "'rfs'"),
    "an unknown time scale": ([*FIT, *OS, "--time-scale", "lin"], "--time-scale"),
    "too many units for the exact trainer": ([*FIT, *OS, "--trainer", "exact", "--hidden", 20, "--json"], "up to 14 hidden units"),
    "a negative number of units": ([*FIT, *OS, "--hidden", -1], "--hidden"),
    "a report of another ending": ([*FIT, *OS, "--report", "new.pdf"], "for a PDF, print the .html in a browser"),
    "a model file of another ending": (["fit", "data.csv", *OS, "-o", "new.csv"], "must end with .harmonium"),
    "an output that exists": ([*PREDICT[:-1], "data.parquet"], "data.parquet exists", "--force"),
    "a model that exists": (["fit", "data.csv", *OS, "-o", "model.harmonium"], "model.harmonium exists"),
    "an output in a directory that is not there": ([*PREDICT[:-1], "results/new.csv"], "no directory results"),
    "an output of an unknown ending": ([*PREDICT[:-1], "new.xlsx"], "must end with .csv"),
    "json and a table on standard output": ([*PREDICT[:-1], "-", "--json"], "--output"),
    "a mistyped endpoint": ([*PREDICT, "-e", "osx"], "did you mean 'os'?", "the model has 'os', 'rfs'"),
    "an endpoint the model does not have": ([*PREDICT, "--given", "pfs=os_mth,os_event"], "no endpoint 'pfs'"),
    "an endpoint that is not evaluated": (["evaluate", "model.harmonium", "data.csv", "-e", "dfs=os_mth,os_event"], "no endpoint 'dfs'"),
    "times that are no numbers": ([*PREDICT, "--times", "12,soon"], "--times", "'soon'"),
    "times that are negative": ([*PREDICT, "--times=-3"], "--times", "'-3'"),
    "times that are empty": ([*PREDICT, "--times", "12,,24"], "--times", "''"),
    "times that are infinite": ([*PREDICT, "--times", "inf"], "--times", "'inf'"),
    "times twice": ([*PREDICT, "--times", "12,12.0"], "more than once"),
    "a landmark of nothing": ([*PREDICT, "--landmark", 12], "--given"),
    "a negative landmark": ([*PREDICT, "--given", "os=os_mth,os_event", "--landmark=-2"], "landmark", "-2"),
    "a mistyped identifier": ([*PREDICT, "--id", "patiens"], "did you mean 'patient'?"),
    "an identifier without a table": (["sample", "model.harmonium", "--id", "patient", "-o", "new.csv"], "--given-covariates"),
    "no subjects": (["sample", "model.harmonium", "-n", 0, "-o", "new.csv"], "--number"),
    "no draws": (["impute", "model.harmonium", "data.csv", "-m", 0, "-o", "new.csv"], "--draws"),
    "a mistyped option": ([*PREDICT, "--tims", 12], "--tims", "--times"),
    "a mistyped command": (["predcit"], "'predict'"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_bad_command_is_refused(refuse, case):
    arguments, *fragments = COMMANDS[case]
    refuse(arguments, *fragments)


def content(study, **columns):
    return study.assign(**columns).to_csv(index=False)


def excel(study):
    file = io.BytesIO()
    study.to_excel(file, index=False)
    return file.getvalue()


def at(study, column, row, value):
    return {column: study[column].astype(object).mask(study.index == row, value)}


TABLES = {
    "empty": (lambda s: "", "bad.csv is empty"),
    "only a header": (lambda s: "os_mth,os_event\n", "no rows"),
    "a column twice": (lambda s: "os_mth,os_event,age,age\n1,1,2,2\n", "'age' more than once"),
    "too many fields at first": (lambda s: "os_mth,os_event\n1,1,9\n", "more than the header"),
    "too many fields later": (lambda s: "os_mth,os_event\n1,1\n1,1,9\n", "line 3"),
    "an open quote": (lambda s: 'os_mth,os_event,age\n1,1,"a\n1,1,b\n', "cannot be read"),
    "no text": (lambda s: bytes(range(256)) * 9, "is not text"),
    "damaged compression": (lambda s: gzip.compress(content(s).encode())[:-20], "compressed and damaged"),
    "an Excel file of another name": (excel, "let its name end with .xlsx"),
    "an event that is 2": (lambda s: content(s, **at(s, "os_event", 7, 2)), "'os_event' must hold 0 and 1; found 2 in row 7"),
    "an event that is text": (lambda s: content(s, **at(s, "os_event", 7, "dead")), "found 'dead' in row 7", "os=os_mth,os_event:VALUE"),
    "an event that is missing": (lambda s: content(s, **at(s, "os_event", 7, None)), "row 7 (line 9) is missing"),
    "a negative time": (lambda s: content(s, **at(s, "os_mth", 7, -3)), "'os_mth' must not hold negative times; found -3 in row 7"),
    "an infinite time": (lambda s: content(s, **at(s, "os_mth", 7, "inf")), "'os_mth' must hold finite times"),
    "a time that is text": (lambda s: content(s, **at(s, "os_mth", 7, "long")), "'os_mth' must hold times; found 'long' in row 7"),
    "an infinite covariate": (lambda s: content(s, **at(s, "bmi", 7, "inf")), "'bmi' must hold finite numbers; found inf in row 7"),
    "a word among numbers": (
        lambda s: content(s, **at(s.assign(bmi=range(len(s))), "bmi", 7, "<5")),
        "'bmi' holds numbers, and '<5' in row 7 (line 9) among them",
    ),
    "a status in words": (
        lambda s: content(s, os_event=s["os_event"].map({0: "no", 1: "yes"})),
        "If 'yes' means an event, say so: os=os_mth,os_event:yes",
    ),
    "text that looks like an identifier": (lambda s: s.assign(name=[f"n{i}" for i in s.index]).to_csv(index=False), "'name'", "identifier"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_refused(refuse, here, study, case):
    write, *fragments = TABLES[case]
    text = write(study.drop(columns="patient"))
    (here / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    refuse(["fit", "bad.csv", *OS, "-o", "new.harmonium"], *fragments)


def test_rows_that_cannot_be_predicted_are_refused(refuse, here, study):
    command = ["predict", "model.harmonium", "bad.csv", "-o", "new.csv"]
    study.drop(columns="age").to_csv(here / "bad.csv", index=False)
    refuse(command, "bad.csv: column 'age' is missing")
    study.rename(columns={"age": "ages"}).to_csv(here / "bad.csv", index=False)
    refuse(command, "did you mean 'ages'?")
    study.assign(**at(study, "bmi", 3, "high")).to_csv(here / "bad.csv", index=False)
    refuse(command, "'bmi' must hold numbers; found 'high' in row 3")
    (here / "bad.csv").write_text(study.to_csv(index=False).replace("CP/CG,", "CP/CG, at first,", 1))
    refuse(command, "line 2 has 19 fields, more than the header has names (18)")
    study.rename(columns={"patient": "os_risk"}).to_csv(here / "bad.csv", index=False)
    refuse([*command, "--id", "os_risk"], "two columns 'os_risk'")


def test_columns_that_the_model_does_not_know_are_refused(refuse, here):
    pd.DataFrame({"colour": ["red"]}).to_csv(here / "rows.csv", index=False)
    refuse(["sample", "model.harmonium", "--given-covariates", "rows.csv", "-o", "new.csv"], "none of the covariates 'arm'")


def test_a_damaged_model_is_refused(refuse, here):
    whole = (here / "model.harmonium").read_bytes()
    for damaged in (whole[:-40], whole[:300], b"", whole[:-9] + b"\x00" * 9):
        (here / "bad.harmonium").write_bytes(damaged)
        refuse(["info", "bad.harmonium"], "cannot read bad.harmonium")


def test_a_damaged_parquet_file_is_refused(refuse, here, study):
    (here / "bad.parquet").write_bytes((here / "data.parquet").read_bytes()[:-100])
    refuse(["predict", "model.harmonium", "bad.parquet", "-o", "new.csv"], "bad.parquet is not a Parquet file, or damaged")
    study[:0].to_parquet(here / "none.parquet")
    refuse(["predict", "model.harmonium", "none.parquet", "-o", "new.csv"], "none.parquet has no rows")


def test_parquet_without_pyarrow_is_refused(refuse, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refuse(["predict", "model.harmonium", "data.parquet", "-o", "new.csv"], "pip install 'harmonium[files]'")
    refuse(["predict", "model.harmonium", "data.csv", "-o", "new.parquet"], "pip install 'harmonium[files]'")


def test_an_output_that_cannot_be_written_is_refused(refuse, here):
    (here / "folder.csv").mkdir()
    refuse([*PREDICT[:-1], "folder.csv", "--force"], "folder.csv is a directory")


def test_where_an_error_arose_is_shown_on_demand(run, here):
    done = run("--traceback", "info", "data.csv")
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("error: ")


def test_an_error_nobody_thought_of_is_not_the_users(run, here, monkeypatch):
    monkeypatch.setattr(Prognosis, "risk", lambda *_, **__: {}["nothing"])
    done = run("predict", "model.harmonium", "data.csv", "-o", "new.csv")
    assert done.code == 1
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1] == "error: this should not have happened (KeyError: 'nothing'); please report it"
    quiet = run("predict", "model.harmonium", "data.csv", "-o", "new.csv", "--quiet")
    assert quiet.code == 1
    assert quiet.err.count("\n") == 1
    assert not (here / "new.csv").exists()


def test_every_command_has_examples(run):
    for command in ("fit", "predict", "evaluate", "compare", "explain", "impute", "sample", "info"):
        done = run(command, "--help")
        assert done.code == 0
        assert f"harmonium {command} " in done.out.split("Examples:")[1]
    assert run().out == run("--help").out
    assert ENDPOINTS[1].split("=")[1] in run().out
