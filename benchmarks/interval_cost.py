"""What intervals cost: a fit with the spread of its parameters against one without, curves with bands against curves, the model file.

One thread throughout. The spread is made when an interval is first asked for; here it counts as part of the fit.
"""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import harmonium as hm
from benchmarks.provenance import best_of, print_table, write_result

__all__ = ["run"]

_STUDIES = ("nvalt8", "nvalt11", "gbsg2", "ncctg")
_N_PATIENTS, _N_TIMES, _REPEATS = 1000, 100, 5


def run() -> None:
    """Measure every study, print the table and keep it."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = [_measure(name) for name in _STUDIES]
    print_table(f"Intervals: ratios in one run, curves of {_N_PATIENTS} patients at {_N_TIMES} times", table)
    write_result("interval_cost", table)


def _measure(name: str) -> dict[str, Any]:
    X, y = hm.datasets.load_study(name)
    estimator = hm.SurvivalHarmonium(random_state=0, n_jobs=1)

    def with_spread() -> Any:
        return estimator.fit(X, y).fitted_.spread

    with_spread()
    without, together = best_of(lambda: estimator.fit(X, y), repeats=_REPEATS), best_of(with_spread, repeats=_REPEATS)
    endpoint = estimator.encoding_.endpoints[0]
    times = np.linspace(0.02, 0.98, _N_TIMES) * endpoint.scale.end
    patients = X.sample(_N_PATIENTS, replace=True, random_state=0).reset_index(drop=True).ffill().bfill()

    def curves(interval: float | None) -> Any:
        return estimator.prognosis(patients).survival(endpoint.name, times, interval=interval)

    plain, banded = (best_of(partial(curves, level), repeats=_REPEATS) for level in (None, 0.95))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.harmonium"
        estimator.save(path)
        size = path.stat().st_size
    return {
        "study": name,
        "fit ms": 1e3 * without,
        "with intervals": together / without,
        "curves ms": 1e3 * plain,
        "with bands": banded / plain,
        "file kB": size / 1e3,
    }
