"""Cost and memory of one gradient for a number of rows; prints JSON. Run as ``python -m benchmarks.rows 1000000``."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.provenance import best_of
from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma

_LAYOUT = Layout([*[Gaussian()] * 10, *[Bernoulli()] * 5, TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def _cells(n_rows: int, rng: np.random.Generator) -> Cells:
    lower = np.empty((n_rows, _LAYOUT.n_columns))
    lower[:, :10] = rng.normal(size=(n_rows, 10))
    lower[:, 10:15] = rng.integers(0, 2, (n_rows, 5))
    lower[:, 15:] = rng.uniform(0.01, 0.99, (n_rows, 2))
    upper = lower.copy()
    upper[:, 15:][rng.random((n_rows, 2)) < 0.5] = 1.0
    return Cells.from_bounds(_LAYOUT, lower, upper)


def _objective(cells: Cells, n_threads: int) -> LogMassSum:
    return LogMassSum([Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)], n_threads)


def _memory(key: str) -> float:
    """A line of the process's status in megabytes: VmRSS is what it has now, VmHWM the most it ever had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024.0


def measure(n_rows: int, n_hidden: int = 4) -> dict[str, float]:
    """Memory beyond the data, then seconds a gradient with one thread and with two."""
    rng = np.random.default_rng(0)
    parameters = Parameters.initial(_LAYOUT, np.full((1, _LAYOUT.n_columns), np.nan), n_hidden, rng)
    _objective(_cells(20_000, rng), n_threads=2).value_and_gradient(parameters)  # load compiled code and start the threads
    cells = _cells(n_rows, rng)
    ctypes.CDLL(None).malloc_trim(0)  # give freed memory back, or its reuse would not be seen
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    objective = _objective(cells, n_threads=2)
    objective.value_and_gradient(parameters)
    beyond = _memory("VmHWM") - before
    repeats = 3 if n_rows > 100_000 else 7
    single = _objective(cells, n_threads=1)
    seconds = best_of(lambda: single.value_and_gradient(parameters), repeats)
    seconds_two = best_of(lambda: objective.value_and_gradient(parameters), repeats)
    return {
        "rows": n_rows,
        "seconds": seconds,
        "us a row": 1e6 * seconds / n_rows,
        "seconds, two threads": seconds_two,
        "data MB": (cells.lower[0].base.nbytes + cells.upper[0].base.nbytes) / 2**20,  # type: ignore[union-attr]
        "MB beyond the data": beyond,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
