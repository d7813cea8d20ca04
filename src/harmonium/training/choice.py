"""Which trainer is meant by a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harmonium.engine.states import EXACT_LIMIT
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.trainer import Trainer

__all__ = ["describe_trainer", "trainer_named"]


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
