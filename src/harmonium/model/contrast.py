"""Contrasts: standardised answers at two values of a column, their difference and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from harmonium.model.answering import Answering
from harmonium.model.confidence import EVENT, NO_EVENT, POSITIVE, Scale, between, check_level
from harmonium.model.deviations import Question
from harmonium.model.standardised import Sure, standardised
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array

__all__ = ["MEASURES", "Measure", "contrast", "measure_of", "partial_dependence"]

_N_NODES = 16  # of the area under a curve, where only its deviations matter

MEASURES = ("survival", "incidence", "restricted_mean", "states")


class Measure:
    """What is averaged: a question whose answers are numbers with labels.

    Attributes
    ----------
    question : callable
        Of a prognosis, (rows, numbers).
    labels : list of tuple
        Of the numbers: a time or, of states, a state and a time.
    scale : Scale
        On which the numbers are nearly normal.
    quick : callable, optional
        Nearly the same question, for deviations.
    most : float
        The largest number that may come out; differences lie between that and minus that.
    """

    def __init__(
        self, question: Question, labels: list[tuple[Any, ...]], scale: Scale, quick: Question | None = None, most: float = 1.0
    ) -> None:
        self.question, self.labels, self.scale, self.quick = question, labels, scale, quick
        self.most, self.difference = most, between(-most, most)

    @property
    def names(self) -> list[str]:
        """Of the labels' levels."""
        return ["state", "time"][-len(self.labels[0]) :]


def measure_of(fitted: Answering, measure: str, endpoint: Any, times: Any, until: float | None) -> Measure:
    """What was asked for, with everything it needs."""
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(map(repr, MEASURES))}; found {measure!r}")
    if measure == "restricted_mean":
        if not (isinstance(until, Real) and 0.0 < float(until) < np.inf):
            raise ValueError(f"a restricted mean needs the time until which it is taken (until=60); found {until!r}")
        end = float(until)
        nodes, weights = (0.5 * end * part for part in (gauss_legendre(_N_NODES)[0] + 1.0, gauss_legendre(_N_NODES)[1]))

        def area(own: Any) -> Array:
            return np.asarray((1.0 - own.cumulative_incidence(endpoint, nodes)) @ weights[:, None])

        return Measure(lambda own: own.restricted_mean(endpoint, until=end)[:, None], [(end,)], between(0.0, end), area, end)
    if times is None:
        raise ValueError(f"measure {measure!r} needs times at which it is compared (times=[12, 24])")
    at: Array = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if measure == "states":
        if fitted.encoding.ordered is None:
            raise ValueError('states need a terminal endpoint: harmonium.endpoints(..., terminal="death")')
        graph = fitted.encoding.ordered.graph
        labels = [(graph.label(path), float(t)) for path in graph.paths for t in at]
        return Measure(lambda own: np.concatenate(list(own.state_probabilities(at).values()), axis=1), labels, EVENT)
    if measure == "incidence":
        return Measure(lambda own: own.cumulative_incidence(endpoint, at), [(float(t),) for t in at], EVENT)
    return Measure(lambda own: own.survival(endpoint, at), [(float(t),) for t in at], NO_EVENT)


def contrast(fitted: Answering, X: Any, column: Any, values: Sequence[Any], measure: Measure, interval: float | None) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.contrast`."""
    if isinstance(values, str) or len(values) != 2:
        raise ValueError(f"a contrast needs two values, such as ('control', 'treated'); found {values!r}")
    first, second = standardised(fitted, X, {column: values}, measure.question, interval is not None, measure.quick, measure.most)[column]
    parts = [
        (f"{column} = {values[0]}", first, measure.scale),
        (f"{column} = {values[1]}", second, measure.scale),
        ("difference", second - first, measure.difference),
        ("ratio", second.over(first), POSITIVE),
    ]
    return _table(parts, measure, interval, "of")


def partial_dependence(
    fitted: Answering, X: Any, column: Any, values: Sequence[Any], measure: Measure, interval: float | None
) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.partial_dependence`."""
    found = standardised(fitted, X, {column: values}, measure.question, interval is not None, measure.quick, measure.most)[column]
    return _table([(value, own, measure.scale) for value, own in zip(values, found, strict=True)], measure, interval, str(column))


def _table(parts: Sequence[tuple[Any, Sure, Scale]], measure: Measure, interval: float | None, name: str) -> pd.DataFrame:
    level = None if interval is None else check_level(interval)
    frames = []
    for label, own, scale in parts:
        index = pd.MultiIndex.from_tuples([(*of, label) for of in measure.labels], names=[*measure.names, name])
        frames.append(pd.DataFrame(own.columns(level, scale), index=index))
    whole = pd.concat(frames)
    order = np.arange(len(whole)).reshape(len(parts), -1).T.ravel()  # all parts of a time together
    return whole.iloc[order]
