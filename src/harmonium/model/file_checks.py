"""Checks of what was read from a model file: everything that a fit could not have produced is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from harmonium.errors import ModelFileError
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.columns import ROLES, Column
from harmonium.table.encoding import Encoding
from harmonium.table.follow_up import FollowUp
from harmonium.table.learned_endpoint import LearnedEndpoint
from harmonium.table.numeric_scale import NUMERIC_SCALES, NumericScale
from harmonium.table.observation import Observation
from harmonium.table.ordered_endpoints import OrderedEndpoints
from harmonium.table.time_scale import TIME_SCALES, TimeScale

__all__ = ["check_encoding", "check_scale", "check_training", "require"]


def require(holds: bool, rule: str) -> None:
    """Refuse the file if a rule does not hold."""
    if not holds:
        raise ModelFileError(rule)


def _check_numbers(what: str, values: Iterable[Any], least: float = -math.inf) -> None:
    for value in values:
        right = type(value) in (int, float) and math.isfinite(value) and value >= least
        limit = "" if least == -math.inf else f" of at least {least:g}"
        require(right, f"{what} must be a finite number{limit}; found {value!r}")


# --- training ---


def _is_whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_objective(value: Any) -> bool:
    return value in ("conditional", "joint") if isinstance(value, str) else _is_number(value) and 0.0 <= value <= 1.0


def _is_horizon(value: Any) -> bool:
    times = value.values() if isinstance(value, Mapping) else [] if value is None else [value]
    return all(_is_number(time) and time > 0.0 for time in times)


def _is_roles(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(role in ROLES for role in value.values()))


def _is_trainer(value: Any) -> bool:
    if isinstance(value, Mapping):
        simple = all(
            type(name) is str and isinstance(setting, str | int | float | bool | None | Mapping) for name, setting in value.items()
        )
        return simple and type(value.get("name")) is str
    return value in ("auto", "exact", "contrastive")


_SETTINGS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "n_hidden": ("a whole number", _is_whole),
    "n_covariate_units": ('"auto" or a whole number', lambda value: value == "auto" or _is_whole(value)),
    "objective": ('"conditional", "joint" or a number between 0 and 1', _is_objective),
    "time_scale": (f"one of {', '.join(TIME_SCALES)}", lambda value: value in TIME_SCALES),
    "numeric_scale": (f"one of {', '.join(NUMERIC_SCALES)}", lambda value: value in NUMERIC_SCALES),
    "horizon": ("nothing, a positive number, or one for each endpoint", _is_horizon),
    "roles": (f"nothing, or one of {', '.join(ROLES)} for each column", _is_roles),
    "trainer": ("auto, exact or contrastive, or a trainer's settings", _is_trainer),
    "random_state": ("nothing or a whole number", lambda value: value is None or _is_whole(value)),
}


def check_training(training: TrainingSummary, n_hidden: int, endpoints: tuple[str, ...]) -> None:
    """Check the summary of training, whose settings must agree with the tensors."""
    settings = training.settings
    require(isinstance(settings, Mapping), f"settings must be values by name; found {settings!r}")
    for name, value in settings.items():
        require(name in _SETTINGS, f"there is no setting {name!r}")
        words, right = _SETTINGS[name]
        require(right(value), f"the setting {name} must be {words}; found {value!r}")
    stated = settings.get("n_hidden", n_hidden)
    require(stated == n_hidden, f"the setting n_hidden is {stated}, but the tensors have {n_hidden} hidden units")
    _check_numbers("l2", training.l2.values() if isinstance(training.l2, Mapping) else [training.l2], least=0.0)
    _check_numbers("n_evaluations", [training.n_evaluations, training.n_passes, training.n_iter], least=0)
    _check_numbers("n_rows", [training.n_rows], least=0)
    require(training.converged in (True, False, None), f"converged must be true, false or nothing; found {training.converged!r}")
    _check_evaluation(training.evaluation, endpoints)


def _check_evaluation(evaluation: Any, endpoints: tuple[str, ...]) -> None:
    if evaluation is None:
        return
    require(type(evaluation["method"]) is str, "an evaluation must say how the model was evaluated")
    require(type(evaluation["scores"]) is dict and tuple(evaluation["scores"]) == endpoints, "there must be scores of each endpoint")
    for scores in evaluation["scores"].values():
        right = type(scores) is dict and scores and all(type(name) is str and type(score) is float for name, score in scores.items())
        require(bool(right), f"scores must be numbers by name; found {scores!r}")


# --- encoding ---


def check_encoding(encoding: Encoding) -> None:
    """Refuse an encoding that could not have been learned."""
    for column in encoding.columns:
        _check_column(column)
    require(len({column.name for column in encoding.columns}) == len(encoding.columns), "column names must be unique")
    names = encoding.endpoint_names
    require(all(type(name) is str for name in names), f"names of endpoints must be text; found {names}")
    require(0 < len(names) == len(set(names)), f"there must be endpoints with unique names; found {names}")
    for endpoint in encoding.endpoints:
        _check_endpoint(endpoint)
    require(encoding.unit is None or type(encoding.unit) is str, f"the unit of time must be a name; found {encoding.unit!r}")
    if encoding.observation is not None:
        _check_observation(encoding, encoding.observation)
    if encoding.ordered is not None:
        _check_ordered(encoding.ordered)


def _check_observation(encoding: Encoding, observation: Observation) -> None:
    others = [set(range(len(encoding.endpoints))) - {e} for e in range(len(encoding.endpoints))]
    right = len(observation.ended_by) == len(others) and all(set(by) <= own for by, own in zip(observation.ended_by, others, strict=True))
    require(right, f"what ends an endpoint's observation must be other endpoints; found {observation.ended_by}")
    sizes = sorted(max(1, len(column.levels)) for column in encoding.columns if column.role != "ignored")
    found = sorted(len(own) for own in observation.weights)
    require(found == sizes, f"follow-up must have a weight for every number and level, {sizes}; found {found}")
    _check_numbers("the weights of follow-up", [*(weight for own in observation.weights for weight in own), observation.start])
    _check_numbers("the spread of follow-up", [observation.spread], least=0.0)
    if observation.follow_up is not None:
        _check_quantiles("of all endpoints", observation.follow_up)


def _check_quantiles(where: str, follow_up: FollowUp) -> None:
    quantiles = follow_up.quantiles
    ascending = len(quantiles) >= 2 and all(0.0 <= a <= b for a, b in pairwise(quantiles))
    require(ascending, f"the quantiles of follow-up {where} must be at least two ascending times")


def _check_ordered(ordered: OrderedEndpoints) -> None:
    graph = ordered.graph
    require(bool(graph.terminal), "ordered endpoints need a terminal one")
    strangers = [name for name in graph.terminal if name not in graph.names]
    require(not strangers, f"terminal endpoints must be endpoints; found {strangers}")
    _check_quantiles("of subjects", ordered.follow_up)


def _check_endpoint(endpoint: LearnedEndpoint) -> None:
    where = f"endpoint {endpoint.name!r}"
    check_scale(endpoint.scale)
    if endpoint.calibration is not None:
        check_scale(endpoint.calibration.trained)
        check_scale(endpoint.calibration.observed)
    _check_numbers(f"the first time of {where}", [endpoint.first_time], least=0.0)
    require(endpoint.first_time > 0.0, f"the first time of {where} must not be 0")
    _check_quantiles(f"of {where}", endpoint.follow_up)
    counts = asdict(endpoint.counts).values()
    require(
        all(type(count) in (int, float) and count >= 0 for count in counts), f"what was observed of {where} must be counted; found {counts}"
    )
    times = endpoint.event_times
    require(times.ndim == 1, f"the event times of {where} must have one axis; found the shape {times.shape}")
    right = bool(np.isfinite(times).all() and (times >= 0.0).all() and (np.diff(times) > 0.0).all())
    require(right, f"the event times of {where} must be finite, not negative, and ascend")


def _check_column(column: Column) -> None:
    where = f"column {column.name!r}"
    require(column.role in ROLES, f"the role of {where} must be one of {', '.join(ROLES)}; found {column.role!r}")
    require(type(column.kind) is str, f"the kind of {where} must be text; found {column.kind!r}")
    distinct = len(set(column.levels))
    require(distinct == len(column.levels), f"the levels of {where} must be unique")
    require(len(set(column.categories)) == len(column.categories), f"the categories of {where} must be unique")
    enough = {"binary": distinct == 2, "categorical": distinct >= 2}.get(column.role, True)
    require(enough, f"the {column.role} {where} cannot have {distinct} levels")
    _check_numbers(f"the mean of {where}", [column.mean])
    ranged = column.role != "numeric" or (type(column.lowest) is type(column.highest) is float and column.lowest <= column.highest)
    require(ranged, f"the range of {where} must be two ascending numbers; found {column.lowest!r} and {column.highest!r}")
    _check_numbers(f"the standard deviation of {where}", [column.deviation], least=0.0)
    _check_numbers(f"the missing fraction of {where}", [column.missing, 1.0 - column.missing], least=0.0)
    require((column.role == "numeric") == (column.scale is not None), f"the scale of {where} is there if it is numeric, and only then")
    if column.scale is not None:
        _check_numeric_scale(f"the scale of {where}", column.scale)


def _check_numeric_scale(what: str, scale: NumericScale) -> None:
    knots, scores, grid = scale.knots, scale.scores, scale.grid
    require(scale.name in NUMERIC_SCALES, f"{what} must be one of {', '.join(NUMERIC_SCALES)}; found {scale.name!r}")
    _check_numbers(f"the knots of {what}", (*knots, *scores, scale.location, scale.spread))
    require(scale.spread > 0.0, f"the spread of {what} must be positive; found {scale.spread!r}")
    require(len(knots) == len(scores) >= 2, f"{what} needs two knots and as many scores; found {len(knots)} and {len(scores)}")
    require(scale.name != "linear" or len(knots) == 2, f"{what} is linear and needs two knots; found {len(knots)}")
    require(all(a < b for own in (knots, scores) for a, b in pairwise(own)), f"{what} must ascend")
    for heap in scale.heaps:
        right = all(type(number) is float for number in (heap.value, heap.lower, heap.upper)) and heap.lower < heap.upper
        require(right and math.isfinite(heap.value), f"a heap of {what} must be a number and two ascending scores; found {heap}")
    whole = grid is None or (all(type(number) is int for number in (grid.origin, grid.step)) and grid.decimals in range(9))
    require(whole and (grid is None or grid.step > 0), f"the grid of {what} must be whole numbers; found {grid}")
    bounds = (scale.floor, scale.lowest, scale.highest, scale.ceiling)
    ascending = all(type(bound) is float for bound in bounds) and all(a <= b for a, b in pairwise(bounds))
    require(ascending, f"the bounds of {what} must be ascending numbers; found {bounds}")


def check_scale(scale: TimeScale) -> None:
    """Refuse a time scale that could not have been learned."""
    knots, hazards = scale.knots, scale.hazards
    require(scale.name in TIME_SCALES, f"a time scale must be one of {', '.join(TIME_SCALES)}; found {scale.name!r}")
    smooth = scale.name == "kaplan-meier"
    _check_numbers("the knots of a time scale", (*knots, *hazards), least=0.0)
    _check_numbers("the unit of a time scale", [scale.unit], least=0.0)
    _check_numbers("the end of a time scale", [scale.end], least=0.0)
    require(scale.end > 0.0 and (scale.name != "log" or scale.unit > 0.0), "the end and the unit of a time scale must not be 0")
    needed = len(knots) >= 2 and len(hazards) == len(knots) + 2 if smooth else not knots and not hazards
    require(needed, f"a time scale needs two knots and two hazards more; found {len(knots)} and {len(hazards)}")
    if smooth:
        require(knots[0] == 0.0 and knots[-1] == 1.0, "the knots of a time scale must begin at 0 and end at 1")
        require(all(a < b for a, b in pairwise(knots)), "a time scale must ascend")
        require(min(hazards) > 0.0, "the hazards of a time scale must be positive")
    right = scale.horizon == scale.end or (smooth and scale.horizon == math.inf)
    require(right, f"the horizon of a time scale must be its end; found {scale.horizon!r} and {scale.end!r}")
