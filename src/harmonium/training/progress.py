"""A progress bar for training, shown on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]


@contextmanager
def progress(wanted: bool, total: int | None) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """A listener for :class:`harmonium.training.history.History`, or None if nothing is to be shown: without a terminal, or without Rich.

    Examples
    --------
    >>> with progress(False, None) as listener:
    ...     print(listener)
    None
    """
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    try:
        from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    except ImportError:
        yield None
        return
    columns = (TextColumn("fitting"), BarColumn(), TextColumn("{task.completed} iterations  {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def listener(row: dict[str, Any]) -> None:
            known = {key: value for key, value in row.items() if key in ("objective", "gradient_norm", "validation")}
            bar.update(task, advance=1, description="  ".join(f"{key} {value:.4f}" for key, value in known.items()))

        yield listener
