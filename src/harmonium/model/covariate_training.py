"""After the prognostic part: how covariates are distributed, and, where training rows have missing values, both in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.training.contrastive import Contrastive
from harmonium.training.covariate_fit import fit_covariate_units, number_of_units
from harmonium.training.exact import Exact
from harmonium.training.given_units import GivenUnits
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.trainer import Fit, Trainer

__all__ = ["MOST_ROWS", "CovariateTraining", "check_covariate_units", "in_memory"]

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
    sample: Objective = objective.sample(min(most_rows, objective.n_rows), _SEED)
    return sample


@dataclass(frozen=True)
class CovariateTraining:
    """Learns how covariates are distributed, beside a prognostic part that was found by the conditional likelihood.

    Attributes
    ----------
    rows : Objective
        Of the training rows, or of a sample of them.
    wanted : "auto" or int
        Covariate units.
    whole : bool
        Whether these are all rows.
    """

    rows: Objective
    wanted: str | int
    whole: bool

    @classmethod
    def of(cls, objective: Any, trainer: Trainer, n_hidden: int, conditional: float, wanted: str | int) -> CovariateTraining | None:
        """What a table and a trainer call for; None if covariates are none, or all units learn how they are distributed."""
        if conditional < 1.0 or isinstance(trainer, Contrastive) or n_hidden > EXACT_LIMIT or not objective.layout.outcomes.start:
            return None
        rows = in_memory(objective)
        return cls(rows, wanted, rows.n_rows == objective.n_rows)

    def units(self, parameters: Parameters, start: CovariateUnits | None = None) -> CovariateUnits:
        """The covariate units that go with a prognostic part."""
        auto = isinstance(self.wanted, str)
        n_units = number_of_units(self.rows.recorded, parameters.n_hidden, weights=self.rows.subjects) if auto else int(self.wanted)
        return fit_covariate_units(self.rows, parameters, n_units, start)

    def in_turn(self, found: Fit, trainer: Trainer, history: History, n_threads: int | None) -> tuple[Fit, CovariateUnits]:
        """The units and, where training rows have missing values, the prognostic part given the units, and so on.

        Not from a sample of the rows, and not where the prognostic part has not converged: training was cut short.
        """
        units = self.units(found.parameters)
        if not (self.whole and found.converged and isinstance(trainer, Exact) and incomplete_rows(self.rows.recorded).any()):
            return found, units
        again = clone(trainer).set_params(l2=found.l2, n_starts=1, sample_rows=None, tol=10.0 * trainer.tol)  # one part of two in turn
        for _ in range(_ROUNDS):
            fit = again.fit(
                GivenUnits(self.rows, units),
                found.parameters.n_hidden,
                rng=np.random.default_rng(_SEED),
                history=history,
                start=found.parameters,
                n_threads=n_threads,
            )
            n_evaluations, n_passes = found.n_evaluations + fit.n_evaluations, found.n_passes + fit.n_passes
            found = Fit(fit.parameters, fit.converged, found.l2, n_evaluations, n_passes, found.rivals)
            units = self.units(found.parameters, start=units)
        return found, units
