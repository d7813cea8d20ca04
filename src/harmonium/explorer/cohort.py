"""A dropped CSV: read in memory, as the command line reads files, and answered row by row."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.engine.states import EXACT_LIMIT
from harmonium.explorer.answers import ask
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.validation import FARTHEST
from harmonium.table.encoding import Encoding
from harmonium.table.endpoint_columns import EndpointReader, require_endpoints
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.files.csv_text import read_csv
from harmonium.table.files.dialect import dialect_of
from harmonium.table.files.names import require_columns
from harmonium.table.files.sources import Source
from harmonium.table.files.types import usual_types
from harmonium.table.training_values import TrainingValues
from harmonium.typing import Array

__all__ = ["MOST_BYTES", "cohort_answers", "follow_up_in", "forms_of", "known_of", "most_rows", "notes_on_times", "read_cohort"]

MOST_BYTES = 20 * 2**20
"""Of a file."""

_MOST_ROWS, _MOST_ROWS_SAMPLED = 20_000, 200
_MOST_ROW_STATES = 2**24  # rows times hidden states, which take about five seconds
_MOST_COLUMNS = 5_000
_LONGEST_NOTE = 300  # characters


def most_rows(model: Any) -> int:
    """Rows that are answered at once, fewer for a model with more units of both kinds, since the user is waiting."""
    n_units = model.n_hidden + model.n_covariate_units
    return min(_MOST_ROWS, _MOST_ROW_STATES >> n_units) if model.n_hidden <= EXACT_LIMIT else _MOST_ROWS_SAMPLED


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
    source = _source(name, contents)
    called, dialect = source.called, dialect_of(source)
    header = dialect.names
    if len(header) > _MOST_COLUMNS:
        raise ValueError(f"{called} has {len(header)} columns; at most {_MOST_COLUMNS} can be read here")
    covariates = TrainingValues(schema.columns)
    require_columns(called, header, covariates.names)
    others = [name for name in header if name not in covariates.names]
    frame = read_csv(source, dialect, [*covariates.text, *others], nrows=limit + 1)
    if len(frame) > limit:
        raise ValueError(f"{called} has more than {limit} rows, which is too much for this page; use harmonium predict")
    identifier = next((name for name in others if frame[name].notna().all() and frame[name].is_unique), None)
    own = [] if identifier is None else [identifier]
    known = covariates.of(frame[[*own, *covariates.names]])
    return known, [short(line, _LONGEST_NOTE) for line in covariates.unseen]


def follow_up_in(model: Any, name: Any, contents: Any, columns: Any) -> pd.DataFrame | None:
    """What the file says of the endpoints, if somebody says in which columns: as on the command line, separated by semicolons.

    Parameters
    ----------
    model : Fitted
    name, contents : str
        Of the file.
    columns : str
        Such as ``os=os_mth,os_event; rfs=rfs_mth,rfs_event``.
    """
    if columns is not None and not isinstance(columns, str):
        raise ValueError("follow-up must be a line of text")
    texts = [text.strip() for text in (columns or "").split(";") if text.strip()]
    if not texts:
        return None
    source = _source(name, contents)
    dialect = dialect_of(source)
    reader = EndpointReader(texts, dialect.names, model.encoding)
    require_endpoints(reader.names, model.endpoint_names)
    require_columns(source.called, dialect.names, reader.columns)
    known = reader.read(usual_types(read_csv(source, dialect)[reader.columns]))
    reader.check()
    for endpoint, times, last in _times_in(known, model.encoding):
        if times.size and times[-1] > FARTHEST * last:
            columns, unit = " and ".join(map(repr, reader.columns_of(endpoint))), model.encoding.unit
            raise ValueError(
                f"{columns}: times of {short(endpoint)} range from {times[0]:g} to {times[-1]:g}, but follow-up in training ended at "
                f"{_with_unit(last, unit)}; are they in another unit? Convert them{', or name it: ,unit=days' if unit else ''}"
            )
    return known


def notes_on_times(model: Any, given: pd.DataFrame | None, asked: Sequence[float]) -> list[str]:
    """Times beyond the end of follow-up in training, of which the model knows little: those in the file, and those that are asked for."""
    notes = []
    for endpoint, times, last in _times_in(given, model.encoding):
        end = f"beyond the last observed time of {short(endpoint)} in training, {_with_unit(last, model.encoding.unit)}"
        if (times > last).any():
            notes.append(f"follow-up in the file lasts until {times[-1]:g}, {end}; is it in another unit?")
        if any(time > last for time in asked):
            notes.append(f"{max(asked):g} is {end}; predictions there are bounds")
    return notes


def _with_unit(time: float, unit: str | None) -> str:
    return f"{number(time)} {unit or ''}".rstrip()


def _times_in(known: pd.DataFrame | None, encoding: Encoding) -> Iterator[tuple[str, Array, float]]:
    """Endpoints, their times in a file, ascending, and the last observed time in training."""
    found = None if known is None else parse_endpoints(known)
    for learned in encoding.endpoints:
        times = np.empty(0)
        if found is not None and learned.name in found.names:
            e = found.names.index(learned.name)
            times = np.unique(np.concatenate([found.lower[:, e], found.upper[:, e]]))
        yield learned.name, times[np.isfinite(times) & (times > 0.0)], learned.follow_up.last


def cohort_answers(
    model: Any, schema: Schema, frame: pd.DataFrame, times: Sequence[float], given: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Risk, survival (or incidence and states) at some times and median of every row, with the names of ``harmonium predict``."""
    names = {column.name for column in schema.columns}
    identifiers = {str(name): frame[name] for name in frame.columns if name not in names}
    out: dict[str, Any] = {"row": np.arange(len(frame)), **identifiers}
    prognosis = ask(model, frame, given)
    for endpoint in schema.endpoints:
        out[f"{endpoint}_risk"] = prognosis.risk(endpoint)
        if times and schema.graph is not None:
            happened = prognosis.cumulative_incidence(endpoint, list(times))
            out |= {f"{endpoint}_incidence_{time:g}": happened[:, k] for k, time in enumerate(times)}
        elif times:
            alive = prognosis.survival(endpoint, list(times))
            out |= {f"{endpoint}_survival_{time:g}": alive[:, k] for k, time in enumerate(times)}
        out[f"{endpoint}_median"] = prognosis.median(endpoint)
    if times and schema.graph is not None:
        for state, share in prognosis.state_probabilities(list(times)).items():
            out |= {f"{state}_{time:g}": share[:, k] for k, time in enumerate(times)}
    return pd.DataFrame(out, index=frame.index)


