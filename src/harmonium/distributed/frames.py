"""Endpoints, predictions and completed tables of Dask DataFrames: partition by partition, and only when they are asked for.

Any model answers: a :class:`harmonium.Fitted` that was loaded from a file as well as a fitted estimator. Warnings of workers, such as
those about levels that training did not have, are in the workers' logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from harmonium.distributed.clusters import require_paired
from harmonium.errors import HarmoniumWarning, TableError, silenced
from harmonium.metrics.observed import place_of
from harmonium.model.prognosis import no_states
from harmonium.model.survival_model import SurvivalModel
from harmonium.table.bounds import require_day_first
from harmonium.table.endpoints import endpoints_of_part
from harmonium.typing import Array

__all__ = [
    "endpoints",
    "impute",
    "predict",
    "predict_cumulative_hazard_function",
    "predict_cumulative_incidence",
    "predict_median",
    "predict_quantile",
    "predict_restricted_mean",
    "predict_state_probabilities",
    "predict_survival_function",
    "predict_time_in_states",
    "single_threaded",
]


def endpoints(table: Any, /, *, unit: str | None = None, terminal: Any = (), **definitions: Any) -> Any:
    """As :func:`harmonium.endpoints`, for a Dask DataFrame; nothing is computed yet.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
    unit, terminal
        As in :func:`harmonium.endpoints`; there is no warning of an endpoint that looks terminal, which a partition does not show.
    **definitions : tuple or mapping
        As in :func:`harmonium.endpoints`. In a partition there need not be an event. Dates such as 13/04/2019 need
        ``"dayfirst"``, since partitions might show different orders.

    Returns
    -------
    dask.dataframe.DataFrame
        With the partitions of ``table``. Errors name the partition, and the row in it.
    """
    with silenced(HarmoniumWarning):
        meta = endpoints_of_part(table._meta, definitions, terminal, unit)
    return table.map_partitions(_endpoints_of_partition, definitions, terminal, unit, meta=meta)


def _endpoints_of_partition(
    part: pd.DataFrame, definitions: Mapping[str, Any], terminal: Any, unit: str | None, partition_info: Any = None
) -> pd.DataFrame:
    try:
        require_day_first(part, definitions)
        return endpoints_of_part(part, definitions, terminal, unit)
    except TableError as error:
        number = partition_info["number"] if partition_info else "?"
        raise TableError(replace(problem, message=f"partition {number}: {problem.message}") for problem in error.problems) from None


# --- predictions ---


def predict(model: SurvivalModel, X: Any, *, endpoint: Any = None, given: Any = None) -> Any:
    """Risk, higher means sooner; a Dask Series.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X : dask.dataframe.DataFrame
        Covariates.
    endpoint : str or tuple of str, optional
        By default the first; of several, where one is terminal, the first event.
    given : dask.dataframe.DataFrame, optional
        What is known of the endpoints, in the same partitions.
    """
    return _series(model, X, "risk", endpoint, given, lambda prognosis, name: prognosis.risk(name))


def predict_median(model: SurvivalModel, X: Any, *, endpoint: Any = None, given: Any = None) -> Any:
    """The median event time, as :func:`harmonium.distributed.predict`."""
    return _series(model, X, "median", endpoint, given, lambda prognosis, name: prognosis.median(name))


def predict_quantile(model: SurvivalModel, X: Any, *, q: float = 0.5, endpoint: Any = None, given: Any = None) -> Any:
    """A quantile of the event time, as :func:`harmonium.distributed.predict`."""
    return _series(model, X, "quantile", endpoint, given, lambda prognosis, name: prognosis.quantile(name, q))


def predict_restricted_mean(model: SurvivalModel, X: Any, *, until: float, endpoint: Any = None, given: Any = None) -> Any:
    """The mean event time until a time, as :func:`harmonium.distributed.predict`."""
    return _series(model, X, "restricted mean", endpoint, given, lambda prognosis, name: prognosis.restricted_mean(name, until=until))


def predict_survival_function(model: SurvivalModel, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
    """Probability of no event until each time; a Dask DataFrame.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X : dask.dataframe.DataFrame
        Covariates.
    times : array_like
        One column each, with the time as its name, such as "12" or "0.5". They have to be given: at all event times of a large table
        there would be more predictions than anybody can use.
    endpoint : str or tuple of str, optional
        By default the first; of several, where one is terminal, the first event.
    given : dask.dataframe.DataFrame, optional
        What is known of the endpoints, in the same partitions.
    """
    return _curves(model, X, times, endpoint, given, lambda prognosis, name, at: prognosis.survival(name, at))


def predict_cumulative_hazard_function(model: SurvivalModel, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
    """Cumulative hazard, as :func:`harmonium.distributed.predict_survival_function`."""
    return _curves(model, X, times, endpoint, given, lambda prognosis, name, at: prognosis.cumulative_hazard(name, at))


def predict_cumulative_incidence(model: SurvivalModel, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
    """Probability that the event has happened until each time, as :func:`harmonium.distributed.predict_survival_function`."""
    return _curves(model, X, times, endpoint, given, lambda prognosis, name, at: prognosis.cumulative_incidence(name, at))


def predict_state_probabilities(model: SurvivalModel, X: Any, *, times: Any, given: Any = None) -> Any:
    """Where subjects are at each time, where an endpoint is terminal; a Dask DataFrame whose rows add up to one at each time.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X : dask.dataframe.DataFrame
        Covariates.
    times : array_like
        One column each with every path, such as ("event-free", "12"); ``found["event-free"]`` are those of one path. Parquet knows no
        columns with two levels: there, write ``found.columns = [" at ".join(column) for column in found.columns]`` first.
    given : dask.dataframe.DataFrame, optional
        What is known of the endpoints, in the same partitions.
    """
    paths, at = _paths(model), _asked_times(times)

    def ask(prognosis: Any) -> Array:
        found = prognosis.state_probabilities(at)
        return np.concatenate([found[path] for path in paths], axis=1)

    return _answers(model, X, given, ask, _no_rows(X, pd.MultiIndex.from_product([paths, _labels(at)], names=["path", "time"])))


def predict_time_in_states(model: SurvivalModel, X: Any, *, until: float, given: Any = None) -> Any:
    """Mean time spent on each path until a time, where an endpoint is terminal; a Dask DataFrame with a column for each path.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X : dask.dataframe.DataFrame
        Covariates.
    until : float
    given : dask.dataframe.DataFrame, optional
        What is known of the endpoints, in the same partitions.
    """
    paths = _paths(model)

    def ask(prognosis: Any) -> Array:
        found = prognosis.time_in_states(until=until)
        return np.column_stack([found[path] for path in paths])

    return _answers(model, X, given, ask, _no_rows(X, pd.Index(paths, name="path")))


def _paths(model: SurvivalModel) -> list[str]:
    """Where a subject may be, in words."""
    ordered = model.fitted.encoding.ordered
    if ordered is None:
        raise no_states()
    return [ordered.graph.label(path) for path in ordered.graph.paths]


def _series(model: SurvivalModel, X: Any, called: str, endpoint: Any, given: Any, question: Callable[..., Array]) -> Any:
    name = _endpoint_of(model, endpoint)
    shown = name if isinstance(name, str) else " or ".join(name)
    meta = pd.Series(dtype=np.float64, name=f"{shown} {called}", index=X._meta.index)

    def ask(prognosis: Any) -> Array:
        return question(prognosis, name)

    return _answers(model, X, given, ask, meta)


def _curves(model: SurvivalModel, X: Any, times: Any, endpoint: Any, given: Any, question: Callable[..., Array]) -> Any:
    name, at = _endpoint_of(model, endpoint), _asked_times(times)

    def ask(prognosis: Any) -> Array:
        return question(prognosis, name, at)

    return _answers(model, X, given, ask, _no_rows(X, _labels(at)))


def _endpoint_of(model: SurvivalModel, endpoint: Any) -> str | tuple[str, ...]:
    """The endpoint that is asked for, or several, of which only a model with terminal endpoints knows the first event."""
    encoding = model.fitted.encoding
    names = encoding.endpoint_names
    if endpoint is None or isinstance(endpoint, str) or encoding.ordered is None:
        return names[place_of(names, endpoint)]
    return tuple(names[place_of(names, name)] for name in endpoint)


def _asked_times(times: Any) -> Array:
    return np.atleast_1d(np.asarray(times, dtype=np.float64))


def _labels(at: Array) -> list[str]:
    """Times as names of columns, with as many digits as tell them apart."""
    short = [f"{time:g}" for time in at]
    return short if len(set(short)) == at.size else [repr(float(time)) for time in at]


def _no_rows(X: Any, columns: Sequence[str] | pd.MultiIndex) -> pd.DataFrame:
    """What predictions look like."""
    return pd.DataFrame(np.empty((0, len(columns))), columns=columns, index=X._meta.index)


def _answers(model: SurvivalModel, X: Any, given: Any, ask: Callable[[Any], Array], meta: Any) -> Any:
    if given is not None:
        require_paired(X, given, "given")
    answering = dask.delayed(single_threaded(model), traverse=False)
    return X.map_partitions(_answer, given, answering, ask, meta, meta=meta)


def single_threaded(model: SurvivalModel) -> Any:
    """The fitted model as a task asks it: with one thread."""
    fitted = model.fitted
    with_jobs = getattr(fitted, "with_jobs", None)
    return with_jobs(1) if with_jobs is not None else fitted


def _answer(part: pd.DataFrame, given: pd.DataFrame | None, model: SurvivalModel, ask: Callable[[Any], Array], meta: Any) -> Any:
    if not len(part):
        return meta
    found = ask(model.prognosis(part, given=given))
    if meta.ndim == 1:
        return pd.Series(found, index=part.index, name=meta.name)
    return pd.DataFrame(found, index=part.index, columns=meta.columns)


# --- completed tables ---


def impute(
    model: SurvivalModel, X: Any, y: Any = None, *, n_draws: int = 1, within_range: bool = True, random_state: int = 0
) -> list[tuple[Any, Any]]:
    """Fill in what is missing with draws from the model, partition by partition.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X : dask.dataframe.DataFrame
        Covariates.
    y : dask.dataframe.DataFrame, optional
        Endpoints, in the same partitions.
    n_draws : int
        Completed tables.
    within_range : bool
        Draw numeric covariates only between the smallest and the largest value in training.
    random_state : int
        Each partition has random numbers of its own, which depend on this and on its number.

    Returns
    -------
    list of tuples (X, y) of dask.dataframe.DataFrame
        A partition is drawn again for each table that is computed on its own, with the same numbers.
    """
    if y is not None:
        require_paired(X, y)
    outcomes = [None] * X.npartitions if y is None else y.to_delayed()
    answering, shown = dask.delayed(single_threaded(model), traverse=False), _example(model, X, y)
    lazy = [
        dask.delayed(_imputed)(part, known, answering, n_draws, within_range, (random_state, number), shown)
        for number, (part, known) in enumerate(zip(X.to_delayed(), outcomes, strict=True))
    ]
    divisions = X.divisions if X.known_divisions else None

    def table(draw: int, place: int) -> Any:
        return dd.from_delayed([part[draw][place] for part in lazy], meta=shown[place], divisions=divisions, verify_meta=False)

    return [(table(draw, 0), table(draw, 1)) for draw in range(n_draws)]


def _example(model: SurvivalModel, X: Any, y: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns and types of a completed table."""
    with silenced(HarmoniumWarning):
        columns, times = single_threaded(model).impute(X._meta_nonempty, None, random_state=0)[0]
    if y is not None:
        times = y._meta.loc[:, [kind != "entry" for _, kind in y._meta.columns]]  # what is complete has no late entry
    return X._meta.astype(_fixed_types(columns)), times.iloc[:0]


def _fixed_types(frame: pd.DataFrame) -> dict[Any, Any]:
    """Types that all partitions must share; those of pandas categories may differ, and Dask need not know them."""
    return {name: dtype for name, dtype in frame.dtypes.items() if not isinstance(dtype, pd.CategoricalDtype)}


def _imputed(
    X: pd.DataFrame, y: pd.DataFrame | None, model: Any, n_draws: int, within_range: bool, seed: tuple[int, int], shown: Any
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    if not len(X):
        return [shown] * n_draws
    rng = np.random.default_rng(seed)
    found = model.impute(X, y, n_draws=n_draws, within_range=within_range, random_state=rng)
    return [(completed.astype(_fixed_types(shown[0])), times[shown[1].columns]) for completed, times in found]
