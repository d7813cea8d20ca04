"""``harmonium fit``: from a table to a model file."""

import json

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from tests.cli.conftest import ENDPOINTS, UNORDERED

SMALL = ["--hidden", 1, "--starts", 1, "--iterations", 5]


def test_the_model_is_that_of_the_library(model, X, y):
    own = hm.SurvivalHarmonium(n_hidden=2, objective=0.95, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), own.predict(X))
    assert model.training.n_rows == len(X)


def test_a_parquet_file_gives_the_same_model(run, folder, tmp_path, X):
    for kind in ("csv", "parquet"):
        drop = ["--drop", "patient"]
        assert run("fit", folder / f"data.{kind}", *UNORDERED, *drop, *SMALL, "-o", tmp_path / f"{kind}.harmonium").code == 0
    a, b = (hm.load(tmp_path / f"{kind}.harmonium") for kind in ("csv", "parquet"))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_it_shows_what_it_has_inferred(run, csv):
    done = run("fit", csv, *UNORDERED, "--drop", "patient", "--dry-run")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "categorical" in lines["stage"]
    assert "IIIa, IIIb, IIa" in lines["stage"]
    assert "1.5%" in lines["stage"]
    assert lines["os"].split()[1:4] == ["200", "84", "116"]
    assert "\x1b" not in done.out + done.err


def test_a_dry_run_in_json(run, csv, X, y):
    found = json.loads(run("fit", csv, *UNORDERED, "--drop", "patient", "--dry-run", "--json").out)
    assert found["rows"] == len(X)
    columns = {column["name"]: column for column in found["columns"]}
    assert list(columns) == list(X.columns)
    assert columns["bmi"]["mean"] == pytest.approx(X["bmi"].mean())
    assert columns["bmi"]["missing"] == pytest.approx(X["bmi"].isna().mean())
    rfs = found["endpoints"][1]
    assert rfs["name"] == "rfs"
    assert rfs["events"] == int((y["rfs", "lower"] == y["rfs", "upper"]).sum())
    assert rfs["rows"] == rfs["events"] + rfs["censored"]


def test_settings_reach_the_model(run, csv, tmp_path):
    settings = ["--objective", "joint", "--l2", 3, "--time-scale", "linear", "--horizon", "os=200", "--role", "FDG-PET SUVmax>=10=ignored"]
    done = run("fit", csv, *UNORDERED, "--drop", "patient", *SMALL, *settings, "--seed", 5, "-o", tmp_path / "m.harmonium", "--json")
    said = json.loads(done.out)
    model = hm.load(tmp_path / "m.harmonium")
    used = model.training.settings
    assert said["settings"]["random_state"] == used["random_state"] == 5
    assert (used["n_hidden"], used["objective"], used["time_scale"]) == (1, "joint", "linear")
    assert {name: used["trainer"][name] for name in ("name", "l2", "n_starts", "max_iter")} == {
        "name": "exact",
        "l2": 3.0,
        "n_starts": 1,
        "max_iter": 5,
    }
    assert used["horizon"] == {"os": 200.0}
    assert used["roles"] == {"FDG-PET SUVmax>=10": "ignored"}
    assert model.encoding.scales[0].horizon == 200.0


@pytest.mark.parametrize(("option", "expected"), [([], 4), (["--covariate-units", 0], 0), (["--covariate-units", 2], 2)])
def test_covariate_units(run, csv, tmp_path, option, expected):
    done = run("fit", csv, *UNORDERED, "--drop", "patient", *SMALL, *option, "-o", tmp_path / "m.harmonium", "--json")
    assert json.loads(done.out)["covariate_units"] == expected
    assert hm.load(tmp_path / "m.harmonium").n_covariate_units == expected
    found = json.loads(run("info", tmp_path / "m.harmonium", "--json").out)
    assert found["covariate_units"] == expected
    assert found["settings"]["n_covariate_units"] == (option[1] if option else "auto")


