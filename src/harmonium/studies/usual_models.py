"""The usual models, with one face: Kaplan-Meier, and Cox regression with one model for each endpoint.

``fit(X, y)`` returns a model that is asked as ours is, ``prognosis(X)``. Where a terminal event may prevent an endpoint, survival is one
minus the cumulative incidence: that of Aalen and Johansen, or of two cause-specific Cox models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.competing import competing, is_prevented
from harmonium.metrics.observed import Observed, right_censored
from harmonium.studies.cox import fit_cox
from harmonium.table.columns import Column, infer_column
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.frames import numbers_of
from harmonium.typing import Array

__all__ = ["Cox", "KaplanMeier", "Usual"]

_PENALTY = 0.1  # on standardised columns: keeps a fold with many levels from diverging
_SOONEST = 1e-6  # in place of an event at time 0


@dataclass(frozen=True)
class Usual:
    """A fitted model: for each endpoint something that has ``risk(X)`` and ``survival(X, times)``."""

    models: Mapping[str, Any]

    def prognosis(self, X: Any, *, given: Any = None) -> _Prognosis:
        """Answers about some rows; what is known of them is not used."""
        return _Prognosis(self.models, X)


@dataclass(frozen=True)
class _Prognosis:
    models: Mapping[str, Any]
    X: Any

    def risk(self, endpoint: str) -> Array:
        """Higher means sooner."""
        return np.asarray(self.models[endpoint].risk(self.X), dtype=np.float64)

    def survival(self, endpoint: str, times: Any) -> Array:
        """Probability of no event until each time, (rows, times)."""
        return np.asarray(self.models[endpoint].survival(self.X, np.asarray(times, dtype=np.float64)), dtype=np.float64)

    def survival_at(self, endpoint: str, times: Array) -> Array:
        """Until a time of each row's own."""
        distinct, place = np.unique(times, return_inverse=True)
        return self.survival(endpoint, distinct)[np.arange(place.size), place]


# --- Kaplan and Meier ---


class KaplanMeier:
    """One curve for everybody."""

    def fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Usual:
        """A curve for each endpoint."""
        known = parse_endpoints(y)
        return Usual({name: _Curve.of(known, name) for name in known.names})


@dataclass(frozen=True)
class _Curve:
    curve: Any
    rises: bool

    @classmethod
    def of(cls, known: Endpoints, name: str) -> _Curve:
        prevented = is_prevented(known, name)
        return cls(competing(known, name).incidence() if prevented else right_censored(known, name, quiet=True).kaplan_meier(), prevented)

    def risk(self, X: Any) -> Array:
        return np.zeros(len(X))

    def survival(self, X: Any, times: Array) -> Array:
        heights = self.curve.at(times)
        return np.broadcast_to(1.0 - heights if self.rises else heights, (len(X), times.size))


# --- Cox ---


@dataclass
class Cox:
    """Cox regression of lifelines, lightly penalised; missing values are replaced by means, text by indicators.

    Attributes
    ----------
    roles : mapping
        Of columns whose role should not be inferred.
    """

    roles: Mapping[Any, str] = field(default_factory=dict)

    def fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Usual:
        """A model for each endpoint, and for each event that may prevent it."""
        known, design = parse_endpoints(y), _Design.of(X, self.roles)
        columns = design(X)
        return Usual({name: _cox_of(known, name, design, columns) for name in known.names})


def _cox_of(known: Endpoints, name: str, design: _Design, columns: pd.DataFrame) -> Any:
    if not is_prevented(known, name):
        return _CoxModel(design, _fitted(columns, right_censored(known, name, quiet=True)))
    own = competing(known, name)
    other = None if not own.other.any() else _fitted(columns, own.observed, own.other)
    return _CauseSpecific(design, _fitted(columns, own.observed), other)


def _fitted(columns: pd.DataFrame, observed: Observed, event: Any = None) -> Any:
    frame = columns[observed.rows].reset_index(drop=True)
    frame = frame.loc[:, frame.std(ddof=0) > 0.0]
    frame = frame.assign(time=np.maximum(observed.time, _SOONEST), event=observed.event if event is None else event)
    if not observed.has_late_entry:
        return fit_cox(frame, penalizer=_PENALTY)
    return fit_cox(frame.assign(entry=observed.entry), entry="entry", penalizer=_PENALTY)


@dataclass(frozen=True)
class _CoxModel:
    design: _Design
    model: Any

    def risk(self, X: Any) -> Any:
        return self.model.predict_log_partial_hazard(self.design(X))

    def survival(self, X: Any, times: Array) -> Any:
        return self.model.predict_survival_function(self.design(X), times=times).to_numpy().T


@dataclass(frozen=True)
class _CauseSpecific:
    """Incidence by the hazards of an event, and of what may prevent it."""

    design: _Design
    model: Any
    other: Any

    def risk(self, X: Any) -> Array:
        return self._incidence(X)[1][:, -1]

    def survival(self, X: Any, times: Array) -> Array:
        grid, incidence = self._incidence(X)
        place = np.searchsorted(grid, times, side="right")
        return 1.0 - np.column_stack([np.zeros(len(incidence)), incidence])[:, place]

    def _incidence(self, X: Any) -> tuple[Array, Array]:
        """Sum over times of events of the probability that nothing has happened before, times the hazard then."""
        grid = np.unique(
            np.concatenate([model.baseline_cumulative_hazard_.index for model in (self.model, self.other) if model is not None])
        )
        columns = self.design(X)
        own = self.model.predict_cumulative_hazard(columns, times=grid).to_numpy().T
        both = own if self.other is None else own + self.other.predict_cumulative_hazard(columns, times=grid).to_numpy().T
        before = np.exp(-np.column_stack([np.zeros(len(own)), both[:, :-1]]))
        return grid, np.minimum(np.cumsum(before * np.diff(own, prepend=0.0, axis=1), axis=1), 1.0)


@dataclass(frozen=True)
class _Design:
    """Columns as a linear model takes them: standardised, without missing values."""

    columns: tuple[Column, ...]
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: pd.DataFrame, roles: Mapping[Any, str]) -> _Design:
        """That of a training table."""
        columns = tuple(infer_column(X[name], roles.get(name)) for name in X.columns)
        raw = cls(columns, np.zeros(1), np.ones(1))._raw(X)
        deviation = np.nanstd(raw, axis=0)
        return cls(columns, np.nanmean(raw, axis=0), np.where(deviation > 0.0, deviation, 1.0))

    def __call__(self, X: pd.DataFrame) -> pd.DataFrame:
        """Of a table with these columns."""
        scaled = (self._raw(X) - self.mean) / self.deviation
        return pd.DataFrame(np.nan_to_num(scaled), columns=[f"x{number}" for number in range(scaled.shape[1])])

    def _raw(self, X: pd.DataFrame) -> Array:
        parts = []
        for column in self.columns:
            if column.role == "numeric":
                parts.append(numbers_of(X[column.name]))
            elif column.role != "ignored":
                codes = column.encode(X[column.name])
                parts += [np.where(np.isnan(codes), np.nan, codes == code) for code in range(1, len(column.levels))]
        return np.column_stack(parts) if parts else np.empty((len(X), 0))
