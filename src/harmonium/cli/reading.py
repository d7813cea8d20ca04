"""Tables from CSV and Parquet files, read whole or in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harmonium.cli.extras import require_pyarrow
from harmonium.table.files import csv_header, csv_settings, reading_csv, require_columns, unique_names

__all__ = ["CSV", "PARQUET", "Part", "TableFile", "open_table"]

PART_ROWS = 50_000
"""Rows that are held in memory at once where a table is read in parts."""

_PART_CELLS = 5_000_000  # fewer rows, if there are many columns

CSV, PARQUET = (".csv",), (".parquet", ".pq")
"""Endings of files."""


class Part(NamedTuple):
    """Some rows of a table, the number of the first, and the fraction of the file that has been read."""

    frame: pd.DataFrame
    first: int
    fraction: float


@dataclass(frozen=True)
class TableFile(ABC):
    """A table in a file."""

    path: Path
    columns: tuple[str, ...]

    def require(self, names: Collection[str]) -> None:
        """Refuse the table if columns are missing; for each, name the one that was probably meant."""
        require_columns(str(self.path), self.columns, names)

    @abstractmethod
    def read(self, columns: Sequence[str], text: Collection[str] = ()) -> pd.DataFrame:
        """All rows.

        Whole numbers and booleans keep their type where values are missing. In a CSV, columns in ``text`` are read as they are written.
        """

    @abstractmethod
    def parts(self, columns: Sequence[str], text: Collection[str] = ()) -> Iterator[Part]:
        """All rows, some at a time."""


class _Csv(TableFile):
    def read(self, columns: Sequence[str], text: Collection[str] = ()) -> pd.DataFrame:
        with reading_csv(str(self.path)):
            frame = pd.read_csv(self.path, dtype_backend="numpy_nullable", **csv_settings(self.columns, text))
        return _with_usual_types(frame[list(columns)])

    def parts(self, columns: Sequence[str], text: Collection[str] = ()) -> Iterator[Part]:
        size = max(1, self.path.stat().st_size)
        first = 0
        with open(self.path, "rb") as file:
            with reading_csv(str(self.path)):
                n_rows = min(PART_ROWS, 1 + _PART_CELLS // len(self.columns))
                reader = pd.read_csv(file, chunksize=n_rows, **csv_settings(self.columns, text))
            while True:
                with reading_csv(str(self.path)):
                    frame = next(reader, None)
                if frame is None:
                    return
                yield Part(frame[list(columns)], first, file.tell() / size)
                first += len(frame)


class _Parquet(TableFile):
    def read(self, columns: Sequence[str], text: Collection[str] = ()) -> pd.DataFrame:
        import pyarrow.parquet

        return _from_arrow(pyarrow.parquet.ParquetFile(self.path).read(columns=list(columns)), columns)

    def parts(self, columns: Sequence[str], text: Collection[str] = ()) -> Iterator[Part]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            first, n_rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=PART_ROWS, columns=list(columns)):
                yield Part(_from_arrow(batch, columns), first, (first + batch.num_rows) / n_rows)
                first += batch.num_rows


def open_table(path: Path) -> TableFile:
    """Look at a file's header; its ending tells what it is."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}" if not path.exists() else f"{path} is not a file")
    if path.suffix.lower() in PARQUET:
        require_pyarrow()
        return _Parquet(path, unique_names(str(path), _parquet_header(path)))
    if path.suffix.lower() in CSV:
        with open(path, "rb") as file:
            return _Csv(path, csv_header(str(path), file))
    raise ValueError(f"a table must end with {', '.join([*CSV, *PARQUET])}; found {path}")


def _parquet_header(path: Path) -> list[str]:
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names, n_rows = list(file.schema_arrow.names), file.metadata.num_rows
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file, or damaged ({error})") from error
    if not n_rows:
        raise ValueError(f"{path} has no rows")
    return names


def _from_arrow(table: Any, columns: Sequence[str]) -> pd.DataFrame:
    """An Arrow table or batch as pandas has it, whatever index its writer had."""
    import pyarrow

    nullable = {
        pyarrow.bool_(): pd.BooleanDtype(),
        pyarrow.int8(): pd.Int8Dtype(),
        pyarrow.int16(): pd.Int16Dtype(),
        pyarrow.int32(): pd.Int32Dtype(),
        pyarrow.int64(): pd.Int64Dtype(),
    }
    return _with_usual_types(table.to_pandas(types_mapper=nullable.get, ignore_metadata=True)[list(columns)])


def _with_usual_types(frame: pd.DataFrame) -> pd.DataFrame:
    """NumPy's types, but for whole numbers and booleans with missing values."""
    return pd.DataFrame({name: _with_usual_type(series) for name, series in frame.items()}, index=frame.index)


def _with_usual_type(series: pd.Series) -> pd.Series:
    dtype = series.dtype
    if not isinstance(dtype, pd.api.extensions.ExtensionDtype) or isinstance(dtype, pd.CategoricalDtype):
        return series
    if pd.api.types.is_float_dtype(dtype):
        return series.astype(np.float64)
    if pd.api.types.is_string_dtype(dtype):
        return series.astype(object).where(series.notna(), None)
    return series if series.isna().any() or not hasattr(dtype, "numpy_dtype") else series.astype(dtype.numpy_dtype)
