"""Where on the line an unobserved cell has its probability: a window for units without a grid of their own.

Given the hidden state such a unit has a density that is narrow nowhere: its curvature is that of the bias alone. The mixture over
states may be wide and have several modes, though. So an upper bound on the integrand, which takes the best of every other cell, says how
far one has to look; there the integrand is scanned in steps of the density's own scale, and the window reaches to where it has fallen by
e^-45. Everything is read off the unit's statistics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.axes import Axis, Panels, combined, panel_axis, point_axis
from harmonium.engine.integrand import Integrand, Observed
from harmonium.engine.panels import NODES
from harmonium.engine.parameters import Natural
from harmonium.typing import Array

__all__ = ["line_axis", "widened"]

_DROP = 45.0  # in logarithm; scanning sees other cells at few of their nodes, so ends are looked at again after integration
_STEPS = 2.0 ** np.arange(24)
_MOST_SCANNED = 2000
_PANEL = 2.4  # widest panel, in units of the density's scale
_END_MASS = 1e-14  # of the total, in an outermost panel: more than that and the window is widened


def line_axis(natural: Natural, layout: Layout, column: int, bounds: tuple[float, float], others: Sequence[Axis], row: Observed) -> Axis | None:
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
    n_panels = max(2, int(np.ceil((stop - start) / (_PANEL * scale))))
    return panel_axis(layout, column, Panels(np.linspace(start, stop, n_panels + 1), logarithmic=False))


def widened(panels: Panels, log_marginal: Array, log_mass: float, bounds: tuple[float, float]) -> Panels | None:
    """With another panel at an end where probability is left; None if there is none, or if it ends at a bound."""
    mass = np.exp(log_marginal - log_mass).reshape(-1, NODES).sum(axis=1)
    edges, (lower, upper) = panels.edges, bounds
    before = [max(lower, 2.0 * edges[0] - edges[1])] if mass[0] > _END_MASS and edges[0] > lower else []
    after = [min(upper, 2.0 * edges[-1] - edges[-2])] if mass[-1] > _END_MASS and edges[-1] < upper else []
    return Panels(np.concatenate([before, edges, after]), logarithmic=False) if before or after else None


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
    profile: Array = Integrand(natural, axes).log_values(row).max(axis=(0, 1)) if others else Integrand(natural, axes[:1]).log_values(row)[0, 0]
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
