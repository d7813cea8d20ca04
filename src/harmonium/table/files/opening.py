"""A file's ending tells what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from harmonium.table.files.dialect import dialect_of
from harmonium.table.files.formats import CsvFile, ExcelFile, FeatherFile, ParquetFile, StatisticalFile, TableFile
from harmonium.table.files.sources import STANDARD_INPUT, Source

__all__ = ["CSV", "ENDINGS", "PARQUET", "open_table", "read_table"]

CSV, PARQUET = (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat"), (".parquet", ".pq")
"""Endings of files."""

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_FEATHER, _EXCEL = (".feather", ".arrow"), (".xlsx", ".xlsm")
_STATISTICAL = {
    ".dta": ("read_dta", "Stata"),
    ".sav": ("read_sav", "SPSS"),
    ".zsav": ("read_sav", "SPSS"),
    ".por": ("read_por", "SPSS"),
    ".xpt": ("read_xport", "SAS"),
    ".sas7bdat": ("read_sas7bdat", "SAS"),
}
_OLD = {".xls": "Excel's old format; save it again as .xlsx", ".ods": "a format that is not read here; save it again as .xlsx or .csv"}
ENDINGS = (*CSV, *PARQUET, *_FEATHER, *_EXCEL, *_STATISTICAL)


def open_table(path: str | Path) -> TableFile:
    """Look at a file's header; its ending tells what it is, and ``-`` is a CSV on standard input.

    A CSV may be compressed. ``study.xlsx#Patients`` is the sheet ``Patients`` of an Excel file.
    """
    path, sheet = _with_sheet(Path(path))
    source = Source.at(path)
    ending = path.suffix.lower()
    if ending in PARQUET:
        return ParquetFile.of(source)
    if ending in _FEATHER:
        return FeatherFile.of(source)
    if ending in _EXCEL:
        return ExcelFile.of(source, sheet)
    if ending in _STATISTICAL:
        return StatisticalFile.of(source, *_STATISTICAL[ending])
    if ending in _OLD:
        raise ValueError(f"{path} is in {_OLD[ending]}")
    if str(path) == STANDARD_INPUT or _is_csv(path):
        dialect = dialect_of(source)
        return CsvFile(source, dialect.names, dialect)
    raise ValueError(f"a table must end with {', '.join(ENDINGS)}, or a CSV with {', '.join(_COMPRESSED)} besides; found {path}")


def read_table(path: str | Path, *, codes: Any = ()) -> pd.DataFrame:
    r"""Read a table from a file, as the command line does.

    Parameters
    ----------
    path : str or Path
        A CSV, whose separator (comma, semicolon, tab, bar), decimal sign, encoding and compression (gz, bz2, xz, zip) are found out; or a
        file of Parquet, Feather, Excel (``"study.xlsx#Sheet"`` for a sheet other than the first), Stata, SPSS or SAS, for which there is
        the extra ``files``. ``"-"`` is a CSV on standard input.
    codes : collection of str, default=()
        Columns of a Stata or SPSS file in which codes are wanted, and not the labels that the file has for them.

    Returns
    -------
    pandas.DataFrame
        Numbers that are all whole are whole numbers, and empty text is missing, so that all formats give the same table. In CSV and Excel,
        which have no other way to write it, ``NA``, ``N/A``, ``n/a``, ``#N/A``, ``NaN``, ``nan``, ``NULL`` and ``.`` are missing, too;
        ``None`` is a word like any other.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.csv")
    ...     _ = path.write_text("months;dead;bmi\n12;1;24,5\n30;0;\n", encoding="utf-16")
    ...     read_table(path)
       months  dead   bmi
    0      12     1  24.5
    1      30     0   NaN
    """
    table = open_table(path)
    return table.read(table.columns, codes=codes)


def _with_sheet(path: Path) -> tuple[Path, str | None]:
    name, hash_sign, sheet = path.name.rpartition("#")
    if hash_sign and Path(name).suffix.lower() in _EXCEL and not path.exists():
        return path.with_name(name), sheet
    return path, None


def _is_csv(path: Path) -> bool:
    """Whether the ending is that of text, perhaps below that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in _COMPRESSED:
        return len(endings) == 1 or endings[-2] in CSV or endings[-2] not in (*ENDINGS, *_OLD)
    return bool(endings) and endings[-1] in CSV
