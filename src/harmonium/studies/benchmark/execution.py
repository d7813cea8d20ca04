"""Running tasks, on this machine or on a Dask cluster; every result is kept as it arrives, so that a killed run can go on."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from harmonium.studies.benchmark.evaluation import Result, run_task
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import load_rivals

__all__ = ["Results", "cluster", "run_tasks"]


class Results:
    """Results in a folder, one file for each task, written whole or not at all."""

    def __init__(self, folder: Path, protocol: Protocol) -> None:
        self.folder = folder
        self._check_protocol(protocol)

    def _check_protocol(self, protocol: Protocol) -> None:
        """Results of other numbers of folds must not be mixed: their rows differ."""
        path, mine = self.folder / "protocol.json", {"folds": protocol.folds}
        if path.exists() and json.loads(path.read_text()) != mine:
            raise ValueError(f"{self.folder} holds results with {path.read_text().strip()}; found {mine}. Use another folder")
        _write(path, mine)

    def get(self, task: Task) -> Result | None:
        """The result of a task, if it is there."""
        try:
            found: Result = json.loads(self._path(task).read_text())
        except FileNotFoundError:
            return None
        return found

    def put(self, task: Task, result: Result) -> None:
        """Keep a result."""
        _write(self._path(task), result)

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.name}.json"


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    temporary.write_text(json.dumps(content, indent=1))
    os.replace(temporary, path)


def run_tasks(tasks: Iterable[Task], protocol: Protocol, results: Results, n_jobs: int, done: Callable[[], None]) -> None:
    """Run the tasks whose results are not there yet; ``done`` is called for every task, whether it ran or not."""
    missing = []
    for task in tasks:
        if results.get(task) is None:
            missing.append(task)
        else:
            done()
    arriving = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(_named)(protocol, task) for task in missing)
    for task, result in arriving:
        results.put(task, result)
        done()


def _named(protocol: Protocol, task: Task) -> tuple[Task, Result]:
    load_rivals(protocol.rivals)  # this may be a process of its own
    return task, run_task(protocol, task)


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Let joblib run on a Dask cluster at an address, or on this machine if there is none."""
    if address is None:
        yield
        return
    try:
        from dask.distributed import Client  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise ImportError("a cluster needs dask: pip install 'harmonium[distributed]'") from error
    client: Any = Client(address)
    with client, parallel_config(backend="dask"):
        yield
