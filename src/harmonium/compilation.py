"""The one place where Numba is configured.

Every compiled function of the package is made by one of the decorators below, so flags are decided once:

* compilation is lazy and cached on disk: importing compiles nothing, and a second process compiles nothing either;
* the GIL is released, so Python threads can share the work;
* ``fastmath`` stays off, because infinities and NaN carry meaning here (an unbounded interval, a free cell).

:func:`compiled_sum` differs in one thing: it lets the compiler reorder additions, without which a sum over hidden states
cannot use vector instructions. Infinities and NaN keep their meaning there too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["compiled", "compiled_inline", "compiled_sum"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first call, cache on disk, release the GIL."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]


def compiled_inline(function: Function) -> Function:
    """As :func:`compiled`, for a small function in a hot loop: its body replaces every call."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)  # type: ignore[no-any-return]


def compiled_sum(function: Function) -> Function:
    """As :func:`compiled`, and additions may be reordered."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function)  # type: ignore[no-any-return]
