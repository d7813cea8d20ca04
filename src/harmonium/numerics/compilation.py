"""The one place where Numba is configured.

Every compiled function of the package is made by :func:`compiled`, so flags are decided once:

* compilation is lazy and cached on disk: importing compiles nothing, and a second process compiles nothing either;
* the GIL is released, so Python threads can share the work;
* ``fastmath`` stays off, because infinities and NaN carry meaning here (an unbounded interval, a free cell).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

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
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath, forceinline=inline)  # type: ignore[return-value]
