"""``harmonium impute`` and ``harmonium sample``: the library's draws."""

import io

import numpy as np
import pandas as pd

from tests.cli.conftest import ENDPOINTS, UNORDERED


def test_completed_tables_are_those_of_the_library(run, csv, model_file, model, X, y, study, tmp_path):
    output = tmp_path / "imputed.csv"
    done = run("impute", model_file, csv, *ENDPOINTS, "--draws", 3, "--seed", 4, "-o", output)
    assert (done.code, done.out) == (0, "")
    found = pd.read_csv(output, dtype={"patient": str}, float_precision="round_trip")
    assert list(found.columns) == ["draw", *study.columns, "os_drawn", "rfs_drawn"]
    for number, (completed, times) in enumerate(model.impute(X, y, n_draws=3, random_state=4), start=1):
        own = found[found["draw"] == number].reset_index(drop=True)
        pd.testing.assert_frame_equal(own[X.columns], completed, check_dtype=False)
        np.testing.assert_array_equal(own["rfs_drawn"], times["rfs", "lower"])
        other = ["patient", "os_mth", "os_event", "rfs_mth", "rfs_event"]
        pd.testing.assert_frame_equal(own[other], study[other], check_dtype=False)


def test_covariates_alone_from_parquet_to_parquet(run, folder, model_file, model, X, tmp_path):
    output = tmp_path / "imputed.parquet"
    assert run("impute", model_file, folder / "data.parquet", "--seed", 4, "-o", output).code == 0
    found = pd.read_parquet(output)
    assert not any(name.endswith("_drawn") for name in found.columns)
    pd.testing.assert_frame_equal(found[X.columns], model.impute(X, random_state=4)[0][0], check_dtype=False)


def test_whole_numbers_with_missing_values_take_up_draws_with_decimals(run, model_file, study, tmp_path):
    whole = study.assign(bmi=study["bmi"].round().astype("Int64"))
    whole.to_csv(tmp_path / "whole.csv", index=False)
    found = pd.read_csv(io.StringIO(run("impute", model_file, tmp_path / "whole.csv").out))
    missing = study["bmi"].isna().to_numpy()
    assert (found["bmi"][missing] % 1 != 0).all()
    assert (found["bmi"][~missing] == whole["bmi"][~missing]).all()


def test_a_column_of_no_use_to_the_model_need_not_be_there(run, study, tmp_path):
    table = study.drop(columns="patient").assign(constant=1)
    table.to_csv(tmp_path / "constant.csv", index=False)
    table.drop(columns="constant").to_csv(tmp_path / "without.csv", index=False)
    fit = ["--objective", 0.9, "--hidden", 1, "--starts", 1, "--iterations", 5]
    assert run("fit", tmp_path / "constant.csv", *UNORDERED, *fit, "-o", tmp_path / "m.harmonium").code == 0
    for command in ("impute", "predict"):
        done = run(command, tmp_path / "m.harmonium", tmp_path / "without.csv")
        assert done.code == 0
        assert "constant" not in done.out


def test_a_cohort_is_that_of_the_library(run, model_file, model, tmp_path):
    for censored in (False, True):
        output = tmp_path / f"cohort_{censored}.csv"
        assert run("sample", model_file, "-n", 50, "--seed", 3, *["--censored"] * censored, "-o", output).code == 0
        found = pd.read_csv(output, float_precision="round_trip")
        X, y = model.sample(50, censored=censored, random_state=3)
        pd.testing.assert_frame_equal(found[X.columns], X, check_dtype=False)
        np.testing.assert_array_equal(found["os_time"], y["os", "lower"])
        np.testing.assert_array_equal(found["os_event"], y["os", "lower"] == y["os", "upper"])
        late = found["os_time"][found["os_event"] == 0]
        assert (late < 96.0).any() == censored  # otherwise only those without event until the end of follow-up are censored


def test_a_cohort_given_covariates(run, csv, model_file, model, X, study, tmp_path):
    output = tmp_path / "futures.parquet"
    done = run("sample", model_file, "--given-covariates", csv, "-n", 2, "--id", "patient", "--seed", 3, "-o", output)
    assert "warning: columns of" in done.err
    found = pd.read_parquet(output)
    assert list(found["patient"]) == list(study["patient"].repeat(2))
    drawn, y = model.sample(2, X=X, random_state=3)
    pd.testing.assert_frame_equal(found[X.columns], drawn, check_dtype=False)
    np.testing.assert_array_equal(found["rfs_time"], y["rfs", "lower"])


def test_covariates_that_are_not_given_are_drawn(run, model_file, tmp_path):
    pd.DataFrame({"arm": ["CP/CG", "CP/CG+N"]}).to_csv(tmp_path / "arms.csv", index=False)
    done = run("sample", model_file, "--given-covariates", tmp_path / "arms.csv", "-n", 5)
    found = pd.read_csv(io.StringIO(done.out))
    assert list(found["arm"]) == ["CP/CG"] * 5 + ["CP/CG+N"] * 5
    assert found["age"].nunique() > 6  # whole years
    assert "does not have are drawn: 'T-stage'" in done.err


def test_a_model_that_was_fitted_to_predict_generates_without_a_warning(run, csv, tmp_path, X):
    fit = ["--drop", "patient", "--hidden", 1, "--starts", 1]
    run("fit", csv, *UNORDERED, *fit, "-o", tmp_path / "m.harmonium")
    done = run("sample", tmp_path / "m.harmonium", "-n", 500)
    assert (done.code, done.err) == (0, "")
    cohort = pd.read_csv(io.StringIO(done.out))
    assert abs(cohort["age"].mean() - X["age"].mean()) < 1.5
    assert abs(cohort["gender_female"].mean() - X["gender_female"].mean()) < 0.08