def test_covariate_units_that_make_no_sense_are_refused(run, csv, tmp_path):
    done = run("fit", csv, *UNORDERED, "--drop", "patient", *SMALL, "--covariate-units", "some", "-o", tmp_path / "m.harmonium")
    assert done.code == 2
    assert "--covariate-units must be auto or a whole number; found 'some'" in done.err


def test_one_horizon_for_all_and_the_contrastive_trainer(run, csv, tmp_path):
    settings = ["--trainer", "contrastive", "--epochs", 2, "--hidden", 20, "--horizon", 150, "--drop", "patient"]
    assert run("fit", csv, "-e", "os=os_mth,os_event", *settings, "-o", tmp_path / "m.harmonium").code == 0
    model = hm.load(tmp_path / "m.harmonium")
    used = model.training.settings
    assert (model.n_hidden, used["horizon"], used["trainer"]["n_epochs"]) == (20, 150.0, 2)
    info = run("info", tmp_path / "m.harmonium")
    assert "n_epochs" in info.out


def test_every_form_of_an_endpoint(run, tmp_path):
    frame = pd.DataFrame(
        {
            "t": [3.0, 4.0, 5.0, 6.0],
            "cause: last": ["dead", "lost", "alive, well", "dead"],
            "lo": [1.0, 2.0, None, 3.0],
            "hi": [2.0, None, 3.0, 5.0],
            "start": [0.0, 1.0, None, 2.0],
            "age": [50, 60, 70, 80],
        }
    )
    frame.to_csv(tmp_path / "forms.csv", index=False)
    forms = ['os="t","cause: last:dead",entry=start', 'well=t,"cause: last:alive, well"', "seen=lo..hi"]
    done = run("fit", tmp_path / "forms.csv", *(part for form in forms for part in ("-e", form)), "--dry-run", "--json")
    os, well, seen = json.loads(done.out)["endpoints"]
    assert (os["name"], os["events"], os["censored"], os["late_entries"]) == ("os", 2, 2, 2)
    assert (well["name"], well["events"], well["censored"], well["late_entries"]) == ("well", 1, 3, 0)
    assert (seen["name"], seen["intervals"], seen["censored"]) == ("seen", 3, 1)
    assert [column["name"] for column in json.loads(done.out)["columns"]] == ["age"]


def test_whole_numbers_with_missing_values_stay_whole(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"t": rng.exponential(size=60), "e": 1, "age": rng.integers(40, 80, 60).astype(float), "grade": rng.integers(2, size=60)}
    )
    frame["age"] = frame["age"].astype("Int64").mask(frame.index == 3)
    frame["grade"] = frame["grade"].astype("Int64").mask(frame.index == 5)
    for kind in ("csv", "parquet"):
        getattr(frame, f"to_{kind}")(tmp_path / f"whole.{kind}", index=False)
        file = tmp_path / f"{kind}.harmonium"
        assert run("fit", tmp_path / f"whole.{kind}", "-e", "os=t,e", *SMALL, "--objective", 0.9, "-o", file).code == 0
        drawn, _ = hm.load(file).sample(20, random_state=0)
        assert drawn["age"].dtype.kind == drawn["grade"].dtype.kind == "i"


def test_cross_validation_chooses_what_is_not_given(run, csv, tmp_path):
    settings = ["--drop", "patient", "--hidden", 1, "--starts", 1, "--iterations", 3]
    done = run("fit", csv, "-e", "os=os_mth,os_event", *settings, "--cv", "-o", tmp_path / "m.harmonium")
    assert "5-fold cross-validation" in done.out
    model = hm.load(tmp_path / "m.harmonium")
    assert model.n_hidden == 1
    assert model.training.settings["objective"] in ("conditional", 0.9)


