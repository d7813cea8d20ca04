"""Threads that share the engine's work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from numbers import Integral
from typing import TypeVar

import joblib

__all__ = ["map_in_order", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_threads: int | None) -> int:
    """How many threads are meant, counted as joblib counts ``n_jobs``.

    Parameters
    ----------
    n_threads : int or None
        None and -1: as many as there are cores that this process may run on; -2: one fewer, and so on, but at least 1.

    Examples
    --------
    >>> thread_count(3)
    3
    >>> thread_count(-1) == thread_count(None)
    True
    """
    if n_threads is not None and not (isinstance(n_threads, Integral) and n_threads != 0):
        raise ValueError(
            "the number of threads (n_jobs) must be a whole number: 1 or more, -1 or None for all cores, -2 for all but one; "
            f"found {n_threads!r}"
        )
    if n_threads is not None and n_threads > 0:
        return int(n_threads)
    n_cores = int(joblib.cpu_count())  # those that this process may use: affinity and a container's quota count
    return n_cores if n_threads is None else max(1, n_cores + 1 + int(n_threads))


@lru_cache(maxsize=2)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """A pool that stays, since starting threads takes longer than many a sweep."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="harmonium")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process has the pool but not its threads


def map_in_order(function: Callable[[Item], Result], items: Sequence[Item], n_threads: int) -> Iterator[Result]:
    """Results in the items' order, whichever thread made them.

    Examples
    --------
    >>> list(map_in_order(abs, [-2, 1], n_threads=2))
    [2, 1]
    """
    if n_threads == 1 or len(items) <= 1:
        return map(function, items)
    return _pool(n_threads).map(function, items)
