"""The whole benchmark: compare candidates, fit the best ones, collect their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.studies.benchmark.evaluation import kinds_of
from harmonium.studies.benchmark.execution import Results, run_tasks
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS

__all__ = ["METRICS", "collect", "count_tasks", "failures", "run_benchmark"]

METRICS = ("concordance", "brier", "integrated_brier")


def count_tasks(protocol: Protocol, studies: Sequence[str], models: Sequence[str]) -> int:
    """How often ``done`` is called: inner tasks, and an outer one for each fold and kind of prediction."""
    return sum(len(_inner(protocol, s, m)) + protocol.folds * len(kinds_of(s, m)) for s in studies for m in models)


def run_benchmark(
    protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results, n_jobs: int, done: Callable[[], None]
) -> pd.DataFrame:
    """Run what is missing and collect all scores.

    All inner tasks come first, those of all studies and models together, so that no core waits for another's last task.
    """
    pairs = [(study, model) for study in studies for model in models]
    run_tasks([task for pair in pairs for task in _inner(protocol, *pair)], protocol, results, n_jobs, done)
    outer = [task for pair in pairs for task in _outer(protocol, *pair, results).values()]
    distinct = list(dict.fromkeys(outer))
    for _ in range(len(outer) - len(distinct)):
        done()
    run_tasks(distinct, protocol, results, n_jobs, done)
    return collect(protocol, studies, models, results)


def collect(protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results) -> pd.DataFrame:
    """Scores of every study, model, kind of prediction and outer fold, as far as they are there."""
    rows = []
    for study in studies:
        for model in models:
            for (outer, kind), task in _outer(protocol, study, model, results).items():
                result = results.get(task) or {}
                scores = result.get(kind, {})
                row = {"study": study, "model": model, "kind": kind, "fold": outer, "settings": result.get("settings")}
                rows.append({**row, **{metric: scores.get(metric, np.nan) for metric in METRICS}})
    return pd.DataFrame(rows)


def failures(protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results) -> pd.DataFrame:
    """Tasks that ended in an error, with its text."""
    rows = []
    for study in studies:
        for model in models:
            outer = _outer(protocol, study, model, results).values()
            for task in dict.fromkeys([*_inner(protocol, study, model), *outer]):
                result = results.get(task)
                if result is not None and "error" in result:
                    rows.append({"task": task.name, "settings": result["settings"], "error": result["error"]})
    return pd.DataFrame(rows, columns=["task", "settings", "error"])


def _inner(protocol: Protocol, study: str, model: str) -> list[Task]:
    return list(protocol.inner_tasks(study, model)) if RIVALS[model].searched else []


def _outer(protocol: Protocol, study: str, model: str, results: Results) -> dict[tuple[int, str], Task]:
    """The task whose scores count, for each outer fold and kind of prediction; folds without any result are left out."""
    chosen = {}
    for outer in range(protocol.folds):
        for kind in kinds_of(study, model):
            candidate = _best_candidate(protocol, study, model, outer, kind, results) if RIVALS[model].searched else 0
            if candidate is not None:
                chosen[outer, kind] = Task(study, model, outer, candidate, None)
    return chosen


def _best_candidate(protocol: Protocol, study: str, model: str, outer: int, kind: str, results: Results) -> int | None:
    """The candidate with the highest mean inner concordance; those that failed in any inner fold do not count."""
    means = [
        np.mean([_inner_score(results.get(Task(study, model, outer, candidate, inner)), kind) for inner in range(protocol.folds)])
        for candidate in range(protocol.candidates)
    ]
    return None if np.isnan(means).all() else int(np.nanargmax(means))


def _inner_score(result: dict[str, Any] | None, kind: str) -> float:
    if result is None or "error" in result:
        return float("nan")
    return float(result[kind]["concordance"])
