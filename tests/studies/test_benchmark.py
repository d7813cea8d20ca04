"""The benchmark: independent tasks that can be interrupted, and run anywhere with the same result."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from harmonium.datasets.paper import load_paper_study
from harmonium.studies.benchmark.evaluation import kinds_of, run_task
from harmonium.studies.benchmark.execution import Results, cluster
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS, load_rivals
from harmonium.studies.benchmark.search import count_tasks, failures, run_benchmark
from harmonium.studies.benchmark.summary import draw_scores, mean_and_deviation
from tests.processes import ENVIRONMENT, ROOT

pytestmark = pytest.mark.slow

FURTHER = str(ROOT / "benchmarks" / "rivals.py")
"""The forest and the support vector machine, which the library itself does not know."""
load_rivals(FURTHER)

SMALL = Protocol(folds=2, candidates=2, rivals=FURTHER)
STUDIES, MODELS = ["nvalt11"], ["svm", "harmonium", "harmonium-default"]


def run(folder, n_jobs=1, done=lambda: None, address=None):
    with cluster(address):
        return run_benchmark(SMALL, STUDIES, MODELS, Results(folder, SMALL), n_jobs, done)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    calls = Counter()
    scores = run(folder, done=lambda: calls.update(["done"]))
    assert calls["done"] == count_tasks(SMALL, STUDIES, MODELS)
    return folder, scores


def test_every_model_has_scores_in_every_fold(reference):
    _, scores = reference
    counts = scores.groupby(["model", "kind"]).size()
    assert (counts == 2).all()
    assert set(counts.index) == {("svm", "plain"), *((m, k) for m in MODELS[1:] for k in ("plain", "*", "landmark"))}
    assert scores["concordance"].between(0.0, 1.0).all()
    assert scores.loc[scores["model"] != "svm", "integrated_brier"].between(0.0, 0.5).all()
    assert scores.loc[scores["model"] == "svm", "brier"].isna().all()


def test_folds_partition_the_rows_and_inner_ones_stay_inside():
    _, y = load_paper_study("nvalt8")
    outer = [Protocol().rows(y, Task("nvalt8", "cox", k, 0, None)) for k in range(5)]
    assert sorted(np.concatenate([test for _, test in outer])) == list(range(len(y)))
    for train, test in outer:
        assert not set(train) & set(test)
    inner = [Protocol().rows(y, Task("nvalt8", "cox", 2, 0, k)) for k in range(5)]
    assert sorted(np.concatenate([test for _, test in inner])) == sorted(outer[2][0])
    for train, test in inner:
        assert not (set(train) | set(test)) & set(outer[2][1])


def test_the_best_inner_candidate_is_fitted(reference):
    folder, scores = reference
    results = Results(folder, SMALL)
    for row in scores[(scores["model"] == "harmonium")].itertuples():
        means = []
        for candidate in range(2):
            inner = [results.get(Task("nvalt11", "harmonium", row.fold, candidate, k))[row.kind]["concordance"] for k in range(2)]
            means.append(np.mean(inner))
        best = Task("nvalt11", "harmonium", row.fold, int(np.argmax(means)), None)
        assert results.get(best)["settings"] == row.settings
        assert results.get(best)[row.kind]["concordance"] == row.concordance


def test_a_second_run_computes_nothing(reference, monkeypatch):
    folder, scores = reference
    monkeypatch.setattr("harmonium.studies.benchmark.execution.run_task", lambda *_: pytest.fail("a finished task ran again"))
    pd.testing.assert_frame_equal(run(folder), scores)


def test_two_processes_give_the_same_table(reference, tmp_path):
    pd.testing.assert_frame_equal(run(tmp_path, n_jobs=2), reference[1])


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_table(reference, tmp_path):
    from dask.distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local:
        found = run(tmp_path, n_jobs=-1, address=local.scheduler_address)
    pd.testing.assert_frame_equal(found, reference[1])


SCRIPT = """
import sys
from pathlib import Path
from tests.studies.test_benchmark import run
run(Path(sys.argv[1]))
"""


def test_a_killed_run_goes_on_where_it_stopped(reference, tmp_path):
    """kill -9 in the middle; then nothing that was finished is computed again, and the table is that of a run without interruption."""
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], env=ENVIRONMENT)
    while process.poll() is None and len(list(tmp_path.rglob("*candidate*.json"))) < 6:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*candidate*.json")}
    assert 6 <= len(kept) < len(list(reference[0].rglob("*candidate*.json")))
    for path in kept:
        json.loads(path.read_text())
    pd.testing.assert_frame_equal(run(tmp_path), reference[1])
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_failures_are_recorded_and_reported(tmp_path, monkeypatch):
    def fails(self, settings, X, y, seed):
        if settings["rank_ratio"] > 0.5:
            raise FloatingPointError("no luck")
        return original(self, settings, X, y, seed)

    original = type(RIVALS["svm"]).fit
    monkeypatch.setattr(type(RIVALS["svm"]), "fit", fails)
    protocol = Protocol(folds=2, candidates=4)
    results = Results(tmp_path, protocol)
    scores = run_benchmark(protocol, ["ncctg"], ["svm"], results, 1, lambda: None)
    found = failures(protocol, ["ncctg"], ["svm"], results)
    assert len(found) > 0
    assert (found["error"] == "FloatingPointError: no luck").all()
    assert all(settings["rank_ratio"] > 0.5 for settings in found["settings"])
    assert all(settings["rank_ratio"] <= 0.5 for settings in scores["settings"])


@pytest.mark.parametrize("model", ["cox", "forest", "svm", "harmonium"])
def test_every_rival_is_better_than_chance(model):
    scores = [run_task(Protocol(), Task("gbsg2", model, 0, candidate, 0))["plain"]["concordance"] for candidate in (1, 2)]
    assert max(scores) > 0.58


def test_the_papers_harmonium_runs_with_settings_from_its_intervals():
    rival = RIVALS["paper-harmonium"]
    drawn = [rival.draw(Task("nvalt8", "paper-harmonium", 0, c, 0).settings_rng(), "nvalt8") for c in range(200)]
    assert all(1 <= s["n_hidden"] <= 128 and 500 <= s["n_epochs"] <= 100_000 for s in drawn)
    assert all(1e-5 <= s["learning_rate"] <= 0.0125 and 25 <= s["batch_size"] <= 1000 for s in drawn)
    assert all(0.0 <= s["momentum"] <= 0.9 and 1e-5 <= s["l2"] <= 0.1 for s in drawn)
    X, y = load_paper_study("nvalt8")
    model = rival.fit({**drawn[0], "n_hidden": 3, "n_epochs": 20}, X, y, 0)
    assert rival.survival(model, X[:3], np.array([12.0, 24.0]), None).shape == (3, 2)
    assert kinds_of("nvalt8", "paper-harmonium") == ("plain", "*", "landmark")


def test_a_file_of_models_that_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError, match=r"there is no Python file nowhere\.py to take models from"):
        load_rivals("nowhere.py")


def test_results_of_other_folds_are_not_mixed(tmp_path):
    Results(tmp_path, Protocol(folds=2))
    with pytest.raises(ValueError, match="Use another folder"):
        Results(tmp_path, Protocol(folds=3))


def test_the_figure_shows_the_means(reference):
    _, scores = reference
    table = mean_and_deviation(scores)
    figure = draw_scores(scores)
    drawn = {container.get_label(): container.lines[0].get_ydata()[0] for container in figure.axes[0].containers}
    assert drawn["harmonium*"] == table.loc[("nvalt11", "harmonium", "*"), ("concordance", "mean")]
    assert len(drawn) == 7
