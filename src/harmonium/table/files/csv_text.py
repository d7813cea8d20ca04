"""CSV files, read whole or in parts; errors name the file, and every line that has too many fields."""

from __future__ import annotations

import csv
import io
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd

from harmonium.errors import FileWarning, Problem, TableError, warn
from harmonium.table.files.dialect import Dialect
from harmonium.table.files.sources import Source
from harmonium.table.files.types import MISSING

__all__ = ["lines_of_rows", "read_csv", "read_csv_parts"]

_FILTERS = threading.Lock()  # filters of warnings belong to the process, not to a thread
_MOST_LINES = 10  # that are named


def read_csv(source: Source, dialect: Dialect, text: Collection[str] = (), **settings: Any) -> pd.DataFrame:
    """All rows and columns; columns in ``text`` are read as they are written.

    Of a part of the columns, pandas would not notice a row with too many fields.
    """
    with _reading(source, dialect), source.opened() as opened:
        frame: pd.DataFrame = pd.read_csv(opened.content, **_settings(dialect, text), **settings)
    if _may_be_short(frame):
        _warn_of_short_lines(source, dialect)
    return frame


def read_csv_parts(source: Source, dialect: Dialect, n_rows: int, text: Collection[str] = ()) -> Iterator[tuple[pd.DataFrame, float]]:
    """Some rows at a time, and the fraction of the file that has been read."""
    size, doubtful = max(1, source.size), False
    with source.opened() as opened:
        with _reading(source, dialect):
            reader = pd.read_csv(opened.content, chunksize=n_rows, **_settings(dialect, text))
        while True:
            with _reading(source, dialect):
                frame = next(reader, None)
            if frame is None:
                break
            doubtful = doubtful or _may_be_short(frame)
            yield frame, opened.stored.tell() / size
    if doubtful:
        _warn_of_short_lines(source, dialect)


def lines_of_rows(source: Source, dialect: Dialect, last_row: int) -> list[int]:
    """The number of the line on which each row begins, until a row; empty lines are no rows."""
    with source.opened() as opened, io.TextIOWrapper(opened.content, encoding=dialect.encoding, newline="") as text:
        rows, found, before = csv.reader(text, delimiter=dialect.separator), [], 0
        for row in rows:
            if row:
                found.append(before + 1)
            before = rows.line_num
            if len(found) > last_row + 1:
                break
    return found[1:]


def _may_be_short(frame: pd.DataFrame) -> bool:
    """A line that ends too early has nothing in the last column."""
    return bool(frame.iloc[:, -1].isna().any())


def _warn_of_short_lines(source: Source, dialect: Dialect) -> None:
    """Say which lines have fewer fields than the header: what is not there is missing, and may have been lost."""
    n_columns = len(dialect.names)
    with source.opened() as opened, io.TextIOWrapper(opened.content, encoding=dialect.encoding, newline="") as text:
        rows = csv.reader(text, delimiter=dialect.separator)
        short = [(rows.line_num, len(row)) for row in rows if row and len(row) < n_columns]
    if short:
        line, n = short[0]
        more = "" if len(short) == 1 else f", and {len(short) - 1} more lines are short, too"
        warn(
            f"{source.called}: line {line} has {n} fields, fewer than the header has names ({n_columns}){more}; what is not there is taken "
            "as missing",
            FileWarning,
        )


def _settings(dialect: Dialect, text: Collection[str]) -> dict[str, Any]:
    return {
        "names": list(dialect.names),
        "header": 0,
        "index_col": False,
        "dtype": dict.fromkeys(set(text) & set(dialect.names), str),
        "encoding": dialect.encoding,
        "sep": dialect.separator,
        "decimal": dialect.decimal,
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": list(MISSING),
        "float_precision": "round_trip",
        "low_memory": False,
    }


@contextmanager
def _reading(source: Source, dialect: Dialect) -> Iterator[None]:
    """What pandas says of a CSV, as errors that name the file."""
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{source.called} is not text in {dialect.encoding}; save it again as UTF-8") from error
    except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
        raise _long_lines(source, dialect, error) from error


def _long_lines(source: Source, dialect: Dialect, error: Exception) -> TableError:
    """One problem for each of the first lines with more fields than there are columns."""
    n_columns = len(dialect.names)
    with source.opened() as opened, io.TextIOWrapper(opened.content, encoding=dialect.encoding, newline="") as text:
        rows = csv.reader(text, delimiter=dialect.separator, strict=True)
        try:
            found = [(rows.line_num, len(row)) for row in rows if row][1:]
        except csv.Error as problem:  # a quote that is never closed
            return TableError(f"{source.called} cannot be read: line {rows.line_num}: {problem}")
    long = [(line, n) for line, n in found if n > n_columns]
    if len(long) == len(found) > 1:
        return TableError(
            f"{source.called}: all lines have more fields than the header has names ({n_columns}), the first of them {long[0][1]}"
        )
    if not long:
        return TableError(f"{source.called} cannot be read: {error}")
    lines = [f"line {line} has {n} fields, more than the header has names ({n_columns})" for line, n in long[:_MOST_LINES]]
    if len(long) > _MOST_LINES:
        lines.append(f"{len(long) - _MOST_LINES} more lines have more fields than the header has names")
    return TableError(Problem(f"{source.called}: {line}") for line in lines)
