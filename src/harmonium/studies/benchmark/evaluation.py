"""Running one task: fit, predict, score; a failure is a result too."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from harmonium.datasets.paper import load_paper_study
from harmonium.metrics.brier import brier_score, integrated_brier_score
from harmonium.metrics.concordance import concordance_index
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS, Rival
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.landmark import landmark
from harmonium.typing import Array

__all__ = ["LANDMARK", "kinds_of", "run_task"]

LANDMARK = 12.0
"""Months, for studies with two endpoints."""

Result = dict[str, Any]


def kinds_of(study: str, model: str) -> tuple[str, ...]:
    """Ways in which predictions are made.

    "plain": from covariates alone; "*": given everything observed of the other endpoint; "landmark": given what was known at that time, for
    subjects without a first event until then.
    """
    _, y = _study(study, complete=False)
    several = not RIVALS[model].complete and len(parse_endpoints(y).names) > 1
    return ("plain", "*", "landmark") if several else ("plain",)


def run_task(protocol: Protocol, task: Task) -> Result:
    """Fit and score; in one thread, since tasks run side by side."""
    rival = RIVALS[task.model]
    settings = rival.draw(task.settings_rng(), task.study)
    begin = time.perf_counter()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = _scores(protocol, task, rival, settings)
    except Exception as error:  # a candidate that fails is reported, and the others go on
        scores = {"error": f"{type(error).__name__}: {error}"}
    return {"task": task.name, "settings": settings, "seconds": time.perf_counter() - begin, **scores}


@lru_cache(maxsize=16)
def _study(name: str, complete: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    return load_paper_study(name, complete=complete)


def _scores(protocol: Protocol, task: Task, rival: Rival, settings: dict[str, Any]) -> Result:
    X, y = _study(task.study, rival.complete)
    train, test = protocol.rows(y, task)
    model = rival.fit(settings, X.iloc[train], y.iloc[train], int(task.rng("fit").integers(2**31)))
    half = 0.5 * float(parse_endpoints(y).lower[:, 0].max())
    return {kind: _score(rival, model, X, y, train, test, kind, half) for kind in kinds_of(task.study, task.model)}


def _score(rival: Rival, model: Any, X: Any, y: Any, train: Any, test: Any, kind: str, half: float) -> dict[str, float]:
    """Concordance, Brier score at half of the last observed time, and integrated Brier score, of the first endpoint.

    The metrics are those of :func:`harmonium.metrics.evaluate`, one by one. Its table would not do: the protocol has a Brier score at one
    time, some rivals have no survival curves, and Uno's index, calibration and standard errors would cost more than some of the fits.
    """
    name = parse_endpoints(y).names[0]
    if kind == "landmark":
        train, test = (rows[parse_endpoints(y).lower[rows, 0] > LANDMARK] for rows in (train, test))
    X_test, y_test, y_train = X.iloc[test], y.iloc[test], y.iloc[train]
    given = y_test.drop(columns=name, level=0) if kind == "*" else landmark(y_test, LANDMARK) if kind == "landmark" else None
    out = {"concordance": concordance_index(y_test, rival.risk(model, X_test, half, given), endpoint=name)}
    grid = _grid(y_test, name, LANDMARK if kind == "landmark" else 0.0)
    times = np.append(grid, half)
    alive = rival.survival(model, X_test, times, given)
    if alive is not None:
        out["brier"] = float(brier_score(y_test, alive[:, -1:], [half], endpoint=name, y_train=y_train)[0])
        out["integrated_brier"] = integrated_brier_score(y_test, alive[:, :-1], grid, endpoint=name, y_train=y_train)
    return out


def _grid(y: Any, name: str, after: float) -> Array:
    """Times between the tenth and the ninetieth percentile of what is observed after a time."""
    observed = y[name, "lower"].to_numpy()
    first, last = np.percentile(observed[observed > after], [10.0, 90.0])
    return np.linspace(first, last, 40)
