"""Encoding of the user's tables to cells, and back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells, Layout
from harmonium.table.columns import Column, infer_column
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import columns_of, to_pandas
from harmonium.table.time_scale import TimeScale, fit_time_scale
from harmonium.units import TruncatedGamma
from harmonium.units.contract import Array
from harmonium.units.registry import unit_code

__all__ = ["Encoding"]

_SMALLEST = 1e-9  # positions on the time scale are kept this far from 0 and, if censored, from 1


@dataclass(frozen=True)
class Encoding:
    """What was learned from the training table: roles and encodings of covariates, time scales of endpoints.

    In the layout covariates come first, ordered by unit, then the endpoints.
    """

    columns: tuple[Column, ...]
    endpoint_names: tuple[str, ...]
    scales: tuple[TimeScale, ...]
    first_recordings: tuple[float, ...]

    @classmethod
    def fit(
        cls, X: Any, y: Endpoints, roles: Mapping[Any, str] | None, time_scale: str, horizon: float | Mapping[str, float] | None
    ) -> Encoding:
        """Infer everything from a training table."""
        frame = to_pandas(X)
        roles = dict(roles or {})
        columns_of(frame, list(roles))
        columns = tuple(infer_column(frame[name], roles.get(name)) for name in frame.columns)
        ignored = [column.name for column in columns if column.role == "ignored" and column.name not in roles]
        if ignored:
            names = ", ".join(map(repr, ignored))
            warnings.warn(f"columns without information take no part in the model: {names}", UserWarning, stacklevel=3)
        horizons = horizon if isinstance(horizon, Mapping) else dict.fromkeys(y.names, horizon)
        scales = tuple(fit_time_scale(time_scale, y.lower[:, e], y.upper[:, e], horizons.get(name)) for e, name in enumerate(y.names))
        first = tuple(_first_recording(y.lower[:, e], y.upper[:, e]) for e in range(len(y.names)))
        return cls(columns, y.names, scales, first)

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """Covariates in the layout's order."""
        used = [column for column in self.columns if column.role != "ignored"]
        return tuple(sorted(used, key=lambda column: (unit_code(column.unit), len(column.levels))))

    @cached_property
    def layout(self) -> Layout:
        """Units of the covariates and the endpoints."""
        return Layout([*(column.unit for column in self.modelled), *(TruncatedGamma() for _ in self.endpoint_names)])

    def covariates(self, X: Any) -> Array:
        """Encoded covariates (rows, modelled columns), NaN where missing."""
        frame = to_pandas(X)
        series = columns_of(frame, [column.name for column in self.modelled])
        out = np.empty((len(frame), len(self.modelled)))
        for i, (column, values) in enumerate(zip(self.modelled, series, strict=True)):
            out[:, i] = column.encode(values)
        return out

    def times(self, y: Endpoints) -> tuple[Array, Array]:
        """Bounds of all endpoints on their scales, NaN where nothing is known.

        An event at time 0 has happened before the first positive recording in training; a time censored beyond the horizon is
        event-free almost until there.
        """
        lower, upper = np.empty_like(y.lower), np.empty_like(y.upper)
        for e, scale in enumerate(self.scales):
            position = scale.to_unit(y.lower[:, e])
            finite = np.isfinite(y.upper[:, e])
            end = np.where(finite, scale.to_unit(np.where(finite, y.upper[:, e], 0.0)), 1.0)
            event = y.event[:, e]
            lower[:, e] = np.where(event, np.clip(position, _SMALLEST, 1.0), np.minimum(position, 1.0 - _SMALLEST))
            upper[:, e] = np.where(event, lower[:, e], np.maximum(end, lower[:, e] + _SMALLEST))
            at_zero = event & (y.lower[:, e] == 0.0)
            lower[at_zero, e], upper[at_zero, e] = 0.0, scale.to_unit(np.array(self.first_recordings[e]))
        unknown = y.unknown
        lower[unknown] = upper[unknown] = np.nan
        return lower, upper

    def entry(self, y: Endpoints) -> Array:
        """Entry times on the endpoints' scales; 0 where there is none."""
        positions = [scale.to_unit(y.entry[:, e]) for e, scale in enumerate(self.scales)]
        return np.minimum(np.column_stack(positions), 1.0 - _SMALLEST)

    def cells(self, covariates: Array, lower: Array, upper: Array) -> Cells:
        """Cells of encoded covariates and endpoints, without copying them."""
        blocks = self.layout.blocks
        parts = tuple(covariates[:, block.columns] for block in blocks[:-1])
        return Cells(self.layout, (*parts, lower), (*parts, upper))

    def decode_covariates(self, values: Array, index: pd.Index | None = None) -> pd.DataFrame:
        """Encoded covariates in the user's columns, ignored ones included."""
        by_name = {column.name: column.decode(values[:, i]) for i, column in enumerate(self.modelled)}
        out = {}
        for column in self.columns:
            if column.role == "ignored":
                out[column.name] = pd.Series([column.levels[0] if column.levels else None] * len(values))
            else:
                out[column.name] = by_name[column.name]
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
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Encoding:
        """From a model file."""
        return cls(
            tuple(Column.from_dict(column) for column in stored["columns"]),
            tuple(stored["endpoints"]),
            tuple(TimeScale.from_dict(scale) for scale in stored["scales"]),
            tuple(stored["first_recordings"]),
        )


def _first_recording(lower: Array, upper: Array) -> float:
    """The smallest positive time of an endpoint."""
    times = np.concatenate([lower, upper])
    positive = times[(times > 0.0) & np.isfinite(times)]
    return float(positive.min()) if positive.size else 1.0
