"""Axes: the values over which an unobserved cell is integrated or summed.

An axis holds nodes, the statistics of the units there, and the logarithm of each node's measure. Axes of continuous units are made of
panels with Gauss-Legendre nodes. Event times, and whatever else is tabulated, have the panels of :class:`harmonium.engine.panels.Grid`
in ln x, cut to what is known; other continuous units get a window on the line (:mod:`harmonium.engine.window`). Levels of all discrete
cells of a row are one axis. A panel that turns out to be too wide is halved, whatever the others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from harmonium.cells import Layout
from harmonium.engine.panels import NODES, Grid
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.contract import Unit

__all__ = ["Axis", "Panels", "Rule", "admitted_levels", "combined", "event_panels", "level_axis", "nothing", "point_axis", "ruled_axis"]

_ABSCISSAE, _WEIGHTS = gauss_legendre(NODES)
_LEGENDRE = np.polynomial.legendre.legvander(_ABSCISSAE, NODES - 1)
_TRAILING = (_WEIGHTS[:, None] * _LEGENDRE * (np.arange(NODES) + 0.5))[:, -2:]  # the last two Legendre coefficients from node values
_WIDEST_IN_X = 1.0 / 16.0
_CURVE_TOLERANCE = 1e-10  # of parts of panels, where survival is read; the last coefficient is some hundred times the error
_DENSITY_TOLERANCE = 1e-9  # of a density between nodes, likewise, relative to its peak
_MASS_TOLERANCE = 1e-12  # of whole panels
_EVERY = 2  # of the grid's edges are where panels begin: most rows need no more


class Rule(Protocol):
    """A quadrature rule on a continuous cell, which can be improved."""

    @property
    def x(self) -> Array:
        """Nodes."""

    @property
    def log_measure(self) -> Array:
        """Ln of the nodes' weights."""

    def improved(self, marginals: Sequence[tuple[Array, float]], *, curves: bool) -> Rule | None:
        """A better one, if any of some rows, with a marginal and a log mass each, needs it."""


@dataclass(frozen=True)
class Panels:
    """Neighbouring panels, with Gauss-Legendre nodes in x or, if ``logarithmic``, in ln x.

    Examples
    --------
    The integral of x^2 over (0.5, 1], in ln x:

    >>> panels = Panels(np.array([0.5, 0.75, 1.0]), logarithmic=True)
    >>> round(float(np.sum(np.exp(panels.log_measure) * panels.x**2)), 12)
    0.291666666667
    """

    edges: Array
    logarithmic: bool

    @cached_property
    def half_widths(self) -> Array:
        """Half of each panel's width in the variable of integration."""
        low, width = self.edges[:-1], np.diff(self.edges)
        return 0.5 * (np.log1p(width / low) if self.logarithmic else width)

    @cached_property
    def x(self) -> Array:
        """All nodes, panel after panel."""
        low, half = self.edges[:-1, None], self.half_widths[:, None]
        nodes = low * np.exp(half * (_ABSCISSAE + 1.0)) if self.logarithmic else low + half * (_ABSCISSAE + 1.0)
        return np.minimum(nodes, self.edges[1:, None]).ravel()

    @cached_property
    def log_weights(self) -> Array:
        """Ln of the nodes' weights in the variable of integration."""
        return np.log(self.half_widths[:, None] * _WEIGHTS).ravel()

    @property
    def log_measure(self) -> Array:
        """Ln of the nodes' weights in x: dx = x d(ln x)."""
        return self.log_weights + np.log(self.x) if self.logarithmic else self.log_weights

    def errors(self, log_marginal: Array, log_total: float) -> tuple[Array, Array]:
        """Errors of each panel's integral, relative to the total: of parts of it, and of the whole panel.

        Legendre coefficients of an analytic function fall geometrically. The last ones are the error of an interpolation; a Gauss rule
        first errs at twice their degree, so at the square of the fall.
        """
        density = np.exp(log_marginal - log_total - self.log_weights).reshape(-1, NODES)
        last = np.abs(density @ _TRAILING)
        of_parts = self.half_widths * (last[:, 1] + 0.0625 * last[:, 0])
        mass = self.half_widths * (density @ _WEIGHTS)
        return of_parts, 4.0 * of_parts**2 / (mass + 1e-300)

    def density_errors(self, log_marginal: Array, log_total: float) -> Array:
        """Largest error of the density of x on each panel, if its logarithm is interpolated between nodes; relative to one or the peak."""
        log_density = (log_marginal - log_total - self.log_weights).reshape(-1, NODES)
        last = np.abs((log_density - log_density.mean(axis=1, keepdims=True)) @ _TRAILING)
        highest = np.exp(log_density - np.log(self.x).reshape(-1, NODES)).max(axis=1)
        return np.asarray(highest / max(1.0, float(highest.max())) * (last[:, 1] + 0.0625 * last[:, 0]))

    def improved(self, marginals: Sequence[tuple[Array, float]], *, curves: bool) -> Panels | None:
        """With panels halved where any of some rows, with a marginal and a log mass each, needs it; None if none does."""
        wide = np.logical_or.reduce([self._too_wide(*marginal, curves) for marginal in marginals])
        finer = self.halved(wide) if wide.any() else self
        return finer if finer.edges.size > self.edges.size else None

    def _too_wide(self, log_marginal: Array, log_total: float, curves: bool) -> Booleans:
        of_parts, of_wholes = self.errors(log_marginal, log_total)
        if not curves:
            return of_wholes > _MASS_TOLERANCE
        return (of_parts > _CURVE_TOLERANCE) | (self.density_errors(log_marginal, log_total) > _DENSITY_TOLERANCE)

    def halved(self, chosen: Booleans) -> Panels:
        """With some panels cut in two."""
        low, half = self.edges[:-1], self.half_widths
        middles = (low * np.exp(half) if self.logarithmic else low + half)[chosen]
        return Panels(np.unique(np.concatenate([self.edges, middles])), self.logarithmic)


