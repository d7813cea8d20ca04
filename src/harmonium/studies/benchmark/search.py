"""The whole benchmark: compare candidates, fit the best ones, collect their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from harmonium.studies.benchmark.evaluation import METRICS, choosing_kind, kinds_of, settings_of
from harmonium.studies.benchmark.execution import cost_of, run_tasks
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS
from harmonium.studies.benchmark.storage import Results

__all__ = ["collect", "complete_candidates", "count_tasks", "failures", "run_benchmark", "work_left"]


def count_tasks(protocol: Protocol, studies: Sequence[str], models: Sequence[str]) -> int:
    """How often ``done`` is called: inner tasks, and an outer one for each fold and kind of prediction."""
    return sum(protocol.folds * (_n_inner(protocol, m) + len(kinds_of(s, m))) for s in studies for m in models)


def run_benchmark(
    protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results, n_jobs: int, done: Callable[[], None]
) -> pd.DataFrame:
    """Run what is missing and collect all scores.

    Inner folds come one after the other, each for all studies and models together. A candidate that has failed in one of them cannot be
    chosen any more and is left out of the others.
    """
    pairs = [(study, model) for study in studies for model in models]
    try:
        for inner in range(protocol.folds):
            tasks = [task for pair in pairs for task in _inner(protocol, *pair, inner)]
            promising = [task for task in tasks if not _has_failed(task, results)]
            for _ in range(len(tasks) - len(promising)):
                done()
            run_tasks(promising, protocol, results, n_jobs, done)
        _run_outer(protocol, pairs, results, n_jobs, done)
    finally:
        results.tidy()
    return collect(protocol, studies, models, results)


def _run_outer(protocol: Protocol, pairs: Sequence[tuple[str, str]], results: Results, n_jobs: int, done: Callable[[], None]) -> None:
    """Fit the best candidates; where that fails, the next best ones."""
    chosen = _chosen(protocol, pairs, results)
    missing = [task for task in dict.fromkeys(chosen) if results.get(task) is None]
    for _ in range(len(chosen) - len(missing)):
        done()
    while missing:
        run_tasks(missing, protocol, results, n_jobs, done)
        missing = [task for task in dict.fromkeys(_chosen(protocol, pairs, results)) if results.get(task) is None]


def _chosen(protocol: Protocol, pairs: Sequence[tuple[str, str]], results: Results) -> list[Task]:
    """The outer tasks that count, one for each fold and kind of prediction."""
    return [task for pair in pairs for task in _outer(protocol, *pair, results).values()]


def collect(protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results) -> pd.DataFrame:
    """Scores of every study, model, kind of prediction and outer fold, as far as they are there."""
    rows = []
    for study in studies:
        for model in models:
            for (outer, kind), task in _outer(protocol, study, model, results).items():
                result = results.get(task)
                scores = {} if result is None else result.scores
                row = {"study": study, "model": model, "kind": kind, "fold": outer, "settings": settings_of(task)}
                rows.append({**row, **{metric: scores.get((kind, metric), np.nan) for metric in METRICS}})
    return pd.DataFrame(rows, columns=["study", "model", "kind", "fold", "settings", *METRICS])


def failures(protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results) -> pd.DataFrame:
    """Tasks that failed: their settings, what was wrong, and whether they diverged."""
    rows = []
    for task in _all_tasks(protocol, [(study, model) for study in studies for model in models]):
        result = results.get(task)
        if result is not None and result.failure:
            rows.append({"task": task.name, "settings": settings_of(task), "error": result.failure, "diverged": result.diverged})
    return pd.DataFrame(rows, columns=["task", "settings", "error", "diverged"])


def complete_candidates(protocol: Protocol, study: str, model: str, results: Results) -> int:
    """How many candidates, counted from the first, have been compared in all folds; one for models without a search, once fitted."""
    if not RIVALS[model].searched:
        return int(all(results.get(Task(study, model, outer, 0, None)) is not None for outer in range(protocol.folds)))
    for candidate in range(protocol.candidates_of(model)):
        tasks = [Task(study, model, outer, candidate, inner) for outer in range(protocol.folds) for inner in range(protocol.folds)]
        if any(results.get(task) is None and not _has_failed(task, results) for task in tasks):
            return candidate
    return protocol.candidates_of(model)


def work_left(protocol: Protocol, studies: Sequence[str], models: Sequence[str], results: Results) -> pd.DataFrame:
    """Tasks of every study and model: done, diverged, failed otherwise, left; answers sampled; hours spent, and hours for the rest.

    The estimate supposes that what is left takes as long for its cost as what is done; NaN if nothing is done yet. Refits of the best
    candidates count as one inner task of average cost each.
    """
    rows = []
    for study, model in ((study, model) for study in studies for model in models):
        found = {task: results.get(task) for task in _all_tasks(protocol, [(study, model)])}
        done = {task: result for task, result in found.items() if result is not None}
        left = [task for task, result in found.items() if result is None and task.inner is not None and not _has_failed(task, results)]
        fits = protocol.folds - len({task.outer for task in done if task.inner is None})
        spent = sum(result.seconds for result in done.values())
        known = sum(cost_of(task) for task, result in done.items() if not result.failure)
        usual = float(np.mean([cost_of(task) for task in found])) if fits else 0.0
        rest = sum(map(cost_of, left)) + fits * usual
        diverged = sum(result.diverged for result in done.values())
        rows.append(
            {
                "study": study,
                "model": model,
                "done": len(done),
                "diverged": diverged,
                "failed": sum(bool(result.failure) for result in done.values()) - diverged,
                "sampled": sum(result.n_sampled for result in done.values()),
                "left": len(left) + fits,
                "hours": spent / 3600.0,
                "hours left": 0.0 if not rest else spent / 3600.0 * rest / known if known else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _n_inner(protocol: Protocol, model: str) -> int:
    """Inner tasks of an outer fold."""
    return protocol.folds * protocol.candidates_of(model) if RIVALS[model].searched else 0


def _inner(protocol: Protocol, study: str, model: str, inner: int) -> list[Task]:
    return list(protocol.inner_tasks(study, model, inner)) if RIVALS[model].searched else []


def _all_tasks(protocol: Protocol, pairs: Sequence[tuple[str, str]]) -> Iterator[Task]:
    """Everything that might be run."""
    for study, model in pairs:
        for inner in range(protocol.folds):
            yield from _inner(protocol, study, model, inner)
        for outer in range(protocol.folds):
            for candidate in range(protocol.candidates_of(model) if RIVALS[model].searched else 1):
                yield Task(study, model, outer, candidate, None)


def _has_failed(task: Task, results: Results) -> bool:
    """Whether a task's candidate has failed in an inner fold before the task's."""
    assert task.inner is not None
    before = (results.get(Task(task.study, task.model, task.outer, task.candidate, inner)) for inner in range(task.inner))
    return any(result is not None and bool(result.failure) for result in before)


def _outer(protocol: Protocol, study: str, model: str, results: Results) -> dict[tuple[int, str], Task]:
    """The task whose scores count, for each outer fold and kind of prediction; folds without any result are left out."""
    chosen = {}
    for outer in range(protocol.folds):
        for kind in kinds_of(study, model):
            by = choosing_kind(study, model, kind)
            candidate = _best_candidate(protocol, study, model, outer, by, results) if RIVALS[model].searched else 0
            if candidate is not None:
                chosen[outer, kind] = Task(study, model, outer, candidate, None)
    return chosen


def _best_candidate(protocol: Protocol, study: str, model: str, outer: int, kind: str, results: Results) -> int | None:
    """The candidate with the highest mean inner concordance; those that failed anywhere do not count."""
    means = np.full(protocol.candidates_of(model), np.nan)
    for candidate in range(means.size):
        refitted = results.get(Task(study, model, outer, candidate, None))
        if refitted is None or not refitted.failure:
            inner = (results.get(Task(study, model, outer, candidate, inner)) for inner in range(protocol.folds))
            means[candidate] = np.mean([np.nan if one is None else one.scores.get((kind, "concordance"), np.nan) for one in inner])
    return None if np.isnan(means).all() else int(np.nanargmax(means))
