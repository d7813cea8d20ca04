"""Where on the line an unobserved cell has its probability: a window for units without a grid of their own.

Given the hidden state such a unit has a density that is narrow nowhere: its curvature is that of the bias alone. The mixture over
states may be wide and have several modes, though. So an upper bound on the integrand, which takes the best of every other cell, says how
far one has to look; there the integrand is scanned in steps of the density's own scale, and the window reaches to where it has fallen by
e^-45. There, equally spaced nodes serve a cell of which nothing is known; one that lies between bounds gets Gauss-Legendre panels.
Everything is read off the unit's statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.axes import Axis, Panels, combined, point_axis, ruled_axis
from harmonium.engine.integrand import Integrand, Observed
from harmonium.engine.panels import NODES
from harmonium.engine.parameters import Natural
from harmonium.typing import Array

__all__ = ["Comb", "Window", "line_axis"]

_DROP = 45.0  # in logarithm; scanning sees other cells at few of their nodes, so ends are looked at again after integration
_STEPS = 2.0 ** np.arange(24)
_MOST_SCANNED = 2000
_PANEL = 2.4  # widest panel, in units of the density's scale
_SPACING = 0.75  # of equally spaced nodes, in the same unit
_EVEN_FROM_ODD = 2e-3  # difference between sums over every second node, whose fourth power is the error
_MORE_NODES = 4
_END_MASS = 1e-14  # of the total, in an outermost panel or node: more than that and the window is widened


@dataclass(frozen=True)
class Window(Panels):
    """Panels on part of the line, between bounds beyond which they must not reach."""

    bounds: tuple[float, float] = (-np.inf, np.inf)

    def improved(self, marginals: Sequence[tuple[Array, float]], *, curves: bool) -> Window | None:
        """Narrower panels, or another panel at an end where probability is left."""
        finer = super().improved(marginals, curves=False)
        if finer is not None:
            return replace(self, edges=finer.edges)
        mass = np.max([np.exp(log_marginal - log_mass).reshape(-1, NODES).sum(axis=1) for log_marginal, log_mass in marginals], axis=0)
        edges, (lower, upper) = self.edges, self.bounds
        before = [max(lower, 2.0 * edges[0] - edges[1])] if mass[0] > _END_MASS and edges[0] > lower else []
        after = [min(upper, 2.0 * edges[-1] - edges[-2])] if mass[-1] > _END_MASS and edges[-1] < upper else []
        return replace(self, edges=np.concatenate([before, edges, after])) if before or after else None


@dataclass(frozen=True)
class Comb:
    """Equally spaced nodes on the whole line, on which sums converge faster than any power of the spacing.

    For a density that is a mixture of bells of one width sigma, the sum at spacing h errs by e^(-2 pi^2 sigma^2 / h^2). Sums over every
    second node show the error at twice the spacing, whose fourth power is the error of all.

    Examples
    --------
    >>> comb = Comb(-9.0, 0.75, 25)
    >>> round(float(np.sum(np.exp(comb.log_measure - 0.5 * comb.x**2)) ** 2 / np.pi), 12)
    2.0
    """

    start: float
    spacing: float
    n: int

    @property
    def x(self) -> Array:
        """Nodes."""
        nodes: Array = self.start + self.spacing * np.arange(self.n, dtype=np.float64)
        return nodes

    @property
    def log_measure(self) -> Array:
        """Ln of the spacing."""
        return np.full(self.n, np.log(self.spacing))

    def improved(self, marginals: Sequence[tuple[Array, float]], *, curves: bool) -> Comb | None:
        """With half the spacing, or more nodes at an end where probability is left."""
        mass = np.array([np.exp(log_marginal - log_mass) for log_marginal, log_mass in marginals])
        if (np.abs(mass[:, ::2].sum(axis=1) - mass[:, 1::2].sum(axis=1)) > _EVEN_FROM_ODD).any():
            return Comb(self.start, 0.5 * self.spacing, 2 * self.n - 1)
        before, after = (_MORE_NODES if (mass[:, end] > _END_MASS).any() else 0 for end in (0, -1))
        return Comb(self.start - before * self.spacing, self.spacing, self.n + before + after) if before or after else None


def line_axis(
    natural: Natural, layout: Layout, column: int, bounds: tuple[float, float], others: Sequence[Axis], row: Observed
) -> Axis | None:
    """An axis for a continuous cell of one row, the other unobserved cells having given axes; None if no window is found."""
    lower, upper = bounds
    centre, scale = _bell(natural, layout, column, lower, upper)
    if not np.isfinite(scale):
        return None
    seen = [_few_nodes(axis) for axis in others]
    probes = np.unique(np.clip(centre + scale * np.concatenate([-_STEPS[::-1], [0.0], _STEPS]), lower, upper))
    probes = probes[np.isfinite(probes)]
    bound, highest = _bound(natural, layout, column, probes, others, row), _profile(natural, layout, column, probes, seen, row).max()
    inside = np.flatnonzero(bound > highest - _DROP)
    first, last = probes[max(inside[0] - 1, 0)], probes[min(inside[-1] + 1, probes.size - 1)]
    n_scanned = int(np.ceil((last - first) / scale)) + 1
    if n_scanned > _MOST_SCANNED:
        return None
    scanned = np.linspace(first, last, max(n_scanned, 2)) if last > first else np.array([first])
    profile = _profile(natural, layout, column, scanned, seen, row)
    inside = np.flatnonzero(profile > profile.max() - _DROP)
    start, stop = max(lower, scanned[inside[0]] - scale), min(upper, scanned[inside[-1]] + scale)
    if not np.isfinite(lower) and not np.isfinite(upper):
        return ruled_axis(layout, column, Comb(float(start), _SPACING * scale, int(np.ceil((stop - start) / (_SPACING * scale))) + 1))
    n_panels = max(2, int(np.ceil((stop - start) / (_PANEL * scale))))
    return ruled_axis(layout, column, Window(np.linspace(start, stop, n_panels + 1), False, bounds))


def _bell(natural: Natural, layout: Layout, column: int, lower: float, upper: float) -> tuple[float, float]:
    """Where the density without hidden units has its mode, within bounds, and its scale: from differences of its logarithm."""
    at = point_axis(layout, column, np.array([-1.0, 0.0, 1.0]))
    before, here, after = -(at.statistics @ natural.bias[at.places])
    slope, curvature = 0.5 * (after - before), after - 2.0 * here + before
    if not curvature < 0.0:
        return 0.0, np.inf
    scale = min(float(1.0 / np.sqrt(-curvature)), 0.25 * (upper - lower))
    return float(np.clip(-slope / curvature, lower, upper)), scale


def _few_nodes(axis: Axis) -> Axis:
    """Two nodes of each panel, all levels."""
    if axis.panels is None:
        return axis
    kept = (np.arange(axis.n_nodes) % NODES == 3) | (np.arange(axis.n_nodes) % NODES == NODES - 4)
    return Axis(axis.columns, axis.places, axis.statistics[kept], np.zeros(int(kept.sum())))


def _profile(natural: Natural, layout: Layout, column: int, x: Array, others: Sequence[Axis], row: Observed) -> Array:
    """Ln of the integrand at given values of the cell, at the best of the others' nodes."""
    axes = [point_axis(layout, column, x), *others[:1], combined(others[1:])]
    profile: Array = (
        Integrand(natural, axes).log_values(row).max(axis=(0, 1)) if others else Integrand(natural, axes[:1]).log_values(row)[0, 0]
    )
    return profile


def _bound(natural: Natural, layout: Layout, column: int, x: Array, others: Sequence[Axis], row: Observed) -> Array:
    """What the profile cannot exceed: every hidden unit sees the value of the other cells that suits it best."""
    own = point_axis(layout, column, x)
    fields, energy = row.fields.copy(), -float(row.energy)
    for axis in others:
        fields += (axis.statistics @ natural.coupling[axis.places]).min(axis=0)
        energy += float((-(axis.statistics @ natural.bias[axis.places])).max())
    fields = fields + own.statistics @ natural.coupling[own.places]
    bound: Array = energy - own.statistics @ natural.bias[own.places] + np.logaddexp(0.0, -fields).sum(axis=1)
    return bound
