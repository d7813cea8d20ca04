"""Integrals over a time of entry: of a density that is known at nodes times a function of it and of a later time.

Densities are kept at the nodes of Gauss-Legendre panels. An integral that ends at t has nodes of its own in the last two panels, which
crowd towards t, since whatever follows an entry begins there; densities are interpolated to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from harmonium.numerics.quadrature import gauss_legendre, panel_nodes
from harmonium.typing import Array, Integers

__all__ = ["Fineness", "Grid", "Pairs"]


@dataclass(frozen=True)
class Fineness:
    """How integrals are cut: panels of equal width, panels that halve towards the beginning, nodes on each; nodes towards their end."""

    n_panels: int
    n_halvings: int
    n_nodes: int
    n_last: int
    kinks: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """Times of entry, each before some time: what integrals until these times are sums over.

    Attributes
    ----------
    entered, weight : ndarray
        Times of entry, those at nodes first, and their weights in integrals.
    further : csr_array
        Densities at times of entry that are no nodes, from those at nodes.
    entry : ndarray of int
        The time of entry of every pair.
    whose : ndarray of int
        Before which time it is.
    duration : ndarray
        The time from one to the other.
    starts : ndarray of int
        The first pair of every time.
    """

    entered: Array
    weight: Array
    further: csr_array
    entry: Integers
    whose: Integers
    duration: Array
    starts: Integers

    def entering(self, density: Array) -> Array:
        """The probability that times of entry stand for, (rows, entries), of a density at nodes."""
        return np.asarray(np.concatenate([density, (self.further @ density.T).T], axis=1) * self.weight)

    def summed(self, values: Array) -> Array:
        """Over all times of entry, (rows, times)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))


@dataclass(frozen=True, eq=False)
class Grid:
    """Panels between edges, and their nodes."""

    edges: Array
    nodes: Array
    weights: Array
    fineness: Fineness

    @classmethod
    def of(cls, since: float, times: Array, further: Array, fineness: Fineness) -> Grid:
        """From one time to the last of others; some further edges between."""
        last = max(float(np.max(times, initial=since)), since + 1e-9 * (1.0 + since))
        halves = 0.5 ** np.arange(1.0, 1.0 + fineness.n_halvings)
        width = (last - since) / fineness.n_panels
        even = np.linspace(since, last, fineness.n_panels + 1)
        edges = np.unique(np.concatenate([even, since + width * halves, further[(further > since) & (further < last)]]))
        edges = edges[np.append(True, np.diff(edges) > 1e-12 * (last - since))]
        return cls(edges, *panel_nodes(edges, fineness.n_nodes), fineness)

    def until(self, density: Array, times: Array) -> Array:
        """Integrals of a density at nodes until all times, (rows, times)."""
        panel, at = self._in_panel(times)
        n = self.fineness.n_nodes
        by_panel = (density * self.weights).reshape(len(density), -1, n).sum(axis=2)
        whole = np.concatenate([np.zeros((len(density), 1)), np.cumsum(by_panel, axis=1)], axis=1)[:, panel]
        rule = _integrals(at, n) * (0.5 * np.diff(self.edges)[panel])[:, None]
        return np.asarray(whole + np.einsum("rtn,tn->rt", density.reshape(len(density), -1, n)[:, panel], rule))

    def _in_panel(self, times: Array) -> tuple[Integers, Array]:
        """In which panel times are, and where there, from -1 to 1."""
        inside = np.clip(times, self.edges[0], self.edges[-1])
        panel = np.clip(np.searchsorted(self.edges, inside, side="left") - 1, 0, self.edges.size - 2)
        return panel, np.clip(2.0 * (inside - self.edges[panel]) / np.diff(self.edges)[panel] - 1.0, -1.0, 1.0)

    def pairs(self, times: Array) -> Pairs:
        """Of integrals until all of some times."""
        n, (panel, _) = self.fineness.n_nodes, self._in_panel(times)
        before = np.maximum(panel - 1, 0)
        target, node = np.nonzero(np.arange(self.nodes.size) < (before * n)[:, None])
        parts, weights = _crowded(self.fineness.n_last)
        begin = np.column_stack([self.edges[before], self.edges[panel]])
        end = np.column_stack([np.where(panel > 0, self.edges[panel], self.edges[before]), np.clip(times, self.edges[0], self.edges[-1])])
        entered = (begin[:, :, None] + (end - begin)[:, :, None] * parts).reshape(times.size, -1)
        weight = ((end - begin)[:, :, None] * weights).reshape(times.size, -1)
        own = np.repeat(np.column_stack([before, panel]), parts.size, axis=1).ravel()
        at = 2.0 * (entered.ravel() - self.edges[own]) / np.diff(self.edges)[own] - 1.0
        columns = own[:, None] * n + np.arange(n)
        data = _values(at, n)
        further = csr_array((data.ravel(), columns.ravel(), np.arange(own.size + 1) * n), shape=(own.size, self.nodes.size))
        all_entered = np.concatenate([self.nodes, entered.ravel()])
        whose = np.concatenate([target, np.repeat(np.arange(times.size), 2 * parts.size)])
        order = np.argsort(whose, kind="stable")
        entry, whose = np.concatenate([node, self.nodes.size + np.arange(own.size)])[order], whose[order]
        return Pairs(
            all_entered,
            np.concatenate([self.weights, weight.ravel()]),
            further,
            entry,
            whose,
            np.maximum(np.maximum(times, self.edges[0])[whose] - all_entered[entry], 0.0),
            np.searchsorted(whose, np.arange(times.size)),
        )


def _crowded(n_halvings: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] that crowd towards 1."""
    return panel_nodes(np.array([*(1.0 - 0.5 ** np.arange(n_halvings)), 1.0]), 3)


def _coefficients(n: int) -> Array:
    """Of Legendre polynomials, from values at Gauss nodes."""
    return np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(gauss_legendre(n)[0], n - 1)))


def _values(at: Array, n: int) -> Array:
    """Of polynomials with given values at Gauss nodes, (places, nodes)."""
    return np.asarray(np.polynomial.legendre.legvander(at, n - 1) @ _coefficients(n))


def _integrals(at: Array, n: int) -> Array:
    """Of the same from -1 on, (places, nodes)."""
    values = np.polynomial.legendre.legvander(at, n)
    before = np.concatenate([-np.ones((at.size, 1)), values[:, : n - 1]], axis=1)
    return np.asarray(((values[:, 1:] - before) / (2.0 * np.arange(n) + 1.0)) @ _coefficients(n))
