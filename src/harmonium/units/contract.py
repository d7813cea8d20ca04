r"""What every visible unit offers; everything above sees units only through this.

Given the hidden state, a visible variable x has the density (eq. 3)

.. math:: p(x \mid h) \propto e^{-\theta \cdot s(x)}, \qquad \theta = A + C h,

with statistics s(x) and *natural parameters* :math:`\theta` that are affine in h. A unit says what its statistics are,
integrates and averages over a constraint, and translates its own parameters (those of the paper) to A and C and back.

A constraint is a pair (lower, upper): equal for a **point**, lower < upper for the **interval** lower < x <= upper, and NaN
for a cell that is **free**. Discrete units read an interval as the set of levels inside it. Arrays of natural parameters carry
the statistics on their last axis; everything else broadcasts.

Beside that a unit *declares* what layers above would otherwise have to know about it: its own parameters with their bounds
(:class:`Parameter`), and how each natural parameter follows from them (:class:`NaturalParameter`). Which columns are outcomes is not a
unit's business; the layout says so.

To add a unit, write one file with a class that satisfies :class:`Unit`, derived from :class:`UnitDefaults`, and two compiled functions,
``write_statistics`` and ``draw``, and register it in :mod:`harmonium.units.registry`; the contract test then covers it.
docs/add_a_unit.md does so step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from harmonium.typing import Array, Booleans

__all__ = [
    "Canonical",
    "NaturalParameter",
    "NaturalTerm",
    "Parameter",
    "ParameterBlock",
    "ParameterShapes",
    "Unit",
    "UnitDefaults",
    "broadcast_cells",
    "repeated_levels",
]

ParameterBlock = dict[str, Array]
ParameterShapes = dict[str, tuple[int, ...]]

_MOST_REPEATED = 100_000.0


@dataclass(frozen=True)
class Parameter:
    """One of a unit's own parameters: what it is called, its shape and where it may lie.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Axes that one column's parameter has besides that of hidden units; one for each level, for example.
    couples : bool
        Acts on hidden units, which are then its last axis.
    penalised : bool
        Trainers that penalise the unit's own parameters penalise this one.
    lowest : float
        Values below are refused.
    exclusive : bool
        ``lowest`` itself is refused as well.
    floor : float, optional
        Where training by small steps stops; by default at ``lowest``.
    paper_name : str, optional
        What the paper calls it, if the paper has it.

    Examples
    --------
    >>> Parameter("scale", lowest=0.0, exclusive=True, floor=0.05).refusal(np.array([1.0, -2.0]))
    'scale must be above 0; found -2'
    """

    name: str
    shape: tuple[int, ...] = ()
    couples: bool = False
    penalised: bool = False
    lowest: float = -inf
    exclusive: bool = False
    floor: float | None = None
    paper_name: str | None = None

    @property
    def smallest(self) -> float:
        """The smallest value that training by small steps may reach."""
        return self.lowest if self.floor is None else self.floor

    def refusal(self, values: Array) -> str | None:
        """Why some values cannot be this parameter's, or None."""
        finite = np.isfinite(values)
        if not finite.all():
            return f"parameters must be finite; found {values[~finite][0]} in {self.name}"
        least = values.min(initial=inf)
        if least < self.lowest or (self.exclusive and least <= self.lowest):
            return f"{self.name} must be {'above' if self.exclusive else 'at least'} {self.lowest:g}; found {least:g}"
        return None


class NaturalTerm(NamedTuple):
    """A part of a natural parameter: coefficient * own parameter * scale^power; without a name the own parameter is 1.

    ``place`` is the position on the own parameter's axis of levels, if it has one.
    """

    coefficient: float
    name: str | None
    place: int = 0
    power: int = 0


@dataclass(frozen=True)
class NaturalParameter:
    """How the natural parameter of one statistic follows from the unit's own parameters, and where it may lie.

    Attributes
    ----------
    bias : NaturalTerm
        The part that does not depend on hidden units.
    coupling : NaturalTerm or None
        The part that hidden units add; None if they do not act on this statistic.
    scale : str, optional
        The own parameter whose powers multiply both.
    bias_bounds, coupling_bounds : tuple of float
        Where the exact trainer keeps them. A bias without bounds absorbs half of its couplings there, so that a coupling moves no mean.
    compensated_by : int, optional
        The statistic of this unit whose natural parameter is measured from the one that keeps the column's mean where it is when
        this one grows (eq. 15). It must have no bounds.
    """

    bias: NaturalTerm
    coupling: NaturalTerm | None
    scale: str | None = None
    bias_bounds: tuple[float, float] = (-inf, inf)
    coupling_bounds: tuple[float, float] = (-inf, inf)
    compensated_by: int | None = None

    @property
    def centred(self) -> bool:
        """Whether the bias absorbs half of the couplings."""
        return self.coupling is not None and self.bias_bounds == (-inf, inf)


