"""Effects that a person can read: standardised answers, contrasts, and one table of differences by covariate.

Answers averaged over rows that all have one value of a column, and how sure they are.

Standardisation: everybody in the table is given the value, all else stays as it is, and the answers are averaged. It compares like with
like as far as the other columns say what is alike; by itself it is no statement about causes.

Contrasts: standardised answers at two values of a column, their difference and their ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from harmonium.model.answering import Answering
from harmonium.model.asked import observed_endpoints
from harmonium.model.completions import Completions
from harmonium.model.confidence import EVENT, NO_EVENT, POSITIVE, Scale, between, check_level, interval_of
from harmonium.model.generation import sample
from harmonium.model.spread import Question
from harmonium.model.usual_question import usual_time
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.table.columns import Column
from harmonium.table.frames import as_typed, columns_of, to_pandas
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.typing import Array

__all__ = ["MEASURES", "Measure", "Sure", "column_named", "contrast", "effects", "measure_of", "partial_dependence", "standardised"]

_FARTHEST = 0.9  # of the way to a bound that an average is moved: the step that moves it is linear
_COMPLETED = 100  # rows in the place of those with missing values, at least: draws then add a tenth of what rows differ by


@dataclass(frozen=True)
class Sure:
    """Numbers with their deviations along all directions.

    Attributes
    ----------
    value : ndarray
    deviations : ndarray of shape (n_directions, *value.shape)
        Empty if nobody asked how sure they are.
    """

    value: Array
    deviations: Array

    def __sub__(self, other: Sure) -> Sure:
        return Sure(self.value - other.value, self.deviations - other.deviations)

    def __add__(self, other: Sure) -> Sure:
        return Sure(self.value + other.value, self.deviations + other.deviations)

    def __neg__(self) -> Sure:
        return Sure(-self.value, -self.deviations)

    def part(self, places: slice) -> Sure:
        """Some of the numbers."""
        return Sure(self.value[places], self.deviations[:, places])

    def over(self, other: Sure) -> Sure:
        """The ratio."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / other.value
            return Sure(ratio, ratio * (self.deviations / self.value - other.deviations / other.value))

    @property
    def error(self) -> Array:
        """Standard errors."""
        return np.asarray(np.sqrt(np.sum(self.deviations**2, axis=0)))

    def columns(self, level: float | None, scale: Scale) -> dict[str, Array]:
        """Estimate and, with a level, the ends of its interval."""
        if level is None:
            return {"estimate": self.value}
        return interval_of(self.value, self.error, level, scale)._asdict()


def standardised(
    fitted: Answering,
    X: Any,
    steps: Mapping[Any, Sequence[Any]],
    question: Question,
    sure: bool,
    quick: Question | None = None,
    most: Array | float = 1.0,
) -> dict[Any, list[Sure]]:
    """The answers to a question about some rows, were they all to have one value of a column, averaged over rows.

    Parameters
    ----------
    fitted : Answering
    X : DataFrame
    steps : mapping
        Columns, and for each of them values.
    question : callable
        Of a prognosis; rows come first in the answers.
    sure : bool
        Whether deviations are found, and what shrinkage has taken is added to the averages.
    quick : callable, optional
        A question that will do for deviations.
    most : ndarray or float
        The largest answers there may be; the least is 0.
    """
    own = [(column_named(fitted, column), value) for column, values in steps.items() for value in values]
    covariates, weights = _complete(fitted, X)
    prognosis = fitted.ask(np.concatenate([_with_value(fitted, covariates, *one) for one in own]), None)

    def averaged(answer: Array) -> Array:
        """Over the rows of all tables."""
        return np.asarray(np.tensordot(answer.reshape(len(own), weights.size, *answer.shape[1:]), weights, axes=(1, 0)))

    answers = averaged(question(prognosis))
    deviations = np.empty((0, *answers.shape))
    if sure:
        along = [averaged(one) for one in prognosis.deviations(quick or question, thorough=True)[1]]
        deviations = np.array(along).reshape(-1, *answers.shape)
        lost = averaged(prognosis.correction(quick or question))
    out, start = dict[Any, list[Sure]](), 0
    for column, values in steps.items():
        if sure:  # what all values have in common is known from the average over everybody
            part = slice(start, start + len(values))
            own_loss = lost[part] - lost[part].mean(axis=0)
            answers[part] += np.clip(own_loss, -_FARTHEST * answers[part], _FARTHEST * (most - answers[part]))
        out[column] = [Sure(answers[k], deviations[:, k]) for k in range(start, start + len(values))]
        start += len(values)
    return out


