"""What metrics ask of a model, whatever kind of model it is."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from harmonium.metrics.observed import Observed
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.typing import Array

__all__ = ["Predictions", "has_intervals", "in_unit_of", "unit_of"]

_PART_ROWS = 200
"""Rows whose curves are found together if every row has a time of its own: each has a value at the times of all of them."""


def unit_of(model: Any) -> str | None:
    """The unit of time of a model, or of the last step of a pipeline; None if it does not tell."""
    last = model[-1] if hasattr(model, "named_steps") else model
    unit: str | None = getattr(getattr(getattr(last, "fitted", None), "encoding", None), "unit", None)
    return unit


def in_unit_of(model: Any, y: Any) -> Endpoints:
    """What was observed, with times in the unit of the model that it is compared with, if both are known."""
    return parse_endpoints(y).in_unit(unit_of(model))


def has_intervals(model: Any) -> bool:
    """Whether a model's answers have intervals: not if its likelihood was not maximised. Ordered endpoints have one harmonium each."""
    fitted = model.fitted
    parts = (fitted,) if fitted.transitions is None else fitted.transitions.models
    return all(part.spreading is not None for part in parts)


class _Prognosis(Protocol):
    """What a model answers about the rows that it was given."""

    def risk(self, endpoint: str) -> Any: ...

    def survival(self, endpoint: str, times: Array) -> Any: ...


class _Estimator:
    """A model that is asked row by row, as scikit-learn does, in the place of a prognosis."""

    def __init__(self, model: Any, X: Any, given: Any) -> None:
        self._model, self._X = model, X
        self._known = {} if given is None else {"given": given}

    def risk(self, endpoint: str) -> Any:
        return self._model.predict(self._X, endpoint=endpoint, **self._known)

    def survival(self, endpoint: str, times: Array) -> Any:
        return self._model.predict_survival_function(self._X, endpoint=endpoint, times=times, return_array=True, **self._known)


class Predictions:
    """Predictions of a model for the rows of a table.

    If the model has ``prognosis(X, given=)``, that is asked, so that X is read once. Otherwise it is asked for ``predict(X, endpoint=,
    given=)`` and ``predict_survival_function(X, endpoint=, times=, given=, return_array=True)``; ``given`` is passed on only if there
    is any.

    Parameters
    ----------
    model : object
        A pipeline is asked by its last step.
    X : DataFrame or array
    given : DataFrame, optional
        What is known of the endpoints.
    """

    def __init__(self, model: Any, X: Any, given: Any = None) -> None:
        self._model, self._X = _last_step(model, X)
        self._given = given
        self._prognosis = _prognosis(self._model, self._X, given)

    def risk(self, observed: Observed) -> Array:
        """Risk of the observed endpoint, in all rows of the table; higher means sooner."""
        return self.risk_of(observed.name)

    def survival(self, observed: Observed, times: Array) -> Array:
        """Survival curves of the observed endpoint, in all rows; see :meth:`curves`."""
        return self.curves(observed.name, times, observed.in_table(observed.entry))

    def incidence(self, observed: Observed, times: Array) -> Array:
        """Cumulative incidences of the observed endpoint, in all rows, none of which entered late."""
        if not times.size or not hasattr(self._prognosis, "cumulative_incidence"):
            return 1.0 - self.survival(observed, times)
        return np.asarray(self._prognosis.cumulative_incidence(observed.name, times), dtype=np.float64)

    def own_survival(self, observed: Observed) -> Array:
        """Probability of no event until each subject's own observed time, given that there was none until entry; in all rows."""
        until = self._until(observed.name, observed.in_table(observed.time))
        if not observed.has_late_entry:
            return until
        return _conditional(until, self._until(observed.name, observed.in_table(observed.entry)))

    def risk_of(self, endpoint: str) -> Array:
        """Risk of an endpoint by its name."""
        return np.asarray(self._prognosis.risk(endpoint), dtype=np.float64)

    def curves(self, endpoint: str, times: Array, entry: Array) -> Array:
        """Probability of no event until each time, given that there was none until entry; 1 before entry."""
        if not times.size:
            return np.empty((entry.size, 0))
        curves = np.asarray(self._prognosis.survival(endpoint, times), dtype=np.float64)
        late = entry > 0.0
        if late.any():
            at_entry = self._until(endpoint, entry)[late, None]
            curves = curves.copy()
            curves[late] = np.where(times > entry[late, None], _conditional(curves[late], at_entry), 1.0)
        return curves

    def _until(self, endpoint: str, time: Array) -> Array:
        """Survival until a time of each subject's own, in memory that is linear in the number of rows."""
        if hasattr(self._prognosis, "survival_at"):
            return np.asarray(self._prognosis.survival_at(endpoint, time), dtype=np.float64)
        out = np.empty(time.size)
        for first in range(0, time.size, _PART_ROWS):
            rows = slice(first, first + _PART_ROWS)
            part = _prognosis(self._model, _rows(self._X, rows), None if self._given is None else _rows(self._given, rows))
            distinct, place = np.unique(time[rows], return_inverse=True)
            out[rows] = np.asarray(part.survival(endpoint, distinct))[np.arange(place.size), place]
        return out


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """The model at the end of a scikit-learn pipeline, which has no other questions than ``predict``, and what it gets to see."""
    if not hasattr(model, "named_steps"):
        return model, X
    return model[-1], model[:-1].transform(X) if len(model.steps) > 1 else X


def _prognosis(model: Any, X: Any, given: Any) -> _Prognosis:
    if hasattr(model, "prognosis"):
        answers: _Prognosis = model.prognosis(X, given=given)
        return answers
    return _Estimator(model, X, given)


def _rows(table: Any, rows: slice) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _conditional(until: Array, at_entry: Array) -> Array:
    """Survival given that of an earlier time; NaN where that is impossible, and never above 1."""
    at_entry = np.broadcast_to(at_entry, until.shape)
    ratio = np.divide(until, at_entry, out=np.full(until.shape, np.nan), where=at_entry > 0.0)
    out: Array = np.minimum(ratio, 1.0)
    return out
