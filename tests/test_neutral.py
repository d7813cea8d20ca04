"""The metric of the neutral comparison, against other implementations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sksurv.metrics import concordance_index_censored
from sksurv.nonparametric import kaplan_meier_estimator

from benchmarks import neutral_worker
from benchmarks.neutral import compared, mean_ranks
from benchmarks.neutral_worker import concordance, grid, integrated_brier_score, kaplan_meier


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return [pd.DataFrame({"time": rng.integers(1, 30, n).astype(float), "status": rng.integers(0, 2, n)}) for n in (60, 25)]


def test_kaplan_meier(tables):
    times, events = tables[0]["time"].to_numpy(), tables[0]["status"].to_numpy() == 1
    at, expected = kaplan_meier_estimator(events, times)
    np.testing.assert_allclose(kaplan_meier(times, events, at), expected, atol=1e-12)
    assert kaplan_meier(times, events, np.array([0.0]))[0] == 1.0


def test_concordance(tables):
    test = tables[1].assign(time=np.arange(25.0))  # without ties of times, on which definitions differ
    risk = np.round(np.random.default_rng(1).normal(size=25), 1)
    expected = concordance_index_censored(test["status"] == 1, test["time"], risk)[0]
    assert concordance(test, risk) == pytest.approx(expected, abs=1e-12)


def test_integrated_brier_score_by_a_loop(tables):
    train, test = tables
    at = grid(test["time"].to_numpy())
    survival = np.random.default_rng(2).uniform(size=(len(test), len(at)))
    times, status = train["time"].to_numpy(), train["status"].to_numpy()
    scores = []
    for place, t in enumerate(at):
        total = 0.0
        for row, (time, event) in enumerate(test[["time", "status"]].itertuples(index=False)):
            g = max(kaplan_meier(times, status == 0, min(t, time)), 1e-3)
            if time <= t and event:
                total += survival[row, place] ** 2 / g
            elif time > t >= times.min():
                total += (1.0 - survival[row, place]) ** 2 / g
        scores.append(total / len(test))
    expected = np.sum(np.diff(at) * (np.array(scores)[1:] + np.array(scores)[:-1]) / 2.0) / (at[-1] - at[0])
    assert integrated_brier_score(train, test, at, survival) == pytest.approx(expected, abs=1e-12)


def test_the_grid_ends_where_four_fifths_have_left():
    assert grid(np.arange(1.0, 11.0)).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert grid(np.repeat([1.0, 2.0, 3.0, 4.0], [1, 8, 2, 2])).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert grid(np.repeat([1.0, 2.0, 3.0, 4.0], [1, 9, 1, 1])).tolist() == [1.0, 2.0, 3.0]


def test_ranks_among_published_learners():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["task", "iteration"])
    published = pd.DataFrame({"good": [0.1, 0.1], "bad": [0.3, 0.3]}, index=index)
    before, now = (pd.DataFrame({"isbs": [isbs] * 2, "harrell_c": 0.6, "seconds": 1.0}, index=index) for isbs in (0.4, 0.2))
    (row,) = compared(published, before, now)
    assert (row["rank version 0.1"], row["rank now"], row["relative"], row["best learner"]) == (3, 2, 0.5, "good")


def test_the_worker_runs_by_itself(tmp_path):
    """As a script, beside files whose names must not hide a library's."""
    rng = np.random.default_rng(3)
    (tmp_path / "data").mkdir()
    table = pd.DataFrame({"x": rng.normal(size=80), "time": rng.integers(1, 30, 80).astype(float), "status": rng.integers(0, 2, 80)})
    table.to_parquet(tmp_path / "data" / "small.parquet")
    pd.DataFrame({"task": "small", "iteration": 1, "row": np.arange(20)}).to_parquet(tmp_path / "test_rows.parquet")
    worker = Path(neutral_worker.__file__)
    subprocess.run([sys.executable, str(worker), str(tmp_path), str(tmp_path / "scores.csv")], cwd=tmp_path, check=True)
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores["task"].tolist() == ["small"]
    assert 0.0 < scores["isbs"].iloc[0] < 0.4


def test_mean_ranks_count_the_default_among_the_learners():
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["task", "iteration"])
    published = pd.DataFrame({"one": [0.1, 0.3, 0.2, 0.2], "two": [0.3, 0.3, 0.1, 0.1]}, index=index)
    now = pd.DataFrame({"isbs": [0.15, 0.15, 0.4, 0.4]}, index=index)
    assert mean_ranks(published, now) == {"one": 2.0, "two": 2.0, "harmonium": 2.0}
    assert next(iter(mean_ranks(published, 0.1 * now))) == "harmonium"
