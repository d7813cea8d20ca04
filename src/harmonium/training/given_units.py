"""The conditional likelihood of a table with missing values, given how its covariates are distributed.

Rows with complete covariates see the prognostic units alone. Rows with missing ones also see the covariate units, which stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Natural
from harmonium.engine.prepared import Term
from harmonium.training.coordinates import Coordinates
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.typing import Array, Booleans

__all__ = ["GivenUnits"]


@dataclass(frozen=True)
class GivenUnits:
    """What the exact trainer maximises over the prognostic part, the covariate units being given.

    Parameters
    ----------
    objective : Objective
        The conditional likelihood.
    units : CovariateUnits
    """

    objective: Objective
    units: CovariateUnits

    @property
    def layout(self) -> Layout:
        """The columns' units."""
        return self.objective.layout

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.objective.n_rows

    @property
    def n_subjects(self) -> float:
        """For how many subjects the rows stand."""
        return self.objective.n_subjects

    def coordinates(self, n_hidden: int) -> Coordinates:
        """Those of the objective; biases of covariates are given."""
        own = self.objective.coordinates(n_hidden)
        fixed = own.fixed_bias.copy()
        fixed[: self.units.bias.size] = self.units.bias
        return replace(own, fixed_bias=fixed)

    def likelihood(self, n_hidden: int, n_threads: int | None = None) -> _GivenUnitsLikelihood:
        """What is maximised."""
        gaps = incomplete_rows(self.objective.recorded)
        complete, incomplete = (self._sum(rows, n_threads) for rows in (~gaps, gaps))
        return _GivenUnitsLikelihood(self.units, complete, incomplete)

    def _sum(self, rows: Booleans, n_threads: int | None) -> LogMassSum | None:
        chosen = np.flatnonzero(rows)
        terms = [Term(term.cells.part(chosen), term.weights[chosen]).distinct() for term in self.objective.terms()]
        return LogMassSum(terms, n_threads) if chosen.size else None

    def representative_rows(self) -> Cells:
        """Those of the objective."""
        return self.objective.representative_rows()

    def representative_weights(self) -> Array | None:
        """Those of the objective."""
        return self.objective.representative_weights()

    def sample(self, size: int, seed: int) -> WeightedObjective:
        """The search for a start is over: nothing is left to be done on a sample."""
        raise NotImplementedError("given covariate units, training goes on from parameters that were found before")


@dataclass(frozen=True)
class _GivenUnitsLikelihood:
    units: CovariateUnits
    complete: LogMassSum | None
    incomplete: LogMassSum | None

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum over rows and its gradient by the natural parameters of the prognostic part."""
        value, bias, coupling, hidden = 0.0, np.zeros_like(natural.bias), np.zeros_like(natural.coupling), np.zeros(natural.n_hidden)
        own = slice(natural.n_hidden)
        for total, at in ((self.complete, natural), (self.incomplete, self.units.joined_natural(natural))):
            if total is not None:
                part, gradient = total.value_and_natural_gradient(at)
                value += part
                bias += gradient.bias
                coupling += gradient.coupling[:, own]
                hidden += gradient.hidden_bias[own]
        return value, Natural(bias, coupling, hidden, 0.0)
