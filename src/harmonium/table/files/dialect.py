"""How a CSV is written: its encoding, what separates its fields, and its decimal sign.

None of this is stated in the file, so it is inferred: the encoding from all bytes, the separator from the first lines, the decimal sign
from most of the columns that have one.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from harmonium.errors import FileWarning, warn
from harmonium.table.files.names import unique_names
from harmonium.table.files.sources import Source

__all__ = ["SEPARATORS", "Dialect", "dialect_of"]

SEPARATORS = (",", ";", "\t", "|")
"""What may lie between two fields."""

_MARKS = {  # with which a text may begin; the longer ones first
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BLOCK = 2**20  # bytes
_FIRST_LINES = 50
_MOST_LINES, _ENOUGH_LINES = 100_000, 500  # in which a decimal sign is looked for, and after the first one
_WITH_COMMA, _WITH_POINT = re.compile(r"\s*[-+]?\d+,\d+\s*"), re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """How a CSV is written, and the names of its columns."""

    encoding: str
    separator: str
    decimal: str
    names: tuple[str, ...]


def dialect_of(source: Source) -> Dialect:
    r"""Of a CSV that has a header with unique names, and rows.

    Examples
    --------
    >>> dialect_of(Source("a.csv", held="Größe;Stadium\n1,72;II\n".encode("utf-16")))
    Dialect(encoding='utf-16', separator=';', decimal=',', names=('Größe', 'Stadium'))
    """
    encoding = _encoding(source)
    try:
        with source.opened() as opened:
            first = list(islice(_lines(opened.content, encoding), _FIRST_LINES))
        if not first:
            raise ValueError(f"{source.called} is empty")
        separator = _separator(first)
        header = next(csv.reader(first, delimiter=separator))
        with source.opened() as opened:
            rows = csv.reader(_lines(opened.content, encoding), delimiter=separator)
            next(rows)
            decimal = _decimal(source.called, rows)
    except csv.Error as error:
        raise ValueError(f"{source.called} cannot be read: {error}") from error
    names = [name.strip() or f"Unnamed: {number}" for number, name in enumerate(header)]
    return Dialect(encoding, separator, decimal, unique_names(source.called, names))


# --- encoding ---


def _encoding(source: Source) -> str:
    with source.opened() as opened:
        start = opened.content.read(_BLOCK)
        for mark, encoding in _MARKS.items():
            if start.startswith(mark):
                return encoding
        if b"\0" in start:
            return _two_bytes(source.called, start)
        if _is_utf_8(start, opened.content):
            return "utf-8"
    encoding = "cp1252" if _decodes(source, "cp1252") else "latin-1"
    name = {"cp1252": "Windows-1252 (Latin-1)", "latin-1": "Latin-1"}[encoding]
    warn(f"{source.called} is not text in UTF-8, and is read as {name}; if letters come out wrong, save it again as UTF-8", FileWarning)
    return encoding


def _two_bytes(called: str, start: bytes) -> str:
    """Latin letters in UTF-16 have a zero in every other byte."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) > len(start) // 5 and min(even, odd) * 10 < max(even, odd):
        return "utf-16-be" if even > odd else "utf-16-le"
    raise ValueError(f"{called} is not text; a table must be a CSV, or have the ending of what it is")


def _is_utf_8(start: bytes, rest: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(start)
        while block := rest.read(_BLOCK):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _decodes(source: Source, encoding: str) -> bool:
    with source.opened() as opened:
        try:
            while block := opened.content.read(_BLOCK):
                block.decode(encoding)
        except UnicodeDecodeError:
            return False
    return True


# --- separator and decimal sign ---


def _lines(file: BinaryIO, encoding: str) -> Iterator[str]:
    """Lines that are not empty."""
    with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        yield from (line for line in text if line.strip())


def _separator(first: Sequence[str]) -> str:
    """That which divides the header, and all lines alike."""

    def quality(separator: str) -> tuple[bool, float, int]:
        header, *rows = csv.reader(first, delimiter=separator)
        alike = sum(len(row) == len(header) for row in rows) / max(1, len(rows))
        return len(header) > 1, alike, len(header)

    return max(SEPARATORS, key=quality)


def _decimal(called: str, rows: Iterable[Sequence[str]]) -> str:
    """The decimal sign that most columns have, by the first lines in which there is one."""
    commas: set[int] = set()
    points: set[int] = set()
    left = _MOST_LINES
    for row in rows:
        commas.update(place for place, field in enumerate(row) if _WITH_COMMA.fullmatch(field))
        points.update(place for place, field in enumerate(row) if _WITH_POINT.fullmatch(field))
        left = min(left - 1, _ENOUGH_LINES) if commas or points else left - 1
        if not left:
            break
    if left == _MOST_LINES:
        raise ValueError(f"{called} has a header but no rows")
    return "," if len(commas) > len(points) else "."
