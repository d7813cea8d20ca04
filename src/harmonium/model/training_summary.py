"""How a model came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TrainingSummary"]


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

    settings: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    n_iter: int = 0
    n_evaluations: int = 0
    n_passes: int = 0
    l2: Any = 0.0
    converged: bool | None = None
    evaluation: Mapping[str, Any] | None = None
