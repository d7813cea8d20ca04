r"""Bernoulli: a yes/no covariate.

:math:`p(x \mid h) \propto e^{-x z}` for x in {0, 1}, with :math:`z = a + W h` (docs/model.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log1p
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential
from harmonium.numerics.streams import open_uniform
from harmonium.typing import Array
from harmonium.units.contract import Canonical, NaturalParameter, NaturalTerm, Parameter, ParameterBlock, UnitDefaults, broadcast_cells
from harmonium.units.free_cells import all_free

__all__ = ["Bernoulli", "draw", "integrate", "write_statistics"]


@compiled()
def write_statistics(x: Array, out: Array, first: int, last: int) -> None:
    """The statistic is x itself."""
    for i in range(x.size):
        out[first, i] = x[i]


@compiled(inline=True)
def _draw_free(z: float, streams: NDArray[np.uint64], i: int) -> float:
    return 1.0 if open_uniform(streams, i) * (1.0 + exponential(z)) < 1.0 else 0.0


@compiled()
def draw(natural: Array, first: int, last: int, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> None:
    """0 or 1, whichever of the two lies in (lower, upper]."""
    if all_free(lower, upper, -1.0, 1.0):
        for i in range(out.size):
            out[i] = _draw_free(natural[first, i], streams, i)
        return
    for i in range(out.size):
        if lower[i] == upper[i]:
            continue
        if not lower[i] < 0.0:
            out[i] = 1.0
        elif upper[i] < 1.0:
            out[i] = 0.0
        else:
            out[i] = _draw_free(natural[first, i], streams, i)


@compiled()
def integrate(natural: Array, first: int, last: int, lower: float, upper: float, log_mass: Array, means: Array, place: int) -> None:
    """A cell that admits 0, 1 or both (eq. 5 and eq. 12)."""
    may_be_0, may_be_1 = lower < 0.0, upper >= 1.0
    for i in range(log_mass.size):
        z = natural[first, i]
        if may_be_0 and may_be_1:
            small = exp(-abs(z))
            log_mass[i] = max(-z, 0.0) + log1p(small)
            means[place, i] = (small if z > 0.0 else 1.0) / (1.0 + small)
        else:
            log_mass[i] = 0.0 if may_be_0 else -z
            means[place, i] = 0.0 if may_be_0 else 1.0


@dataclass(frozen=True)
class Bernoulli(UnitDefaults):
    """A variable in {0, 1}; parameters W (coupling) and a (bias)."""

    name: ClassVar[str] = "bernoulli"
    discrete: ClassVar[bool] = True
    tabulated: ClassVar[bool] = False
    domain: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("W", couples=True, penalised=True, paper_name="W_A"),
        Parameter("a", paper_name="a_A"),
    )
    natural_parameters: ClassVar[tuple[NaturalParameter, ...]] = (NaturalParameter(NaturalTerm(1.0, "a"), NaturalTerm(1.0, "W")),)

    def statistics(self, x: Array) -> Array:
        """X along a new last axis."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_mass(self, natural: Array, lower: Array, upper: Array) -> Array:
        """ln(1 + e^-z) when free (eq. 5)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        z = natural[..., 0]
        no = np.where(lower < 0.0, 0.0, -np.inf)
        yes = np.where(upper >= 1.0, -z, -np.inf)
        return np.where(point, -lower * z, np.logaddexp(no, yes))

    def mean_statistics(self, natural: Array, lower: Array, upper: Array) -> Array:
        """The probability of 1 under the constraint (eq. 12)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        z = natural[..., 0]
        yes = np.where(upper < 1.0, 0.0, np.where(lower < 0.0, 0.5 - 0.5 * np.tanh(0.5 * z), 1.0))
        return np.where(point, lower, yes)[..., None]

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """Z = a + W h."""
        return Canonical(parameters["a"][:, None], parameters["W"][:, None, :], 0.0)

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """The gradient by W and a."""
        return {"W": gradient.coupling[:, 0, :], "a": gradient.bias[:, 0]}

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """W and a."""
        return {"W": natural.coupling[:, 0, :], "a": natural.bias[:, 0]}

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """Small normal W; a such that the mean is the data's, kept off 0 and 1 by half an observation."""
        return {"W": rng.normal(0.0, 0.01, (values.shape[1], n_hidden)), "a": _bias(values, 1.0)}

    def neutral_parameters(self, values: Array, counts: Array | float = 1.0) -> ParameterBlock:
        """No W; a as above."""
        return {"W": np.empty((values.shape[1], 0)), "a": _bias(values, counts)}


def _bias(values: Array, counts: Array | float) -> Array:
    """By column, such that the mean is that of the values."""
    observed = np.isfinite(values)
    share = ((np.where(observed, values, 0.0) * counts).sum(axis=0) + 0.5) / ((observed * counts).sum(axis=0) + 1.0)
    out: Array = np.log((1.0 - share) / share)
    return out
