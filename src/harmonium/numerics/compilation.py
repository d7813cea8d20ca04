"""The one place where Numba is configured.

Every compiled function of the package is made by :func:`compiled`, so flags are decided once:

* compilation is lazy and cached on disk: importing compiles nothing, and a second process compiles nothing either;
* where nothing can be written, compiled code is kept in memory for this process only, and a warning says so;
* the GIL is released, so Python threads can share the work;
* ``fastmath`` stays off, because infinities and NaN carry meaning here (an unbounded interval, a free cell).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

from harmonium.errors import CompilationWarning, warn

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])

_FUSED = {"contract"}
_SUMS = {"reassoc", "contract", "nsz"}


def compiled(*, sums: bool = False, fused: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """Compile on first call, cache on disk, release the GIL.

    Parameters
    ----------
    sums : bool
        Let the compiler reorder additions, without which a sum over hidden states cannot use vector instructions.
        Infinities and NaN keep their meaning.
    fused : bool
        Let the compiler round a product and a sum only once, but keep their order.
    inline : bool
        For a small function in a hot loop: its body replaces every call.
    """
    fastmath = _SUMS if sums else _FUSED if fused else False

    def compile_lazily(function: Function) -> Function:
        dispatcher: Any = numba.njit(function, nogil=True, error_model="numpy", fastmath=fastmath, forceinline=inline)
        _keep_on_disk(dispatcher)
        made: Function = dispatcher
        return made

    return compile_lazily


def _keep_on_disk(dispatcher: Any) -> None:
    """Cache a function's compiled code in NUMBA_CACHE_DIR, beside its source or in the user's cache, if one of them can be written to."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # "no locator available": none of the three
        _say_that_nothing_is_kept()


@cache
def _say_that_nothing_is_kept() -> None:
    """Once per process."""
    warn(
        "compiled code cannot be kept, because no cache directory is writable, so that every process compiles again, which takes about a "
        "minute. Set the environment variable NUMBA_CACHE_DIR to a directory that is",
        CompilationWarning,
    )
