"""Encoding of the user's tables to cells, and back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells, Layout
from harmonium.table.columns import Column, infer_column
from harmonium.table.endpoints import Endpoints
from harmonium.table.follow_up import FollowUp, fit_follow_up
from harmonium.table.frames import columns_of, numbers_of, to_pandas
from harmonium.table.recordings import Recordings, count_recordings
from harmonium.table.time_scale import TimeScale, fit_time_scale
from harmonium.typing import Array
from harmonium.units import TruncatedGamma
from harmonium.units.registry import unit_code

__all__ = ["Encoding"]

_FEW_ROWS, _LARGE_SHARE = 10, 0.25  # of rows in which a covariate equals a recorded time, beyond which that is no coincidence
_SMALLEST = 1e-9  # intervals on the time scale are at least this wide, and events this far from 0


@dataclass(frozen=True)
class Encoding:
    """What was learned from the training table: roles and encodings of covariates, time scales of endpoints.

    In the layout covariates come first, ordered by unit, then the endpoints.
    """

    columns: tuple[Column, ...]
    endpoint_names: tuple[str, ...]
    scales: tuple[TimeScale, ...]
    first_recordings: tuple[float, ...]
    follow_up: tuple[FollowUp, ...]
    recordings: tuple[Recordings, ...]

    @classmethod
    def fit(
        cls, X: Any, y: Endpoints, roles: Mapping[Any, str] | None, time_scale: str, horizon: float | Mapping[str, float] | None
    ) -> Encoding:
        """Infer everything from a training table."""
        frame = to_pandas(X)
        if not len(frame):
            raise ValueError("the table has no rows")
        roles = dict(roles or {})
        columns_of(frame, list(roles))
        columns = tuple(_column(frame[name], roles.get(name)) for name in frame.columns)
        ignored = [column.name for column in columns if column.role == "ignored" and roles.get(column.name) != "ignored"]
        if ignored:
            names = ", ".join(map(repr, ignored))
            warnings.warn(f"columns without information take no part in the model: {names}", UserWarning, stacklevel=3)
        _warn_of_recorded_times(frame, columns, y)
        horizons = dict(horizon) if isinstance(horizon, Mapping) else dict.fromkeys(y.names, horizon)
        unknown = [name for name in horizons if name not in y.names]
        if unknown:
            raise ValueError(f"there is no endpoint {unknown[0]!r} to have a horizon; there are {', '.join(map(repr, y.names))}")
        scales = tuple(_fit_scale(name, time_scale, y.lower[:, e], y.upper[:, e], horizons.get(name)) for e, name in enumerate(y.names))
        first = tuple(_first_recording(y.lower[:, e], y.upper[:, e]) for e in range(len(y.names)))
        return cls(columns, y.names, scales, first, fit_follow_up(y), count_recordings(y))

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """Covariates in the layout's order."""
        used = [column for column in self.columns if column.role != "ignored"]
        return tuple(sorted(used, key=lambda column: (unit_code(column.unit), len(column.levels))))

    @cached_property
    def layout(self) -> Layout:
        """Units of the covariates and the endpoints."""
        return Layout(
            [*(column.unit for column in self.modelled), *(TruncatedGamma() for _ in self.endpoint_names)], len(self.endpoint_names)
        )

    def covariates(self, X: Any) -> Array:
        """Encoded covariates (rows, modelled columns), NaN where missing."""
        frame = to_pandas(X)
        try:
            series = columns_of(frame, [column.name for column in self.modelled])
        except ValueError as error:
            raise ValueError(f"{error} (if it was not recorded, let it be a column of gaps: X.reindex(columns=...))") from None
        out = np.empty((len(frame), len(self.modelled)))
        for i, (column, values) in enumerate(zip(self.modelled, series, strict=True)):
            out[:, i] = column.encode(values)
        return out

    def times(self, y: Endpoints) -> tuple[Array, Array]:
        """Bounds of all endpoints on their scales, NaN where nothing is known.

        An event at time 0 has happened before the first positive recording in training. Beyond the horizon a censored time is
        event-free almost until there, and an event takes place there.
        """
        lower, upper = np.empty_like(y.lower), np.empty_like(y.upper)
        for e, scale in enumerate(self.scales):
            event, at_zero = y.event[:, e], y.upper[:, e] == 0.0
            start, end = scale.to_unit(y.lower[:, e]), scale.to_unit(np.where(at_zero, self.first_recordings[e], y.upper[:, e]))
            lower[:, e] = np.where(event & ~at_zero, np.maximum(start, _SMALLEST), _inside(start))
            upper[:, e] = np.where(event & ~at_zero, lower[:, e], np.minimum(np.maximum(end, lower[:, e] + _SMALLEST), 1.0))
        unknown = y.unknown
        lower[unknown] = upper[unknown] = np.nan
        return lower, upper

    def entry(self, y: Endpoints) -> Array:
        """Entry times on the endpoints' scales; 0 where there is none."""
        return np.column_stack([_inside(scale.to_unit(y.entry[:, e])) for e, scale in enumerate(self.scales)])

    def cells(self, covariates: Array, lower: Array, upper: Array) -> Cells:
        """Cells of encoded covariates and endpoints, without copying them."""
        blocks = self.layout.blocks
        parts = tuple(covariates[:, block.columns] for block in blocks[:-1])
        return Cells(self.layout, (*parts, lower), (*parts, upper))

    def decode_covariates(self, values: Array, index: pd.Index | None = None) -> pd.DataFrame:
        """Encoded covariates in the user's columns, ignored ones included."""
        place = {column.name: i for i, column in enumerate(self.modelled)}
        constant, missing = np.zeros(len(values)), np.full(len(values), np.nan)
        out = {}
        for column in self.columns:
            if column.role == "ignored":
                out[column.name] = column.decode(constant if column.levels else missing)
            else:
                out[column.name] = column.decode(values[:, place[column.name]])
        frame = pd.DataFrame(out)
        if index is not None:
            frame.index = index
        return frame

    def to_dict(self) -> dict[str, Any]:
        """For a model file."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "endpoints": list(self.endpoint_names),
            "scales": [scale.to_dict() for scale in self.scales],
            "first_recordings": list(self.first_recordings),
            "follow_up": [follow_up.to_list() for follow_up in self.follow_up],
            "recordings": [asdict(recordings) for recordings in self.recordings],
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Encoding:
        """From a model file."""
        return cls(
            tuple(Column.from_dict(column) for column in stored["columns"]),
            tuple(stored["endpoints"]),
            tuple(TimeScale.from_dict(scale) for scale in stored["scales"]),
            tuple(stored["first_recordings"]),
            tuple(FollowUp.from_list(follow_up) for follow_up in stored["follow_up"]),
            tuple(Recordings(**recordings) for recordings in stored["recordings"]),
        )


def _column(series: pd.Series, role: str | None) -> Column:
    return replace(infer_column(series, role), missing=float(series.isna().mean()))


def _warn_of_recorded_times(frame: pd.DataFrame, columns: tuple[Column, ...], y: Endpoints) -> None:
    """A covariate that holds an endpoint's times, or those of one that was not named, foretells what is to be predicted."""
    for column in columns:
        if column.role != "numeric" or len(frame) != len(y.lower):
            continue
        values = numbers_of(frame[column.name])
        for e, name in enumerate(y.names):
            known = (y.lower[:, e] > 0.0) & ~np.isnan(values)
            same = values[known] == y.lower[known, e]
            if same.sum() >= _FEW_ROWS and same.mean() > _LARGE_SHARE:
                warnings.warn(
                    f"column {column.name!r} equals the recorded time of endpoint {name!r} in {same.sum()} of {known.sum()} rows; "
                    "what is known only afterwards is no covariate: leave it out",
                    UserWarning,
                    stacklevel=4,
                )


def _inside(position: Array) -> Array:
    """Positions before which there is no event: at 0, or not too close to 0 or 1."""
    return np.where(position < _SMALLEST, 0.0, np.minimum(position, 1.0 - _SMALLEST))


def _fit_scale(endpoint: str, time_scale: str, lower: Array, upper: Array, horizon: float | None) -> TimeScale:
    try:
        return fit_time_scale(time_scale, lower, upper, horizon)
    except ValueError as error:
        raise ValueError(f"endpoint {endpoint!r}: {error}") from None


def _first_recording(lower: Array, upper: Array) -> float:
    """The smallest positive time of an endpoint."""
    times = np.concatenate([lower, upper])
    positive = times[(times > 0.0) & np.isfinite(times)]
    return float(positive.min()) if positive.size else 1.0
