"""A gradient with many hidden states, against version 0.1, whose source is in the repository's history and runs in a process of its own."""

from __future__ import annotations

from typing import Any

from benchmarks.provenance import print_table, write_result
from benchmarks.version_0_1 import TODAY, VERSION_0_1, result_of

__all__ = ["run"]

# Runs with either version: what it needs has the same name in both, but for two.
_WORKER = """
import inspect, json, sys, time
import numpy as np
from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma

n_hidden, n_rows = int(sys.argv[1]), 1000
rng = np.random.default_rng(0)
outcomes = {"n_outcomes": 2} if "n_outcomes" in inspect.signature(Layout).parameters else {}
layout = Layout([*[Bernoulli()] * 5, *[Gaussian()] * 5, *[TruncatedGamma()] * 2], **outcomes)
lower = np.column_stack([rng.integers(0, 2, (n_rows, 5)), rng.normal(size=(n_rows, 5)), rng.uniform(0.02, 0.98, (n_rows, 2))])
upper = lower.copy()
upper[:, 10:][rng.random((n_rows, 2)) < 0.5] = 1.0
missing = rng.random((n_rows, 10)) < 0.05
lower[:, :10][missing] = upper[:, :10][missing] = np.nan
cells = Cells.from_bounds(layout, lower, upper)
free = cells.freeing_outcomes() if outcomes else cells.freeing("truncated_gamma")
parameters = Parameters.initial(layout, np.where(lower == upper, lower, np.nan), n_hidden, np.random.default_rng(1))
found = {}
for n_threads in (1, 2):
    total = LogMassSum([Term.uniform(cells, 1.0), Term.uniform(free, -1.0)], n_threads=n_threads)
    value, gradient = total.value_and_gradient(parameters)
    seconds = []
    for _ in range(15):
        begin = time.perf_counter()
        total.value_and_gradient(parameters)
        seconds.append(time.perf_counter() - begin)
    found[n_threads] = min(seconds)
print(json.dumps({"seconds": found, "value": value, "gradient": gradient.to_vector().tolist()}))
"""


def run() -> None:
    """Measure, print and keep."""
    rows = [_compared(n_hidden) for n_hidden in (8, 10, 12, 14)]
    print_table(
        "A gradient: 1000 rows, ten covariates with 5 % of the values missing, two endpoints half of whose times are censored", rows
    )
    write_result("many_states", rows)


def _compared(n_hidden: int) -> dict[str, Any]:
    before, now = (result_of(_WORKER, source, str(n_hidden)) for source in (VERSION_0_1, TODAY))
    largest = max(map(abs, before["gradient"]))
    return {
        "hidden units": n_hidden,
        "0.1 ms": 1e3 * before["seconds"]["1"],
        "ms": 1e3 * now["seconds"]["1"],
        "ratio": before["seconds"]["1"] / now["seconds"]["1"],
        "0.1 ms, two threads": 1e3 * before["seconds"]["2"],
        "ms, two threads": 1e3 * now["seconds"]["2"],
        "ratio, two threads": before["seconds"]["2"] / now["seconds"]["2"],
        "difference of value": abs(now["value"] / before["value"] - 1.0),
        "difference of gradient": max(abs(a - b) for a, b in zip(now["gradient"], before["gradient"], strict=True)) / largest,
    }
