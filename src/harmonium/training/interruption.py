"""Ctrl-C that is not lost.

While compiled code is loaded or made, LLVM calls Python back through ctypes. An exception in such a callback cannot travel through C, so
Python hands it to ``sys.unraisablehook`` and goes on: a Ctrl-C that happens to arrive there would be swallowed. Inside
:func:`interruptible` it is raised again as soon as ordinary Python code runs, and at the latest when the block is left.

Python runs the handler of a signal in the main thread, at almost any call, return of a call or jump back, and wherever a lock is waited
for. What the handler raises is raised there. Three places must not be hit, and so the handler of SIGINT is replaced as well, by one that
looks at the frame that it interrupts:

* the hook, from its first instruction on, for what is raised in it is lost; it starts a thread, and so waits for a lock;
* the method that enters the block: what it has put in place would stay;
* the method that leaves the block: that thread would go on, and interrupt the code that follows.

An interrupt that arrives in one of them is kept, as one that was swallowed is.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType, TracebackType
from typing import Any

__all__ = ["interruptible"]

_DELAY = 0.005  # seconds between attempts; a callback takes less


def interruptible() -> AbstractContextManager[None]:
    """Raise a KeyboardInterrupt that was swallowed in a callback again.

    Works in the main thread, the only one that receives Ctrl-C, and does nothing in others. If the second attempt hits a callback as
    well, there is a third. Nothing is raised after the block has been left. Where SIGINT is ignored or ends the process, nothing can be
    raised in the middle of the block: a KeyboardInterrupt that a callback has raised by itself is then raised at its end.

    Examples
    --------
    >>> with interruptible():
    ...     print("training")
    training
    """
    return _Watch() if threading.current_thread() is threading.main_thread() else nullcontext()


class _Reminder(threading.Thread):
    """Calls a function every few milliseconds until it is stopped."""

    def __init__(self, remind: Callable[[], None]) -> None:
        super().__init__(name="harmonium-interrupt", daemon=True)
        self._remind = remind
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(_DELAY):
            self._remind()

    def stop(self) -> None:
        self._stopped.set()
        if self.is_alive():
            self.join()


class _Watch(AbstractContextManager[None]):
    """Looks after one block."""

    def __init__(self) -> None:
        self._swallowed = False  # ever
        self._due = False  # swallowed or kept, and not raised since
        self._sent = False  # by the reminder, and not yet seen by the handler
        self._reminded = False  # the reminder was started
        self._leaving = False
        self._reminder = _Reminder(self._remind)
        self._hook_before = sys.unraisablehook
        self._handler_before: Any = signal.getsignal(signal.SIGINT)
        self._handles = callable(self._handler_before)  # neither ignored nor left to the system

    def __enter__(self) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, self._handler)  # first: from here on nothing is raised in this method
        sys.unraisablehook = self._hook

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leaving = True
        self._reminder.stop()
        sys.unraisablehook = self._hook_before
        if self._handles and signal.getsignal(signal.SIGINT) == self._handler:
            signal.signal(signal.SIGINT, self._handler_before)  # calls our handler first, if something has arrived until now
        if error is None and self._due:
            raise KeyboardInterrupt
        if isinstance(error, Exception) and (self._swallowed or self._due):  # what the callback had left undone was missed
            raise KeyboardInterrupt from error

    def _hook(self, unraisable: Any, /) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            self._swallowed = True
            self._keep()
        else:
            self._hook_before(unraisable)

    def _handler(self, number: int, frame: FrameType | None) -> None:
        if self._sent and not self._due:  # the user's next Ctrl-C was faster, and has been raised
            self._sent = False
        elif _must_not_be_hit(frame):
            self._keep()
            self._sent = False
        elif self._due:
            self._due = False
            self._sent = False  # after the line above, since the reminder asks in the other order
            raise KeyboardInterrupt
        else:
            self._handler_before(number, frame)

    def _keep(self) -> None:
        """Raise it later; raised at once, it would be lost."""
        self._due = True
        if self._handles and not self._reminded and not self._leaving:
            self._reminded = True
            self._reminder.start()

    def _remind(self) -> None:
        if not self._sent and self._due:
            self._sent = True
            _thread.interrupt_main()


_NOT_TO_BE_HIT = {method.__code__ for method in (_Watch.__enter__, _Watch.__exit__, _Watch._hook)}


def _must_not_be_hit(frame: FrameType | None) -> bool:
    """Whether the frame, or one that waits for it, belongs to the hook or to the methods around the block."""
    while frame is not None:
        if frame.f_code in _NOT_TO_BE_HIT:
            return True
        frame = frame.f_back
    return False