def test_a_column_that_looks_like_an_identifier_is_pointed_out(run, csv, study, tmp_path):
    study.assign(patient=range(1, len(study) + 1)).to_csv(tmp_path / "numbered.csv", index=False)
    done = run("fit", tmp_path / "numbered.csv", *UNORDERED, "--dry-run")
    assert "warning: column 'patient' looks like an identifier" in done.err
    assert "warning" not in run("fit", tmp_path / "numbered.csv", *UNORDERED, "--dry-run", "--drop", "patient").err


def test_rows_that_are_not_subjects_are_pointed_out_and_groups_are_counted(run, study, tmp_path):
    eyes = pd.concat([study.assign(patient=range(len(study)), eye=eye) for eye in ("left", "right")])
    eyes.to_csv(tmp_path / "eyes.csv", index=False)
    n = len(study)
    done = run("fit", tmp_path / "eyes.csv", *UNORDERED, "--dry-run")
    assert f"warning: column 'patient' has {n} values in {2 * n} rows, and rows with the same value agree in" in done.err
    assert done.err.count("--groups patient does both") == 1
    done = run("fit", tmp_path / "eyes.csv", *UNORDERED, "--groups", "patient", "--dry-run", "--json")
    assert done.err.startswith(f"{2 * n} rows with {n} values of 'patient': cross-validation keeps rows with the same 'patient' together")
    assert "warning" not in done.err
    assert json.loads(done.out)["groups"] == n


def test_what_contains_the_outcome_is_pointed_out_with_how_to_drop_it(run, study, tmp_path):
    dead = study["os_event"].map({0: "alive", 1: "dead"})
    study.drop(columns="patient").assign(**{"vital status": dead}).to_csv(tmp_path / "leak.csv", index=False)
    done = run("fit", tmp_path / "leak.csv", *UNORDERED, "--dry-run")
    assert "warning: column 'vital status' tells in" in done.err
    assert done.err.strip().endswith("(--drop 'vital status')")


@pytest.mark.parametrize("strange", ["73 years", "73,5"])
def test_text_among_numbers_is_pointed_out(run, study, tmp_path, strange):
    age = [str(value) for value in study["age"]]
    study.assign(age=[*age[:3], strange, *age[4:]]).drop(columns="patient").to_csv(tmp_path / "strange.csv", index=False)
    arguments = ["fit", tmp_path / "strange.csv", *UNORDERED, "--dry-run"]
    done = run(*arguments)
    advice = "write decimal points" if "," in strange else "write a number there, or leave it empty"
    assert done.code == 2
    assert done.err.startswith(f"error: column 'age' holds numbers, and {strange!r} in row 3 (line 5) among them; {advice}")
    assert "--role age=categorical" in done.err
    assert done.err.count("\n") == 1
    assert run(*arguments, "--role", "age=categorical").err == ""
    assert f"must hold numbers; found {strange!r} in row 3" in run(*arguments, "--role", "age=numeric").err


def test_decimal_commas_are_pointed_out(run, study, tmp_path):
    age = [f"{value:.1f}".replace(".", ",") for value in study["age"]]
    study.assign(age=age).drop(columns="patient").to_csv(tmp_path / "commas.csv", index=False)
    assert "warning: column 'age' is used as text because of" in run("fit", tmp_path / "commas.csv", *UNORDERED, "--dry-run").err


