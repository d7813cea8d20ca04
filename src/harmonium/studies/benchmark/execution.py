"""Running tasks, on this machine or on a Dask cluster; every result is kept as it arrives, so that a killed run can go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, parallel_config

from harmonium.studies.benchmark.evaluation import Result, run_task, settings_of
from harmonium.studies.benchmark.protocol import Protocol, Task
from harmonium.studies.benchmark.rivals import RIVALS, load_rivals
from harmonium.studies.benchmark.storage import Results

__all__ = ["cluster", "cost_of", "run_tasks"]


def cost_of(task: Task) -> float:
    """How long a task takes, in a unit of its study and model."""
    return RIVALS[task.model].cost(settings_of(task))


def run_tasks(tasks: Iterable[Task], protocol: Protocol, results: Results, n_jobs: int, done: Callable[[], None]) -> None:
    """Run the tasks whose results are not there yet; ``done`` is called for every task, whether it ran or not.

    The ones that take longest begin first, so that in the end no process waits long for another.
    """
    missing = []
    for task in tasks:
        if results.get(task) is None:
            missing.append(task)
        else:
            done()
    missing.sort(key=cost_of, reverse=True)
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
