"""What a model has learned: latent codes, receptive fields, and dependence between endpoints.

Why this patient: what each known value contributes to the difference from the average (Shapley values).

The worth of a set of columns is the model's answer if these are known and the others are not: they are integrated out, so no background
sample stands in for them. A column's contribution is what it adds, averaged over all orders in which columns may become known (Shapley
1953). Contributions add up to the difference between the answer and that for somebody of whom nothing is known; columns that do the same
get the same; missing values contribute nothing.

Up to ten known columns all sets are asked about, and contributions are exact. With more, orders are drawn, the same for every row, each
together with its reverse; contributions still add up exactly.
"""

from __future__ import annotations

from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np
import pandas as pd

from harmonium.engine.parameters import Parameters
from harmonium.model.answering import Answering
from harmonium.model.confidence import PLAIN, check_level
from harmonium.model.effects import Measure, Sure
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.prognosis import Prognosis
from harmonium.table.columns import Column
from harmonium.table.encoding import Encoding
from harmonium.table.frames import to_pandas
from harmonium.typing import Array, Booleans, Integers

__all__ = ["code_names", "codes", "contributions", "receptive_fields"]


def codes(prognosis: Prognosis) -> Array:
    """p(h = 1) of every hidden unit (eq. 7), (rows, hidden units); where endpoints are ordered, of each endpoint's harmonium."""
    return prognosis.answerer.hidden()


def _harmoniums(fitted: Answering) -> list[tuple[str, Encoding, Parameters]]:
    """Endpoints whose harmoniums they are, if there is one for each, encodings and parameters."""
    if fitted.transitions is None:
        return [("", fitted.encoding, fitted.parameters)]
    return [(f"{own.encoding.endpoint_names[0]} ", own.encoding, own.parameters) for own in fitted.transitions.models]


def code_names(fitted: Answering) -> Any:
    """hidden0, hidden1, ...; where endpoints are ordered, with the endpoint's name before."""
    return np.array([f"{name}hidden{j}" for name, _, own in _harmoniums(fitted) for j in range(own.n_hidden)], dtype=object)


