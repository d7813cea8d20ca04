"""Encoding of the user's tables to cells, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, TableError, collecting_problems, warn
from harmonium.table.calibration import calibration_of
from harmonium.table.checks import check_training_table
from harmonium.table.column_summary import ColumnSummary
from harmonium.table.columns import Column, conclude_column, learn_column
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import columns_of, to_pandas
from harmonium.table.learned_endpoint import LearnedEndpoint, ObservedCounts, follow_up_of, observed_counts
from harmonium.table.numeric_scale import check_numeric_scale
from harmonium.table.observation import Observation, observation_of
from harmonium.table.ordered_endpoints import OrderedEndpoints, OrderedSummary, conclude_ordered, summarise_ordered
from harmonium.table.row_weights import UNWEIGHTED, RowWeights
from harmonium.table.subject_rows import check_subjects
from harmonium.table.time_scale import TimeScale, time_scale_of
from harmonium.typing import Array

if TYPE_CHECKING:
    from harmonium.cells import Cells, Layout

__all__ = ["NARROWEST", "Encoding", "conclude_endpoints", "event_position"]

NARROWEST = 1e-9
"""Intervals on the time scale are at least this wide, and events this far from 0."""


@dataclass(frozen=True)
class Encoding:
    """What was learned from the training table: roles and encodings of covariates, time scales of endpoints.

    In the layout covariates come first, ordered by unit and name, then the endpoints, unless some of these are terminal: then there are
    covariates alone, and each endpoint has a harmonium and an encoding of its own. How subjects were observed is not known of a table that
    lies elsewhere.
    """

    columns: tuple[Column, ...]
    endpoints: tuple[LearnedEndpoint, ...]
    ordered: OrderedEndpoints | None = None
    observation: Observation | None = None
    unit: str | None = None

    @classmethod
    def learn(
        cls,
        X: Any,
        y: Endpoints,
        roles: Mapping[Any, str] | None = None,
        time_scale: str = "kaplan-meier",
        horizon: float | Mapping[str, float] | None = None,
        numeric_scale: str = "scores",
        weights: RowWeights = UNWEIGHTED,
    ) -> tuple[Encoding, Array]:
        """Infer everything from a training table, whose encoded covariates are returned as well; its rows may have weights.

        All columns are looked at before anything is refused, so that one error lists every problem.
        """
        check_numeric_scale(numeric_scale)
        frame = to_pandas(X)
        if not len(frame):
            raise TableError("the table has no rows")
        if len(frame) != len(y.lower):
            raise TableError(f"X and y must have as many rows; found {len(frame)} and {len(y.lower)}")
        roles = dict(roles or {})
        columns, numbers = [], {}
        endpoints: tuple[LearnedEndpoint, ...] = ()
        ordered: OrderedEndpoints | None = None
        with collecting_problems() as problems:
            with problems.catching():
                columns_of(frame, list(roles))
            with problems.catching():
                check_subjects(frame, roles, y)
            for name in frame.columns:
                with problems.catching():
                    column, values = learn_column(frame[name], roles.get(name), numeric_scale, weights.values)
                    columns.append(column)
                    if values is not None:
                        numbers[name] = values
            with problems.catching():
                endpoints = conclude_endpoints(summarise_endpoints(y, weights), time_scale, horizon, timed=not y.terminal)
                ordered = conclude_ordered(summarise_ordered(y, weights), horizon)
        encoding = cls(tuple(columns), endpoints, ordered, unit=y.unit)
        check_training_table(frame, encoding.columns, numbers, roles, y)
        covariates = encoding._encoded(frame, numbers)
        return replace(encoding, observation=observation_of(encoding.modelled, covariates, y, weights.values)), covariates

    @classmethod
    def concluded(
        cls,
        columns: Sequence[ColumnSummary],
        endpoints: Sequence[EndpointSummary],
        roles: Mapping[Any, str],
        time_scale: str,
        horizon: float | Mapping[str, float] | None,
        numeric_scale: str = "scores",
        unit: str | None = None,
        ordered: OrderedSummary | None = None,
    ) -> Encoding:
        """As ``learn``, from summaries of a table that lies elsewhere."""
        check_numeric_scale(numeric_scale)
        found: list[Column] = []
        learned: tuple[LearnedEndpoint, ...] = ()
        whole: OrderedEndpoints | None = None
        with collecting_problems() as problems:
            for summary in columns:
                with problems.catching():
                    found.append(conclude_column(summary, roles.get(summary.name), numeric_scale))
            with problems.catching():
                learned = conclude_endpoints(endpoints, time_scale, horizon, timed=ordered is None)
                whole = conclude_ordered(ordered, horizon)
        return cls(tuple(found), learned, whole, unit=unit)

    @cached_property
    def endpoint_names(self) -> tuple[str, ...]:
        """In the order of the training table."""
        return tuple(endpoint.name for endpoint in self.endpoints)

    @cached_property
    def scales(self) -> tuple[TimeScale, ...]:
        """One for each endpoint."""
        return tuple(endpoint.scale for endpoint in self.endpoints)

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """Covariates in the layout's order, whatever the table's: by unit, number of levels and name."""
        from harmonium.units.registry import unit_code  # noqa: PLC0415 - compiled code, which a summary does not need

        used = [column for column in self.columns if column.role != "ignored"]
        return tuple(sorted(used, key=lambda column: (unit_code(column.unit), len(column.levels), str(column.name))))

    @cached_property
    def layout(self) -> Layout:
        """Units of the covariates and, unless these are ordered, of the endpoints."""
        from harmonium.cells import Layout  # noqa: PLC0415 - as above
        from harmonium.units import TruncatedGamma  # noqa: PLC0415

        return Layout([*(column.unit for column in self.modelled), *(TruncatedGamma() for _ in self.timed)], n_outcomes=len(self.timed))

    @property
    def timed(self) -> tuple[LearnedEndpoint, ...]:
        """Endpoints in the layout."""
        return self.endpoints if self.ordered is None else ()

    def in_training(self) -> Encoding:
        """With the time scales on which parameters are learned."""
        return self.with_timed(tuple(own.in_training() for own in self.timed))

    def with_timed(self, timed: tuple[LearnedEndpoint, ...]) -> Encoding:
        """With other time scales of the endpoints in the layout."""
        return replace(self, endpoints=timed) if self.ordered is None else self

    def column_of(self, endpoint: int) -> int:
        """Place of an endpoint in the layout."""
        return len(self.modelled) + endpoint

    # --- to cells ---

    def covariates(self, X: Any) -> Array:
        """Encoded covariates (rows, columns), NaN where missing; columns may come in any order, and others are ignored."""
        frame = to_pandas(X)
        if not hasattr(X, "columns") and frame.shape[1] != len(self.columns):  # columns of an array have no names
            expected = f"SurvivalHarmonium is expecting {len(self.columns)} features as input"
            raise TableError(f"X has {frame.shape[1]} features, but {expected}")
        names = [column.name for column in self.columns]
        if not hasattr(X, "columns") and names != list(frame.columns):
            shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
            raise TableError(f"X has no names of columns, and the model was fitted to {shown}; write pd.DataFrame(X, columns=[{shown}])")
        try:
            columns_of(frame, [column.name for column in self.modelled])
        except TableError as error:
            hint = " (if it was not observed, let it be a column of missing values: X.reindex(columns=...))"
            raise TableError(replace(problem, message=problem.message + hint) for problem in error.problems) from None
        return self._encoded(frame, {})

    def _encoded(self, frame: pd.DataFrame, numbers: Mapping[Any, Array]) -> Array:
        out = np.empty((len(frame), len(self.modelled)))
        with collecting_problems() as problems:
            for i, column in enumerate(self.modelled):
                with problems.catching():
                    out[:, i] = column.encode(frame[column.name], numbers.get(column.name))
        return out

    def times(self, y: Endpoints) -> tuple[Array, Array]:
        """Bounds of all endpoints on their scales; NaN where nothing is known.

        An event at time 0 has happened before the first positive time observed in training. Beyond a horizon a censored time is
        event-free almost until there, and an event takes place there. Beyond follow-up, of an event only that is known.
        """
        lower, upper = np.empty_like(y.lower), np.empty_like(y.upper)
        for e, learned in enumerate(self.timed):
            scale, at_zero = learned.scale, y.upper[:, e] == 0.0
            point = y.event[:, e] & ~at_zero & scale.is_timed(y.lower[:, e])
            start, end = scale.to_unit(y.lower[:, e]), scale.to_unit(np.where(at_zero, learned.first_time, y.upper[:, e]))
            end = np.where(y.upper[:, e] > scale.end, 1.0, end)
            lower[:, e] = np.where(point, event_position(start), _inside(start))
            upper[:, e] = np.where(point, lower[:, e], np.minimum(np.maximum(end, lower[:, e] + NARROWEST), 1.0))
        unknown = y.unknown
        lower[unknown] = upper[unknown] = np.nan
        return lower, upper

    def entry(self, y: Endpoints) -> Array:
        """Entry times on the outcomes' scales; 0 where there is none."""
        entry = [_inside(own.scale.to_unit(y.entry[:, e])) for e, own in enumerate(self.timed)]
        return np.column_stack([np.empty((len(y.lower), 0)), *entry])

    def log_slopes(self, y: Endpoints) -> Array:
        """The sum of the logarithms of the slopes of all scales at events that were seen at a time (eq. 9), for every row."""
        slopes = np.zeros(len(y.lower))
        for e, own in enumerate(self.timed):
            exact = y.event[:, e] & (y.lower[:, e] > 0.0) & own.scale.is_timed(y.lower[:, e])
            slopes[exact] += own.scale.log_slope(y.lower[exact, e])
        return slopes

    def cells(self, covariates: Array, y: Endpoints | None = None, adjusted: Callable[[Endpoints], Endpoints] | None = None) -> Cells:
        """Cells of encoded covariates, which are not copied, and of outcomes; without ``y`` nothing is known of these.

        ``adjusted`` is applied to the endpoints, in the user's unit.
        """
        from harmonium.cells import Cells  # noqa: PLC0415 - compiled code, which a summary does not need

        if y is None or self.ordered is not None:
            nothing = np.broadcast_to(np.nan, (len(covariates), self.layout.n_outcomes))
            return Cells.joined(self.layout, covariates, nothing, nothing)
        lower, upper = self.times(y if adjusted is None else adjusted(y))
        return Cells.joined(self.layout, covariates, lower, upper)

    # --- and back ---

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
        frame = pd.DataFrame(out, index=range(len(values)))
        if index is not None:
            frame.index = index
        return frame

    def decode_times(self, positions: Array) -> Array:
        """Positions (rows, endpoints) on the time scales as times in the user's unit."""
        return np.column_stack([scale.from_unit(positions[:, e]) for e, scale in enumerate(self.scales)])

    def draw_follow_up(self, covariates: Array, rng: np.random.Generator) -> Array:
        """Until when each endpoint of each subject is followed, or where some are terminal the subject, as in training."""
        observation = self.observation
        probability = rng.random(len(covariates)) if observation is None else observation.probabilities(covariates, rng)
        if self.ordered is not None:
            return self.ordered.follow_up.at(probability)
        if observation is None or observation.follow_up is None:
            return np.column_stack([endpoint.follow_up.at(probability) for endpoint in self.endpoints])
        return np.repeat(observation.follow_up.at(probability)[:, None], len(self.endpoints), axis=1)

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        names, graph = self.endpoint_names, None if self.ordered is None else self.ordered.graph
        sizes = sorted(max(1, len(column.levels)) for column in self.columns if column.role != "ignored")
        ended_by, weights = ((), ()) if self.observation is None else (self.observation.ended_by, self.observation.weights)
        others = [set(range(len(names))) - {e} for e in range(len(names) if self.observation else 0)]
        return {
            "names of columns must be unique": len({column.name for column in self.columns}) == len(self.columns),
            f"there must be endpoints with unique names; found {names}": 0 < len(names) == len(set(names)),
            f"the ordered endpoints must be {names}": graph is None or graph.names == names,
            f"there must be terminal endpoints among {names}": graph is None
            or (0 < len(graph.terminal) == len({*graph.terminal} & {*names})),
            f"what ends an endpoint's observation must be other endpoints; found {ended_by}": len(ended_by) == len(others)
            and all(set(by) <= own for by, own in zip(ended_by, others, strict=True)),
            f"follow-up must have a weight for every number and level, {sizes}": self.observation is None
            or sorted(map(len, weights)) == sizes,
        }