def _complete(fitted: Answering, X: Any) -> tuple[Array, Array]:
    """Encoded rows without missing values, several of which may stand for one row, and the weights of all.

    What is missing is completed given the row as it is, before anybody is given a value: values that go with a column must not go with
    what it is set to.
    """
    frame = to_pandas(X)
    if not len(frame):
        raise ValueError("X has no rows to standardise over")
    covariates = fitted.encoding.covariates(frame)
    incomplete = np.flatnonzero(np.isnan(covariates).any(axis=1))
    weights = np.full(len(covariates), 1.0 / len(covariates))
    if not incomplete.size:
        return covariates, weights
    found = Completions.of(fitted.parameters, fitted.covariate_units, fitted.encoding.cells(covariates[incomplete]), fitted.n_jobs)
    some = found.thinned(max(_COMPLETED // incomplete.size, 1))
    whole = np.delete(np.arange(len(covariates)), incomplete)
    completed = some.covariates
    return np.concatenate([covariates[whole], completed]), np.concatenate([weights[whole], some.weights / len(covariates)])


def column_named(fitted: Answering, name: Any) -> Column:
    """A column of the model, which must take part in it."""
    named = {column.name: column for column in fitted.encoding.columns}
    if name not in named:
        raise ValueError(f"the model has no column {name!r}; it has {', '.join(map(repr, named)) or 'none'}")
    if named[name].role == "ignored":
        raise ValueError(f"column {name!r} is ignored by the model")
    return named[name]


def _with_value(fitted: Answering, covariates: Array, own: Column, value: Any) -> Array:
    """Covariates of rows that all have one value of a column; a level must be one of the model."""
    if own.role != "numeric" and value not in own.levels:
        raise ValueError(f"column {own.name!r} has no level {as_typed(value)}; it has {', '.join(map(as_typed, own.levels))}")
    out = covariates.copy()
    one = pd.Series([value], dtype=object if own.role != "numeric" else np.float64, name=own.name)
    out[:, fitted.encoding.modelled.index(own)] = own.encode(one)
    return out


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


_MOST_ROWS = 100  # over which effects are standardised
_QUARTILES = (0.25, 0.75)
_LATE = 0.9  # quantile of event times until which restricted means are taken


def effects(fitted: Answering, X: Any, y: Any, time: float | None, until: float | None, interval: float | None) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.summary`."""
    level = None if interval is None else check_level(interval)
    frame = _drawn(fitted) if X is None else to_pandas(X)
    rows = np.unique(np.linspace(0, len(frame) - 1, _MOST_ROWS).astype(int)) if len(frame) else np.arange(0)
    chosen = frame.iloc[rows]
    columns = [column for column in fitted.encoding.columns if column.role != "ignored"]
    asked = [_asked(fitted, endpoint, time, until) for endpoint in fitted.encoding.endpoints]
    measures = [own for _, _, both in asked for own in both]
    out: dict[tuple[Any, str, str], dict[str, Any]] = {}
    steps = {column.name: _steps(column, frame) for column in columns}
    for name, found in _answered(fitted, chosen, steps, measures, level is not None).items():
        values = steps[name]
        worth = {} if y is None else _importance(fitted, frame, y, name, level)
        for number, value in enumerate(values[1:], start=1):
            for e, (at, end, _) in enumerate(asked):
                happened, mean = (found[number][2 * e + k] - found[0][2 * e + k] for k in range(2))
                row = {"time": at, **_columns("difference", -happened, level, 1.0)}
                row |= {"until": end, **_columns("mean_difference", mean, level, end)} | worth
                out[name, f"{_written(values[0])} to {_written(value)}", fitted.encoding.endpoint_names[e]] = row
    return pd.DataFrame(list(out.values()), index=pd.MultiIndex.from_tuples(out, names=["column", "step", "endpoint"]))


def _asked(fitted: Answering, endpoint: LearnedEndpoint, time: float | None, until: float | None) -> tuple[float, float, list[Measure]]:
    """By default at the median event time, and until a time at which most events have happened."""
    at = usual_time(fitted.encoding, endpoint.name) if time is None else float(time)
    end = float(np.quantile(endpoint.event_times, _LATE)) if until is None else float(until)
    measures = [measure_of(fitted, "incidence", endpoint.name, [at], None), measure_of(fitted, "restricted_mean", endpoint.name, None, end)]
    return at, end, measures


def _answered(
    fitted: Answering, chosen: pd.DataFrame, steps: dict[Any, list[Any]], measures: list[Measure], sure: bool
) -> dict[Any, list[list[Sure]]]:
    """All measures at all values of the columns; one prognosis answers them."""

    def question(own: Any) -> Array:
        return np.concatenate([measure.question(own) for measure in measures], axis=1)

    def quick(own: Any) -> Array:
        return np.concatenate([(measure.quick or measure.question)(own) for measure in measures], axis=1)

    found = standardised(fitted, chosen, steps, question, sure, quick, np.array([measure.most for measure in measures]))
    return {name: [[one.part(slice(k, k + 1)) for k in range(len(measures))] for one in own] for name, own in found.items()}


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _drawn(fitted: Answering) -> pd.DataFrame:
    """Covariates as the model has learned that they are distributed."""
    unknown = np.full((1, len(fitted.encoding.modelled)), np.nan)
    return sample(fitted, unknown, None, _MOST_ROWS, False, np.random.default_rng(fitted.seed))[0]


def _steps(column: Column, frame: pd.DataFrame) -> list[Any]:
    """The first level and all others, or the quartiles of a number; its ends, if the quartiles are the same."""
    if column.role != "numeric":
        return list(column.levels)
    (values,) = columns_of(frame, [column.name])
    numbers = values.to_numpy(dtype=np.float64)
    low, high = np.nanquantile(numbers, _QUARTILES)
    return [float(low), float(high)] if high > low else [float(np.nanmin(numbers)), float(np.nanmax(numbers))]


def _columns(name: str, own: Sure, level: float | None, most: float) -> dict[str, float]:
    found = own.columns(level, between(-most, most))
    labels: Sequence[str] = (name, f"{name}_lower", f"{name}_upper")
    return {label: float(value[0]) for label, value in zip(labels, found.values(), strict=False)}


def _importance(fitted: Answering, frame: pd.DataFrame, y: Any, column: Any, level: float | None) -> dict[str, float]:
    """What the log-likelihood of a row loses, on average, if nobody knows the column."""
    covariates = fitted.encoding.covariates(frame)
    observed = observed_endpoints(fitted, frame, y, len(covariates))
    hidden = covariates.copy()
    hidden[:, [own.name for own in fitted.encoding.modelled].index(column)] = np.nan
    lost = fitted.log_likelihood_of(covariates, observed, "conditional") - fitted.log_likelihood_of(hidden, observed, "conditional")
    out = {"importance": float(lost.mean())}
    if level is not None:
        reach = float(norm.ppf(0.5 + 0.5 * level) * lost.std(ddof=1) / np.sqrt(lost.size))
        out |= {"importance_lower": out["importance"] - reach, "importance_upper": out["importance"] + reach}
    return out
