"""The benchmark: independent tasks that can be interrupted, and run anywhere with the same result."""

import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from harmonium.datasets.paper import load_paper_study
from harmonium.studies.benchmark.evaluation import Result, run_task, settings_of
from harmonium.studies.benchmark.execution import cluster, run_tasks
from harmonium.studies.benchmark.figure import draw_scores
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS, load_rivals
from harmonium.studies.benchmark.search import complete_candidates, count_tasks, failures, run_benchmark, work_left
from harmonium.studies.benchmark.storage import Results
from harmonium.studies.benchmark.summary import differences, mean_and_deviation
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
            inner = [results.get(Task("nvalt11", "harmonium", row.fold, candidate, k)) for k in range(2)]
            means.append(np.mean([result.scores[row.kind, "concordance"] for result in inner]))
        best = Task("nvalt11", "harmonium", row.fold, int(np.argmax(means)), None)
        assert settings_of(best) == row.settings
        assert results.get(best).scores[row.kind, "concordance"] == row.concordance


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


def lines_of(folder):
    """Lines of results, without how long they took and the checksum that depends on it."""
    lines = [line for path in sorted(folder.glob("*.csv")) for line in path.read_text().splitlines() if line[:1].isdigit()]
    return [[part for place, part in enumerate(line.split(",")[:-1]) if place != 3] for line in lines]


def test_a_killed_run_goes_on_where_it_stopped(reference, tmp_path):
    """kill -9 in the middle; then nothing that was finished is computed again, and the table is that of a run without interruption."""
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], env=ENVIRONMENT)
    while process.poll() is None and len(lines_of(tmp_path)) < 6:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = [line for path in tmp_path.glob("*.csv") for line in path.read_text().splitlines() if line[:1].isdigit()]
    assert 6 <= len(kept) < len(lines_of(reference[0]))
    pd.testing.assert_frame_equal(run(tmp_path), reference[1])
    assert lines_of(tmp_path) == lines_of(reference[0])
    # How long a task took would not be the same to three digits had it been run again.
    assert set(kept) <= {line for path in tmp_path.glob("*.csv") for line in path.read_text().splitlines()}


def test_a_copy_recomputes_nothing_and_a_deleted_result_comes_back_with_the_same_digits(reference, tmp_path, monkeypatch):
    folder, scores = reference
    for path in folder.glob("*.csv"):
        (tmp_path / path.name).write_text(path.read_text())
    chosen = tmp_path / "nvalt11-harmonium.csv"
    lines = chosen.read_text().splitlines()
    deleted = next(line for line in lines if line.split(",")[:3] == ["1", "1", "0"])
    chosen.write_text("\n".join(line for line in lines if line != deleted) + "\n")
    ran = []
    monkeypatch.setattr("harmonium.studies.benchmark.execution.run_task", lambda *call: ran.append(call[1].name) or run_task(*call))
    pd.testing.assert_frame_equal(run(tmp_path), scores)
    assert ran == ["nvalt11/harmonium/outer1-candidate1-inner0"]
    assert lines_of(tmp_path) == lines_of(folder)


def test_more_candidates_are_added_to_those_that_are_there(reference, tmp_path, monkeypatch):
    folder, _ = reference
    (tmp_path / "nvalt11-svm.csv").write_text((folder / "nvalt11-svm.csv").read_text())
    ran = []
    monkeypatch.setattr("harmonium.studies.benchmark.execution.run_task", lambda *call: ran.append(call[1]) or run_task(*call))
    more = Protocol(folds=2, candidates=2, rivals=FURTHER, exceptions=(("svm", 3),))
    run_benchmark(more, STUDIES, ["svm"], Results(tmp_path, more), 1, lambda: None)
    assert {task.candidate for task in ran if task.inner is not None} == {2}
    assert complete_candidates(more, "nvalt11", "svm", Results(folder, SMALL)) == 2
    assert complete_candidates(more, "nvalt11", "svm", Results(tmp_path, more)) == 3
    assert len([task for task in ran if task.inner is not None]) == 4


