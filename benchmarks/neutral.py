"""A neutral comparison: the default model on the data, folds and metric of Burk et al., beside version 0.1 and the learners they tuned.

Burk et al., "A Large-Scale Neutral Comparison Study of Survival Models on Low-Dimensional Data" (arXiv 2406.04098), publish 34 studies, the
outer folds and every learner's score on every fold. The folder holds some of them: ``data/STUDY.parquet`` (covariates, ``time``,
``status``), ``test_rows.parquet`` (``task``, ``iteration``, ``row``: the rows of each test fold) and ``published_scores.parquet``
(``task``, ``learner``, ``iteration``, ``tune_measure``, ``isbs``, ``harrell_c``). All folds of studies with fewer than 3000 rows are
fitted, three of the others.

``python -m benchmarks neutral FOLDER``. Scores are kept fold by fold, so that an interrupted run goes on; those of the present code start
anew when it changes. That the metric is theirs is checked: Kaplan and Meier's estimate must have the score that was published for it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.neutral_worker import folds_of, grid, integrated_brier_score, kaplan_meier, tasks_of
from benchmarks.provenance import print_table, write_result
from benchmarks.version_0_1 import ROOT, TODAY, environment, unpack

__all__ = ["compared", "largest_disagreement", "mean_ranks", "run"]

_SCORES = ROOT / ".cache" / "neutral"
_AGREES = 1e-4  # relative; a study's times are rounded in what was published
_OURS = ("version 0.1", "now")


def run(folder: Path) -> None:
    """Fit, score, compare and keep."""
    published = _published(folder)
    disagreement = largest_disagreement(folder, published)
    if disagreement > _AGREES:
        raise ValueError(f"the metric is not theirs: Kaplan and Meier's scores differ by {disagreement:.2g} of what was published")
    scores = [_scored(folder, source, name) for source, name in ((unpack(), "version-0.1"), (TODAY, _digest(TODAY)))]
    rows = compared(published, *scores)
    print_table(f"Integrated Brier scores (Kaplan-Meier's agree with what was published to {disagreement:.1g})", rows)
    relative = np.array([row["relative"] for row in rows])
    print(f"mean {relative.mean():.4f}, median {np.median(relative):.4f}; worse by more than 1 %: {(relative > 1.01).sum()} of {len(rows)}")
    for name in _OURS:
        rank = np.mean([row[f"rank {name}"] for row in rows])
        print(f"mean rank of {name} among {rows[0]['learners']} published learners: {rank:.2f}")
    ranks = mean_ranks(published, scores[1])
    print("mean ranks of all: " + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items()))
    write_result("neutral", rows)


def _published(folder: Path) -> pd.DataFrame:
    """Integrated Brier scores (task and iteration, learner) of learners that were tuned for them."""
    scores = pd.read_parquet(folder / "published_scores.parquet")
    scores = scores[scores["tune_measure"].str.contains("isbs")]
    return scores.pivot_table(index=["task", "iteration"], columns="learner", values="isbs", observed=True)


def largest_disagreement(folder: Path, published: pd.DataFrame) -> float:
    """Between Kaplan and Meier's scores as they are computed here and as they were published, relative."""
    differences = [0.0]
    for task in tasks_of(folder):
        for fold in folds_of(folder, task):
            at = grid(fold.test["time"].to_numpy(float))
            curve = kaplan_meier(fold.train["time"].to_numpy(float), fold.train["status"].to_numpy() == 1, at)
            found = integrated_brier_score(fold.train, fold.test, at, np.tile(curve, (len(fold.test), 1)))
            differences.append(abs(found / published.loc[(task, fold.iteration), "KM"] - 1.0))
    return float(max(differences))


def _digest(source: Path) -> str:
    """A name that changes with the code."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.rglob("*.py")))).hexdigest()[:12]


def _scored(folder: Path, source: Path, name: str) -> pd.DataFrame:
    """Scores of a version's default model, by task and iteration; folds that were scored before are not fitted again."""
    scores = _SCORES / f"{name}.csv"
    worker = ROOT / "benchmarks" / "neutral_worker.py"
    subprocess.run([sys.executable, str(worker), str(folder.resolve()), str(scores)], cwd=source, env=environment(source), check=True)
    return pd.read_csv(scores).set_index(["task", "iteration"]).sort_index()


def mean_ranks(published: pd.DataFrame, now: pd.DataFrame) -> dict[str, float]:
    """Of the default model and all learners by their mean scores in each study, the best first."""
    scores = published.reindex(now.index).assign(harmonium=now["isbs"]).groupby("task").mean()
    ranks: dict[str, float] = scores.rank(axis=1).mean().sort_values().to_dict()
    return ranks


def compared(published: pd.DataFrame, before: pd.DataFrame, now: pd.DataFrame) -> list[dict[str, Any]]:
    """Of every study, both versions' mean scores and their ranks among the published learners, each version by itself."""
    rows = []
    for task in now.index.unique("task"):
        ours = [table.loc[task] for table in (before, now)]
        rivals = published.loc[task].reindex(ours[1].index).mean()
        first, second = (float(table["isbs"].mean()) for table in ours)
        rows.append(
            {
                "study": task,
                "folds": len(ours[1]),
                "IBS version 0.1": first,
                "IBS now": second,
                "relative": second / first,
                "rank version 0.1": int((rivals < first).sum()) + 1,
                "rank now": int((rivals < second).sum()) + 1,
                "learners": int(rivals.notna().sum()),
                "best learner": str(rivals.idxmin()),
                "C version 0.1": float(ours[0]["harrell_c"].mean()),
                "C now": float(ours[1]["harrell_c"].mean()),
                "CPU seconds version 0.1": float(ours[0]["seconds"].mean()),
                "CPU seconds now": float(ours[1]["seconds"].mean()),
            }
        )
    return rows
