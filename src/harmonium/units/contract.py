r"""What every visible unit offers; everything above sees units only through this.

Given the hidden state, a visible variable x has the density (eq. 3)

.. math:: p(x \mid h) \propto e^{-\theta \cdot s(x)}, \qquad \theta = A + C h,

with statistics s(x) and *natural parameters* :math:`\theta` that are affine in h. A unit says what its statistics are,
integrates and averages over a constraint, and translates its own parameters (those of the paper) to A and C and back.

A constraint is a pair (lower, upper): equal for a **point**, lower < upper for the **interval** lower < x <= upper, and NaN
for a cell that is **free**. Discrete units read an interval as the set of levels inside it. Arrays of natural parameters carry
the statistics on their last axis; everything else broadcasts.

To add a unit, write one file with a class that satisfies :class:`Unit` and two compiled functions, ``write_statistics`` and
``draw``, and register it in :mod:`harmonium.units.registry`; the contract test then covers it. docs/add_a_unit.md does so step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from harmonium.typing import Array

__all__ = ["Canonical", "NaturalTerm", "ParameterBlock", "ParameterShapes", "Unit", "broadcast_cells"]

ParameterBlock = dict[str, Array]
ParameterShapes = dict[str, tuple[int, ...]]


class NaturalTerm(NamedTuple):
    """A natural parameter as coefficient * own parameter * sigma^power; without a name the own parameter is 1.

    ``place`` is the position on the own parameter's axis of levels, if it has one.
    """

    coefficient: float
    name: str | None
    place: int = 0
    power: int = 0


@dataclass(frozen=True)
class Canonical:
    """Natural parameters of a block of columns (or a gradient by them): A, C and the constant part of the energy.

    ``bias`` has shape (columns, statistics) and ``coupling`` (columns, statistics, hidden units).
    """

    bias: Array
    coupling: Array
    constant: float


class Unit(Protocol):
    """A kind of visible variable: an immutable value; equal units may share a block of columns."""

    @property
    def name(self) -> str:
        """What the unit is called in messages and files."""

    @property
    def domain(self) -> tuple[float, float]:
        """(lower, upper]: an interval that covers it says nothing."""

    @property
    def n_statistics(self) -> int:
        """Length of s(x)."""

    @property
    def coupled(self) -> tuple[bool, ...]:
        """Which statistics couple to the hidden units."""

    @property
    def discrete(self) -> bool:
        """True if values are whole numbers (levels)."""

    @property
    def tabulated(self) -> bool:
        """True for a continuous unit on (0, 1] whose cells are mostly distinct intervals, as event times are.

        Their integrals are shared on a grid of panels (:mod:`harmonium.engine.panels`); other units pay one integral for each
        distinct interval and hidden state.
        """

    def statistics(self, x: Array) -> Array:
        """s(x), along a new last axis."""

    def log_mass(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Ln of the sum or integral of e^(-theta s(x)) over the constraint; -theta s(x) at a point (eq. 5)."""

    def mean_statistics(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Mean of s(x) under the constraint: minus the gradient of the log mass by theta (eq. 12)."""

    def parameter_shapes(self, n_hidden: int) -> ParameterShapes:
        """Names and shapes of one column's own parameters."""

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """Translate a block's own parameters to natural ones (eq. 3)."""

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """Translate a gradient by the natural parameters to one by the own parameters."""

    @property
    def natural_terms(self) -> tuple[tuple[NaturalTerm, NaturalTerm | None], ...]:
        """How bias and coupling of each statistic follow from the own parameters, for compiled code; None if not coupled."""

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """The inverse of ``canonical``; the constant is not needed."""

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """The paper's start for a block of columns, from their observed values (rows, columns), NaN where not observed."""


def broadcast_cells(unit: Unit, natural: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Bring parameters and constraints to one shape, free cells to the whole domain; tell which cells are points."""
    shape = np.broadcast_shapes(natural.shape[:-1], np.shape(lower), np.shape(upper))
    natural = np.broadcast_to(natural, (*shape, natural.shape[-1]))
    lower, upper = np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)
    free = np.isnan(lower)
    lowest, highest = unit.domain
    lower = np.where(free, lowest, np.maximum(lower, lowest))
    upper = np.where(free, highest, np.minimum(upper, highest))
    return natural, lower, upper, lower == upper
