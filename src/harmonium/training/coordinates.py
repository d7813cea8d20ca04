r"""Coordinates in which the objective is well conditioned.

The optimiser moves a vector z; the natural parameters are a linear function of it, chosen so that directions which the data
barely tell apart become separate and of equal scale:

* statistics are scaled by their standard deviation;
* statistics are centred (into the hidden biases) and so are hidden units (into the visible biases): a coupling then moves no mean;
* the rate of an event time is measured from V / mean(x), so that changing the shape keeps the mean where it is.

Couplings in these coordinates are what the penalties act on: effects of a standard deviation, whatever the column's unit. Bounds
keep V and c from going negative, and shapes and scales where the likelihood stays finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Natural
from harmonium.typing import Array
from harmonium.units import Gaussian, TruncatedGamma

__all__ = ["Coordinates"]

_LARGEST_SHAPE = 300.0  # of V and c each
_PRECISIONS = (0.02, 200.0)  # of 1 / (2 sigma^2), columns being standardised: sigma between 0.05 and 5


class _Places(NamedTuple):
    """Statistics by role, the units of z, and the rates that keep the means of times when shapes grow by one."""

    coupled: NDArray[np.int64]
    learned: NDArray[np.int64]
    centred: NDArray[np.int64]
    rates: NDArray[np.int64]
    coupling_unit: Array
    bias_unit: Array
    shear: Array


@dataclass(frozen=True)
class Coordinates:
    """A linear map from z to natural parameters (eq. 15).

    z holds the hidden biases, the couplings of coupled statistics (statistics by hidden units) and the biases that are learned.

    Attributes
    ----------
    layout : Layout
    n_hidden : int
    mean, scale : ndarray of shape (n_statistics,)
        Of the statistics in the training data.
    learned_bias : ndarray of bool, shape (n_statistics,)
        Covariates' biases are not learned if only the conditional likelihood counts: it does not depend on them.
    fixed_bias : ndarray of shape (n_statistics,)
        Values of the others.
    """

    layout: Layout
    n_hidden: int
    mean: Array
    scale: Array
    learned_bias: NDArray[np.bool_]
    fixed_bias: Array

    @classmethod
    def of_data(cls, recorded: Cells, n_hidden: int, conditional: float) -> Coordinates:
        """Means and scales from the observed values of a training table; censored times count with their bound."""
        layout = recorded.layout
        mean, scale, fixed = (np.empty(layout.n_statistics) for _ in range(3))
        for block, lower, upper in zip(layout.blocks, recorded.lower, recorded.upper, strict=True):
            is_time = isinstance(block.unit, TruncatedGamma)
            values = np.clip(lower, 1e-4, 1.0) if is_time else np.where(lower == upper, lower, np.nan)
            statistics = block.unit.statistics(values)
            missing = np.isnan(values)
            statistics[missing] = np.nan
            with np.errstate(invalid="ignore"):
                m, s = _mean_and_scale(statistics.reshape(len(values), -1))
            mean[block.statistics], scale[block.statistics] = m, s
            start = block.unit.initial_parameters(values, 0, np.random.default_rng(0))
            if is_time:
                start["c"][...] = 0.0
            fixed[block.statistics] = block.unit.canonical(start).bias.reshape(-1)
        endpoint = np.zeros(layout.n_statistics, dtype=bool)
        endpoint[layout.blocks[-1].statistics] = True
        return cls(layout, n_hidden, mean, scale, endpoint if conditional == 1.0 else np.ones_like(endpoint), fixed)

    # --- which statistic is what ---

    @cached_property
    def coupled(self) -> NDArray[np.bool_]:
        """Statistics with couplings."""
        return np.concatenate([np.array(unit.coupled) for unit in self.layout.units])

    @cached_property
    def shapes(self) -> NDArray[np.int64]:
        """Statistics -ln x of event times."""
        return np.array([o + 1 for o, u in zip(self.layout.offsets, self.layout.units, strict=False) if isinstance(u, TruncatedGamma)])

    @cached_property
    def precisions(self) -> NDArray[np.int64]:
        """Statistics x^2 of Gaussian columns."""
        return np.array([o + 1 for o, u in zip(self.layout.offsets, self.layout.units, strict=False) if isinstance(u, Gaussian)], dtype=int)

    @cached_property
    def of_time(self) -> NDArray[np.bool_]:
        """Coupled statistics that belong to endpoints, among the coupled ones."""
        time = np.zeros(self.layout.n_statistics, dtype=bool)
        time[self.layout.blocks[-1].statistics] = True
        return time[self.coupled]

    @cached_property
    def _centred(self) -> NDArray[np.bool_]:
        """Statistics whose bias absorbs half of their couplings; not where the bias has a bound."""
        centred = self.coupled.copy()
        centred[self.shapes] = False
        return centred

    # --- the map and its adjoint ---

    @cached_property
    def _places(self) -> _Places:
        coupled, learned = np.flatnonzero(self.coupled), np.flatnonzero(self.learned_bias)
        rates = self.shapes - 1
        return _Places(
            coupled,
            learned,
            np.flatnonzero(self._centred & self.learned_bias),
            rates,
            1.0 / self.scale[coupled, None],
            1.0 / self.scale[learned],
            1.0 / self.mean[rates],
        )

    @cached_property
    def n_couplings(self) -> int:
        """Statistics with couplings."""
        return int(self.coupled.sum())

    @property
    def size(self) -> int:
        """Length of z."""
        return self.n_hidden * (1 + self.n_couplings) + int(self.learned_bias.sum())

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """Hidden biases, couplings (coupled statistics by hidden units) and learned biases."""
        end = self.n_hidden * (1 + self.n_couplings)
        return z[: self.n_hidden], z[self.n_hidden : end].reshape(self.n_couplings, self.n_hidden), z[end:]

    def to_natural(self, z: Array) -> Natural:
        """The natural parameters at z (eq. 15)."""
        hidden, couplings, biases = self.split(z)
        at = self._places
        coupling = np.zeros((self.layout.n_statistics, self.n_hidden))
        coupling[at.coupled] = couplings * at.coupling_unit
        bias = self.fixed_bias.copy()
        bias[at.learned] = biases * at.bias_unit
        coupling[at.rates] += at.shear[:, None] * coupling[self.shapes]
        bias[at.rates] += at.shear * bias[self.shapes]
        bias[at.centred] -= 0.5 * coupling[at.centred].sum(axis=1)
        return Natural(bias, coupling, hidden - self.mean @ coupling, 0.0)

    def from_natural(self, natural: Natural) -> Array:
        """The z of some natural parameters, cut to the bounds."""
        at = self._places
        bias, coupling = natural.bias.copy(), natural.coupling.copy()
        hidden = natural.hidden_bias + self.mean @ coupling
        bias[at.centred] += 0.5 * coupling[at.centred].sum(axis=1)
        coupling[at.rates] -= at.shear[:, None] * coupling[self.shapes]
        bias[at.rates] -= at.shear * bias[self.shapes]
        z = np.concatenate([hidden, (coupling[at.coupled] / at.coupling_unit).ravel(), bias[at.learned] / at.bias_unit])
        clipped: Array = np.clip(z, *self.bounds())
        return clipped

    def pull_back(self, gradient: Natural) -> Array:
        """The gradient by z."""
        at = self._places
        coupling = gradient.coupling - self.mean[:, None] * gradient.hidden_bias
        coupling[at.centred] -= 0.5 * gradient.bias[at.centred, None]
        bias = gradient.bias.copy()
        coupling[self.shapes] += at.shear[:, None] * coupling[at.rates]
        bias[self.shapes] += at.shear * bias[at.rates]
        couplings = coupling[at.coupled] * at.coupling_unit
        return np.concatenate([gradient.hidden_bias, couplings.ravel(), bias[at.learned] * at.bias_unit])

    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest z."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        _, low_couplings, low_biases = self.split(low)
        _, high_couplings, high_biases = self.split(high)
        among_coupled = np.cumsum(self.coupled) - 1
        among_learned = np.cumsum(self.learned_bias) - 1
        for v in self.shapes:
            low_couplings[among_coupled[v]], high_couplings[among_coupled[v]] = 0.0, _LARGEST_SHAPE * self.scale[v]
            low_biases[among_learned[v]], high_biases[among_learned[v]] = 0.0, _LARGEST_SHAPE * self.scale[v]
        for p in self.precisions[self.learned_bias[self.precisions]]:
            low_biases[among_learned[p]], high_biases[among_learned[p]] = (bound * self.scale[p] for bound in _PRECISIONS)
        return low, high


def _mean_and_scale(statistics: Array) -> tuple[Array, Array]:
    """By column, ignoring NaN; a column without spread or without values has scale 1."""
    seen = np.isfinite(statistics)
    n = np.maximum(seen.sum(axis=0), 1)
    filled = np.where(seen, statistics, 0.0)
    mean = filled.sum(axis=0) / n
    scale = np.sqrt(np.where(seen, (filled - mean) ** 2, 0.0).sum(axis=0) / n)
    return mean, np.where(scale > 1e-8, scale, 1.0)
