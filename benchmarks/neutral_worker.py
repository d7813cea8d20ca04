"""Fits the default model to the folds of a neutral comparison and scores it, with whatever version of ``harmonium`` is importable.

Nothing else of the project is imported, so that version 0.1 can be run beside the present one, in a process of its own:
``python neutral_worker.py FOLDER SCORES [STUDY ...]``. Scores are appended to the file SCORES fold by fold; what it holds is not computed
again.

The metric is the comparison's own, recovered from the scores that it published. The Brier score is Graf's. The distribution of
censoring is Kaplan and Meier's, of the training fold, at t and not just before; subjects with an event are weighted by its inverse at their
own time, 0 being replaced by 0.001; survivors count 0 before the first time of the training fold. It is integrated by trapezoids over the
distinct times of the test fold until more than 80 % have left the risk set, and divided by the range. Concordance is Harrell's.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

__all__ = ["COLUMNS", "Fold", "concordance", "folds_of", "grid", "integrated_brier_score", "kaplan_meier", "tasks_of"]

COLUMNS = ("task", "iteration", "isbs", "harrell_c", "seconds")
_MANY_ROWS, _FEW_FOLDS = 3000, 3
_LEFT = 0.8  # of the risk set, where the grid ends
_NEVER = 1e-3  # in place of a probability of 0


class Fold(NamedTuple):
    """A training table and a test table."""

    task: str
    iteration: int
    train: pd.DataFrame
    test: pd.DataFrame


def tasks_of(folder: Path) -> list[str]:
    """The studies that are there."""
    return sorted(path.stem for path in (folder / "data").glob("*.parquet"))


def folds_of(folder: Path, task: str) -> list[Fold]:
    """The published folds of a study; three of them if it has many rows."""
    table = pd.read_parquet(folder / "data" / f"{task}.parquet").reset_index(drop=True)
    rows = pd.read_parquet(folder / "test_rows.parquet")
    rows = rows[rows["task"] == task]
    first = int(rows["row"].min()) if len(rows) else 0  # rows are counted from 0 or from 1
    iterations = sorted(rows["iteration"].unique())[: _FEW_FOLDS if len(table) >= _MANY_ROWS else None]
    out = []
    for iteration in iterations:
        in_test = np.zeros(len(table), dtype=bool)
        in_test[rows.loc[rows["iteration"] == iteration, "row"].to_numpy() - first] = True
        out.append(Fold(task, int(iteration), table[~in_test], table[in_test]))
    return out


def kaplan_meier(times: Any, events: Any, at: Any) -> Any:
    """Kaplan and Meier's estimate of P(T > t)."""
    order = np.argsort(times, kind="stable")
    sorted_times, sorted_events = np.asarray(times)[order], np.asarray(events, dtype=bool)[order]
    distinct, first = np.unique(sorted_times, return_index=True)
    at_risk = len(sorted_times) - first
    died = np.add.reduceat(sorted_events.astype(float), first)
    survival = np.concatenate([[1.0], np.cumprod(1.0 - died / at_risk)])
    return survival[np.searchsorted(distinct, at, side="right")]


def grid(times: Any) -> Any:
    """The times at which the Brier score is computed."""
    distinct = np.unique(times)
    left = np.searchsorted(np.sort(times), distinct, side="left") / len(times)
    beyond = np.flatnonzero(left > _LEFT)
    return distinct[: beyond[0] + 1] if beyond.size else distinct


def integrated_brier_score(train: pd.DataFrame, test: pd.DataFrame, at: Any, survival: Any) -> float:
    """Of predicted survival (rows, times)."""
    times, events = test["time"].to_numpy(float), test["status"].to_numpy() == 1
    first = train["time"].min()

    def uncensored(t: Any) -> Any:
        found = kaplan_meier(train["time"].to_numpy(float), train["status"].to_numpy() != 1, t)
        return np.where(found > 0.0, found, _NEVER)

    dead = (times[:, None] <= at) & events[:, None]
    alive = (times[:, None] > at) & (at >= first)
    score = np.where(dead, survival**2 / uncensored(times)[:, None], 0.0) + np.where(alive, (1.0 - survival) ** 2 / uncensored(at), 0.0)
    return float(np.trapezoid(score.mean(axis=0), at) / (at[-1] - at[0]))


def concordance(test: pd.DataFrame, risk: Any) -> float:
    """Harrell's C."""
    times, events = test["time"].to_numpy(float), test["status"].to_numpy() == 1
    pairs = (times[:, None] < times) & events[:, None]
    agree = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    return float((pairs * agree).sum() / pairs.sum())


def _scores(fold: Fold) -> tuple[float, float, float]:
    import harmonium as hm  # noqa: PLC0415 - this file's functions are of use without it

    X, X_test = fold.train.drop(columns=["time", "status"]), fold.test.drop(columns=["time", "status"])
    y = hm.endpoints(fold.train, event=("time", "status"))
    begin = time.process_time()
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    seconds = time.process_time() - begin
    at = grid(fold.test["time"].to_numpy(float))
    survival = np.asarray(model.predict_survival_function(X_test, times=at, return_array=True))
    return integrated_brier_score(fold.train, fold.test, at, survival), concordance(fold.test, np.asarray(model.predict(X_test))), seconds


def main(folder: Path, scores: Path, tasks: list[str]) -> None:
    """Score all folds of some studies that are not in the file yet."""
    warnings.simplefilter("ignore")
    if not scores.exists():
        scores.parent.mkdir(parents=True, exist_ok=True)
        scores.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    done = set(pd.read_csv(scores)[["task", "iteration"]].itertuples(index=False, name=None))
    for task in tasks or tasks_of(folder):
        for fold in folds_of(folder, task):
            if (task, fold.iteration) not in done:
                isbs, harrell_c, seconds = _scores(fold)
                with scores.open("a", encoding="utf-8") as file:
                    file.write(f"{task},{fold.iteration},{isbs!r},{harrell_c!r},{seconds!r}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
