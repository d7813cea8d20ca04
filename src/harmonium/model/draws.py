"""Draws of what was not observed, given what was: independent ones where hidden states can be enumerated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.gibbs import Chains
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.typing import Array

__all__ = ["draw_tables"]

_N_BURN_IN = 300
_SWEEPS_BETWEEN = 30


def draw_tables(
    parameters: Parameters,
    cells: Cells,
    n_draws: int,
    rng: np.random.Generator,
    n_threads: int | None = None,
    units: CovariateUnits | None = None,
) -> Iterator[Array]:
    """Completed tables (rows, columns): observed cells as they are, the others drawn together.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    n_draws : int
    rng : numpy.random.Generator
    n_threads : int, optional
    units : CovariateUnits, optional
        How covariates are distributed, which decides on the hidden states of rows with missing ones; covariates themselves are then not
        drawn as they are distributed.
    """
    if parameters.n_hidden > EXACT_LIMIT:
        yield from _by_gibbs(parameters, cells, n_draws, rng, n_threads)
        return
    natural = parameters.natural()
    chunks = list(row_chunks(cells, parameters.n_hidden))
    kept = hidden_given(parameters, cells, rng, n_threads, units) if len(chunks) == 1 else None
    for _ in range(n_draws):
        out = np.empty((cells.n_rows, cells.layout.n_columns))
        for rows in chunks:
            part = cells.part(rows)
            hidden = kept or hidden_given(parameters, part, rng, n_threads, units)
            chains = Chains.start(parameters, part, rng, values=_anything(part), n_threads=n_threads)
            chains.draw_given(natural.bias[:, None] + natural.coupling @ hidden.draw(rng).T, n_threads)
            out[rows] = chains.values
        yield out


def _by_gibbs(parameters: Parameters, cells: Cells, n_draws: int, rng: np.random.Generator, n_threads: int | None) -> Iterator[Array]:
    chains = Chains.start(parameters, cells, rng, n_threads=n_threads)
    for k in range(n_draws):
        chains.sweep(parameters, _SWEEPS_BETWEEN if k else _N_BURN_IN, n_threads)
        yield chains.values.copy()


def _anything(cells: Cells) -> Array:
    """Some value for every cell, to be drawn over."""
    return np.ones((cells.n_rows, cells.layout.n_columns))
