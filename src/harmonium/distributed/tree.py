"""Sums and merges over partitions in a fixed order: the result depends on the partitions, not on who works on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask

__all__ = ["lazy_tree", "tree"]

_FAN_IN = 8  # neighbours that are merged at once


def tree(client: Any, function: Callable[[list[Any]], Any], futures: Sequence[Any]) -> Any:
    """A future of what ``function`` makes of all futures, neighbours first."""
    level = list(futures)
    while len(level) > 1:
        level = [client.submit(function, group, pure=False) for group in _groups(level)]
    return level[0]


def lazy_tree(function: Callable[[list[Any]], Any], parts: Sequence[Any]) -> Any:
    """The same with delayed values."""
    level = list(parts)
    while len(level) > 1:
        level = [dask.delayed(function)(group) for group in _groups(level)]
    return level[0]


def _groups(level: list[Any]) -> list[list[Any]]:
    return [level[start : start + _FAN_IN] for start in range(0, len(level), _FAN_IN)]
