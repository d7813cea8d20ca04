"""Tables that come from outside: their columns, how CSV is read, and errors that name the file.

The command line and the explorer read the same files, one from disk and one from memory; here is what they share.
"""

from __future__ import annotations

import csv
import io
import threading
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import columns_of

__all__ = ["csv_header", "csv_settings", "reading_csv", "require_columns", "unique_names"]

_ENCODING = "utf-8-sig"  # UTF-8, with a byte-order mark or without
_FILTERS = threading.Lock()  # filters of warnings belong to the process, not to a thread


def unique_names(called: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, if none is there twice.

    Examples
    --------
    >>> unique_names("a.csv", ["age", "sex", "age"])
    Traceback (most recent call last):
    ValueError: a.csv: column names must be unique; found 'age' more than once
    """
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"{called}: column names must be unique; found {twice[0]!r} more than once")
    return tuple(names)


def require_columns(called: str, columns: Sequence[str], names: Collection[str]) -> None:
    """Refuse a table in which a column is missing; name the one that was probably meant."""
    try:
        columns_of(pd.DataFrame(columns=list(columns)), list(names))
    except TableError as error:
        raise TableError(replace(problem, message=f"{called}: {problem.message}") for problem in error.problems) from None


def csv_header(called: str, file: BinaryIO) -> tuple[str, ...]:
    """Names of the columns of a CSV that has rows, is separated by commas, and is written in UTF-8."""
    text = io.TextIOWrapper(file, encoding=_ENCODING, newline="")
    try:
        names = next((row for row in csv.reader(text) if row), None)
        if names is None:
            raise ValueError(f"{called} is empty")
        if not any(line.strip() for line in text):
            raise ValueError(f"{called} has a header but no rows")
    except (UnicodeDecodeError, csv.Error) as error:
        raise _not_utf_8(called) from error
    for separator, what in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            raise ValueError(f"{called} seems to be separated by {what}; save it again with commas")
    return unique_names(called, [name or f"Unnamed: {number}" for number, name in enumerate(names)])


def csv_settings(columns: Sequence[str], text: Collection[str]) -> dict[str, Any]:
    """For :func:`pandas.read_csv`; columns in ``text`` are read as they are written.

    All columns are read: of a part of them, pandas would not notice a row with too many fields.
    """
    return {
        "names": list(columns),
        "header": 0,
        "index_col": False,
        "dtype": dict.fromkeys(set(text) & set(columns), str),
        "encoding": _ENCODING,
        "float_precision": "round_trip",
        "low_memory": False,
    }


@contextmanager
def reading_csv(called: str) -> Iterator[None]:
    """What pandas says of a CSV, as errors that name the file."""
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError as error:
        raise _not_utf_8(called) from error
    except pd.errors.ParserWarning as error:
        raise ValueError(f"{called}: the first rows have more fields than the header has names") from error
    except pd.errors.ParserError as error:
        raise ValueError(f"{called} cannot be read: {error}") from error


def _not_utf_8(called: str) -> ValueError:
    return ValueError(f"{called} is not text in UTF-8; save it again with that encoding")
