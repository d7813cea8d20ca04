r"""How far a model's parameters may be from where they are: a few directions, each a standard error long.

The covariance of the parameters is :math:`\sum_r d_r d_r^\top`, so any answer f has the variance

.. math:: \sum_r \Bigl( \frac{f(\theta + \epsilon d_r) - f(\theta)}{\epsilon} \Bigr)^2

and needs no derivative of its own. Beside the parameters a direction moves *direct effects* of covariates on outcomes, which the model does
not have (they are zero) but the truth may: a row's outcomes have biases that are shifted by a linear function of its covariates. To first
order such a shift is one of the biases, which are few, times that row's number; so answers about rows need nothing new for them either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.parameters import Natural, Parameters
from harmonium.typing import Array

__all__ = ["STEP", "Spread", "covariate_statistics", "flat", "moved"]

STEP = 1e-5
"""Of differences along a direction, in standard errors."""


@dataclass(frozen=True)
class Spread:
    """Directions, those first that predictions follow, and what shrinkage and few hidden units may have led astray.

    Attributes
    ----------
    directions : ndarray of shape (1 + n_directions, n_natural)
        Of the natural parameters: biases, couplings and hidden biases in one vector. The first is the displacement by all shrinkage.
    effects : ndarray of shape (1 + n_directions, n_effects, n_biases)
        Of direct effects: how far a standard deviation of each covariate statistic moves each bias.
    biases : ndarray of shape (n_biases, n_natural)
        The outcomes' biases, which direct effects move.
    kept : ndarray of shape (n_directions,)
        The share of the variance of predictions that the directions up to each have.
    centre, unit : ndarray of shape (n_effects,)
        Mean and standard deviation of the covariates' coupled statistics.
    jumps : ndarray of shape (n_jumps, n_natural)
        From the optimum to others that are nearly as good.
    chances : ndarray of shape (n_jumps,)
        That another sample would have preferred them.
    linear : ndarray of shape (n_endpoints, 1 + n_effects)
        What a fit that shrinks lacks: linear effects on the logarithm of each endpoint's hazard, a constant first
        (:mod:`harmonium.model.linear_effects`).
    linear_roots : ndarray of shape (n_endpoints, 1 + n_effects, 1 + n_effects)
        Roots of their covariances, in columns.
    linear_moves : ndarray of shape (n_endpoints, 1 + n_directions + n_jumps, 1 + n_effects)
        How they move with all directions and jumps.
    """

    directions: Array
    effects: Array
    biases: Array
    kept: Array
    centre: Array
    unit: Array
    jumps: Array
    chances: Array
    linear: Array
    linear_roots: Array
    linear_moves: Array

    def check(self, n_natural: int, n_effects: int) -> str | None:
        """What is wrong with it, if anything is."""
        n, n_biases, n_linear, own = len(self.kept), len(self.biases), len(self.linear), 1 + n_effects
        expected = {
            "directions": (1 + n, n_natural),
            "effects": (1 + n, n_effects, n_biases),
            "biases": (n_biases, n_natural),
            "kept": (n,),
            "centre": (n_effects,),
            "unit": (n_effects,),
            "jumps": (len(self.chances), n_natural),
            "chances": (len(self.chances),),
            "linear": (n_linear, own),
            "linear_roots": (n_linear, own, own),
            "linear_moves": (n_linear, 1 + n + len(self.chances), own),
        }
        for name, shape in expected.items():
            found = getattr(self, name)
            if found.shape != shape:
                return f"{name} must have the shape {shape}; found {found.shape}"
            if not np.isfinite(found).all():
                return f"{name} must be finite"
        if not ((self.kept > 0.0) & (self.kept <= 1.0 + 1e-9)).all() or not (self.unit > 0.0).all():
            return "shares and units must be positive"
        if not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            return "chances must be probabilities"
        return None

    def covariates(self, cells: Cells) -> Array:
        """Covariate statistics in standard deviations from their means, (rows, effects); at the mean where they are unknown."""
        return np.nan_to_num((covariate_statistics(cells) - self.centre) / self.unit)


def flat(natural: Natural) -> Array:
    """Natural parameters in one vector."""
    return np.concatenate([natural.bias, natural.coupling.ravel(), natural.hidden_bias])


def moved(parameters: Parameters, step: Array) -> Parameters:
    """Parameters whose natural ones are further along by a vector."""
    natural = parameters.natural()
    bias, coupling = natural.bias.size, natural.coupling.size
    return Parameters.from_natural(
        parameters.layout,
        Natural(
            natural.bias + step[:bias],
            natural.coupling + step[bias : bias + coupling].reshape(natural.coupling.shape),
            natural.hidden_bias + step[bias + coupling :],
            natural.constant,
        ),
    )


def covariate_statistics(cells: Cells) -> Array:
    """Coupled statistics of covariates, (rows, effects); NaN where a covariate was not observed."""
    parts = [np.empty((cells.n_rows, 0))]
    for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
        if not block.outcome:
            values = np.where(lower == upper, lower, np.nan)
            statistics = block.unit.statistics(np.nan_to_num(values))[..., np.array(block.unit.coupled, dtype=bool)]
            parts.append(
                np.where(np.isnan(values)[..., None], np.nan, statistics).reshape(cells.n_rows, int(np.prod(statistics.shape[1:])))
            )
    return np.concatenate(parts, axis=1)