@pytest.fixture
def fragile(monkeypatch):
    """Support vector machines some of whose candidates fail, in the second inner fold or when they are fitted again."""

    def use(fails):
        original, fitted = type(RIVALS["svm"]).fit, []

        def fit(self, settings, X, y, seed):
            fitted.append((settings["rank_ratio"], len(X)))
            if fails(settings["rank_ratio"], len(X)):
                raise FloatingPointError("no luck")
            return original(self, settings, X, y, seed)

        monkeypatch.setattr(type(RIVALS["svm"]), "fit", fit)
        return fitted

    return use


def test_failures_are_recorded_and_reported_and_their_candidates_left_out(tmp_path, fragile):
    fitted = fragile(lambda ratio, n: ratio > 0.5)
    protocol = Protocol(folds=2, candidates=4)
    results = Results(tmp_path, protocol)
    scores = run_benchmark(protocol, ["ncctg"], ["svm"], results, 1, lambda: None)
    found = failures(protocol, ["ncctg"], ["svm"], results)
    bad = {(outer, c) for outer in range(2) for c in range(4) if settings_of(Task("ncctg", "svm", outer, c, 0))["rank_ratio"] > 0.5}
    assert len(bad) > 0
    assert (found["error"] == "FloatingPointError: no luck").all()
    assert found["diverged"].all()
    # Once failed, a candidate's other inner fold is not tried, and the table is the same as if it had been.
    assert sorted(found["task"]) == sorted(f"ncctg/svm/outer{outer}-candidate{c}-inner0" for outer, c in bad)
    assert len([ratio for ratio, _ in fitted if ratio > 0.5]) == len(bad)
    assert all(settings["rank_ratio"] <= 0.5 for settings in scores["settings"])
    assert work_left(protocol, ["ncctg"], ["svm"], results)[["diverged", "failed", "left"]].to_numpy().tolist() == [[len(bad), 0, 0]]
    for outer, c in bad:  # as if
        results.put(Task("ncctg", "svm", outer, c, 1), run_task(protocol, Task("ncctg", "svm", outer, c, 1)))
    pd.testing.assert_frame_equal(run_benchmark(protocol, ["ncctg"], ["svm"], results, 1, lambda: None), scores)


def test_where_the_best_candidate_fails_in_the_end_the_next_one_is_taken(tmp_path, fragile):
    protocol = Protocol(folds=2, candidates=3)
    results = Results(tmp_path / "all", protocol)
    best = run_benchmark(protocol, ["ncctg"], ["svm"], results, 1, lambda: None)["settings"][0]["rank_ratio"]
    fragile(lambda ratio, n: ratio == best and n == 114)
    results = Results(tmp_path / "some", protocol)
    scores = run_benchmark(protocol, ["ncctg"], ["svm"], results, 1, lambda: None)
    refits = failures(protocol, ["ncctg"], ["svm"], results)["task"]
    assert len(refits) >= 1
    assert not refits.str.contains("inner").any()
    assert scores["settings"][0]["rank_ratio"] != best
    assert scores["concordance"].notna().all()


