"""How likely what was recorded is under the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from harmonium.cells import Cells
from harmonium.engine.annealing import annealed_log_mass
from harmonium.engine.exact import log_mass
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.known import FittedModel
from harmonium.table.endpoints import Endpoints
from harmonium.training.objective import conditioned_cells, entry_cells
from harmonium.typing import Array

__all__ = ["Likelihood"]


class Likelihood(FittedModel):
    """Answers about how likely rows are."""

    def log_likelihood(self, X: Any, y: Any, kind: str = "conditional") -> Array:
        """Ln p of every row, in the user's unit of time (eq. 8 and eq. 9).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        y : DataFrame or structured array
            What was recorded, as in :meth:`fit`.
        kind : "conditional" or "joint"
            Of the endpoints given the covariates, or of both. Numeric covariates count in their standardised unit. Beyond 14 hidden units
            it is estimated by annealed importance sampling.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "parameters_")
        if kind not in ("conditional", "joint"):
            raise ValueError(f'kind must be "conditional" or "joint"; found {kind!r}')
        return self._log_likelihood(X, self._endpoints(y), kind)

    def log_likelihood_of_given(self, X: Any, given: Any) -> Array:
        """Ln p of what is known of some of the endpoints, given the covariates.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        given : DataFrame
            What is known; endpoints that it does not have are unknown.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "parameters_")
        return self._log_likelihood(X, self._given(given, len(self._covariates(X))), "conditional")

    def _log_likelihood(self, X: Any, known: Endpoints, kind: str) -> Array:
        cells = self.encoding_.cells(self._covariates(X), *self.encoding_.times(known))
        denominator = conditioned_cells if kind == "conditional" else entry_cells
        given = denominator(cells, self.encoding_.entry(known))
        slopes = np.zeros(cells.n_rows)
        for e, scale in enumerate(self.encoding_.scales):
            exact = known.event[:, e] & (known.lower[:, e] > 0.0)
            slopes[exact] += scale.log_slope(known.lower[exact, e])
        return self._log_mass(cells) - self._log_mass(given) + slopes

    def _log_mass(self, cells: Cells) -> Array:
        if self.parameters_.n_hidden <= EXACT_LIMIT:
            return log_mass(self.parameters_, cells, self.n_jobs)
        return annealed_log_mass(self.parameters_, cells, self._sampling(), n_threads=self.n_jobs)[0]