class Canonical(NamedTuple):
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
    def parameters(self) -> tuple[Parameter, ...]:
        """The unit's own parameters, in the order in which they stand in a vector."""

    @property
    def natural_parameters(self) -> tuple[NaturalParameter, ...]:
        """One for each statistic: how it follows from the own parameters."""

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

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """Translate a block's own parameters to natural ones (eq. 3)."""

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """Translate a gradient by the natural parameters to one by the own parameters."""

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """The inverse of ``canonical``; the constant is not needed."""

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """The paper's start for a block of columns, from their observed values (rows, columns), NaN where not observed."""

    # --- what follows from the above, or has a default in UnitDefaults ---

    @property
    def n_statistics(self) -> int:
        """Length of s(x)."""

    @property
    def coupled(self) -> tuple[bool, ...]:
        """Which statistics couple to the hidden units."""

    def parameter_shapes(self, n_hidden: int) -> ParameterShapes:
        """Names and shapes of one column's own parameters."""

    def representative_values(self, lower: Array, upper: Array) -> Array:
        """A value for each cell, from which means and scales of statistics are taken; NaN where there is none."""

    def neutral_parameters(self, values: Array, counts: Array | float = 1.0) -> ParameterBlock:
        """The start without hidden units and without chance, from representative values.

        ``counts`` says for how many rows each value stands. Of a table on several machines a discrete unit gets every level with its
        count, any other the mean of the values.
        """

    def nodes(self, bias: Array, coupling: Array) -> Array:
        """Values over which a sum stands for the sum or integral over all, for natural parameters; none if there is no such rule."""

    def wide_start(self, n_hidden: int, rng: np.random.Generator) -> Array:
        """Random natural couplings (statistics, hidden units) of an outcome, where the exact trainer begins."""


class UnitDefaults:
    """What follows from a unit's declarations, and what most units need not say."""

    @property
    def n_statistics(self: Unit) -> int:
        """As many as there are natural parameters."""
        return len(self.natural_parameters)

    @property
    def coupled(self: Unit) -> tuple[bool, ...]:
        """Those whose natural parameter has a coupling."""
        return tuple(natural.coupling is not None for natural in self.natural_parameters)

    def parameter_shapes(self: Unit, n_hidden: int) -> ParameterShapes:
        """From the declared parameters."""
        return {own.name: (*own.shape, n_hidden) if own.couples else own.shape for own in self.parameters}

    def representative_values(self, lower: Array, upper: Array) -> Array:
        """What was observed."""
        return np.where(lower == upper, lower, np.nan)

    def neutral_parameters(self: Unit, values: Array, counts: Array | float = 1.0) -> ParameterBlock:
        """The initial parameters."""
        expanded = repeated_levels(values, np.broadcast_to(counts, values.shape)) if self.discrete else values
        return self.initial_parameters(expanded, 0, np.random.default_rng(0))

    def nodes(self: Unit, bias: Array, coupling: Array) -> Array:
        """All levels; none of a number."""
        return np.arange(self.domain[1] - self.domain[0]) if self.discrete else np.empty(0)

    def wide_start(self: Unit, n_hidden: int, rng: np.random.Generator) -> Array:
        """Couplings near 0."""
        coupling: Array = rng.normal(0.0, 0.3, (self.n_statistics, n_hidden)) * np.array(self.coupled)[:, None]
        return coupling


def repeated_levels(values: Array, counts: Array) -> Array:
    """A table in which every level occurs as often as it is counted, or in proportion if that would be more than 100,000 rows.

    Examples
    --------
    >>> repeated_levels(np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])).ravel()
    array([0., 1., 1.])
    """
    if (counts == 1.0).all():
        return values
    total = counts.sum(axis=0)
    times = np.rint(counts * np.minimum(1.0, _MOST_REPEATED / np.maximum(total, 1.0))).astype(np.int64)
    out = np.full((int(times.sum(axis=0).max(initial=0)), values.shape[1]), np.nan)
    for column, number in enumerate(times.T):
        out[: number.sum(), column] = np.repeat(values[:, column], number)
    return out


def broadcast_cells(unit: Unit, natural: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array, Booleans]:
    """Bring parameters and constraints to one shape, free cells to the whole domain; tell which cells are points."""
    shape = np.broadcast_shapes(natural.shape[:-1], np.shape(lower), np.shape(upper))
    natural = np.broadcast_to(natural, (*shape, natural.shape[-1]))
    lower, upper = np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)
    free = np.isnan(lower)
    lowest, highest = unit.domain
    lower = np.where(free, lowest, np.maximum(lower, lowest))
    upper = np.where(free, highest, np.minimum(upper, highest))
    return natural, lower, upper, lower == upper
