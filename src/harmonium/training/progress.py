"""Progress of training on standard error: one line that is rewritten on terminals, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]

_SHOWN = ("objective", "gradient_norm", "validation")
_ON_TERMINALS, _ELSEWHERE = 0.1, 5.0  # seconds between two looks


@contextmanager
def progress(wanted: bool, what: str = "") -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """A listener for :class:`harmonium.training.history.History`, or None if nothing is to be shown.

    ``what`` is fitted, if there are several models.

    Examples
    --------
    >>> with progress(False) as listener:
    ...     print(listener)
    None
    """
    if not wanted:
        yield None
        return
    line = _Line(what)
    try:
        yield line.hear
    finally:
        line.end()


class _Line:
    """What was heard last, shown as often as suits the place."""

    def __init__(self, what: str) -> None:
        self._what = f"fitting {what}".strip()
        self._terminal = sys.stderr.isatty()
        self._begin = self._shown = time.monotonic()
        self._row: dict[str, Any] = {}
        self._n_rows = 0

    def hear(self, row: dict[str, Any]) -> None:
        """Take note of an iteration."""
        self._row, self._n_rows = row, self._n_rows + 1
        now = time.monotonic()
        if now - self._shown >= (_ON_TERMINALS if self._terminal else _ELSEWHERE):
            self._shown = now
            self._write("\r" if self._terminal else "", "" if self._terminal else "\n")

    def end(self) -> None:
        """Say where training ended."""
        if self._n_rows:
            self._write("\r" if self._terminal else "", "\n")

    def _write(self, before: str, after: str) -> None:
        known = "".join(f", {name.replace('_', ' ')} {self._row[name]:.4f}" for name in _SHOWN if name in self._row)
        stage = f", now on {self._row['stage']}" if "stage" in self._row else ""
        text = f"{self._what}: {self._n_rows} iterations{stage}{known}, {time.monotonic() - self._begin:.0f} s"
        sys.stderr.write(f"{before}{text:<78}".rstrip() + (" " * 4 if before else "") + after)
        sys.stderr.flush()