@dataclass(frozen=True)
class Axis:
    """Nodes of one or several unobserved cells.

    Attributes
    ----------
    columns : tuple of int
    places : ndarray of shape (n_own,)
        The cells' statistics among all.
    statistics : ndarray of shape (n_nodes, n_own)
    log_measure : ndarray of shape (n_nodes,)
        Ln of what each node stands for.
    rule : Rule or None
        Where nodes come from, and how there can be better ones; None for levels.
    """

    columns: tuple[int, ...]
    places: Integers
    statistics: Array
    log_measure: Array
    rule: Rule | None = None

    @property
    def panels(self) -> Panels | None:
        """The panels, if the axis has some."""
        return self.rule if isinstance(self.rule, Panels) else None

    @property
    def n_nodes(self) -> int:
        """How many nodes."""
        return self.log_measure.size


def ruled_axis(layout: Layout, column: int, rule: Rule) -> Axis:
    """A continuous column on the nodes of a rule."""
    statistics = np.ascontiguousarray(layout.units[column].statistics(rule.x))
    return Axis((column,), _places(layout, column), statistics, rule.log_measure, rule)


def point_axis(layout: Layout, column: int, x: Array) -> Axis:
    """Given values of a column, each of measure one: where a density is asked for."""
    return Axis((column,), _places(layout, column), np.ascontiguousarray(layout.units[column].statistics(x)), np.zeros(x.size))


def event_panels(lower: float, upper: float) -> Panels:
    """Panels of a tabulated cell in (lower, upper]: every second edge of the grid, and its first, where next to nothing is left below."""
    edges = Grid.covering(min(upper, _WIDEST_IN_X)).edges
    edges = np.union1d(edges[::-1][::_EVERY], edges[:1])
    start = max(lower, float(edges[0]))
    return Panels(np.concatenate([[start], edges[(edges > start) & (edges < upper)], [upper]]), logarithmic=True)


def admitted_levels(unit: Unit, lower: float, upper: float) -> Array:
    """The levels of a discrete unit that a cell admits.

    Examples
    --------
    >>> from harmonium.units import Categorical
    >>> admitted_levels(Categorical(4), 0.0, 2.0)
    array([1., 2.])
    """
    lowest, highest = unit.domain
    levels = np.arange(np.floor(lowest) + 1.0, highest + 0.5)
    return levels if np.isnan(lower) else levels[(levels > lower) & (levels <= upper)]


def level_axis(layout: Layout, columns: Sequence[int], levels: Sequence[Array]) -> Axis:
    """All combinations of the levels of some discrete columns."""
    values = np.array(list(product(*levels)))
    parts = [layout.units[column].statistics(values[:, k]) for k, column in enumerate(columns)]
    places = np.concatenate([_places(layout, column) for column in columns])
    return Axis(tuple(columns), places, np.concatenate(parts, axis=1), np.zeros(len(values)))


def nothing() -> Axis:
    """One node that stands for no cell."""
    return Axis((), np.empty(0, np.int64), np.empty((1, 0)), np.zeros(1))


def combined(axes: Sequence[Axis]) -> Axis:
    """All combinations of the nodes of several axes, as one axis without panels."""
    out = nothing()
    for axis in axes:
        pairs = np.indices((out.n_nodes, axis.n_nodes)).reshape(2, -1)
        out = Axis(
            (*out.columns, *axis.columns),
            np.concatenate([out.places, axis.places]),
            np.concatenate([out.statistics[pairs[0]], axis.statistics[pairs[1]]], axis=1),
            out.log_measure[pairs[0]] + axis.log_measure[pairs[1]],
        )
    return out


def _places(layout: Layout, column: int) -> Integers:
    return np.arange(layout.offsets[column], layout.offsets[column + 1])
