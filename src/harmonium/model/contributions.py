r"""Why this patient: what each known value contributes to the difference from the average (Shapley values).

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

from harmonium.model.answering import Answering
from harmonium.model.confidence import PLAIN, check_level
from harmonium.model.contrast import Measure
from harmonium.model.standardised import Sure
from harmonium.table.frames import to_pandas
from harmonium.typing import Array, Booleans, Integers

__all__ = ["contributions"]

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
