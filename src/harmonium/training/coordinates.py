r"""Coordinates in which the objective is well conditioned.

The optimiser moves a vector z; the natural parameters are a linear function of it, chosen so that directions which the data
barely tell apart become separate and of equal scale:

* statistics are scaled by their standard deviation;
* statistics are centred (into the hidden biases) and so are hidden units (into the visible biases): a coupling then moves no mean;
* where a unit says that one statistic compensates for another, its natural parameter is measured from the one that keeps the mean where
  it is: the rate of an event time from shape / mean(x), for example.

Couplings in these coordinates are what the penalties act on: effects of a standard deviation, whatever the column's unit. Bounds are
those that the units declare (:class:`harmonium.units.contract.NaturalParameter`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Natural
from harmonium.numerics.compilation import compiled
from harmonium.training.statistics import StatisticsSummary
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.contract import NaturalParameter

__all__ = ["Coordinates", "Places", "write_gradient", "write_natural"]

_NO_MEAN = 1e-3  # of a time of which nothing is known, or only that the event came before some time: then the mean is no time of events


class Places(NamedTuple):
    """Statistics by role, the units of z, and how much of a compensated statistic goes to the one that compensates for it."""

    coupled: Integers
    learned: Integers
    centred: Integers
    compensated: Integers
    compensating: Integers
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
        Covariates' biases are not learned if only the conditional likelihood counts, which does not depend on them, nor those of a time
        of which no row says anything.
    fixed_bias : ndarray of shape (n_statistics,)
        Values of the others.
    """

    layout: Layout
    n_hidden: int
    mean: Array
    scale: Array
    learned_bias: Booleans
    fixed_bias: Array

    @classmethod
    def of_data(cls, recorded: Cells, n_hidden: int, conditional: float) -> Coordinates:
        """Means and scales from the representative values of a training table's cells."""
        return cls.of_statistics(recorded.layout, StatisticsSummary.of(recorded), n_hidden, conditional)

    @classmethod
    def of_statistics(cls, layout: Layout, data: StatisticsSummary, n_hidden: int, conditional: float) -> Coordinates:
        """Means and scales from a summary of a training table's statistics."""
        fixed = np.empty(layout.n_statistics)
        for block, values, counts in zip(layout.blocks, data.values, data.counts, strict=True):
            fixed[block.statistics] = block.unit.canonical(block.unit.neutral_parameters(values, counts)).bias.reshape(-1)
        learned = data.n > 0  # of a duration that nobody was observed in, nothing is
        if conditional == 1.0:
            learned[: layout.outcome_statistics.start] = False
        return cls(layout, n_hidden, data.mean, data.scale, learned, fixed)

    # --- which statistic is what ---

    @cached_property
    def _declared(self) -> tuple[NaturalParameter, ...]:
        """What the columns' units declare, one for each statistic."""
        return tuple(natural for unit in self.layout.units for natural in unit.natural_parameters)

    @cached_property
    def coupled(self) -> Booleans:
        """Statistics with couplings."""
        return np.array([natural.coupling is not None for natural in self._declared], dtype=bool)

    @cached_property
    def of_outcomes(self) -> Booleans:
        """Coupled statistics that belong to outcomes, among the coupled ones."""
        outcome = np.zeros(self.layout.n_statistics, dtype=bool)
        outcome[self.layout.outcome_statistics] = True
        return outcome[self.coupled]

    # --- the map and its adjoint ---

    @cached_property
    def places(self) -> Places:
        """For compiled code: where everything is."""
        coupled, learned = np.flatnonzero(self.coupled), np.flatnonzero(self.learned_bias)
        centred = np.array([natural.centred for natural in self._declared], dtype=bool)
        pairs = [
            (first + place, first + natural.compensated_by)
            for first, unit in zip(self.layout.offsets[:-1], self.layout.units, strict=True)
            for place, natural in enumerate(unit.natural_parameters)
            if natural.compensated_by is not None
        ]
        # without steps in memory, for which kernels would be compiled again
        compensated, compensating = np.ascontiguousarray(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
        return Places(
            coupled,
            learned,
            np.flatnonzero(centred & self.learned_bias),
            compensated,
            compensating,
            1.0 / self.scale[coupled],
            1.0 / self.scale[learned],
            1.0 / np.where(self.mean[compensating] < _NO_MEAN, 1.0, self.mean[compensating]),
        )

    @cached_property
    def n_couplings(self) -> int:
        """Statistics with couplings."""
        return int(self.coupled.sum())

    @cached_property
    def size(self) -> int:
        """Length of z."""
        return self.n_hidden * (1 + self.n_couplings) + int(self.learned_bias.sum())

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """Hidden biases, couplings (coupled statistics by hidden units) and learned biases."""
        end = self.n_hidden * (1 + self.n_couplings)
        return z[: self.n_hidden], z[self.n_hidden : end].reshape(self.n_couplings, self.n_hidden), z[end:]

    def to_natural(self, z: Array) -> Natural:
        """The natural parameters at z (eq. 15)."""
        bias, coupling = self.fixed_bias.copy(), np.zeros((self.layout.n_statistics, self.n_hidden))
        hidden = np.empty(self.n_hidden)
        write_natural(z, self.places, self.mean, bias, coupling, hidden)
        return Natural(bias, coupling, hidden, 0.0)

    def from_natural(self, natural: Natural) -> Array:
        """The z of some natural parameters, cut to the bounds."""
        at = self.places
        bias, coupling = natural.bias.copy(), natural.coupling.copy()
        hidden = natural.hidden_bias + self.mean @ coupling
        bias[at.centred] += 0.5 * coupling[at.centred].sum(axis=1)
        coupling[at.compensating] -= at.shear[:, None] * coupling[at.compensated]
        bias[at.compensating] -= at.shear * bias[at.compensated]
        z = np.concatenate([hidden, (coupling[at.coupled] / at.coupling_unit[:, None]).ravel(), bias[at.learned] / at.bias_unit])
        clipped: Array = np.clip(z, *self.bounds())
        return clipped

    def pull_back(self, gradient: Natural) -> Array:
        """The gradient by z."""
        out = np.empty(self.size)
        write_gradient(gradient.bias.copy(), gradient.coupling.copy(), gradient.hidden_bias, self.places, self.mean, out)
        return out

    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest z."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        at, out = self.places, []
        for side, infinity in enumerate((-np.inf, np.inf)):
            bound = np.full(self.size, infinity)
            _, couplings, biases = self.split(bound)
            couplings[:] = (np.array([natural.coupling_bounds[side] for natural in self._declared]) * self.scale)[at.coupled, None]
            biases[:] = (np.array([natural.bias_bounds[side] for natural in self._declared]) * self.scale)[at.learned]
            out.append(bound)
        return out[0], out[1]

    def within_bounds(self, z: Array) -> Array:
        """Cut to the bounds."""
        return np.asarray(np.clip(z, *self.bounds()))

    def neutral_biases(self) -> Array:
        """The learned biases of columns that are coupled to nothing."""
        biases: Array = (self.fixed_bias * self.scale)[self.places.learned]
        return biases

    def couplings_of_outcomes(self, natural: Array) -> Array:
        """The couplings, as they are in z, of natural couplings (outcomes' statistics, hidden units)."""
        at = self.places
        whole = np.zeros((self.layout.n_statistics, self.n_hidden))
        whole[self.layout.outcome_statistics] = natural
        whole[at.compensating] -= at.shear[:, None] * whole[at.compensated]
        couplings: Array = (whole * self.scale[:, None])[at.coupled][self.of_outcomes]
        return couplings


@compiled()
def write_natural(z: Array, at: Places, mean: Array, bias: Array, coupling: Array, hidden: Array) -> None:
    """Fill in natural parameters (eq. 15); ``bias`` holds the fixed ones, ``coupling`` zeros."""
    n_hidden = hidden.size
    start = n_hidden
    for k in range(at.coupled.size):
        for j in range(n_hidden):
            coupling[at.coupled[k], j] = z[start + j] * at.coupling_unit[k]
        start += n_hidden
    for k in range(at.learned.size):
        bias[at.learned[k]] = z[start + k] * at.bias_unit[k]
    for k in range(at.compensated.size):
        source, target = at.compensated[k], at.compensating[k]
        bias[target] += at.shear[k] * bias[source]
        for j in range(n_hidden):
            coupling[target, j] += at.shear[k] * coupling[source, j]
    for d in at.centred:
        for j in range(n_hidden):
            bias[d] -= 0.5 * coupling[d, j]
    for j in range(n_hidden):
        hidden[j] = z[j]
    for d in range(mean.size):
        for j in range(n_hidden):
            hidden[j] -= mean[d] * coupling[d, j]


@compiled()
def write_gradient(bias: Array, coupling: Array, hidden: Array, at: Places, mean: Array, out: Array) -> None:
    """The adjoint of :func:`write_natural`; ``bias`` and ``coupling`` are used up."""
    n_hidden = hidden.size
    for d in range(mean.size):
        for j in range(n_hidden):
            coupling[d, j] -= mean[d] * hidden[j]
    for d in at.centred:
        for j in range(n_hidden):
            coupling[d, j] -= 0.5 * bias[d]
    for k in range(at.compensated.size):
        source, target = at.compensated[k], at.compensating[k]
        bias[source] += at.shear[k] * bias[target]
        for j in range(n_hidden):
            coupling[source, j] += at.shear[k] * coupling[target, j]
    for j in range(n_hidden):
        out[j] = hidden[j]
    start = n_hidden
    for k in range(at.coupled.size):
        for j in range(n_hidden):
            out[start + j] = coupling[at.coupled[k], j] * at.coupling_unit[k]
        start += n_hidden
    for k in range(at.learned.size):
        out[start + k] = bias[at.learned[k]] * at.bias_unit[k]
