r"""Times that follow each other: the distribution of the end of a state that is entered at a random time.

If a state is entered until :math:`t` with probability :math:`E(t)` and lasts for a time with density :math:`f`, it has been left until
:math:`t` with probability :math:`L(t) = \int_0^t E(t - w) f(w)\, dw`. In every hidden state :math:`f` is a truncated gamma on the scale
of that duration, and :math:`E` a smooth function of time, which is tabulated on panels as values at Gauss-Legendre nodes and evaluated
between them as the polynomial through these.

How it works. Positions, slopes and where a node lies among the panels of :math:`E` are the same for all hidden states and found once;
per state a node costs an exponential and a polynomial. Panels halve towards both ends of the integral, where a density or its
primitive is not smooth, and end at the knots of the scales. Before the first panel, the duration's probability is known exactly and
:math:`E` nearly constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.model.endpoint_states import EndpointStates
from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.numerics.quadrature import gauss_legendre, panel_nodes
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array, Integers

__all__ = ["Entering", "graded_edges", "scale_edges", "steepness"]

_N_NODES = 8
_NODES, _WEIGHTS = gauss_legendre(_N_NODES)
_BARYCENTRIC: Array = 1.0 / (_NODES[:, None] - _NODES + np.eye(_N_NODES)).prod(axis=1)  # weights of the nodes in an interpolation
_N_HALVINGS = 16  # of panels towards the ends of an integral
_HALVES = np.concatenate([0.5 ** np.arange(_N_HALVINGS, 0.0, -1.0), 1.0 - 0.5 ** np.arange(2.0, _N_HALVINGS + 1), [1.0]])
_N_PANELS = 6  # of equal width between them
_RATIO = 1.35  # of neighbouring panels of a table near its beginning
_N_GRADED = 66
_N_TABULATED = 20
_STEEPEST = 2.0  # change of the log density over a panel


def steepness(states: EndpointStates) -> float:
    """The largest change of a log density over the whole scale."""
    return float(np.max(np.abs(states.shape - 1.0 - states.rate), initial=0.0))


def scale_edges(scale: TimeScale) -> Array:
    """Times at which a scale is not smooth."""
    return np.unique([*(scale.end * knot for knot in scale.knots), scale.end])


def graded_edges(start: float, end: float, kinks: Array, steep: float) -> Array:
    """Edges of panels on which a function that begins at ``start`` is nearly a polynomial."""
    width = end - start
    regular = np.linspace(start, end, max(_N_TABULATED, int(np.ceil(steep / _STEEPEST))) + 1)
    graded = start + (regular[1] - start) * _RATIO ** -np.arange(1.0, _N_GRADED)
    inner = kinks[(kinks > start + 1e-9 * width) & (kinks < end)]
    return np.unique(np.concatenate([regular, graded, inner]))


@dataclass(frozen=True)
class Entering:
    """The probability of having entered a state until a time, in every hidden state.

    Attributes
    ----------
    edges : ndarray
        Of panels in time; before the first, nobody has entered, and after the last, everybody who ever will.
    values : ndarray of shape (n_hidden_states, n_panels * 8)
        At the nodes of all panels.
    kinks : ndarray
        Times at which it is not smooth.
    """

    edges: Array
    values: Array
    kinks: Array

    @classmethod
    def nodes(cls, edges: Array) -> Array:
        """Times at which values are needed."""
        return panel_nodes(edges, _N_NODES)[0]

    def left(self, duration: EndpointStates, scale: TimeScale, times: Array) -> Array:
        """The probability of having left the state again until each time, (hidden states, times)."""
        out = np.zeros((len(self.values), times.size))
        late = np.flatnonzero(times > self.edges[0])
        if not late.size:
            return out
        kinks, steep = scale_edges(scale), steepness(duration)
        grid = [self._panels(scale.end, kinks, float(time), steep) for time in times[late]]
        first = np.array([edges[0] for edges in grid])
        nodes, weights, counts = _all_nodes(grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            x = scale.to_unit(nodes)
            log_weight = np.log(weights) + scale.log_slope(nodes)
        log_weight = np.where(np.isfinite(log_weight), log_weight, -np.inf)
        panel, local = self._places(np.repeat(times[late], counts) - nodes)
        until_first = 1.0 - duration.survival(scale.to_unit(first))
        # of the short durations before the first panel, the mean is nearly that of a power of time
        short = first * (duration.shape / (duration.shape + 1.0))[:, None]
        found = until_first * self._at_own(times[late] - short)
        with np.errstate(divide="ignore"):
            log_x = np.log(x)
        shares, total = _coefficients(local), duration.log_total()
        _convolve(duration.shape, duration.rate, total, x, log_x, log_weight, panel, shares, self.values, counts, found)
        out[:, late] = found
        return out

    def _at_own(self, times: Array) -> Array:
        """At times of each hidden state's own, (hidden states, times)."""
        panel, local = self._places(times.ravel())
        out = np.empty(times.shape)
        _evaluate(self.values, panel, _coefficients(local), out)
        return out

    def _places(self, times: Array) -> tuple[Integers, Array]:
        """Panels of some times, and places on them from -1 to 1."""
        inside = np.clip(times, self.edges[0], self.edges[-1])
        panel = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, self.edges.size - 2)
        start, end = self.edges[panel], self.edges[panel + 1]
        return panel.astype(np.int64), np.where(times <= self.edges[0], np.nan, 2.0 * (inside - start) / (end - start) - 1.0)

    def _panels(self, end: float, kinks: Array, time: float, steep: float) -> Array:
        """Edges for the integral over durations until a time, or until the end of their scale."""
        width = time - self.edges[0]
        n_regular = max(_N_PANELS, int(np.ceil(min(width / end, 1.0) * steep / _STEEPEST)))
        regular = np.arange(1.0, n_regular) / n_regular
        inner = np.concatenate([kinks, time - self.kinks]) / width
        edges = np.concatenate([_HALVES, regular, inner[(inner > _HALVES[0]) & (inner < 1.0)]])
        edges.sort()
        edges = edges[np.append(True, np.diff(edges) > 0.0)]
        inside = edges * width <= end * (1.0 + 1e-12)
        inside[0] = True
        return np.asarray(edges[inside] * width)


