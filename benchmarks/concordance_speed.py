"""Concordance of 100,000 rows: ours in n log n steps, against scikit-survival, which goes through all rows for every event.

Both get the same arrays, in one run and one thread. A call to scikit-survival takes minutes at this size and is made once; ours is the
best of some repeats. Indices must agree to 1e-12.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sksurv.metrics import concordance_index_censored, concordance_index_ipcw
from threadpoolctl import threadpool_limits

import harmonium as hm
from benchmarks.provenance import best_of, print_table, write_result

__all__ = ["run"]

Row = dict[str, Any]

_N_ROWS = (1_000, 10_000, 100_000)
_N_DAYS = 3650  # times are whole days, so that there are ties
_REPEATS = 5


def run() -> None:
    """Measure, print and keep."""
    with threadpool_limits(1):
        rows = [row for n_rows in _N_ROWS for row in _measure(n_rows)]
    print_table("Concordance of one endpoint, half of it censored, with ties in time and in risk", rows)
    path = write_result("concordance_speed", rows)
    print(f"\nwritten to {path.relative_to(path.parents[2])}")


def _measure(n_rows: int) -> list[Row]:
    """Harrell's index and Uno's."""
    y, risk = _cohort(n_rows)
    tau = 0.8 * float(_N_DAYS)
    harrell = _compare(lambda: hm.metrics.concordance_index(y, risk), lambda: concordance_index_censored(y["event"], y["time"], risk)[0])
    uno = _compare(lambda: hm.metrics.concordance_index_ipcw(y, risk, tau=tau), lambda: concordance_index_ipcw(y, y, risk, tau=tau)[0])
    return [{"index": name, "rows": n_rows, **found} for name, found in (("Harrell", harrell), ("Uno", uno))]


def _compare(ours: Callable[[], float], theirs: Callable[[], float]) -> Row:
    seconds = best_of(ours, _REPEATS)
    begin = time.perf_counter()
    expected = float(theirs())
    theirs_seconds = time.perf_counter() - begin
    difference = abs(ours() - expected)
    if difference > 1e-12:
        raise AssertionError(f"indices must agree to 1e-12; found a difference of {difference:g}")
    return {"ours ms": 1e3 * seconds, "scikit-survival s": theirs_seconds, "ratio": theirs_seconds / seconds, "difference": difference}


def _cohort(n_rows: int) -> tuple[Any, Any]:
    """Times in whole days, and risks with two decimals."""
    rng = np.random.default_rng(0)
    risk = np.round(rng.normal(size=n_rows), 2)
    death, end = rng.exponential(0.5 * _N_DAYS * np.exp(-0.7 * risk)), rng.uniform(0.0, _N_DAYS, n_rows)
    y = np.empty(n_rows, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = death <= end, np.ceil(np.minimum(death, end))
    return y, risk
