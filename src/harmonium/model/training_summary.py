"""How a model came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from harmonium.table.columns import ROLES
from harmonium.table.numeric_scale import NUMERIC_SCALES
from harmonium.table.rules import POSITIVE, UP_TO_1, Count, Rule, Whole, one_of
from harmonium.table.time_scale import TIME_SCALES

__all__ = ["Evaluation", "Settings", "TrainingSummary"]

_Time = Annotated[float | int, POSITIVE]
_Trainer = Annotated[
    Mapping[str, str | float | int | bool | Mapping[Any, Any] | None],
    Rule("settings, with a name", lambda own: type(own.get("name")) is str),
]


class Settings(TypedDict, total=False):
    """Of an estimator and its trainer."""

    n_hidden: Whole
    n_covariate_units: Whole | Annotated[str, one_of(("auto",))]
    objective: Annotated[str, one_of(("conditional", "joint"))] | Annotated[float | int, UP_TO_1]
    time_scale: Annotated[str, one_of(TIME_SCALES)]
    numeric_scale: Annotated[str, one_of(NUMERIC_SCALES)]
    horizon: _Time | Mapping[str, _Time] | None
    roles: Mapping[Any, Annotated[str, one_of(ROLES)]] | None
    trainer: Annotated[str, one_of(("auto", "exact", "contrastive"))] | _Trainer
    random_state: Annotated[int, Rule("at least 0", lambda seed: seed >= 0)] | None


class Evaluation(TypedDict):
    """On what a model was evaluated, and the metrics of each endpoint."""

    method: str
    scores: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class TrainingSummary:
    """What is kept of training.

    Attributes
    ----------
    settings : mapping
        Of the estimator and its trainer.
    n_rows : int
        Rows in training.
    n_iter : int
        Iterations of the optimiser, or epochs.
    n_evaluations : int
        Exact gradients computed, of all rows or of a sample.
    n_passes : int
        Exact gradients of all rows.
    l2 : float or mapping
        The precision, or penalty, that was used.
    converged : bool or None
        Whether the optimiser met its criterion; None for a trainer that has none.
    evaluation : mapping or None
        How well the model predicts rows that it was not fitted to, if that was measured: ``method`` says on what, ``scores`` has the
        metrics of each endpoint.
    """

    settings: Settings = field(default_factory=Settings)
    n_rows: Whole = 0
    n_iter: Whole = 0
    n_evaluations: Whole = 0
    n_passes: Whole = 0
    l2: Count | Mapping[str, Count] = 0.0
    converged: bool | None = None
    evaluation: Evaluation | None = None
