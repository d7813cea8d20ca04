r"""Curves of integrated rows: from the marginal density of an unobserved event time at its nodes to survival and density anywhere.

The probability beyond u is that of part of a panel and of all panels to its right (eq. 30); the part is a combination of the panel's
node values, with the weights that the exact engine uses for censored times (:func:`harmonium.engine.panels.part_of_panel`). Densities
between nodes come from the polynomial through their logarithms. Everything is kept in logarithms, panel by panel, so that far tails
keep their relative accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, log1p

import numpy as np

from harmonium.engine.axes import Panels
from harmonium.engine.integrand import Integral, Integrand, Observed
from harmonium.engine.panels import NODES, part_of_panel
from harmonium.engine.parameters import Natural
from harmonium.numerics.compilation import compiled
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array

__all__ = ["Marginal", "joint_survival"]

_ABSCISSAE, _WEIGHTS = gauss_legendre(NODES)
_STEEP = 6.0  # change of the log density over a panel, from which on its parts are integrated in logarithms
_BARYCENTRIC = (-1.0) ** np.arange(NODES) * np.sqrt((1.0 - _ABSCISSAE**2) * _WEIGHTS)


@compiled()
def _panel_of(edges: Array, u: float) -> int:
    return min(int(np.searchsorted(edges, u, side="right")) - 1, edges.size - 2)


@compiled()
def _log_add(a: float, b: float) -> float:
    high = max(a, b)
    return high if high == -np.inf else high + log1p(exp(min(a, b) - high))


@compiled()
def _interpolated(log_density: Array, z: float) -> float:
    """The polynomial through a panel's values at z between -1 and 1."""
    above = below = 0.0
    for k in range(NODES):
        if z == _ABSCISSAE[k]:
            return float(log_density[k])
        weight = _BARYCENTRIC[k] / (z - _ABSCISSAE[k])
        above += weight * log_density[k]
        below += weight
    return float(above / below)


@compiled()
def _log_steep_part(log_density: Array, z: float, half_width: float, drop: float) -> float:
    """Ln of the integral from z to a panel's right edge where the density falls by many powers: on shorter panels, in logarithms."""
    n = 1 + int(drop / _STEEP)
    half = 0.5 * (1.0 - z) / n
    total = -np.inf
    for part in range(n):
        for k in range(NODES):
            at = z + half * (2.0 * part + 1.0 + _ABSCISSAE[k])
            total = _log_add(total, _interpolated(log_density, at) + log(half * half_width * _WEIGHTS[k]))
    return total


@compiled()
def _log_beyond(log_density: Array, half_widths: Array, out: Array) -> None:
    """Ln of the probability beyond every edge."""
    out[half_widths.size] = -np.inf
    for panel in range(half_widths.size - 1, -1, -1):
        own = log_density[panel]
        top = own.max()
        drop = top - own.min()
        if drop > _STEEP:
            whole = _log_steep_part(own, -1.0, half_widths[panel], drop)
        else:
            total = 0.0
            for k in range(NODES):
                total += _WEIGHTS[k] * exp(own[k] - top)
            whole = top + log(total * half_widths[panel])
        out[panel] = _log_add(whole, out[panel + 1])


@compiled()
def _log_survival(positions: Array, edges: Array, half_widths: Array, log_density: Array, log_beyond: Array, out: Array) -> None:
    """Ln of the probability beyond positions (eq. 30)."""
    means, weights = np.empty(NODES), np.empty((1, NODES))
    for i in range(positions.size):
        u = positions[i]
        if u <= edges[0]:
            out[i] = 0.0
            continue
        if u >= edges[edges.size - 1]:
            out[i] = -np.inf
            continue
        panel = _panel_of(edges, u)
        own, half = log_density[panel], half_widths[panel]
        top = own.max()
        drop = top - own.min()
        if drop > _STEEP:
            part = _log_steep_part(own, log1p((u - edges[panel]) / edges[panel]) / half - 1.0, half, drop)
        else:
            part_of_panel(edges, half_widths, panel, u, edges[panel + 1], means, weights, 0)
            total = 0.0
            for k in range(NODES):
                total += weights[0, k] * exp(own[k] - top)
            part = top + log(total) if total > 0.0 else -np.inf
        out[i] = min(_log_add(part, log_beyond[panel + 1]), 0.0)


