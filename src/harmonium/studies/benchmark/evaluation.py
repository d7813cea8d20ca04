"""Running one task: fit, predict, score; a failure is a result too."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from harmonium.datasets.paper import load_paper_study
from harmonium.metrics.brier import brier_score, integrated_brier_score
from harmonium.metrics.concordance import concordance_index
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rival import Rival, Settings
from harmonium.studies.benchmark.rivals import RIVALS
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.landmark import landmark
from harmonium.typing import Array

__all__ = ["DIVERGED", "LANDMARK", "METRICS", "Result", "choosing_kind", "inputs_digest", "kinds_of", "run_task", "settings_of"]

LANDMARK = 12.0
"""Months, for studies with two endpoints."""

METRICS = ("concordance", "brier", "integrated_brier")

DIVERGED = "FloatingPointError"
"""What the failure of a fit begins with whose parameters or predictions are no longer numbers."""


@dataclass(frozen=True)
class Result:
    """What came out of a task.

    Attributes
    ----------
    seconds : float
        Of processor time, which other work on the machine does not lengthen.
    failure : str
        What went wrong; empty if nothing did.
    n_sampled : int
        Answers found by Gibbs sampling instead of a sum or an integral.
    scores : dict
        Values by kind of prediction and metric.
    """

    seconds: float
    failure: str = ""
    n_sampled: int = 0
    scores: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def diverged(self) -> bool:
        """Whether parameters or predictions stopped being numbers."""
        return self.failure.startswith(DIVERGED)


def kinds_of(study: str, model: str) -> tuple[str, ...]:
    """Ways in which predictions are made.

    "plain": from covariates alone; "*": given everything observed of the other endpoint; "landmark": given what was known at that time, for
    subjects without a first event until then.
    """
    _, y = _study(study, complete=False)
    several = not RIVALS[model].complete and len(parse_endpoints(y).names) > 1
    return ("plain", "*", "landmark") if several else ("plain",)


def choosing_kind(study: str, model: str, kind: str) -> str:
    """The kind of prediction whose concordance in the inner folds chooses the candidate for a kind of prediction."""
    return "*" if RIVALS[model].tuned_given_all and "*" in kinds_of(study, model) else kind


def settings_of(task: Task) -> Settings:
    """The settings of a task's candidate."""
    return RIVALS[task.model].draw(task.settings_rng(), task.study)


def inputs_digest(protocol: Protocol, study: str, model: str) -> str:
    """A fingerprint of what goes into the results: the table, the folds, the search space. Twelve hexadecimal digits."""
    X, y = _study(study, RIVALS[model].complete)
    digest = hashlib.sha256()
    for table in (X, y):
        digest.update(table.to_csv(float_format="%.10g").encode())
    for outer in range(protocol.folds):
        task = Task(study, model, outer, candidate=outer, inner=outer)
        drawn = {name: f"{value:.10g}" if isinstance(value, float) else value for name, value in settings_of(task).items()}
        digest.update(json.dumps([drawn, protocol.rows(y, task)[1].tolist()]).encode())
    return digest.hexdigest()[:12]


def run_task(protocol: Protocol, task: Task) -> Result:
    """Fit and score; in one thread, since tasks run side by side."""
    begin = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores, n_sampled = _scores(protocol, task, RIVALS[task.model])
    except Exception as error:  # a candidate that fails is reported, and the others go on
        return Result(time.process_time() - begin, f"{type(error).__name__}: {error}")
    return Result(time.process_time() - begin, "", n_sampled, scores)


@lru_cache(maxsize=16)
def _study(name: str, complete: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    return load_paper_study(name, complete=complete)


def _scores(protocol: Protocol, task: Task, rival: Rival) -> tuple[dict[tuple[str, str], float], int]:
    """Scores by kind and metric, and how many answers were sampled; inner folds have what a candidate is chosen by, and nothing else."""
    X, y = _study(task.study, rival.complete)
    train, test = protocol.rows(y, task)
    model = rival.fit(settings_of(task), X.iloc[train], y.iloc[train], int(task.rng("fit").integers(2**31)))
    half = 0.5 * float(parse_endpoints(y).lower[:, 0].max())
    kinds, all_metrics = kinds_of(task.study, task.model), task.inner is None
    if not all_metrics:
        kinds = tuple(dict.fromkeys(choosing_kind(task.study, task.model, kind) for kind in kinds))
    scores: dict[tuple[str, str], float] = {}
    n_sampled = 0
    for kind in kinds:
        found, sampled = _score(rival, model, X, y, train, test, kind, half, all_metrics=all_metrics)
        scores.update({(kind, metric): value for metric, value in found.items()})
        n_sampled += sampled
    return scores, n_sampled


def _score(
    rival: Rival, model: Any, X: Any, y: Any, train: Any, test: Any, kind: str, half: float, *, all_metrics: bool
) -> tuple[dict[str, float], int]:
    """Concordance, Brier score at half of the last observed time, and integrated Brier score, of the first endpoint.

    The metrics are those of :func:`harmonium.metrics.evaluate`, one by one. Its table would not do: the protocol has a Brier score at one
    time, some rivals have no survival curves, and Uno's index, calibration and standard errors would cost more than some of the fits.
    """
    name = parse_endpoints(y).names[0]
    if kind == "landmark":
        train, test = (rows[parse_endpoints(y).lower[rows, 0] > LANDMARK] for rows in (train, test))
    X_test, y_test, y_train = X.iloc[test], y.iloc[test], y.iloc[train]
    given = y_test.drop(columns=name, level=0) if kind == "*" else landmark(y_test, LANDMARK) if kind == "landmark" else None
    grid = _grid(y_test, name, LANDMARK if kind == "landmark" else 0.0) if all_metrics else np.empty(0)
    times = np.append(grid, half) if all_metrics else grid
    predicted = rival.predict(model, X_test, half, times, given)
    if not np.isfinite(predicted.risk).all():
        raise FloatingPointError("predictions are not finite")
    out = {"concordance": concordance_index(y_test, predicted.risk, endpoint=name)}
    if all_metrics and predicted.survival is not None:
        alive = predicted.survival
        out["brier"] = float(brier_score(y_test, alive[:, -1:], [half], endpoint=name, y_train=y_train)[0])
        out["integrated_brier"] = integrated_brier_score(y_test, alive[:, :-1], grid, endpoint=name, y_train=y_train)
    return out, predicted.n_sampled


def _grid(y: Any, name: str, after: float) -> Array:
    """Times between the tenth and the ninetieth percentile of what is observed after a time."""
    observed = y[name, "lower"].to_numpy()
    first, last = np.percentile(observed[observed > after], [10.0, 90.0])
    return np.linspace(first, last, 40)
