"""Ctrl-C that is not lost.

While compiled code is loaded or made, LLVM calls Python back through ctypes. An exception in such a callback cannot travel through C, so
Python prints that it was ignored and goes on: a Ctrl-C that happens to arrive there would be swallowed. Inside :func:`interruptible` it is
raised again as soon as ordinary Python code runs.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["interruptible"]

_DELAY = 0.005  # seconds; raised at once, it would be raised inside the hook, and be lost again


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise a KeyboardInterrupt that was swallowed in a callback again.

    Works in the main thread, the only one that receives Ctrl-C, and does nothing in others. If the second attempt hits a callback as
    well, there is a third.

    Examples
    --------
    >>> with interruptible():
    ...     print("training")
    training
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = sys.unraisablehook
    waiting: list[threading.Timer] = []
    raised: list[bool] = []

    def raise_again() -> None:
        raised.append(True)
        _thread.interrupt_main()

    def hook(unraisable: Any, /) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            previous(unraisable)
            return
        waiting.append(threading.Timer(_DELAY, raise_again))
        waiting[-1].start()

    sys.unraisablehook = hook
    try:
        yield
        _stop(waiting)
        if len(raised) < len(waiting):  # the work ended within the delay
            raise KeyboardInterrupt
    except Exception as error:
        if waiting:  # what the callback had left undone was missed
            raise KeyboardInterrupt from error
        raise
    finally:
        _stop(waiting)
        sys.unraisablehook = previous


def _stop(timers: list[threading.Timer]) -> None:
    for timer in timers:
        timer.cancel()
        timer.join()
