"""Files of every format, behind one face: names of columns first, then rows, all of them or some at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harmonium.errors import TableError, require_package
from harmonium.table.files.csv_text import lines_of_rows, read_csv, read_csv_parts
from harmonium.table.files.dialect import Dialect
from harmonium.table.files.names import require_columns, unique_names
from harmonium.table.files.sources import Source
from harmonium.table.files.types import MISSING, labelled, usual_types
from harmonium.table.frames import as_typed

__all__ = ["PART_ROWS", "CsvFile", "ExcelFile", "FeatherFile", "ParquetFile", "Part", "StatisticalFile", "TableFile"]

PART_ROWS = 50_000
"""Rows that are held in memory at once where a table is read in parts."""

_PART_CELLS = 5_000_000  # fewer rows, if there are many columns


class Part(NamedTuple):
    """Some rows of a table, the number of the first, and the fraction of the file that has been read."""

    frame: pd.DataFrame
    first: int
    fraction: float


@dataclass(frozen=True)
class TableFile(ABC):
    """A table in a file."""

    source: Source
    columns: tuple[str, ...]

    @property
    def called(self) -> str:
        """How messages call it."""
        return self.source.called

    def require(self, names: Collection[str]) -> None:
        """Refuse the table if columns are missing; for each, name the one that was probably meant."""
        require_columns(self.called, self.columns, names)

    def read(self, columns: Sequence[str], text: Collection[str] = (), codes: Collection[str] = ()) -> pd.DataFrame:
        """All rows.

        Whole numbers and booleans keep their type where values are missing. In a CSV, columns in ``text`` are read as they are written.
        Codes that have labels become these, except in the columns ``codes``.
        """
        return usual_types(self._read(columns, text, codes)[list(columns)])

    def parts(self, columns: Sequence[str], text: Collection[str] = (), codes: Collection[str] = ()) -> Iterator[Part]:
        """All rows, some at a time."""
        whole = self.read(columns, text, codes)
        for first in range(0, len(whole), PART_ROWS):
            frame = whole[first : first + PART_ROWS]
            yield Part(frame, first, (first + len(frame)) / len(whole))

    @abstractmethod
    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        """At least these columns, in whatever types."""

    @property
    def _path(self) -> str:
        if self.source.path is None:
            raise ValueError(f"{self.called} can only be a CSV")
        return str(self.source.path)


@dataclass(frozen=True)
class CsvFile(TableFile):
    """Text, whose fields are separated by some sign."""

    dialect: Dialect

    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        return read_csv(self.source, self.dialect, text, dtype_backend="numpy_nullable")

    def lines(self, last_row: int) -> list[int]:
        """The number of the line on which each row begins, until a row."""
        return lines_of_rows(self.source, self.dialect, last_row)

    def parts(self, columns: Sequence[str], text: Collection[str] = (), codes: Collection[str] = ()) -> Iterator[Part]:
        """All rows, some at a time, of a file that may be larger than memory."""
        first, n_rows = 0, min(PART_ROWS, 1 + _PART_CELLS // len(self.columns))
        for frame, fraction in read_csv_parts(self.source, self.dialect, n_rows, text):
            yield Part(frame[list(columns)], first, fraction)
            first += len(frame)


@dataclass(frozen=True)
class ParquetFile(TableFile):
    """Parquet."""

    @classmethod
    def of(cls, source: Source) -> ParquetFile:
        """Look at the header."""
        require_package("pyarrow", "Parquet files need pyarrow", "files")
        import pyarrow.parquet  # noqa: PLC0415 - an extra

        try:
            with pyarrow.parquet.ParquetFile(source.path) as file:
                names, n_rows = list(file.schema_arrow.names), file.metadata.num_rows
        except (ValueError, OSError) as error:
            raise ValueError(f"{source.called} is not a Parquet file, or damaged ({error})") from error
        _refuse_empty(source.called, n_rows)
        return cls(source, unique_names(source.called, names))

    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        import pyarrow.parquet  # noqa: PLC0415

        return _from_arrow(pyarrow.parquet.ParquetFile(self._path).read(columns=list(columns)))

    def parts(self, columns: Sequence[str], text: Collection[str] = (), codes: Collection[str] = ()) -> Iterator[Part]:
        """All rows, some at a time, of a file that may be larger than memory."""
        import pyarrow.parquet  # noqa: PLC0415

        with pyarrow.parquet.ParquetFile(self._path) as file:
            first, n_rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=PART_ROWS, columns=list(columns)):
                yield Part(usual_types(_from_arrow(batch)[list(columns)]), first, (first + batch.num_rows) / n_rows)
                first += batch.num_rows


@dataclass(frozen=True)
class FeatherFile(TableFile):
    """Feather, or Arrow."""

    @classmethod
    def of(cls, source: Source) -> FeatherFile:
        """Look at the header."""
        require_package("pyarrow", "Feather files need pyarrow", "files")
        import pyarrow.feather  # noqa: PLC0415 - an extra

        try:
            table = pyarrow.feather.read_table(source.path, memory_map=True)
        except (ValueError, OSError) as error:
            raise ValueError(f"{source.called} is not a Feather file, or damaged ({error})") from error
        _refuse_empty(source.called, table.num_rows)
        return cls(source, unique_names(source.called, table.column_names))

    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        import pyarrow.feather  # noqa: PLC0415

        return _from_arrow(pyarrow.feather.read_table(self._path, columns=list(columns)))


@dataclass(frozen=True)
class ExcelFile(TableFile):
    """A sheet of an Excel file: by default the first, whose first row that is not empty has the names."""

    sheet: str
    content: pd.DataFrame = field(compare=False, repr=False)

    @classmethod
    def of(cls, source: Source, sheet: str | None = None) -> ExcelFile:
        """Read a sheet; rows and columns without any value, which were only formatted, are left out."""
        require_package("openpyxl", "Excel files need openpyxl", "files")
        from zipfile import BadZipFile  # noqa: PLC0415

        try:
            with pd.ExcelFile(source.path, engine="openpyxl") as file:
                chosen = _sheet(source.called, list(file.sheet_names), sheet)
                above, written = _header(source.called, file, chosen)
                frame = file.parse(chosen, skiprows=above + 1, na_values=list(MISSING), **_CELLS)
        except (BadZipFile, KeyError, OSError) as error:
            raise ValueError(f"{source.called} is not an Excel file, or damaged ({error})") from error
        _refuse_beyond(source.called, frame.iloc[:, len(written) :], above + 2)
        frame = frame.reindex(columns=range(len(written)))
        frame.columns = [f"Unnamed: {place}" if pd.isna(name) else str(name).strip() for place, name in enumerate(written)]
        unnamed = [place for place, name in enumerate(written) if pd.isna(name) and frame.iloc[:, place].isna().all()]
        frame = frame.iloc[:, [place for place in range(len(written)) if place not in unnamed]]
        names = unique_names(source.called, list(frame.columns))
        filled = frame.notna().any(axis=1).to_numpy()
        if not filled.any():
            raise ValueError(f"{source.called} has a header but no rows")
        last = len(filled) - int(filled[::-1].argmax())
        return cls(source, names, chosen, frame[:last])

    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        return self.content


_CELLS: dict[str, Any] = {"header": None, "keep_default_na": False}
_FIRST_ROWS = 100  # among which the names probably are


def _header(called: str, file: pd.ExcelFile, sheet: str) -> tuple[int, list[Any]]:
    """How many empty rows are above the names, and the names until the last."""
    for n_rows in (_FIRST_ROWS, None):
        filled = (cells := file.parse(sheet, nrows=n_rows, dtype=object, na_values=[""], **_CELLS)).notna().to_numpy()
        if filled.any():
            above = int(filled.any(axis=1).argmax())
            return above, list(cells.iloc[above, : int(np.flatnonzero(filled[above])[-1]) + 1])
    raise ValueError(f"{called} is empty")


def _refuse_beyond(called: str, cells: pd.DataFrame, first_row: int) -> None:
    """Refuse values to the right of the last column that has a name; rows of a sheet are counted from one."""
    wrong = cells.notna().to_numpy()
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        value = cells.iloc[row, int(wrong[row].argmax())]
        raise TableError(
            f"{called}: row {first_row + row} of the sheet holds {as_typed(value)} to the right of the last column that has a name; "
            "give that column a name, or delete it"
        )


def _sheet(called: str, sheets: Sequence[str], asked: str | None) -> str:
    if asked is None:
        return sheets[0]
    if asked not in sheets:
        raise ValueError(f"{called} has no sheet {asked!r}; it has {', '.join(map(repr, sheets))}")
    return asked


@dataclass(frozen=True)
class StatisticalFile(TableFile):
    """Stata, SPSS or SAS, by pyreadstat."""

    reader: str

    @classmethod
    def of(cls, source: Source, reader: str, what: str) -> StatisticalFile:
        """Look at the header; ``reader`` is the name of pyreadstat's function."""
        require_package("pyreadstat", f"{what} files need pyreadstat", "files")
        import pyreadstat  # noqa: PLC0415 - an extra

        try:
            _, described = getattr(pyreadstat, reader)(str(source.path), metadataonly=True)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError) as error:
            raise ValueError(f"{source.called} is not a {what} file, or damaged ({error})") from error
        if described.number_rows is not None:
            _refuse_empty(source.called, described.number_rows)
        return cls(source, unique_names(source.called, described.column_names), reader)

    @cached_property
    def _content(self) -> tuple[pd.DataFrame, Any]:
        import pyreadstat  # noqa: PLC0415

        frame, described = getattr(pyreadstat, self.reader)(self._path)
        _refuse_empty(self.called, len(frame))
        return frame, described

    def _read(self, columns: Sequence[str], text: Collection[str], codes: Collection[str]) -> pd.DataFrame:
        frame, described = self._content
        words = {name: labels for name, labels in described.variable_value_labels.items() if name in columns and name not in codes}
        return frame.assign(**{name: labelled(frame[name], labels) for name, labels in words.items()})


def _refuse_empty(called: str, n_rows: int) -> None:
    if not n_rows:
        raise ValueError(f"{called} has no rows")


def _from_arrow(table: Any) -> pd.DataFrame:
    """An Arrow table or batch as pandas has it, whatever index its writer had."""
    import pyarrow  # noqa: PLC0415

    nullable = {
        pyarrow.bool_(): pd.BooleanDtype(),
        pyarrow.int8(): pd.Int8Dtype(),
        pyarrow.int16(): pd.Int16Dtype(),
        pyarrow.int32(): pd.Int32Dtype(),
        pyarrow.int64(): pd.Int64Dtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=nullable.get, ignore_metadata=True)
    return frame
