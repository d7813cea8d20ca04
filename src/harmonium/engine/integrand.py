r"""The integrand of rows that differ in their observed cells alone, on the tensor product of some axes.

What depends on the axes (exponentials of fields and of energies) is computed once; a row adds its own fields and gets the logarithm of
:math:`e^{-E_{visible}(x)} \prod_j (1 + e^{-\phi_j(x)})` at every node (eq. 28), its marginals along each axis, and expectations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from harmonium.cells import Cells
from harmonium.engine.axes import Axis, combined, nothing
from harmonium.engine.parameters import Natural
from harmonium.engine.tensor import (
    UNITS_AT_ONCE,
    hidden_sums,
    hidden_sums_in_logs,
    log_marginals,
    log_products,
    log_products_in_logs,
    observed_fields,
)
from harmonium.typing import Array

__all__ = ["Integral", "Integrand", "Moments", "Observed"]

_DEEPEST = 600.0  # a unit's largest field, below which products are not taken in logarithms


class Observed(NamedTuple):
    """What the observed cells of some rows add: their statistics (0 elsewhere), fields on hidden units, and energy."""

    statistics: Array
    fields: Array
    energy: Array

    @classmethod
    def of(cls, natural: Natural, cells: Cells) -> Observed:
        """Of all rows, each computed by itself."""
        lower, upper = cells.bounds()
        point = lower == upper
        parts = []
        for block in cells.layout.blocks:
            own = point[:, block.columns]
            statistics = block.unit.statistics(np.where(own, lower[:, block.columns], 1.0))
            parts.append(np.where(own[..., None], statistics, 0.0).reshape(len(lower), int(np.prod(statistics.shape[1:]))))
        statistics = np.ascontiguousarray(np.concatenate(parts, axis=1))
        fields, energy = np.empty((len(lower), natural.n_hidden)), np.empty(len(lower))
        observed_fields(statistics, natural.bias, np.ascontiguousarray(natural.coupling), np.array(natural.hidden_bias), fields, energy)
        return cls(statistics, fields, energy + natural.constant)

    def row(self, row: int) -> Observed:
        """One row, as arrays without that axis."""
        return Observed(self.statistics[row], self.fields[row], self.energy[row])


class Moments(NamedTuple):
    """Expectations given a row (eq. 11): of h (hidden,), of the axes' statistics (own,), and of their products (own, hidden)."""

    hidden: Array
    statistics: Array
    products: Array


class _Scaled(NamedTuple):
    """A row's factors at every node, floor + scale * rest * first * inner, and the logarithm of what was left out."""

    floor: Array
    scale: Array
    depth: Array
    log_left_out: float
    shallow: bool


@dataclass(frozen=True)
class Integral:
    """A row, integrated: its axes, its log mass, and the logarithm of the mass of every node of each axis."""

    axes: tuple[Axis, ...]
    log_mass: float
    log_marginals: tuple[Array, ...]


class Integrand:
    """The integrand on the tensor product of axes, the first of which should be the longest.

    Parameters
    ----------
    natural : Natural
    axes : sequence of Axis
        Of all cells that the rows leave unobserved.
    """

    def __init__(self, natural: Natural, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        self.n_hidden = natural.n_hidden
        self._grouped = (combined(axes[2:]), axes[1] if len(axes) > 1 else nothing(), axes[0] if axes else nothing())
        self._energies = [axis.log_measure - axis.statistics @ natural.bias[axis.places] for axis in self._grouped]
        self._fields = [axis.statistics @ natural.coupling[axis.places] for axis in self._grouped]
        self._highest = [(-fields).max(axis=0) for fields in self._fields]

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes of the third and later axes together, of the second and of the first."""
        return tuple(axis.n_nodes for axis in self._grouped)

    @cached_property
    def _factors(self) -> tuple[Array, Array, Array]:
        """e^-field relative to the largest of each hidden unit, padded."""
        padding = ((0, 0), (0, -self.n_hidden % UNITS_AT_ONCE))
        rest, first, inner = (np.pad(np.exp(-f - top), padding) for f, top in zip(self._fields, self._highest, strict=True))
        return rest, first, np.ascontiguousarray(inner.T)

    @cached_property
    def _transposed(self) -> Array:
        return np.ascontiguousarray(self._fields[2].T)

    def _scaled(self, row: Observed) -> _Scaled:
        top = -row.fields + self._highest[0] + self._highest[1] + self._highest[2]
        depth = np.maximum(top, 0.0)
        padding = (0, -self.n_hidden % UNITS_AT_ONCE)
        floor = np.pad(np.exp(-depth), padding, constant_values=1.0)
        padded = np.pad(depth, padding)
        shallow = bool((padded.reshape(-1, UNITS_AT_ONCE).sum(axis=1) <= _DEEPEST).all())
        return _Scaled(floor, np.pad(np.exp(top - depth), padding), padded, float(np.sum(depth)), shallow)

    def log_values(self, row: Observed) -> Array:
        """Ln of the integrand times the nodes' measure (eq. 28), (rest, first, inner)."""
        out = np.empty(self.shape)
        scaled, left_out = self._scaled(row), 0.0
        if scaled.shallow:
            log_products(scaled.floor, scaled.scale, scaled.depth, *self._factors, out)
            left_out = scaled.log_left_out
        else:
            log_products_in_logs(np.ascontiguousarray(row.fields), self._fields[0], self._fields[1], self._transposed, out)
        rest, first, inner = self._energies
        out += (rest + (left_out - float(row.energy)))[:, None, None] + first[:, None] + inner
        return out

    def integrate(self, row: Observed) -> Integral:
        """The row's log mass and marginals."""
        marginals = [np.empty(n) for n in self.shape]
        log_mass = log_marginals(self.log_values(row), *marginals)
        rest, first, inner = marginals
        found = [inner, first][: len(self.axes)]
        if len(self.axes) > 2:
            by_axis = rest.reshape([axis.n_nodes for axis in self.axes[2:]])
            others = [tuple(k for k in range(by_axis.ndim) if k != own) for own in range(by_axis.ndim)]
            found += [np.asarray(logsumexp(by_axis, axis=axes)) for axes in others]
        return Integral(self.axes, float(log_mass), tuple(found))

    def moments(self, row: Observed, log_mass: float) -> Moments:
        """Expectations given the row (eq. 29), of the axes' statistics in the order of :attr:`places`."""
        values, scaled = self.log_values(row), self._scaled(row)
        n_units = scaled.floor.size
        sums = [np.zeros((n_units, n)) for n in self.shape]
        if scaled.shallow:
            hidden_sums(scaled.floor, scaled.scale, *self._factors, values, log_mass, *sums)
        else:
            fields = np.ascontiguousarray(row.fields)
            hidden_sums_in_logs(fields, self._fields[0], self._fields[1], self._transposed, values, log_mass, *sums)
        probability = [values.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
        own = zip(self._grouped, probability, sums, strict=True)
        parts = [(p @ axis.statistics, (on[: self.n_hidden] @ axis.statistics).T) for axis, p, on in own]
        hidden = sums[2][: self.n_hidden].sum(axis=1)
        return Moments(hidden, np.concatenate([mean for mean, _ in parts]), np.concatenate([both for _, both in parts]))

    @property
    def places(self) -> Array:
        """The statistics of the unobserved cells, in the order of moments."""
        return np.concatenate([axis.places for axis in self._grouped])