def forms_of(schema: Schema, frame: pd.DataFrame) -> list[list[str]]:
    """What the form of the tab Patient would hold, (covariates, rows): the text of a number, the place of a level, or nothing."""
    return [[_field(column, value) for value in frame[column.name]] for column in schema.columns]


def known_of(schema: Schema, given: pd.DataFrame | None) -> dict[str, list[list[str]]]:
    """What the form would hold of the endpoints, (endpoints, rows): states and times."""
    out: dict[str, list[list[str]]] = {"states": [], "times": []}
    if given is None:
        return out
    known = parse_endpoints(given).reordered(tuple(schema.endpoints))
    for lower, upper in zip(known.lower.T, known.upper.T, strict=True):
        states = ["event" if low == up else "free" if low > 0.0 else "" for low, up in zip(lower, upper, strict=True)]
        times = [np.format_float_positional(low, trim="-") if state else "" for low, state in zip(lower, states, strict=True)]
        out["states"].append(states)
        out["times"].append(times)
    return out


def _field(column: Any, value: Any) -> str:
    if pd.isna(value):
        return ""
    if column.role == "numeric":
        return np.format_float_positional(value, trim="-")
    return str(column.levels.index(value)) if value in column.levels else ""


def _source(name: Any, contents: Any) -> Source:
    called = short(name) if isinstance(name, str) and name.strip() else "the file"
    if isinstance(name, str) and not name.lower().endswith(".csv"):
        raise ValueError(f"a table must end with .csv; found {called}")
    return Source(called, held=_content(called, contents), unpacked=False)


def _content(called: str, contents: Any) -> bytes:
    if not isinstance(contents, str) or "," not in contents[:200]:
        raise ValueError(f"{called} did not arrive; drop it once more")
    encoded = contents.partition(",")[2]
    if len(encoded) > MOST_BYTES * 4 // 3 + 4:
        raise ValueError(f"{called} is too large: at most {MOST_BYTES // 2**20} MB can be read here; use harmonium predict")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{called} did not arrive; drop it once more") from error
