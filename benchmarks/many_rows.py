"""How often a fit passes over all rows, whether it ends where a fit without a sample ends, and what a pass costs; all in one run.

The table is that of ``large_fit.py``: 15 covariates, two endpoints; four hidden units. A fit that never uses a sample takes thousands of
passes, so that the comparison of default fits is made with the smaller table alone; with the larger one both fits have a single start, the
same one. Every fit has a process of its own, so that its peak of memory is its own.

A fit is added to ``.cache/many_rows.jsonl`` when it has ended, so that an interrupted run goes on where it stopped, and nothing else that
runs on the machine matters to it: only the costs of a pass, measured last, want it for themselves. Delete the file to begin anew.
"""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import harmonium as hm
from benchmarks.large_fit import cohort
from benchmarks.provenance import best_of, print_table, write_result
from benchmarks.rows import _memory
from benchmarks.rows import measure as measure_gradient

__all__ = ["run"]

_FITS = (100_000, 1_000_000)  # rows
_COMPARED = {100_000: "auto", 1_000_000: 1}  # rows, and starts
_ROWS = (10_000, 100_000, 1_000_000)
_N_HIDDEN = 4
_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "many_rows.jsonl"


def fit(n_rows: int, sample_rows: str | None = "auto", n_starts: str | int = "auto") -> dict[str, Any]:
    """One fit: passes, where it ended, memory."""
    X, y = cohort(n_rows)
    before = _memory("VmRSS")
    model = hm.SurvivalHarmonium(_N_HIDDEN, trainer=hm.Exact(sample_rows=sample_rows, n_starts=n_starts), random_state=0)
    model.fit(X, y)
    return {
        "rows": n_rows,
        "fit": "never a sample" if sample_rows is None else "default",
        "starts": n_starts,
        "passes over all rows": model.n_passes_,
        "gradients of the sample": model.n_evaluations_ - model.n_passes_,
        "objective per row": model.history_["objective"].iloc[-1],
        "l2": model.l2_,
        "converged": model.converged_,
        "table MB": (X.memory_usage().sum() + y.memory_usage().sum()) / 2**20,
        "MB beyond the table": _memory("VmHWM") - before,
    }


def _alone(function: Any, *arguments: Any) -> Any:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _compared() -> list[dict[str, Any]]:
    """Default fits next to those that never use a sample, of which each is shown when it has ended: some take minutes."""
    lines = map(json.loads, _CACHE.read_text().splitlines()) if _CACHE.exists() else ()
    rows: dict[tuple[Any, ...], dict[str, Any]] = {tuple(arguments): row for arguments, row in lines}

    def measured(*arguments: Any) -> dict[str, Any]:
        if arguments not in rows:
            rows[arguments] = _alone(fit, *arguments)
            print(rows[arguments], flush=True)
            _CACHE.parent.mkdir(exist_ok=True)
            with _CACHE.open("a") as file:
                file.write(json.dumps([arguments, rows[arguments]]) + "\n")
        return rows[arguments]

    for size in _FITS:
        measured(size, "auto", "auto")
    for size, n_starts in _COMPARED.items():
        default, without = measured(size, "auto", n_starts), measured(size, None, n_starts)
        without["default minus this"] = default["objective per row"] - without["objective per row"]
    return list(rows.values())


def _costs() -> list[dict[str, Any]]:
    """A gradient against one exponential for each row and state, which no sum over states can do without."""
    values = np.random.default_rng(0).normal(size=1_000_000)
    exponential = best_of(lambda: np.exp(values), 7) / values.size
    out = []
    for n_rows in _ROWS:
        found = _alone(measure_gradient, n_rows, _N_HIDDEN)
        work = n_rows * 2**_N_HIDDEN
        out.append(
            {
                "rows": n_rows,
                "ns a row, one thread": 1e9 * found["seconds"] / n_rows,
                "ns a row, two threads": 1e9 * found["seconds, two threads"] / n_rows,
                "exponentials a row and state, one thread": found["seconds"] / work / exponential,
                "exponentials a row and state, two threads": found["seconds, two threads"] / work / exponential,
                "MB beyond the data": found["MB beyond the data"],
            }
        )
    return out


def run() -> None:
    """Measure, print and keep."""
    fits = _compared()
    print_table("Fits", fits)
    costs = _costs()
    print_table("A value and gradient of the conditional objective; 15 covariates, two endpoints, four hidden units", costs)
    write_result("many_rows", [{"of": "gradient", **row} for row in costs] + [{"of": "fit", **row} for row in fits])
