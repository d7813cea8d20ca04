r"""Log masses by annealed importance sampling, for models with too many hidden units to enumerate.

The coupling between visible and hidden units is switched on in small steps from 0 to 1 (Salakhutdinov & Murray, 2008). Without
it the mass is known, and each step's ratio of masses is estimated by chains that follow (eq. 27).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log, sqrt

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells
from harmonium.engine.gibbs import Chains, row_contents
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.numerics.streams import streams_of
from harmonium.typing import Array

__all__ = ["annealed_log_mass"]


def annealed_log_mass(
    parameters: Parameters,
    cells: Cells,
    rng: np.random.Generator,
    n_chains: int = 100,
    n_steps: int = 1000,
    n_threads: int | None = None,
) -> tuple[Array, Array]:
    """Estimate the log mass of every row (eq. 27) with its standard error; works for any number of hidden units.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
        For ln Z, ``Cells.all_free(layout)``.
    rng : numpy.random.Generator
        Seeds streams that are a row's own: its estimate depends neither on the other rows nor on their order.
    n_chains : int
        Independent chains for each row, at least 2.
    n_steps : int
        Steps from uncoupled to coupled.
    n_threads : int, optional
        As in :meth:`harmonium.engine.gibbs.Chains.sweep`.

    Returns
    -------
    log_mass, standard_error : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import TruncatedGamma
    >>> layout, rng = Layout([TruncatedGamma()]), np.random.default_rng(0)
    >>> model = Parameters.initial(layout, np.array([[0.5]]), n_hidden=20, rng=rng)
    >>> log_z, error = annealed_log_mass(model, Cells.all_free(layout), rng)
    >>> bool(error[0] < 0.1)
    True
    """
    if n_chains < 2 or n_steps < 1:
        raise ValueError(f"at least 2 chains and 1 step are needed; found n_chains={n_chains}, n_steps={n_steps}")
    parameters.check(cells.layout)
    seed, natural = int(rng.integers(2**63)), parameters.natural()
    contents = row_contents(cells)
    distinct = {content: row for row, content in enumerate(contents)}

    def estimate(row: int) -> tuple[float, float]:
        own = Chains.start(parameters, cells.part(slice(row, row + 1)), streams_of(contents[row], seed, n_chains), n_chains, n_threads=1)
        log_weights = _log_weights(own, natural, n_steps)
        log_mean = float(logsumexp(log_weights)) - log(n_chains)
        return log_mean, float(np.exp(log_weights - log_mean).std(ddof=1)) / sqrt(n_chains)

    found = dict(zip(distinct, map_in_order(estimate, list(distinct.values()), thread_count(n_threads)), strict=True))
    log_mean, error = np.array([found[content] for content in contents]).T.reshape(2, -1)
    return _uncoupled_log_mass(natural, cells) + log_mean, error


def _log_weights(chains: Chains, natural: Natural, n_steps: int) -> Array:
    """Ln of every chain's weight (eq. 27)."""
    log_weights = np.zeros(chains.rows.size)
    chains.sweep_natural(natural, 0, 1)
    for weaker, stronger in pairwise(np.linspace(0.0, 1.0, n_steps + 1)):
        # Fields are kept for the full coupling; a weaker model's are proportional to them.
        log_weights += np.logaddexp(0.0, -stronger * chains.fields).sum(axis=0)
        log_weights -= np.logaddexp(0.0, -weaker * chains.fields).sum(axis=0)
        chains.sweep_natural(_weakened(natural, stronger), 1, 1)
        chains.fields[:] /= stronger
    return log_weights


def _weakened(natural: Natural, strength: float) -> Natural:
    return replace(natural, coupling=strength * natural.coupling, hidden_bias=strength * natural.hidden_bias)


def _uncoupled_log_mass(natural: Natural, cells: Cells) -> Array:
    """Log mass with all couplings and hidden biases zero (eq. 27): a product over cells, and 2 for every hidden unit."""
    lower, upper = cells.bounds()
    total = np.full(cells.n_rows, natural.n_hidden * log(2.0) - natural.constant)
    for block in cells.layout.blocks:
        bias = natural.bias[block.statistics].reshape(block.n_columns, -1)
        total += block.unit.log_mass(bias, lower[:, block.columns], upper[:, block.columns]).sum(axis=1)
    return total
