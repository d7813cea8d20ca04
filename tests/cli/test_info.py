"""``harmonium info``: what a model file holds."""

import json


def test_info_for_programs(run, model_file, model, X):
    found = json.loads(run("info", model_file, "--json").out)
    assert found["rows"] == len(X)
    assert [column["name"] for column in found["columns"]] == list(X.columns)
    assert [endpoint["name"] for endpoint in found["endpoints"]] == ["os", "rfs"]
    assert found["endpoints"][0]["events"] == 84
    assert next(column for column in found["columns"] if column["name"] == "bmi")["missing"] == X["bmi"].isna().mean()
    assert found["evaluation"] is None
    assert found["endpoints"][0]["horizon"] is None
    assert found["settings"]["n_hidden"] == 2
    assert found["l2"] == model.training.l2


def test_info_for_people(run, model_file):
    done = run("info", model_file)
    lines = {line.split()[0]: line.split() for line in done.out.splitlines() if line.strip()}
    assert lines["stage"][1] == "categorical"
    assert lines["n_hidden"] == ["n_hidden", "2"]
    assert "n_epochs" not in lines
    assert done.err == ""
