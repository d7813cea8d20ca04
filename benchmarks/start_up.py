"""How soon does the command line answer, where it need not compute? Against ``import pandas``, which everybody here waits for.

Whole processes, from start to exit: help, a model's summary, and the errors of a missing table and of a misspelt column. Each round runs
every case once, so that whatever else the machine does meets all of them alike. The goal is a summary within 2.5 times the import.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import harmonium as hm
from benchmarks.provenance import print_table, write_result

__all__ = ["run"]

Row = dict[str, Any]

_ROUNDS = 15
_MOST = 2.5  # times the import of pandas, for a summary
_IMPORT, _INFO = "import pandas", "harmonium info MODEL"


class _Case(NamedTuple):
    """A command, the exit code that it must have, and what it must say."""

    arguments: Sequence[str]
    code: int = 0
    says: str = ""


def run() -> None:
    """Measure, print and keep."""
    with tempfile.TemporaryDirectory() as folder:
        cases = _cases(Path(folder))
        for name, case in cases.items():
            _check(name, case)  # which also leaves bytecode and compiled code where the measured processes find them
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
        for _ in range(_ROUNDS):
            for name, case in cases.items():
                measured[name].append(_measure(case))
    rows = _rows(measured)
    print_table(f"Time of a whole process, median of {_ROUNDS}", rows)
    path = write_result("start_up", rows)
    print(f"\nwritten to {path.relative_to(path.parents[2])}")
    info = next(row["ratio"] for row in rows if row["command"] == _INFO)
    print(f"{_INFO}: {info:.2f} times the import of pandas; the goal is at most {_MOST:g}")


def _cases(folder: Path) -> dict[str, _Case]:
    """With a model and a table in a folder."""
    X, y = hm.datasets.load_nvalt8()
    model, table, missing = (str(folder / name) for name in ("model.harmonium", "data.csv", "missing.csv"))
    hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y).save(model)
    X.assign(os_mth=y["os", "lower"], os_event=np.isfinite(y["os", "upper"]).astype(int)).to_csv(table, index=False)
    command = ("-m", "harmonium.cli")
    return {
        _IMPORT: _Case(("-c", "import pandas")),
        "harmonium --help": _Case((*command, "--help"), says="predict"),
        _INFO: _Case((*command, "info", model), says="rfs"),
        "harmonium predict MODEL missing.csv": _Case((*command, "predict", model, missing), 2, "missing.csv"),
        "harmonium fit data.csv, misspelt column": _Case(
            (*command, "fit", table, "--endpoint", "os=os_mnth,os_event", "-o", str(folder / "new.harmonium")), 2, "'os_mth'"
        ),
    }


def _check(name: str, case: _Case) -> None:
    """Refuse to measure a command that does something else."""
    done = subprocess.run([sys.executable, *case.arguments], capture_output=True, text=True, check=False)
    if done.returncode != case.code or case.says not in done.stdout + done.stderr:
        raise RuntimeError(f"{name}: exit code {done.returncode} instead of {case.code}, or not a word of {case.says!r}:\n{done.stderr}")


def _measure(case: _Case) -> tuple[float, float]:
    """Seconds of one process, by the clock and of the processor."""
    begin, used = time.perf_counter(), _processor_seconds()
    subprocess.run([sys.executable, *case.arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin, _processor_seconds() - used


def _processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _rows(measured: dict[str, list[tuple[float, float]]]) -> list[Row]:
    """Medians, and medians of the ratio within a round: a busy second slows neighbours down alike."""
    reference = np.array(measured[_IMPORT])
    out = []
    for name, taken in measured.items():
        (seconds, cpu), (ratio, cpu_ratio) = np.median(taken, axis=0), np.median(np.array(taken) / reference, axis=0)
        out.append({"command": name, "seconds": seconds, "ratio": ratio, "CPU seconds": cpu, "ratio of CPU": cpu_ratio})
    return out