def test_numbers_of_a_scale_are_no_reason_to_warn(run, study, tmp_path):
    scale = ["0", "1", "2", "3", "4+"] * (len(study) // 5)
    study.assign(scale=scale).drop(columns="patient").to_csv(tmp_path / "scale.csv", index=False)
    assert run("fit", tmp_path / "scale.csv", *UNORDERED, "--dry-run").err == ""


def test_a_warning_of_the_library_is_one_line(run, study, tmp_path):
    study.drop(columns="patient").assign(constant=1).to_csv(tmp_path / "constant.csv", index=False)
    done = run("fit", tmp_path / "constant.csv", *UNORDERED, *SMALL, "-o", tmp_path / "m.harmonium")
    warned = [line for line in done.err.splitlines() if line.startswith("warning")]
    assert warned[0] == "warning: columns without information take no part in the model: 'constant'"
    assert warned[1].startswith("warning: the exact trainer has not converged after 5 iterations")
    assert len(warned) == 2
    assert run("fit", tmp_path / "constant.csv", *UNORDERED, *SMALL, "-o", tmp_path / "quiet.harmonium", "--quiet")[1:] == ("", "")


@pytest.mark.filterwarnings("ignore::harmonium.errors.RangeWarning")  # a body mass index of 393 has weight zero
class TestWeights:
    """``--weights`` and ``--groups``: columns beside the covariates."""

    @pytest.fixture
    def table(self, study, tmp_path):
        frame = study.drop(columns="patient").assign(
            ipw=np.random.default_rng(0).integers(0, 3, len(study)), hospital=np.arange(len(study)) % 7
        )
        frame.to_csv(tmp_path / "weighted.csv", index=False)
        return frame, tmp_path / "weighted.csv"

    def test_they_are_those_of_the_library(self, run, table, tmp_path, X, y):
        frame, path = table
        output = tmp_path / "model.harmonium"
        done = run("fit", path, *UNORDERED, *SMALL, "--weights", "ipw", "--drop", "hospital", "-o", output, "--json")
        assert done.code == 0
        trainer = hm.Exact(n_starts=1, max_iter=5)
        own = hm.SurvivalHarmonium(n_hidden=1, trainer=trainer, random_state=0).fit(X, y, frame["ipw"])
        model = hm.load(output)
        np.testing.assert_array_equal(model.predict(X), own.predict(X))
        found = json.loads(done.out)
        assert found["rows"] == int((frame["ipw"] > 0).sum())
        assert found["endpoints"][0]["rows"] == int(frame["ipw"].sum())
        assert "ipw" not in [column["name"] for column in found["columns"]]
        likelihood = own.log_likelihood(X, y)
        assert found["log_likelihood"] == pytest.approx(np.average(likelihood, weights=frame["ipw"]))

    def test_evaluate_counts_them(self, run, table, tmp_path, X, y):
        frame, path = table
        run("fit", path, *UNORDERED, *SMALL, "--weights", "ipw", "--drop", "hospital", "-o", tmp_path / "m.harmonium")
        done = run("evaluate", tmp_path / "m.harmonium", path, *ENDPOINTS, "--weights", "ipw", "--json")
        assert done.code == 0
        expected = hm.evaluate(hm.load(tmp_path / "m.harmonium"), X, y, sample_weight=frame["ipw"])
        assert json.loads(done.out)["endpoints"]["os"]["concordance"] == pytest.approx(expected.loc["os", "concordance"])

    def test_mistakes_name_the_column_and_the_row(self, run, table, tmp_path):
        frame, path = table
        frame.assign(ipw=frame["ipw"].where(frame.index != 5, -1)).to_csv(path, index=False)
        done = run("fit", path, *UNORDERED, "--weights", "ipw", "--dry-run")
        assert done.code != 0
        assert "column 'ipw' must not be negative; found -1 in row 5" in done.err
        done = run("fit", path, *UNORDERED, "--weights", "ipv", "--dry-run")
        assert "column 'ipv' is missing; did you mean 'ipw'?" in done.err

    @pytest.mark.slow
    def test_groups_stay_together_in_the_report(self, run, table, tmp_path):
        _, path = table
        options = ["--weights", "ipw", "--groups", "hospital", "--report", tmp_path / "r.html", "-o", tmp_path / "m.harmonium"]
        done = run("fit", path, *UNORDERED, *SMALL, *options)
        assert done.code == 0
        evaluation = hm.load(tmp_path / "m.harmonium").training.evaluation
        assert evaluation["method"] == "5-fold cross-validation, groups kept together"
        assert "Rows have weights" in (tmp_path / "r.html").read_text(encoding="utf-8")
