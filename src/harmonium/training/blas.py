"""Linear algebra on one thread: the optimisers' matrices are tiny, and more threads make it ten times slower."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes as long as twenty gradients of a small table, so this is done once."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread inside a block.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
