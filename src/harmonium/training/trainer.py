"""What a trainer is: an object that owns its settings and its penalty, and turns an objective into parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from harmonium.engine.parameters import Parameters
from harmonium.training.history import History
from harmonium.training.objective import ExactObjective, Objective
from harmonium.training.penalised import Prior

__all__ = ["Fit", "Trainer", "check_start"]


@dataclass(frozen=True)
class Fit:
    """What a trainer found.

    Attributes
    ----------
    parameters : Parameters
    converged : bool or None
        Whether the optimiser met its own criterion; None if it has none.
    l2 : float, mapping or Prior
        The penalty used; a Prior if the data chose it.
    n_evaluations : int
        Exact gradients computed, of all rows or of a sample.
    n_passes : int
        Exact gradients of all rows.
    rivals : tuple of Parameters
        Other optima that the search came to, or somewhere near them.
    """

    parameters: Parameters
    converged: bool | None
    l2: float | Mapping[str, float] | Prior
    n_evaluations: int
    n_passes: int = 0
    rivals: tuple[Parameters, ...] = ()


@runtime_checkable
class Trainer(Protocol):
    """Anything that fits parameters to an objective."""

    def fit(
        self,
        objective: Objective,
        n_hidden: int,
        *,
        rng: np.random.Generator,
        history: History,
        start: Parameters | None = None,
        n_threads: int | None = None,
    ) -> Fit:
        """Maximise the objective.

        Parameters
        ----------
        objective : Objective
        n_hidden : int
            Hidden units.
        rng : numpy.random.Generator
        history : History
            Hears of every iteration, and may end training.
        start : Parameters, optional
            Where to begin; by default wherever the trainer begins.
        n_threads : int, optional
            Counted as joblib counts ``n_jobs``; None means all cores.
        """


def check_start(start: Parameters, objective: ExactObjective, n_hidden: int) -> None:
    """Refuse to begin at the parameters of another model."""
    start.check(objective.layout)
    if start.n_hidden != n_hidden:
        raise ValueError(f"training cannot begin at parameters with {start.n_hidden} hidden units; {n_hidden} are asked for")
