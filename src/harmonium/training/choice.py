"""Which trainer is meant by a name, and how many hidden units a table can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harmonium.engine.states import EXACT_LIMIT
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.objective import ExactObjective
from harmonium.training.trainer import Trainer

__all__ = ["describe_trainer", "hidden_units_for", "trainer_named"]

_FEW, _MANY = 4, 6  # hidden units
_MANY_EVENTS = 1000  # of the endpoint that has most, from which there are many units


def hidden_units_for(objective: ExactObjective) -> int:
    """How many prognostic units, by the number of events of the endpoint that has most.

    Four, and six from a thousand events on: on larger tables six follow the data better, on smaller ones they are of no use.
    """
    cells, weights = objective.representative_rows(), objective.representative_weights()
    events = cells.observed_events()
    seen = np.zeros(0) if not cells.n_rows else events.mean(axis=0) if weights is None else weights @ events / weights.sum()
    return _MANY if seen.max(initial=0.0) * objective.n_subjects >= _MANY_EVENTS else _FEW


def trainer_named(trainer: str | Trainer, n_hidden: int) -> Trainer:
    """The trainer of a name, with its default settings; a trainer itself is returned as it is.

    Parameters
    ----------
    trainer : "auto", "exact", "contrastive" or Trainer
        "auto" is exact while the hidden states can be enumerated.
    n_hidden : int
        Hidden units.

    Examples
    --------
    >>> trainer_named("auto", 4)
    Exact()
    >>> trainer_named("auto", 40)
    Contrastive()
    """
    named = {"exact": Exact, "contrastive": Contrastive, "auto": Exact if n_hidden <= EXACT_LIMIT else Contrastive}
    if isinstance(trainer, str) and trainer in named:
        made: Trainer = named[trainer]()
        return made
    if isinstance(trainer, (str, type)) or not isinstance(trainer, Trainer):
        raise ValueError(
            f'trainer must be one of "auto", "exact" and "contrastive", or a trainer such as Exact() or Contrastive(); found {trainer!r}'
        )
    return trainer


def describe_trainer(trainer: Trainer) -> dict[str, Any]:
    """A trainer's name and settings, as a model file keeps them.

    Examples
    --------
    >>> describe_trainer(Exact(n_starts=2))
    {'name': 'exact', 'design': 0, 'l2': 'auto', 'max_iter': 1000, 'n_starts': 2, 'sample_rows': 'auto', 'tol': 3e-07}
    """
    get_params = getattr(trainer, "get_params", dict)
    settings = {name: dict(value) if isinstance(value, Mapping) else value for name, value in get_params().items()}
    return {"name": type(trainer).__name__.lower(), **settings}
