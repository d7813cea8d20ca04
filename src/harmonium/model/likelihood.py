"""How likely what was observed is: differences of two log masses, and the slopes of the time scales."""

from __future__ import annotations

from collections.abc import Callable

from harmonium.cells import Cells
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.training.objective import conditioned_cells, entry_cells
from harmonium.typing import Array

__all__ = ["conditional_log_likelihood", "joint_log_likelihood"]

LogMass = Callable[[Cells], Array]


def conditional_log_likelihood(encoding: Encoding, log_mass: LogMass, covariates: Array, known: Endpoints) -> Array:
    """Ln p of the endpoints given the covariates, in the user's unit of time (eq. 8 and eq. 9).

    An event beyond follow-up counts as what is known of it: the probability of an event that late.
    """
    return _log_likelihood(encoding, log_mass, covariates, known, conditioned_cells)


def joint_log_likelihood(encoding: Encoding, log_mass: LogMass, covariates: Array, known: Endpoints) -> Array:
    """Ln p of endpoints and covariates; numeric covariates count as scores."""
    return _log_likelihood(encoding, log_mass, covariates, known, entry_cells)


def _log_likelihood(
    encoding: Encoding, log_mass: LogMass, covariates: Array, known: Endpoints, denominator: Callable[[Cells, Array], Cells]
) -> Array:
    cells = encoding.cells(covariates, known)
    given = denominator(cells, encoding.entry(known))
    return log_mass(cells) - log_mass(given) + encoding.log_slopes(known)
