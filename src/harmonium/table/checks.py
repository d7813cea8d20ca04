"""Warnings about tables that can be used but are probably not what was meant. Every user meets them, whatever the way in.

Errors are where tables are read; here are the doubts: identifiers among covariates, text among numbers, times beyond follow-up, endpoints
about which nothing is given. Covariates that contain the outcome are in :mod:`harmonium.table.leakage`, rows that are not subjects in
:mod:`harmonium.table.subject_rows`, rows of two tables that do not belong together in :mod:`harmonium.table.labels`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import (
    ExtrapolationWarning,
    IdentifierWarning,
    IgnoredColumnWarning,
    TextWarning,
    UnknownEndpointWarning,
    warn,
)
from harmonium.table.columns import Column
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import reads_as_number
from harmonium.table.leakage import check_leakage
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.table.odd_values import warn_of_alike_levels
from harmonium.table.subject_rows import names_subjects
from harmonium.typing import Array

__all__ = [
    "check_given",
    "check_times",
    "check_training_table",
    "warn_of_ignored",
    "warn_of_no_mean",
]

_FAR, _OTHER_UNIT = 3.0, " (are these times in another unit than those of training?)"
_IDENTIFIER = re.compile(r"(?i)(^|[^a-z])(id|identifier|unnamed)([^a-z]|$)")
_MOST_NUMBERED_LEVELS = 10  # a category may well have the levels 0, 1, 2, 3 and more


def check_training_table(
    frame: pd.DataFrame, columns: Sequence[Column], numbers: Mapping[Any, Array], roles: Mapping[Any, str], y: Endpoints
) -> None:
    """Warn about covariates that are probably none, or not what they seem."""
    warn_of_ignored(columns, roles)
    for column in columns:
        if column.name in roles:
            continue
        if column.role == "numeric":
            _warn_of_identifier(frame[column.name])
        elif column.role != "ignored":
            _warn_of_text_among_numbers(frame[column.name])
            warn_of_alike_levels(frame[column.name], column.levels)
    check_leakage(frame, columns, numbers, y)


def warn_of_ignored(columns: Sequence[Column], roles: Mapping[Any, str]) -> None:
    """Columns that carry no information, unless the user knows."""
    ignored = [column.name for column in columns if column.role == "ignored" and roles.get(column.name) != "ignored"]
    if ignored:
        warn(f"columns without information take no part in the model: {', '.join(map(repr, ignored))}", IgnoredColumnWarning)


def _warn_of_identifier(series: pd.Series) -> None:
    """Numbers of rows or subjects pass for a numeric covariate."""
    whole = series.dtype.kind in "iu" and len(series) >= 20
    named = _IDENTIFIER.search(str(series.name)) or names_subjects(series.name)
    if whole and series.is_unique and (named or series.is_monotonic_increasing):
        warn(
            f"column {series.name!r} looks like an identifier but is used as a numeric covariate; drop it: "
            f"X.drop(columns={series.name!r}) (--drop {quote(str(series.name))})",
            IdentifierWarning,
        )


def _warn_of_text_among_numbers(series: pd.Series) -> None:
    """One stray word, or decimal commas, make a column of numbers one of text."""
    if series.dtype.kind != "O" and not pd.api.types.is_string_dtype(series.dtype):
        return
    distinct = [value for value in series.dropna().unique() if isinstance(value, str)]
    strange = [value for value in distinct if not reads_as_number(value)]
    n_numbers = sum(reads_as_number(value.replace(",", ".")) for value in distinct)
    codes = len(distinct) <= _MOST_NUMBERED_LEVELS and all(value.strip().isdecimal() for value in distinct)
    if not strange and not codes and len(distinct) > 2:
        shown = ", ".join(map(repr, sorted(distinct)[:3]))
        warn(
            f"column {series.name!r} holds numbers that are written as text ({shown}), and is used as a category; turn it into numbers, "
            f"pd.to_numeric(X[{series.name!r}]), or state that it is one: roles={{{series.name!r}: 'categorical'}}",
            TextWarning,
        )
    if strange and n_numbers > max(_MOST_NUMBERED_LEVELS, len(distinct) // 2):
        row = int(series.isin(strange[:1]).to_numpy().argmax())
        commas = reads_as_number(strange[0].replace(",", "."))
        advice = "write decimal points, not commas" if commas else "correct it, or state the column's role"
        warn(f"column {series.name!r} is used as text because of {strange[0]!r} in row {row}; {advice}", TextWarning)


def check_times(endpoint: LearnedEndpoint, times: Array) -> None:
    """Warn of times beyond follow-up."""
    last = endpoint.follow_up.last
    late = np.unique(times[times > last])
    if late.size:
        shown = ", ".join(f"{time:g}" for time in late[:3]) + (", ..." if late.size > 3 else "")
        verb = "lies" if late.size == 1 else "lie"
        warn(
            f"{shown} {verb} beyond the last observed time of {endpoint.name!r} in training, {last:g}: {_what_is_known(endpoint)}"
            f"{_OTHER_UNIT if late[0] > _FAR * last else ''}",
            ExtrapolationWarning,
        )


def _what_is_known(endpoint: LearnedEndpoint) -> str:
    """Of times beyond follow-up."""
    if endpoint.scale.reach == 1.0:
        return "an extrapolation to the horizon"
    return "survival there is at most what it is at the last observed time, and hazards are not known"


def warn_of_no_mean(endpoint: LearnedEndpoint, until: float) -> None:
    """A restricted mean beyond follow-up is not known."""
    warn(
        f"the mean until {until:g} is not known: endpoint {endpoint.name!r} was observed until {endpoint.scale.end:g} in training; "
        "ask until then",
        ExtrapolationWarning,
    )


def check_given(names: Iterable[str], known: Endpoints, terminal: Iterable[str] = ()) -> None:
    """Warn if events of some endpoints are given and nothing is said about another: that it had not happened yet is known as well.

    Of a ``terminal`` one the model knows it: nothing happens after it.
    """
    silent = [name for name in names if name not in known.names and name not in terminal]
    if silent and known.event.any():
        warn(
            f"an event is given, and nothing about {', '.join(map(repr, silent))}: if there had been no such event by then, give that too "
            "(harmonium.landmark does), since the model cannot know it",
            UnknownEndpointWarning,
        )
