"""Covariate units: hidden units that couple to covariates only, beside the prognostic ones (eq. 31).

Given complete covariates they say nothing about outcomes, so p(outcomes | complete covariates) is what the prognostic units make it.
What they change is p(covariates), hence every answer about a row with missing values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.exact import log_mass, posterior
from harmonium.engine.parameters import Natural, Parameters
from harmonium.typing import Array, Booleans

__all__ = ["CovariateUnits", "incomplete_rows"]

_NUMBERS_AT_ONCE = 1 << 24  # probabilities of all states of some rows


def incomplete_rows(cells: Cells) -> Booleans:
    """Rows of which some covariate was not observed.

    Examples
    --------
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Bernoulli
    >>> incomplete_rows(Cells.from_bounds(Layout([Bernoulli()]), [[1.0], [np.nan]]))
    array([False,  True])
    """
    out = np.zeros(cells.n_rows, dtype=bool)
    for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
        if not block.outcome:
            out |= ~(lower == upper).all(axis=1)
    return out


@dataclass(frozen=True)
class CovariateUnits:
    """What is known of the covariates' own distribution: their biases, and the units that tie them to each other.

    Attributes
    ----------
    bias : ndarray of shape (n_covariate_statistics,)
        Natural biases of the covariates' statistics, scales included.
    coupling : ndarray of shape (n_covariate_statistics, n_units)
    hidden_bias : ndarray of shape (n_units,)
    """

    bias: Array
    coupling: Array
    hidden_bias: Array

    @property
    def n_units(self) -> int:
        """How many units; with none, the biases alone are learned."""
        return self.hidden_bias.size

    def joined(self, parameters: Parameters) -> Parameters:
        """Prognostic units first, then these, whose couplings to outcomes are zero; biases of covariates are these."""
        return Parameters.from_natural(parameters.layout, self.joined_natural(parameters.natural()))

    def joined_natural(self, natural: Natural) -> Natural:
        """The same of natural parameters."""
        first = self.bias.size
        none = np.zeros((natural.bias.size - first, self.n_units))
        return Natural(
            np.concatenate([self.bias, natural.bias[first:]]),
            np.concatenate([natural.coupling, np.concatenate([self.coupling, none])], axis=1),
            np.concatenate([natural.hidden_bias, self.hidden_bias]),
            0.0,
        )

    def posterior(self, parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
        """p(prognostic units | row) of every state (eq. 32), (rows, states): the covariate units are summed out.

        Where covariates are complete, the prognostic units alone say it.
        """
        gaps = incomplete_rows(cells)
        if not gaps.any():
            return posterior(parameters, cells, n_threads)
        out = np.empty((cells.n_rows, 2**parameters.n_hidden))
        if not gaps.all():
            out[~gaps] = posterior(parameters, cells.part(np.flatnonzero(~gaps)), n_threads)
        whole, places = self.joined(parameters), np.flatnonzero(gaps)
        step = max(1, _NUMBERS_AT_ONCE >> whole.n_hidden)
        for start in range(0, places.size, step):
            rows = places[start : start + step]
            states = posterior(whole, cells.part(rows), n_threads)
            out[rows] = states.reshape(rows.size, 2**self.n_units, -1).sum(axis=1)
        return out

    def log_mass_given_covariates(self, parameters: Parameters, cells: Cells, n_threads: int | None = None) -> Array:
        """Log mass of every row, but for a constant that depends on its covariates alone."""
        gaps = incomplete_rows(cells)
        out = np.empty(cells.n_rows)
        for rows, own in ((np.flatnonzero(~gaps), parameters), (np.flatnonzero(gaps), self.joined(parameters))):
            if rows.size:
                out[rows] = log_mass(own, cells.part(rows), n_threads)
        return out