@compiled()
def _log_density_at(positions: Array, edges: Array, half_widths: Array, log_density: Array, out: Array) -> None:
    """Ln of the density in x at positions: the polynomial through its logarithm at a panel's nodes."""
    for i in range(positions.size):
        u = max(positions[i], edges[0])  # where panels begin, next to nothing is left below
        if u > edges[edges.size - 1]:
            out[i] = -np.inf
            continue
        panel = _panel_of(edges, u)
        z = log1p((u - edges[panel]) / edges[panel]) / half_widths[panel] - 1.0
        out[i] = _interpolated(log_density[panel], z) - log(u)


@compiled()
def _survival_weights(positions: Array, edges: Array, half_widths: Array, out: Array) -> None:
    """What of every node's probability lies beyond each position, (positions, nodes)."""
    means, weights = np.empty(NODES), np.empty((1, NODES))
    for i in range(positions.size):
        out[i] = 0.0
        if positions[i] >= edges[edges.size - 1]:
            continue
        if positions[i] <= edges[0]:
            out[i] = 1.0
            continue
        panel = _panel_of(edges, positions[i])
        part_of_panel(edges, half_widths, panel, positions[i], edges[panel + 1], means, weights, 0)
        for k in range(NODES):
            out[i, NODES * panel + k] = weights[0, k] / (half_widths[panel] * _WEIGHTS[k])
        out[i, NODES * (panel + 1) :] = 1.0


@compiled()
def _contracted(first: Array, probability: Array, second: Array, out: Array) -> None:
    """First @ probability @ second.T in a fixed order of additions."""
    line = np.empty(probability.shape[1])
    for i in range(first.shape[0]):
        line[:] = 0.0
        for k in range(probability.shape[0]):
            weight = first[i, k]
            if weight != 0.0:
                for n in range(line.size):
                    line[n] += weight * probability[k, n]
        for j in range(second.shape[0]):
            total = 0.0
            for n in range(line.size):
                total += second[j, n] * line[n]
            out[i, j] = total


@dataclass(frozen=True)
class Marginal:
    """The distribution of one unobserved event time given a row.

    Attributes
    ----------
    panels : Panels
        Of its axis.
    log_density : ndarray of shape (n_panels, NODES)
        Ln of the density of ln x at the nodes.
    """

    panels: Panels
    log_density: Array

    @classmethod
    def of(cls, integral: Integral, place: int) -> Marginal:
        """Of the axis with this number, which must have panels."""
        panels = integral.axes[place].panels
        assert panels is not None
        log_density = integral.log_marginals[place] - integral.log_mass - panels.log_weights
        return cls(panels, np.ascontiguousarray(log_density.reshape(-1, NODES)))

    @cached_property
    def _log_beyond(self) -> Array:
        out = np.empty(self.panels.edges.size)
        _log_beyond(self.log_density, self.panels.half_widths, out)
        return out

    def log_survival(self, positions: Array) -> Array:
        """Ln of the probability beyond each position (eq. 30)."""
        out = np.empty(positions.size)
        at = np.ascontiguousarray(positions, dtype=np.float64)
        _log_survival(at, self.panels.edges, self.panels.half_widths, self.log_density, self._log_beyond, out)
        return out

    def log_density_at(self, positions: Array) -> Array:
        """Ln of the density of x at each position, -inf beyond the panels."""
        out = np.empty(positions.size)
        at = np.ascontiguousarray(positions, dtype=np.float64)
        _log_density_at(at, self.panels.edges, self.panels.half_widths, self.log_density, out)
        return out

    @cached_property
    def mean(self) -> float:
        """Mean of x."""
        weights = np.exp(self.log_density.ravel() + self.panels.log_weights)
        return float(np.sum(weights * self.panels.x))


def joint_survival(natural: Natural, integral: Integral, row: Observed, positions: tuple[Array, Array]) -> Array:
    """Probability that both of a row's unobserved event times lie beyond positions (eq. 30), (first positions, second positions)."""
    probability = np.exp(Integrand(natural, integral.axes).log_values(row) - integral.log_mass).sum(axis=0).T  # (first axis, second axis)
    weights = []
    for axis, at in zip(integral.axes[:2], positions, strict=True):
        assert axis.panels is not None
        own = np.empty((at.size, axis.n_nodes))
        _survival_weights(np.ascontiguousarray(at, dtype=np.float64), axis.panels.edges, axis.panels.half_widths, own)
        weights.append(own)
    out = np.empty((positions[0].size, positions[1].size))
    _contracted(weights[0], np.ascontiguousarray(probability), weights[1], out)
    return np.clip(out, 0.0, 1.0)
