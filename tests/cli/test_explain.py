"""``harmonium explain``: the numbers of ``model.explain``, for people, for programs and as a table."""

import json

import pandas as pd
import pytest

ASKED = {"endpoint": "rfs", "time": 24.0}


@pytest.fixture(scope="module")
def expected(model, X):
    return model.explain(X.iloc[[0, 7]], interval=0.9, **ASKED)


def test_a_program_gets_what_python_answers(run, csv, model_file, expected, study):
    done = run("explain", model_file, csv, "--rows", "0,7", "-e", "rfs", "--time", 24, "--interval", 0.9, "--id", "patient", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert {key: found[key] for key in ("endpoint", "time", "measure")} == {**ASKED, "measure": "survival"}
    assert [row["id"] for row in found["rows"]] == study["patient"].iloc[[0, 7]].tolist()
    for row in found["rows"]:
        own = expected.loc[row["row"]]
        assert row["prediction"] == own.loc["prediction", "contribution"]
        assert row["average"] == own.loc["average", "contribution"]
        assert row["prediction"] == pytest.approx(row["average"] + sum(part["contribution"] for part in row["contributions"]))
        for part in row["contributions"]:
            for key in ("contribution", "lower", "upper"):
                assert part[key] == own.loc[part["column"], key]


def test_people_see_the_largest_contribution_first(run, csv, model_file, expected):
    done = run("explain", model_file, csv, "--rows", 7, "-e", "rfs", "--time", 24)
    assert done.code == 0, done.err
    own = expected.loc[7].drop(["average", "prediction"])
    largest = own["contribution"].abs().idxmax()
    lines = [line.split() for line in done.out.splitlines() if line.strip()]
    names = [line[0] for line in lines]
    assert "row 7: survival of rfs at 24" in done.out
    assert names[names.index("average") + 1] == str(largest).split()[0]
    assert lines[-1] == ["prediction", f"{expected.loc[(7, 'prediction'), 'contribution']:.3f}"]


def test_a_table_has_a_line_for_each_row_and_column(run, csv, model_file, expected, tmp_path):
    output = tmp_path / "why.csv"
    done = run("explain", model_file, csv, "--rows", "0,7", "-e", "rfs", "--time", 24, "--id", "patient", "-o", output)
    assert done.code == 0, done.err
    found = pd.read_csv(output, dtype={"patient": str})
    assert list(found.columns) == ["patient", "row", "column", "value", "contribution"]
    assert found["contribution"].tolist() == pytest.approx(expected["contribution"].tolist())


def test_by_default_the_median_event_time_of_the_first_endpoint(run, csv, model_file, model):
    found = json.loads(run("explain", model_file, csv, "--rows", 0, "--json").out)
    assert found["endpoint"] == model.endpoint_names[0]
    assert found["time"] == float(pd.Series(model.encoding.endpoints[0].event_times).median())


BAD = {
    "a row that is not there": (["--rows", "200"], "must be numbers from 0 to 199"),
    "an unknown endpoint": (["-e", "oss"], "did you mean 'os'?"),
    "an unknown measure": (["--measure", "hazard"], "--measure"),
    "an interval that is none": (["--rows", "0", "--interval", "95"], "interval"),
    "an identifier that is not there": (["--id", "patiens"], "did you mean 'patient'?"),
    "an output of an unknown ending": (["-o", "why.xlsx"], "must end with .csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_explained_is_refused(run, csv, model_file, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    arguments, fragment = BAD[case]
    done = run("explain", model_file, csv, *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert fragment in line
    assert not list(tmp_path.iterdir())