def receptive_fields(fitted: Answering, prognosis: Prognosis) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.receptive_fields`."""
    harmoniums, active = _harmoniums(fitted), prognosis.answerer.hidden().mean(axis=0)
    of_each = np.split(active, np.cumsum([own.n_hidden for _, _, own in harmoniums])[:-1])
    table = pd.concat([_fields(own, encoding, on) for (_, encoding, own), on in zip(harmoniums, of_each, strict=True)], axis=1)
    table.columns = code_names(fitted)
    return table


def _fields(parameters: Parameters, encoding: Encoding, active: Array) -> pd.DataFrame:
    """Of one harmonium, whose hidden units have some mean activation."""
    natural, offsets = parameters.natural(), encoding.layout.offsets
    rows: dict[tuple[Any, str, str], Array] = {}
    for c, column in enumerate(encoding.modelled):
        own = slice(offsets[c], offsets[c + 1])
        rows.update(_of_column(column, natural.bias[own], natural.coupling[own]))
    for e, timed in enumerate(encoding.timed):
        first = int(offsets[encoding.column_of(e)])
        on, off = (np.where(np.eye(active.size, dtype=bool), value, active) for value in (1.0, 0.0))
        means = [EndpointStates.of(natural, first, states).mean() for states in (on, off)]
        rows[timed.name, "", "mean time (of the scale)"] = means[0] - means[1]
    index = pd.MultiIndex.from_tuples(list(rows), names=["column", "level", "measure"])
    return pd.DataFrame(np.stack(list(rows.values())), index=index)


def _of_column(column: Column, bias: Array, coupling: Array) -> dict[tuple[Any, str, str], Array]:
    """Effects of the hidden units on one covariate."""
    if column.role == "numeric":  # the mean is -linear / (2 quadratic)
        return {(column.name, "", "mean (standard deviations)"): -coupling[0] / (2.0 * bias[1])}
    if column.role == "binary":
        return {(column.name, str(column.levels[1]), "log odds"): -coupling[0]}
    centred = coupling.mean(axis=0) - coupling
    return {(column.name, str(level), "log odds"): effect for level, effect in zip(column.levels, centred, strict=True)}


_MOST_EXACT = 10
_N_ORDERS = 32  # and their reverses


def contributions(fitted: Answering, X: Any, measure: Measure, interval: float | None) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.explain`."""
    level = None if interval is None else check_level(interval)
    frame, covariates = to_pandas(X), fitted.encoding.covariates(X)
    names = [column.name for column in fitted.encoding.modelled]
    parts = []
    for row, values in enumerate(covariates):
        known = np.flatnonzero(~np.isnan(values))
        sets, weights = _exact(known.size) if known.size <= _MOST_EXACT else _sampled(known.size, fitted.seed)
        found = _worth(fitted, values, known, sets, measure, level is not None)
        own = Sure(weights @ found.value, np.tensordot(found.deviations, weights, axes=(1, 1)))
        table = pd.DataFrame(own.columns(level, PLAIN)).rename(columns={"estimate": "contribution"})
        whole = np.append(table["contribution"].to_numpy(), [found.value[0], found.value[-1]])
        labels = [names[c] for c in known]
        table = table.reindex(range(known.size + 2)).assign(contribution=whole)
        table.insert(0, "value", [frame[name].iloc[row] for name in labels] + [None, None])
        table.index = pd.MultiIndex.from_product([[frame.index[row]], [*labels, "average", "prediction"]], names=["row", "column"])
        parts.append(table)
    return (
        pd.concat(parts)
        if parts
        else pd.DataFrame({"value": [], "contribution": []}, pd.MultiIndex.from_tuples([], names=["row", "column"]))
    )


def _worth(fitted: Answering, values: Array, known: Integers, sets: Booleans, measure: Measure, sure: bool) -> Sure:
    """The answer for every set of known columns; the first set is empty and the last holds all."""
    rows = np.full((len(sets), values.size), np.nan)
    rows[:, known] = np.where(sets, values[known], np.nan)
    prognosis = fitted.ask(rows, None)
    answers = measure.question(prognosis)[:, 0]
    if not sure:
        return Sure(answers, np.empty((0, answers.size)))
    quick = measure.quick or measure.question
    return Sure(answers, np.array([own[:, 0] for own in prognosis.deviations(quick)[1]]).reshape(-1, answers.size))


def _exact(n: int) -> tuple[Booleans, Array]:
    """All sets (sets, columns), and by how much each counts for each column, (columns, sets)."""
    sets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    size = sets.sum(axis=1)
    share = np.array([factorial(k) * factorial(n - 1 - k) / factorial(n) for k in range(n)])
    gained, lost = np.append(0.0, share), np.append(share, 0.0)  # of a set that holds the column, and of one that does not
    return sets, np.where(sets.T, gained[size], -lost[size])


def _sampled(n: int, seed: int) -> tuple[Booleans, Array]:
    """The sets that some orders pass through, and weights as before."""
    rng = np.random.default_rng(seed)
    orders = [order for _ in range(_N_ORDERS) for drawn in [rng.permutation(n)] for order in (drawn, drawn[::-1])]
    place: dict[bytes, int] = {np.zeros(n, dtype=bool).tobytes(): 0}
    terms = []
    for order in orders:
        passed = [(np.argsort(order) < k) for k in range(n + 1)]
        numbers = [place.setdefault(one.tobytes(), len(place)) for one in passed]
        terms += [(int(column), before, after) for column, (before, after) in zip(order, pairwise(numbers), strict=True)]
    sets = np.array([np.frombuffer(key, dtype=bool) for key in place])
    weights = np.zeros((n, len(sets)))
    for column, before, after in terms:
        weights[column, after] += 1.0 / len(orders)
        weights[column, before] -= 1.0 / len(orders)
    last = int(np.flatnonzero(sets.all(axis=1))[0])
    order = np.append(np.delete(np.arange(len(sets)), last), last)
    return sets[order], weights[:, order]
