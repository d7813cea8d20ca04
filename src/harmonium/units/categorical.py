r"""Categorical: a covariate with one of L unordered levels.

:math:`p(x = l \mid h) \propto e^{-(a_l + W_l h)}` for levels 0, ..., L-1; the statistic is the one-hot code of x, so that a
missing category is always drawn as exactly one level (docs/model.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from harmonium.numerics.compilation import compiled
from harmonium.numerics.streams import open_uniform
from harmonium.typing import Array
from harmonium.units.contract import Canonical, NaturalParameter, NaturalTerm, Parameter, ParameterBlock, UnitDefaults, broadcast_cells

__all__ = ["Categorical", "draw", "integrate", "write_statistics"]


@compiled()
def write_statistics(x: Array, out: Array, first: int, last: int) -> None:
    """The one-hot code of level x."""
    for place in range(first, last):
        for i in range(x.size):
            out[place, i] = 1.0 if x[i] == place - first else 0.0


@compiled()
def _draw_level(natural: Array, first: int, last: int, lower: float, upper: float, streams: NDArray[np.uint64], i: int) -> float:
    lowest = inf
    for level in range(last - first):
        if lower < level <= upper:
            lowest = min(lowest, natural[first + level, i])
    total = 0.0
    for level in range(last - first):
        if lower < level <= upper:
            total += exp(lowest - natural[first + level, i])
    remaining = open_uniform(streams, i) * total
    chosen = -1
    for level in range(last - first):
        if lower < level <= upper:
            chosen = level
            remaining -= exp(lowest - natural[first + level, i])
            if remaining < 0.0:
                break
    return float(chosen)


@compiled()
def draw(natural: Array, first: int, last: int, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> None:
    """A level in (lower, upper]."""
    for i in range(out.size):
        if lower[i] != upper[i]:
            out[i] = _draw_level(natural, first, last, lower[i], upper[i], streams, i)


@compiled()
def integrate(natural: Array, first: int, last: int, lower: float, upper: float, log_mass: Array, means: Array, place: int) -> None:
    """A cell that admits the levels in (lower, upper] (eq. 5 and eq. 12)."""
    for i in range(log_mass.size):
        highest = -inf
        for level in range(last - first):
            if lower < level <= upper:
                highest = max(highest, -natural[first + level, i])
        total = 0.0
        for level in range(last - first):
            admitted = lower < level <= upper
            weight = exp(-natural[first + level, i] - highest) if admitted else 0.0
            means[place + level, i] = weight
            total += weight
        for level in range(last - first):
            means[place + level, i] /= total
        log_mass[i] = highest + log(total)


@dataclass(frozen=True)
class Categorical(UnitDefaults):
    """A variable with ``n_levels`` levels; parameters W (coupling of each level) and a (bias of each level)."""

    n_levels: int
    name: ClassVar[str] = "categorical"
    discrete: ClassVar[bool] = True
    tabulated: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_levels < 2:
            raise ValueError(f"a categorical unit needs at least 2 levels; got {self.n_levels}")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Each level has its own a and W."""
        return Parameter("W", (self.n_levels,), couples=True, penalised=True), Parameter("a", (self.n_levels,))

    @cached_property
    def natural_parameters(self) -> tuple[NaturalParameter, ...]:
        """One for each level."""
        levels = range(self.n_levels)
        return tuple(NaturalParameter(NaturalTerm(1.0, "a", level), NaturalTerm(1.0, "W", level)) for level in levels)

    @property
    def domain(self) -> tuple[float, float]:
        """All levels."""
        return (-1.0, self.n_levels - 1.0)

    def statistics(self, x: Array) -> Array:
        """The one-hot code along a new last axis."""
        return np.equal(np.asarray(x)[..., None], np.arange(self.n_levels)).astype(np.float64)

    def _log_weights(self, natural: Array, lower: Array, upper: Array) -> Array:
        """-theta of the levels that the constraint admits, -inf of the others."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        level = np.arange(self.n_levels)
        lower, upper, point = lower[..., None], upper[..., None], point[..., None]
        admitted = np.where(point, level == lower, (lower < level) & (level <= upper))
        log_weights: Array = np.where(admitted, -natural, -np.inf)
        return log_weights

    def log_mass(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Ln of the sum of e^-theta over the admitted levels (eq. 5)."""
        return np.asarray(logsumexp(self._log_weights(natural, lower, upper), axis=-1))

    def mean_statistics(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Probabilities of the levels under the constraint (eq. 12)."""
        return np.asarray(softmax(self._log_weights(natural, lower, upper), axis=-1))

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """theta_l = a_l + W_l h."""
        return Canonical(parameters["a"], parameters["W"], 0.0)

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """The gradient by W and a."""
        return {"W": gradient.coupling, "a": gradient.bias}

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """W and a."""
        return {"W": natural.coupling, "a": natural.bias}

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """Small normal W; a from the levels' frequencies, none of them zero."""
        bias = self._bias(values, 1.0)
        return {"W": rng.normal(0.0, 0.01, (*bias.shape, n_hidden)), "a": bias}

    def neutral_parameters(self, values: Array, counts: Array | float = 1.0) -> ParameterBlock:
        """No W; a as above."""
        bias = self._bias(values, counts)
        return {"W": np.empty((*bias.shape, 0)), "a": bias}

    def _bias(self, values: Array, counts: Array | float) -> Array:
        number = np.broadcast_to(counts, values.shape)[..., None]
        total = ((values[..., None] == np.arange(self.n_levels)) * number).sum(axis=0) + 0.5
        out: Array = -np.log(total / total.sum(axis=-1, keepdims=True))
        return out