def test_the_longest_tasks_begin_first(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr("harmonium.studies.benchmark.execution.run_task", lambda _, task: begun.append(task) or Result(1.0))
    tasks = [Task("ncctg", "forest", 0, candidate, 0) for candidate in range(8)]
    run_tasks(tasks, SMALL, Results(tmp_path, SMALL), 1, lambda: None)
    trees = [settings_of(task)["n_estimators"] * (1 if settings_of(task)["max_features"] else 3) for task in begun]
    assert trees == sorted(trees, reverse=True)
    assert begun != tasks


def test_the_papers_harmonium_has_one_candidate_for_all_kinds_of_prediction(tmp_path, monkeypatch):
    """Chosen given the other endpoint, as in the paper; inner folds score nothing else."""
    rival = type(RIVALS["paper-harmonium"])
    original = rival.draw
    monkeypatch.setattr(rival, "draw", lambda *call: {**original(*call), "n_epochs": 5})
    protocol = Protocol(folds=2, candidates=3)
    results = Results(tmp_path, protocol)
    scores = run_benchmark(protocol, ["nvalt11"], ["paper-harmonium"], results, 1, lambda: None)
    assert scores.groupby("fold")["settings"].apply(lambda own: all(one == own.iloc[0] for one in own)).all()
    assert scores[["concordance", "brier", "integrated_brier"]].notna().all(axis=None)
    for fold in range(2):
        inner = [[results.get(Task("nvalt11", "paper-harmonium", fold, c, k)).scores for k in range(2)] for c in range(3)]
        assert all(set(one) == {("*", "concordance")} for own in inner for one in own)
        best = int(np.argmax([np.mean([one["*", "concordance"] for one in own]) for own in inner]))
        assert results.get(Task("nvalt11", "paper-harmonium", fold, best, None)) is not None


def test_a_contrastive_fit_that_diverges_is_noticed_at_once(monkeypatch):
    rival = type(RIVALS["paper-harmonium"])
    settings = {"n_hidden": 8, "learning_rate": 1e8, "n_epochs": 10**6, "batch_size": 100, "l2": 0.1, "momentum": 0.9, "persistent": True}
    monkeypatch.setattr(rival, "draw", lambda *_: settings)
    result = run_task(Protocol(), Task("ncctg", "paper-harmonium", 0, 0, 0))
    assert result.diverged
    assert "training has diverged" in result.failure
    assert result.seconds < 30.0  # a million epochs take a quarter of an hour


@pytest.mark.parametrize("model", ["cox", "forest", "svm", "harmonium"])
def test_every_rival_is_better_than_chance(model):
    scores = [run_task(Protocol(), Task("gbsg2", model, 0, candidate, 0)).scores["plain", "concordance"] for candidate in (1, 2)]
    assert max(scores) > 0.58


def test_a_file_of_models_that_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError, match=r"there is no Python file nowhere\.py to take models from"):
        load_rivals("nowhere.py")


def test_the_figure_shows_the_means(reference):
    _, scores = reference
    table = mean_and_deviation(scores)
    figure = draw_scores(table)
    drawn = {container.get_label(): container.lines[0] for container in figure.axes[0].containers}
    assert drawn["nvalt11 harmonium *"].get_ydata()[0] == table.loc[("nvalt11", "harmonium", "*"), ("concordance", "mean")]
    assert set(drawn) == {"nvalt11 svm plain", *(f"nvalt11 {model} {kind}" for model in MODELS[1:] for kind in ("plain", "*"))}
    looks = {(line.get_marker(), line.get_markerfacecolor()) for line in drawn.values()}
    assert len({marker for marker, _ in looks}) == 3  # models are told apart without colour
    assert drawn["nvalt11 harmonium plain"].get_markerfacecolor() == "white"
    assert drawn["nvalt11 harmonium *"].get_markerfacecolor() != "white"


def test_statements_are_differences_in_the_same_folds(reference):
    _, scores = reference
    found = differences(scores).set_index(["statement", "model", "metric"])
    by_fold = scores[scores["model"] == "harmonium"].pivot_table(index="fold", columns="kind", values="concordance")
    gain = found.loc[("better concordance with the second endpoint", "harmonium", "concordance")]
    assert gain["mean"] == pytest.approx((by_fold["*"] - by_fold["plain"]).mean())
    assert gain["against"] == "harmonium, covariates alone"
    assert gain["holds"]
    beside = found.loc[("no gain from columns with missing values", "harmonium-default", "concordance")]
    assert beside["against"] == "svm"
    assert set(found["study"]) == {"nvalt11"}
    # The machine has no survival curves, so nothing can be compared with its Brier score.
    assert ("no gain from columns with missing values", "harmonium", "brier") not in found.index
