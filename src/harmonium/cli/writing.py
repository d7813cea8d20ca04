"""Tables in CSV and Parquet files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from harmonium.cli.extras import require_pyarrow
from harmonium.table.files.opening import PARQUET

__all__ = ["MODEL", "PAGE", "STANDARD_OUTPUT", "check_output", "replacing", "side_by_side", "table_writer"]

CSV = (".csv",)
"""Ending of tables that are text."""

MODEL = (".harmonium",)
"""Ending of model files."""

PAGE = (".html", ".docx")
"""Ending of reports."""

_PRINTED = " (for a PDF, print the .html in a browser)"

STANDARD_OUTPUT = "-"


def check_output(
    output: str,
    force: bool,
    endings: Sequence[str] = (*CSV, *PARQUET),
    *,
    inputs: Iterable[str | Path | None] = (),
    as_json: bool = False,
) -> None:
    """Refuse a place where nothing can or should be written, before work begins; an input is never overwritten."""
    if output == STANDARD_OUTPUT and CSV[0] in endings:
        if as_json:
            raise ValueError("with --json, standard output is taken; name a file with --output")
        return
    path = Path(output)
    if path.suffix.lower() not in endings:
        raise ValueError(f"the output must end with {', '.join(endings)}; found {output!r}" + _PRINTED * (tuple(endings) == PAGE))
    if path.suffix.lower() in PARQUET:
        require_pyarrow()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent} to write {path.name} in")
    if path.is_dir():
        raise ValueError(f"{output} is a directory")
    for name in inputs:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise ValueError(f"{output} is an input of this command; choose another output")
    _refuse_to_overwrite(path, force)


def _refuse_to_overwrite(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise ValueError(f"{path} exists; use --force to overwrite it")


@contextmanager
def replacing(path: str | Path, force: bool) -> Iterator[Path]:
    """A temporary file beside the target, which takes its place if all goes well and vanishes if not."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".harmonium-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        _refuse_to_overwrite(target, force)
        os.replace(temporary, target)
    except BaseException:  # an interruption leaves nothing behind either
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


@contextmanager
def table_writer(output: str, force: bool) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A function that appends rows to a table; the file appears when all have been written."""
    if output == STANDARD_OUTPUT:
        yield _CsvWriter(sys.stdout)
        return
    path = Path(output)
    with replacing(path, force) as temporary:
        if path.suffix.lower() in PARQUET:
            with _ParquetWriter(temporary) as parquet:
                yield parquet
        else:
            with open(temporary, "x", encoding="utf-8", newline="") as file:
                yield _CsvWriter(file)


def side_by_side(*frames: pd.DataFrame) -> pd.DataFrame:
    """Tables with the same rows as one."""
    whole = pd.concat(frames, axis=1)
    twice = whole.columns[whole.columns.duplicated()]
    if len(twice):
        raise ValueError(f"the output would have two columns {twice[0]!r}; rename the one in the data")
    return whole


class _CsvWriter:
    def __init__(self, file: Any) -> None:
        self._file = file
        self._begun = False

    def __call__(self, frame: pd.DataFrame) -> None:
        frame.to_csv(self._file, header=not self._begun, index=False, lineterminator="\n")
        self._begun = True


class _ParquetWriter:
    """Later rows take the types of the first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def __call__(self, frame: pd.DataFrame) -> None:
        import pyarrow.parquet

        schema = None if self._writer is None else self._writer.schema
        table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