def _all_nodes(grid: list[Array]) -> tuple[Array, Array, Integers]:
    """Nodes and weights of several integrals, one after the other, and how many each has."""
    found = [panel_nodes(edges, _N_NODES) for edges in grid]
    counts = np.array([nodes.size for nodes, _ in found], dtype=np.int64)
    return np.concatenate([nodes for nodes, _ in found]), np.concatenate([weights for _, weights in found]), counts


def _coefficients(local: Array) -> Array:
    """By how much each node of a panel counts at a place on it, (places, 8); zero before the beginning."""
    out = np.zeros((local.size, _N_NODES))
    _fill_coefficients(local, out)
    return out


@compiled()
def _fill_coefficients(local: Array, out: Array) -> None:
    for i in range(local.size):
        if np.isnan(local[i]):
            continue
        total = 0.0
        for k in range(_N_NODES):
            difference = local[i] - _NODES[k]
            if difference == 0.0:
                difference = 1e-30  # at a node, its own value counts alone
            out[i, k] = _BARYCENTRIC[k] / difference
            total += out[i, k]
        for k in range(_N_NODES):
            out[i, k] /= total


@compiled()
def _evaluate(values: Array, panel: Integers, coefficients: Array, out: Array) -> None:
    i = 0
    for state in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(_N_NODES):
                total += coefficients[i, k] * values[state, panel[i] * _N_NODES + k]
            out[state, j] = total
            i += 1


@compiled()
def _convolve(
    shape: Array,
    rate: Array,
    log_total: Array,
    x: Array,
    log_x: Array,
    log_weight: Array,
    panel: Integers,
    coefficients: Array,
    values: Array,
    counts: Integers,
    out: Array,
) -> None:
    """Add to ``out`` the integrals over all panels; a hidden state at a time."""
    exponents, density = np.empty(x.size), np.empty(x.size)
    for state in range(shape.size):
        for i in range(x.size):
            exponents[i] = (shape[state] - 1.0) * log_x[i] - rate[state] * x[i] + log_weight[i] - log_total[state]
        exponentials(exponents, density)
        i = 0
        for j in range(counts.size):
            total = 0.0
            for _ in range(counts[j]):
                entered = 0.0
                for k in range(_N_NODES):
                    entered += coefficients[i, k] * values[state, panel[i] * _N_NODES + k]
                total += density[i] * entered
                i += 1
            out[state, j] += total
