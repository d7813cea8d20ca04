"""After the prognostic part: how covariates are distributed, and, where training rows have missing values, both in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.states import EXACT_LIMIT
from harmonium.training.contrastive import Contrastive
from harmonium.training.covariate_fit import fit_covariate_units, number_of_units
from harmonium.training.exact import Exact
from harmonium.training.given_units import GivenUnits
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.trainer import Fit, Trainer

__all__ = ["MOST_ROWS", "check_covariate_units", "in_memory", "with_covariate_units"]

MOST_ROWS = 20_000
"""How covariates are distributed is learned from at most about so many rows."""

_ROUNDS = 2
_SEED = 0  # of the rows that are drawn from a larger table


def check_covariate_units(wanted: Any, n_hidden: int, conditional: float, trainer: Trainer) -> None:
    """Refuse a number of covariate units that makes no sense, or that the model has no use for."""
    if isinstance(wanted, str) and wanted == "auto":
        return
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise ValueError(f'n_covariate_units must be "auto" or a whole number that is not negative; found {wanted!r}')
    if wanted == 0:
        return
    if isinstance(trainer, Contrastive):
        raise ValueError(f"the contrastive trainer has no covariate units; found n_covariate_units={wanted}. Leave it out or say 0")
    if conditional < 1.0:
        raise ValueError(
            f'covariate units go with objective="conditional": any other objective learns how covariates are distributed with all '
            f"units. Found n_covariate_units={wanted}; leave it out or say 0"
        )
    if n_hidden + wanted > EXACT_LIMIT:
        raise ValueError(
            f"n_hidden and n_covariate_units may be {EXACT_LIMIT} together, whose states are enumerated; found {n_hidden} and {wanted}"
        )


def in_memory(objective: Any, most_rows: int = MOST_ROWS) -> Objective:
    """The rows from which the distribution of covariates is learned: all of them, or a sample of a large table."""
    if isinstance(objective, Objective) and objective.n_rows <= most_rows:
        return objective
    sample: Objective = objective.sample(most_rows, _SEED)
    return sample


def with_covariate_units(
    found: Fit,
    objective: Any,
    trainer: Trainer,
    wanted: str | int,
    *,
    alternate: bool,
    history: History,
    n_threads: int | None,
) -> tuple[Fit, CovariateUnits | None]:
    """Learn the distribution of covariates beside a prognostic part that was found by the conditional likelihood.

    Parameters
    ----------
    found : Fit
    objective : Objective
        Of a table in memory or on other machines.
    trainer : Trainer
    wanted : "auto" or int
        Covariate units.
    alternate : bool
        Whether the prognostic part may go on where training rows have missing values.
    history : History
    n_threads : int, optional
    """
    if isinstance(trainer, Contrastive) or not found.parameters.n_hidden <= EXACT_LIMIT or not objective.layout.outcomes.start:
        return found, None
    rows = in_memory(objective)
    n_units = number_of_units(rows.recorded, found.parameters.n_hidden) if wanted == "auto" else int(wanted)
    units = fit_covariate_units(rows, found.parameters, n_units)
    if not (alternate and found.converged and rows is objective and isinstance(trainer, Exact) and incomplete_rows(rows.recorded).any()):
        return found, units
    again = clone(trainer).set_params(l2=found.l2, n_starts=1, sample_rows="auto")
    for _ in range(_ROUNDS):
        fit = again.fit(
            GivenUnits(rows, units),
            found.parameters.n_hidden,
            rng=np.random.default_rng(_SEED),
            history=history,
            start=found.parameters,
            n_threads=n_threads,
        )
        n_evaluations, n_passes = found.n_evaluations + fit.n_evaluations, found.n_passes + fit.n_passes
        found = Fit(fit.parameters, fit.converged, found.l2, n_evaluations, n_passes)
        units = fit_covariate_units(rows, found.parameters, n_units, start=units)
    return found, units
