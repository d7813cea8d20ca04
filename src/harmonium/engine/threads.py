"""Threads that share the engine's work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

__all__ = ["map_in_order", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_threads: int | None) -> int:
    """A checked number of threads; None means all cores this process may run on."""
    if n_threads is not None:
        if n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, or None for all cores; found {n_threads}")
        return n_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
