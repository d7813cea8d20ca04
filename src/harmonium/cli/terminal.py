"""What people and programs get to read: notes, warnings and errors on standard error, results on standard output."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from harmonium.errors import RangeWarning

__all__ = ["Terminal", "as_json"]

_WIDTH = 140  # of tables that go to a file or a pipe
_ANY_WIDTH = 10_000


class Terminal:
    """Where a command speaks.

    Attributes
    ----------
    quiet : bool
        Say nothing but errors.
    as_json : bool
        Results in JSON instead of tables.
    tracebacks : bool
        Show where in the code an error arose.
    """

    def __init__(self) -> None:
        self.quiet = False
        self.as_json = False
        self.tracebacks = False
        self._warned: set[str] = set()

    def note(self, text: str) -> None:
        """A line about what was done."""
        if not self.quiet:
            _say(text)

    def warn(self, *texts: str) -> None:
        """Lines about what needs attention; the same one only once."""
        for line in map(_one_line, texts):
            if not self.quiet and line not in self._warned:
                self._warned.add(line)
                _say(f"warning: {line}")

    def error(self, text: str) -> None:
        """A line about what went wrong."""
        _say(f"error: {_one_line(text)}")

    def refuse(self, error: Exception, *texts: str) -> int:
        """Say what is wrong with the input, one line per problem; return the exit code."""
        if self.tracebacks:
            traceback.print_exception(error)
        for text in texts:
            self.error(text)
        return 2

    def take_warnings(self) -> None:
        """Show warnings of the library as lines, until the surrounding ``warnings.catch_warnings`` ends."""

        def show(message: Any, *_: Any, **__: Any) -> None:
            self.warn(str(message))

        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("ignore", RangeWarning)  # where a file is read, its values are looked at: TrainingValues
        warnings.showwarning = show

    def result(self, document: Mapping[str, Any]) -> None:
        """The result for programs, if they asked for it."""
        if self.as_json:
            sys.stdout.write(json.dumps(as_json(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n")

    def wrote(self, output: str, n_rows: int, columns: Sequence[str]) -> None:
        """Say which table was written."""
        if output != "-":
            self.note(f"wrote {n_rows} rows and {len(columns)} columns to {output}")
        self.result({"output": output, "rows": n_rows, "columns": list(columns)})

    def table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """A table for people; ``right`` has the numbers of columns that are aligned to the right."""
        if self.quiet or self.as_json:
            return
        console = _console(sys.stdout)
        wide = _table(title, header, rows, right)
        needed = console.measure(wide, options=console.options.update(max_width=_ANY_WIDTH)).minimum
        console.print(wide if needed <= console.width else _table(title, header, rows, right, tight=True))

    @contextmanager
    def progress(self, what: str, shown: bool = True) -> Iterator[Callable[[float], None]]:
        """A bar on terminals; the function that is handed out takes the fraction that is done."""
        if self.quiet or not shown or not sys.stderr.isatty():
            yield lambda fraction: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)

    @contextmanager
    def steps(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """As :meth:`progress`, for work in steps of equal size: the function is called after each."""
        with self.progress(what) as show:
            taken = itertools.count(1)
            yield lambda: show(next(taken) / total)


def as_json(value: Any) -> Any:
    """A value in JSON's types; a number that is not finite becomes null.

    Examples
    --------
    >>> import numpy as np
    >>> as_json({"times": np.array([1.0, np.inf])})
    {'times': [1.0, None]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], *, tight: bool = False) -> Any:
    """``tight`` saves space where lines are short."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    table.collapse_padding, table.show_edge = tight, not tight
    for number, name in enumerate(header):
        table.add_column(name, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _console(file: Any) -> Any:
    from rich.console import Console

    width = None if file.isatty() or "COLUMNS" in os.environ else _WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False)