def event_position(position: Array) -> Array:
    """Positions of events, kept away from 0, where a density may vanish or not be defined."""
    return np.maximum(position, NARROWEST)


def _inside(position: Array) -> Array:
    """Positions before which there is no event: at 0, or not too close to 0 or 1."""
    return np.where(position < NARROWEST, 0.0, np.minimum(position, 1.0 - NARROWEST))


def conclude_endpoints(
    summaries: Sequence[EndpointSummary], time_scale: str, horizon: float | Mapping[str, float] | None, *, timed: bool = True
) -> tuple[LearnedEndpoint, ...]:
    """What is learned of the endpoints of which these are the summaries; they may not be what is modelled as times."""
    names = [times.name for times in summaries]
    horizons = dict(horizon) if isinstance(horizon, Mapping) else dict.fromkeys(names, horizon)
    unknown = [name for name in horizons if name not in names]
    if unknown:
        raise ValueError(f"there is no endpoint {unknown[0]!r} to have a horizon; there are {', '.join(map(repr, names))}")
    with collecting_problems() as problems:
        out = []
        for times in summaries:
            with problems.catching():
                counts = observed_counts(times)
                _check_observed(times.name, counts)
                scale = _fit_scale(times, time_scale, horizons.get(times.name))
                calibration = calibration_of(times, scale) if timed else None
                follow_up = follow_up_of(times)
                out.append(LearnedEndpoint(times.name, scale, times.first_time, follow_up, counts, times.event_times, calibration))
    return tuple(out)


def _check_observed(name: str, counts: ObservedCounts) -> None:
    """Refuse an endpoint that nobody observed; warn of one without events."""
    if not counts.rows:
        raise TableError(f"endpoint {name!r} was not observed in any row; leave it out", column=name)
    if not counts.events and not counts.intervals:
        warn(
            f"endpoint {name!r} has no event in training: nothing can be learned about when it happens or on what it depends; "
            "predictions say only that it is rare during follow-up",
            EndpointWarning,
        )


def _fit_scale(times: EndpointSummary, time_scale: str, horizon: float | None) -> TimeScale:
    try:
        return time_scale_of(times, time_scale, horizon)
    except ValueError as error:
        raise ValueError(f"endpoint {times.name!r}: {error}") from None
