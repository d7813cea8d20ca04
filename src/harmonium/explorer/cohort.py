"""A dropped CSV: read in memory, as the command line reads files, and answered row by row."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.explorer.schema import Schema, short
from harmonium.table.columns import Column
from harmonium.table.frames import as_typed, columns_of

__all__ = ["MOST_BYTES", "cohort_answers", "most_rows", "read_cohort"]

MOST_BYTES = 20 * 2**20
"""Of a file."""

_MOST_ROWS, _MOST_ROWS_SAMPLED = 20_000, 500
_MOST_COLUMNS = 5_000
_ENUMERABLE = 14  # hidden units; answers of larger models are drawn, which takes longer
_READING = threading.Lock()  # filters of warnings belong to the process, not to a thread


def most_rows(model: Any) -> int:
    """Rows that are answered at once."""
    return _MOST_ROWS if model.n_hidden <= _ENUMERABLE else _MOST_ROWS_SAMPLED


def read_cohort(schema: Schema, name: Any, contents: Any, limit: int) -> tuple[pd.DataFrame, list[str]]:
    """Covariates from a file that was dropped, and what is to be said about them.

    Parameters
    ----------
    schema : Schema
    name : str
        Of the file, for messages.
    contents : str
        A data URL, as browsers make it.
    limit : int
        Most rows.

    Returns
    -------
    DataFrame
        Covariates, and first a column that tells rows apart, if the file has one that is no covariate.
    list of str
        Values that did not occur in training.
    """
    called = short(name) if isinstance(name, str) and name.strip() else "the file"
    if isinstance(name, str) and not name.lower().endswith(".csv"):
        raise ValueError(f"a table must end with .csv; found {called}")
    text = _text(called, contents)
    header = _header(called, text)
    try:
        columns_of(pd.DataFrame(columns=header), [column.name for column in schema.columns])
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from None
    with_levels = {str(column.name): column for column in schema.columns if column.role != "numeric"}
    covariates = [str(column.name) for column in schema.columns]
    others = [column for column in header if column not in covariates]
    frame = _parsed(called, text, header, [*with_levels, *others], limit)
    notes: list[str] = []
    out = {column.name: frame[str(column.name)] for column in schema.columns}
    for column in with_levels.values():
        out[column.name] = _levels(frame[str(column.name)], column, notes)
    identifier = next((other for other in others if frame[other].notna().all() and frame[other].is_unique), None)
    first = {} if identifier is None or identifier in out else {identifier: frame[identifier]}
    return pd.DataFrame({**first, **out}, index=frame.index), notes


def cohort_answers(model: Any, schema: Schema, frame: pd.DataFrame, times: Sequence[float]) -> pd.DataFrame:
    """Risk, survival at some times and median of every row, with the names of ``harmonium predict``."""
    names = {column.name for column in schema.columns}
    identifiers = {str(name): frame[name] for name in frame.columns if name not in names}
    out: dict[str, Any] = {"row": np.arange(len(frame)), **identifiers}
    for endpoint in schema.endpoints:
        out[f"{endpoint}_risk"] = model.predict(frame, endpoint)
        if times:
            alive = model.predict_survival_function(frame, endpoint, list(times), return_array=True)
            out |= {f"{endpoint}_survival_{time:g}": alive[:, k] for k, time in enumerate(times)}
        out[f"{endpoint}_median"] = model.predict_median(frame, endpoint)
    return pd.DataFrame(out, index=frame.index)


def _text(called: str, contents: Any) -> str:
    if not isinstance(contents, str) or "," not in contents[:200]:
        raise ValueError(f"{called} did not arrive; drop it once more")
    encoded = contents.partition(",")[2]
    if len(encoded) > MOST_BYTES * 4 // 3 + 4:
        raise ValueError(f"{called} is too large: at most {MOST_BYTES // 2**20} MB can be read here; use harmonium predict")
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8-sig")
    except binascii.Error as error:
        raise ValueError(f"{called} did not arrive; drop it once more") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{called} is not text in UTF-8; save it anew with that encoding") from error


def _header(called: str, text: str) -> list[str]:
    lines = io.StringIO(text, newline="")
    try:
        names = next((row for row in csv.reader(lines) if row), None)
    except csv.Error as error:
        raise ValueError(f"{called} is not text in UTF-8; save it anew with that encoding") from error
    if names is None:
        raise ValueError(f"{called} is empty")
    if not any(line.strip() for line in lines):
        raise ValueError(f"{called} has a header but no rows")
    for separator, what in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            raise ValueError(f"{called} seems to be separated by {what}; save it anew with commas")
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"{called} has {len(names)} columns; at most {_MOST_COLUMNS} can be read here")
    names = [name or f"Unnamed: {number}" for number, name in enumerate(names)]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise ValueError(f"{called}: column names must be unique; found {twice[0]!r} more than once")
    return names


def _parsed(called: str, text: str, header: list[str], as_text: list[str], limit: int) -> pd.DataFrame:
    settings = {"names": header, "header": 0, "index_col": False, "dtype": dict.fromkeys(as_text, str), "low_memory": False}
    try:
        with _READING, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(io.StringIO(text), nrows=limit + 1, **settings)
    except pd.errors.ParserWarning as error:
        raise ValueError(f"{called}: the first rows have more fields than the header has names") from error
    except pd.errors.ParserError as error:
        raise ValueError(f"{called} cannot be read: {error}") from error
    if len(frame) > limit:
        raise ValueError(f"{called} has more than {limit} rows, which is too much for this page; use harmonium predict")
    return frame


def _levels(series: pd.Series, column: Column, notes: list[str]) -> pd.Series:
    """Levels of training instead of what is written; gaps where there is no such level, with a note."""
    places, distinct = pd.factorize(series)
    levels = [_level(value, column.levels) for value in distinct]
    unseen = [value for value, level in zip(distinct, levels, strict=True) if level is None]
    if unseen:
        n = int(np.isin(places, [k for k, level in enumerate(levels) if level is None]).sum())
        shown = ", ".join(as_typed(value) for value in unseen[:3]) + (", ..." if len(unseen) > 3 else "")
        notes.append(short(f"column {column.name!r}: {n} value{'s' * (n > 1)} not seen in training ({shown}), treated as missing", 300))
    return pd.Series(np.array([*levels, None], dtype=object)[places], index=series.index)


def _level(written: str, levels: tuple[Any, ...]) -> Any:
    """The level that a text is, or None: a CSV does not tell the number 1 from the text "1"."""
    for level in levels:
        if written == str(level):
            return level
    if isinstance(levels[0], str):
        return None
    try:
        value = float(written)
    except ValueError:
        value = {"true": 1.0, "false": 0.0}.get(written.lower(), np.nan)
    return next((level for level in levels if level == value), None)
