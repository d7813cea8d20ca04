"""Where the bytes of a table come from: a file, standard input or memory, compressed or not.

What a file begins with tells how it is compressed, whatever its name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

__all__ = ["STANDARD_INPUT", "Opened", "Source"]

STANDARD_INPUT = "-"

_ZIP = b"PK\x03\x04"
_COMPRESSED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


class Opened(NamedTuple):
    """Bytes to read, and the file as it is stored, whose position tells how far reading has got."""

    content: BinaryIO
    stored: BinaryIO


@dataclass(frozen=True)
class Source:
    """Bytes that can be read more than once.

    Attributes
    ----------
    called : str
        How messages call it.
    path : Path or None
    held : bytes or None
        What it holds, if that is not in a file.
    unpacked : bool
        Whether to undo a compression; a page that anybody can send something to must not.
    """

    called: str
    path: Path | None = None
    held: bytes | None = None
    unpacked: bool = True

    @classmethod
    def at(cls, path: Path) -> Source:
        """A file that must be there; ``-`` is standard input."""
        if str(path) == STANDARD_INPUT:
            return cls("standard input", held=sys.stdin.buffer.read())
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}" if not path.exists() else f"{path} is not a file")
        return cls(str(path), path)

    @property
    def size(self) -> int:
        """In bytes, as it is stored."""
        return len(self.held or b"") if self.path is None else self.path.stat().st_size

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """Open it, and undo the compression."""
        with self._stored() as stored:
            start = stored.read(6)
            stored.seek(0)
            try:
                with self._content(stored, start) as content:
                    yield Opened(content, stored)
            except _DAMAGED as error:
                raise ValueError(f"{self.called} is compressed and damaged ({error})") from error

    def _stored(self) -> BinaryIO:
        return io.BytesIO(self.held or b"") if self.path is None else open(self.path, "rb")

    def _content(self, stored: BinaryIO, start: bytes) -> BinaryIO:
        if not self.unpacked:
            return stored
        if start.startswith(_ZIP):
            return _only_member(self.called, zipfile.ZipFile(stored))
        for magic, unpack in _COMPRESSED.items():
            if start.startswith(magic):
                return cast(BinaryIO, unpack(stored, "rb"))
        return stored


def _only_member(called: str, archive: zipfile.ZipFile) -> BinaryIO:
    """The file in a zip archive; what Macs add does not count."""
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if "[Content_Types].xml" in names:
        raise ValueError(f"{called} seems to be an Excel file; let its name end with .xlsx")
    if len(names) != 1:
        raise ValueError(f"{called} must hold one file; found {len(names)}: {', '.join(names[:5]) or 'none'}")
    return cast(BinaryIO, archive.open(names[0]))
