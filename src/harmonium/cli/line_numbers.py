"""Rows of a CSV as lines, which an editor shows: messages count rows from 0, without the header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["data_files", "with_lines"]

_ROW = re.compile(r"\brow (\d+)\b(?! \(line)")


def data_files(arguments: Sequence[str]) -> list[Path]:
    """Tables among the words of a command."""
    return [Path(own) for own in arguments[1:] if not own.startswith("-") and not own.endswith(".harmonium") and Path(own).is_file()]


def with_lines(messages: Iterable[str], arguments: Sequence[str]) -> list[str]:
    """Messages in which the number of a row is followed by that of its line, if the command reads a CSV.

    Examples
    --------
    >>> with_lines(["found 'x' in row 3"], ["fit", "-"])
    ["found 'x' in row 3"]
    """
    messages = list(messages)
    rows = {int(number) for message in messages for number in _ROW.findall(message)}
    lines = _lines(data_files(arguments), max(rows)) if rows else []

    def with_line(found: re.Match[str]) -> str:
        row = int(found[1])
        return f"{found[0]} (line {lines[row]})" if row < len(lines) else found[0]

    return [_ROW.sub(with_line, message) for message in messages]


def _lines(files: Sequence[Path], last_row: int) -> list[int]:
    """The line of each row until one; nothing if the first table is no CSV."""
    from harmonium.table.files.formats import CsvFile
    from harmonium.table.files.opening import open_table

    try:
        table = open_table(files[0]) if files else None
        if not isinstance(table, CsvFile):
            return []
        return table.lines(last_row)
    except (ValueError, OSError, ImportError, csv.Error):
        return []
