"""``harmonium compare``: the table of the library, and the same in JSON."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.studies.comparison import compare
from harmonium.studies.usual_models import Cox, KaplanMeier
from tests.cli.conftest import UNORDERED
from tests.documents import ROOT

QUICK = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=10), random_state=0, n_covariate_units=0)
METRICS = ("concordance", "integrated_brier_score")


@pytest.fixture(scope="module")
def found(X, y):
    return compare(X, y, models={"ours": QUICK, "Cox": Cox(), "Kaplan-Meier": KaplanMeier()}, n_folds=3)


def test_numbers_are_those_of_evaluate_on_the_same_folds(found, X, y):
    from harmonium.report.cross_validation import cross_validated

    own = hm.evaluate(cross_validated(QUICK, X, y, 3), X, y)
    for name in ("os", "rfs"):
        for metric in METRICS:
            for kind in (metric, f"{metric}_se"):
                assert found.loc[(name, "ours"), kind] == pytest.approx(own.loc[name, kind], rel=1e-9)


def test_gains_are_differences_with_smaller_errors_than_two_samples_would_have(found):
    for name in ("os", "rfs"):
        first = found.loc[(name, "ours")]
        for model in ("Cox", "Kaplan-Meier"):
            row = found.loc[(name, model)]
            assert row["concordance_gain"] == pytest.approx(first["concordance"] - row["concordance"])
            assert row["integrated_brier_score_gain"] == pytest.approx(row["integrated_brier_score"] - first["integrated_brier_score"])
            for metric in METRICS:
                assert 0.0 < row[f"{metric}_gain_se"] < np.hypot(first[f"{metric}_se"], row[f"{metric}_se"]) + 1e-12
                middle = (row[f"{metric}_gain_lower"] + row[f"{metric}_gain_upper"]) / 2
                assert middle == pytest.approx(row[f"{metric}_gain"])
        assert found.loc[(name, "Kaplan-Meier"), "concordance"] == 0.5


def test_the_error_of_a_gain_is_that_of_the_bootstrap(X, y):
    """Of the same predictions, over resampled subjects."""
    rng = np.random.default_rng(0)
    first, second = (-X["age"].to_numpy(float) * sign + 5.0 * rng.standard_normal(len(X)) for sign in (1.0, 0.5))

    class Told:
        def __init__(self, risk):
            self.risk = pd.Series(risk, index=X.index)

        def fit(self, X, y):
            return self

        def predict(self, X, *, endpoint):
            return self.risk[X.index].to_numpy()

        def predict_survival_function(self, X, *, endpoint, times, return_array):
            return np.exp(-np.exp(0.02 * self.predict(X, endpoint=endpoint))[:, None] * times / 100.0)

    row = compare(X, y, models={"a": Told(first), "b": Told(second)}, n_folds=2).loc[("os", "b")]
    drawn = [rng.integers(len(X), size=len(X)) for _ in range(300)]
    scores = [
        [hm.metrics.concordance_index(y.iloc[rows].reset_index(drop=True), risk[rows], endpoint="os") for risk in (first, second)]
        for rows in drawn
    ]
    assert row["concordance_gain_se"] == pytest.approx(np.std(np.diff(scores, axis=1)), rel=0.2)


def test_where_a_terminal_event_may_prevent_an_endpoint_incidences_are_compared():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    found = compare(X, y, models={"Cox": Cox(), "Aalen-Johansen": KaplanMeier()}, n_folds=3)
    assert found["integrated_brier_score"].between(0.1, 0.25).all()
    assert found.loc[("recurrence", "Cox"), "concordance"] > 0.5
    grid = [12.0, 24.0, 48.0]
    first, second = (model.fit(X, y).prognosis(X).survival("recurrence", grid) for model in (Cox(), KaplanMeier()))
    np.testing.assert_allclose(first.mean(axis=0), second.mean(axis=0), atol=0.02)
    assert (np.diff(first, axis=1) <= 0.0).all()


@pytest.mark.slow
def test_the_command_prints_the_table_and_the_same_as_json(run, csv, tmp_path):
    (tmp_path / "more.py").write_text("from harmonium.studies.usual_models import KaplanMeier\nMODELS = {'nothing': KaplanMeier()}\n")
    command = ["compare", csv, *UNORDERED, "--drop", "patient", "--folds", 2, "--rivals", tmp_path / "more.py"]
    done = run(*command)
    assert (done.code, done.err) == (0, "")
    for text in ("2-fold cross-validation", "gain in C-index", "harmonium", "Cox", "one curve for all", "nothing"):
        assert text in done.out
    found = json.loads(run(*command, "--json").out)
    assert list(found["endpoints"]) == ["os", "rfs"]
    own = found["endpoints"]["os"]
    assert own["nothing"]["integrated_brier_score"] == own["one curve for all"]["integrated_brier_score"]
    assert own["Cox"]["concordance_gain_lower"] < own["Cox"]["concordance_gain"] < own["Cox"]["concordance_gain_upper"]
    assert f"{own['Cox']['concordance']:.4f}" in done.out


@pytest.mark.slow
def test_the_forest_takes_part():
    from harmonium.studies.files import models_at

    X, y = hm.datasets.load_nvalt8()
    forest = models_at(str(ROOT / "benchmarks/forest.py"), "MODELS")["random survival forest"]
    found = compare(X, y, models={"Kaplan-Meier": KaplanMeier(), "forest": forest}, n_folds=2)
    assert found.loc[("os", "forest"), "concordance"] > 0.5


@pytest.mark.slow
def test_without_lifelines_cox_is_left_out(run, csv, monkeypatch):
    from harmonium.cli import compare as command

    monkeypatch.setattr(command, "find_spec", lambda name: None)
    done = run("compare", csv, "-e", "os=os_mth,os_event", "--drop", "patient", "--drop", "rfs_mth", "--drop", "rfs_event", "--folds", 2)
    assert done.code == 0
    assert "warning: Cox regression is left out: it needs lifelines" in done.err
    assert "Cox" not in done.out


def test_completion_knows_the_commands():
    environment = {"_HARMONIUM_COMPLETE": "complete_bash", "COMP_WORDS": "harmonium pr", "COMP_CWORD": "1"}
    from tests.processes import ENVIRONMENT

    done = subprocess.run(
        [sys.executable, "-m", "harmonium.cli"], env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["predict"]


def test_a_file_without_models_is_refused(run, csv, tmp_path):
    (tmp_path / "empty.py").write_text("RIVALS = {}\n")
    done = run("compare", csv, *UNORDERED, "--drop", "patient", "--rivals", tmp_path / "empty.py")
    assert done.code == 2
    assert "empty.py must define MODELS, a dictionary of models by name; found none" in done.err
