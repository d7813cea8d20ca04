"""Threads that share the engine's work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

__all__ = ["available_cores", "map_in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """Cores this process may run on."""
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
