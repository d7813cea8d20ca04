"""Rows that are not subjects: intervals of follow-up (start and stop), and several rows of one subject, such as its two eyes.

The model takes one row for each subject. What a column of starts is shows in its values: each is the time at which an earlier row ended. An
identifier of subjects has a name, and its rows agree in what belongs to the subject, such as age and sex; so the rows of a hospital do not,
nor those of a number that begins again in each hospital.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from harmonium.errors import SubjectWarning, TableError, warn
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import distinct_values
from harmonium.typing import Array, Booleans, Integers

__all__ = ["check_subjects", "names_subjects"]

_SUBJECT = re.compile(
    r"(?i)(study|unique)?[\W_]*"
    r"((u?subj(ect)?s?|patients?|pa?t|persons?|participants?|individuals?|record|mrn)([\W_]*(id|identifier|no|nr|num|number))?"
    r"|[a-z]?id(entifier)?([\W_]*(no|nr|num|number|patient|subject))?)"
)
_FEW = 10  # values of an identifier, or disagreements expected by chance, below which nothing can be told
_MOSTLY = 0.5  # of rows that begin late, or distinct values among rows: neither is a coincidence
_SELDOM = 0.1  # of the disagreements expected by chance: an age may change by a year


@dataclass(frozen=True)
class _Repeated:
    """An identifier of subjects with several rows.

    Attributes
    ----------
    name : str or int
    places : ndarray of shape (n_rows,)
        The place of each row's value among the distinct ones, -1 where missing.
    n_rows, n_values : int
        Rows with a value, and distinct values.
    stable : tuple of str or int
        Columns in which the rows of a value agree.
    is_text : bool
        Whether it would be a category with very many levels.
    """

    name: Any
    places: Integers
    n_rows: int
    n_values: int
    stable: tuple[Any, ...]
    is_text: bool


def names_subjects(name: Any) -> bool:
    """Whether a column's name says that it identifies subjects.

    Examples
    --------
    >>> [name for name in ("id", "PatientID", "USUBJID", "pid", "site_id", "patient_age", "acid", "number") if names_subjects(name)]
    ['id', 'PatientID', 'USUBJID', 'pid']
    """
    return _SUBJECT.fullmatch(str(name)) is not None


def check_subjects(frame: pd.DataFrame, roles: Collection[Any], y: Endpoints) -> None:
    """Warn of a table whose rows are not subjects, and refuse identifiers that are text; a stated role ends the doubt."""
    names = [name for name in frame.columns if name not in roles]
    identifiers = [name for name in names if names_subjects(name)]
    repeated = [own for name in identifiers if (own := _repeated(frame, name, [n for n in names if n not in identifiers])) is not None]
    first = repeated[0] if repeated else None
    begins = _begins(frame, names, y, first)
    if begins is not None:
        message = _of_intervals(*begins, first)
    elif first is not None:
        message = _of_repeated(first)
    else:
        return
    if first is not None and first.is_text:
        raise TableError(f"{message}; or state its role: roles={{{first.name!r}: 'categorical'}}", column=first.name)
    warn(message, SubjectWarning)


def _repeated(frame: pd.DataFrame, name: Any, others: Sequence[Any]) -> _Repeated | None:
    """What a column that is called an identifier holds, if it identifies subjects and some have several rows."""
    series = frame[name].dropna()
    is_text = types.is_bool_dtype(series) or not types.is_numeric_dtype(series)
    places, distinct = distinct_values(frame[name])
    whole = is_text or bool((series % 1 == 0).all())
    if not whole or not _FEW <= len(distinct) < len(series):
        return None
    stable = _stable(frame, places, others)
    if not stable and len(distinct) <= _MOSTLY * len(series):
        return None
    return _Repeated(name, places, len(series), len(distinct), stable, is_text)


def _stable(frame: pd.DataFrame, places: Integers, others: Sequence[Any]) -> tuple[Any, ...]:
    """Columns in which rows of one subject agree far more often than others."""
    order = np.argsort(places, kind="stable")
    same = (places[order[1:]] == places[order[:-1]]) & (places[order[1:]] >= 0)
    rows, next_rows = order[:-1][same], order[1:][same]
    out = []
    for name in others:
        values, distinct = distinct_values(frame[name])
        known = (values[rows] >= 0) & (values[next_rows] >= 0)
        fractions = np.bincount(values[values >= 0], minlength=len(distinct)) / max(int((values >= 0).sum()), 1)
        by_chance = known.sum() * (1.0 - (fractions**2).sum())
        if by_chance >= _FEW and (values[rows] != values[next_rows])[known].sum() <= _SELDOM * by_chance:
            out.append(name)
    return tuple(out)


def _begins(frame: pd.DataFrame, names: Sequence[Any], y: Endpoints, own: _Repeated | None) -> tuple[Any, str, int, int] | None:
    """The column of starts, or None if they are an entry, and in words; how many rows go on from another, and how many begin late."""
    changing = names if own is None else [name for name in names if name not in own.stable]
    numeric = [name for name in changing if types.is_numeric_dtype(frame[name]) and not types.is_bool_dtype(frame[name])]
    starts = [(name, f"column {name!r}", frame[name].to_numpy(dtype=np.float64, na_value=np.nan)) for name in numeric]
    starts += [(None, f"the entry of endpoint {name!r}", y.entry[:, e]) for e, name in enumerate(y.names)]
    for end in np.where(np.isfinite(y.upper), y.upper, y.lower).T:
        for name, what, values in starts:
            late = values > np.min(values, initial=np.inf, where=~np.isnan(values))
            goes_on = late & (values < end) & _ended(values, end, None if own is None else own.places)
            if goes_on.sum() >= _FEW and goes_on.sum() > _MOSTLY * late.sum():
                return name, what, int(goes_on.sum()), int(late.sum())
    return None


def _ended(values: Array, end: Array, places: Integers | None) -> Booleans:
    """Where a row of the same subject ended; without an identifier, the row before."""
    if places is None:
        return np.append(False, values[1:] == end[:-1])
    found = (places >= 0) & np.isin(values, end)
    if found.any():  # not so where a column holds no times
        found[found] = pd.MultiIndex.from_arrays([places[found], values[found]]).isin(pd.MultiIndex.from_arrays([places, end]))
    return np.asarray(found)


def _of_intervals(start: Any, what: str, goes_on: int, late: int, own: _Repeated | None) -> str:
    before = "the row before" if own is None else f"an earlier row of the same {own.name!r}"
    first = "the first row of each" if own is None or start is None else f"df.sort_values({start!r}).drop_duplicates({own.name!r})"
    left_out = [repr(name) for name in (start, None if own is None else own.name) if name is not None]
    return (
        f"rows seem to be intervals of follow-up, not subjects: {what} equals the time at which {before} ended, in {goes_on} of {late} "
        "rows with a late start. The model counts each row as another subject. Make a table with one row for each subject: covariates "
        f"at the beginning, {first}, and for each kind of event an endpoint, the time from the beginning to the first such event"
        + (f"; leave out {' and '.join(left_out)}" if left_out else "")
    )


def _of_repeated(own: _Repeated) -> str:
    agree = f", and rows with the same value agree in {' and '.join(map(repr, own.stable[:2]))}" if own.stable else ""
    return (
        f"column {own.name!r} has {own.n_values} values in {own.n_rows} rows{agree}: subjects seem to have several rows. The model counts "
        f"each row as another subject, so that its intervals are too narrow, and uses {own.name!r} as a "
        f"{'category' if own.is_text else 'number'}. Keep one row for each subject; if rows are parts of a subject, such as two eyes, drop "
        f"{own.name!r}, X.drop(columns={own.name!r}), and keep the rows of a subject in one fold, "
        f"SurvivalHarmoniumCV().fit(X, y, groups=df[{own.name!r}]) (--groups {quote(str(own.name))} does both)"
    )
