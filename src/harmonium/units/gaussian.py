r"""Gaussian: a numeric covariate with a learned scale.

:math:`p(x \mid h) = N(a - \sigma W h, \sigma^2)`, whose energy is :math:`(x/\sigma) W h + (x-a)^2/(2\sigma^2)` (eq. 1). In
natural form (eq. 3) the statistics are :math:`(x, x^2)` with parameters :math:`(W h/\sigma - a/\sigma^2,\; 1/(2\sigma^2))`; only
the first couples to the hidden units.

Columns should be standardised: the natural form subtracts numbers of size (a/sigma)^2 from each other, and loses digits where that
is large.

An interval is a value known only to lie between bounds, such as a laboratory value below the limit of detection.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.quadrature import gauss_legendre
from harmonium.numerics.streams import fill_normal, normal, open_uniform
from harmonium.typing import Array
from harmonium.units.contract import Canonical, NaturalParameter, NaturalTerm, Parameter, ParameterBlock, UnitDefaults, broadcast_cells
from harmonium.units.free_cells import all_free
from harmonium.units.tangent_hat import MOST_PROPOSALS, is_accepted, make_hat, propose

__all__ = ["Gaussian", "draw", "integrate", "write_statistics"]

_DROP = 40.0  # the density is followed until it has fallen by this much from its peak, in logarithm
_NODES, _WEIGHTS = gauss_legendre(64)
_LOG_TOTAL = 0.5 * log(2.0 * pi)
_SMALLEST_SCALE = 0.05  # columns being standardised
_STEP = 0.5  # between nodes, in standard deviations given the hidden state: a normal density is integrated to thirty digits
_REACH = 5.0  # of nodes beyond the outermost means, in the same
_MOST_NODES = 100
_PRECISIONS = (0.02, 200.0)  # of 1 / (2 sigma^2): sigma between 0.05 and 5


@compiled()
def _standard_interval(lower: float, upper: float, width: float) -> tuple[float, float, float]:
    """Ln of the integral of e^(-z^2/2) over [lower, upper], with the means of z and of z^2 on it.

    Integrated over the window around the highest point, where every term is positive: narrow intervals and far tails keep
    their relative accuracy, which differences of the distribution function do not. ``width`` is passed separately because the
    difference of two nearby bounds has lost its digits.
    """
    peak = min(max(0.0, lower), upper)
    reach = sqrt(peak * peak + 2.0 * _DROP) - abs(peak)
    start, stop = max(lower - peak, -reach), min(upper - peak, reach)
    middle = 0.5 * (stop + start)
    half = 0.5 * (width if width < 1e-3 else stop - start)
    mass = first = second = 0.0
    for i in range(_NODES.size):
        d = middle + half * _NODES[i]
        density = _WEIGHTS[i] * exp(-d * (peak + 0.5 * d))
        mass += density
        first += density * d
        second += density * d * d
    first /= mass
    second /= mass
    return log(mass * half) - 0.5 * peak * peak, peak + first, peak * peak + 2.0 * peak * first + second


@compiled()
def _standard_intervals(lower: Array, upper: Array, width: Array, out: Array) -> None:
    for i in range(lower.size):
        out[0, i], out[1, i], out[2, i] = _standard_interval(lower[i], upper[i], width[i])


@compiled()
def _contact(z: float, mode: float) -> tuple[float, float, float]:
    """The tangent of -z^2/2 as (point, log density relative to the mode, slope)."""
    return z, -0.5 * (z - mode) * (z + mode), -z


@compiled()
def _draw_standard(lower: float, upper: float, streams: NDArray[np.uint64], i: int) -> float:
    """A standard normal number in [lower, upper], one of which is finite."""
    mode = min(max(0.0, lower), upper)
    reach = sqrt(mode * mode + 2.0) - abs(mode)
    left, right = _contact(max(mode - reach, lower), mode), _contact(min(mode + reach, upper), mode)
    hat = make_hat(left, _contact(mode, mode), right, lower, upper)
    for _ in range(MOST_PROPOSALS):
        z, log_hat = propose(hat, open_uniform(streams, i))
        if is_accepted(_contact(z, mode)[1] - log_hat, open_uniform(streams, i)):
            return z
    return mode


@compiled()
def write_statistics(x: Array, out: Array, first: int, last: int) -> None:
    """The statistics (x, x^2)."""
    for i in range(x.size):
        out[first, i] = x[i]
        out[first + 1, i] = x[i] * x[i]


@compiled()
def draw(natural: Array, first: int, last: int, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> None:
    """A number in (lower, upper]."""
    if all_free(lower, upper, -inf, inf):
        fill_normal(streams, out)
        for i in range(out.size):
            variance = 0.5 / natural[first + 1, i]
            out[i] = -natural[first, i] * variance + sqrt(variance) * out[i]
        return
    scale, quadratic = np.nan, np.nan
    for i in range(out.size):
        low, high = lower[i], upper[i]
        if low == high:
            continue
        if natural[first + 1, i] != quadratic:  # hidden units do not act on it, so it is the same for all
            quadratic = natural[first + 1, i]
            scale = sqrt(0.5 / quadratic)
        mean = -natural[first, i] * scale * scale
        if low == -inf and high == inf:
            out[i] = mean + scale * normal(streams, i)
        else:
            out[i] = min(max(mean + scale * _draw_standard((low - mean) / scale, (high - mean) / scale, streams, i), low), high)


@compiled()
def integrate(natural: Array, first: int, last: int, lower: float, upper: float, log_mass: Array, means: Array, place: int) -> None:
    """A cell of which nothing is known, or that it lies in (lower, upper] (eq. 5 and eq. 12)."""
    free = lower == -inf and upper == inf
    for i in range(log_mass.size):
        scale = sqrt(0.5 / natural[first + 1, i])
        mean = -natural[first, i] * scale * scale
        log_z, z, z_squared = _LOG_TOTAL, 0.0, 1.0
        if not free:
            log_z, z, z_squared = _standard_interval((lower - mean) / scale, (upper - mean) / scale, (upper - lower) / scale)
        log_mass[i] = log_z + log(scale) + 0.5 * (mean / scale) ** 2
        means[place, i] = mean + scale * z
        means[place + 1, i] = mean * mean + 2.0 * mean * scale * z + scale * scale * z_squared


@dataclass(frozen=True)
class Gaussian(UnitDefaults):
    """A variable on the real line; parameters W (coupling), a (mean when no hidden unit is on) and sigma (scale, > 0)."""

    name: ClassVar[str] = "gaussian"
    discrete: ClassVar[bool] = False
    tabulated: ClassVar[bool] = False
    domain: ClassVar[tuple[float, float]] = (-inf, inf)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("W", couples=True, penalised=True, paper_name="W_C"),
        Parameter("a", paper_name="a_C"),
        Parameter("sigma", lowest=0.0, exclusive=True, floor=_SMALLEST_SCALE, paper_name="sigma"),
    )
    natural_parameters: ClassVar[tuple[NaturalParameter, ...]] = (
        NaturalParameter(NaturalTerm(-1.0, "a", power=-2), NaturalTerm(1.0, "W", power=-1), scale="sigma"),
        NaturalParameter(NaturalTerm(0.5, None, power=-2), None, scale="sigma", bias_bounds=_PRECISIONS),
    )

    def statistics(self, x: Array) -> Array:
        """(x, x^2) along a new last axis."""
        return np.stack([x, np.square(x)], axis=-1)

    def _standardised(self, natural: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """Mean, scale, and (log mass, mean, mean square) of the standardised variable on the interval."""
        scale = np.sqrt(0.5 / natural[..., 1])
        mean = -natural[..., 0] * scale**2
        out = np.empty((3, lower.size))
        _standard_intervals((lower - mean) / scale, (upper - mean) / scale, (upper - lower) / scale, out)
        return mean, scale, out

    def log_mass(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Ln of the Gaussian integral over the constraint (eq. 5)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        out = np.empty(lower.shape)
        out[point] = -np.sum(natural[point] * self.statistics(lower[point]), axis=-1)
        mean, scale, (log_mass, _, _) = self._standardised(natural[~point], lower[~point], upper[~point])
        out[~point] = log_mass + np.log(scale) + 0.5 * (mean / scale) ** 2
        return out

    def mean_statistics(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Means of (x, x^2) under the constraint (eq. 12)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        out = np.empty(natural.shape)
        out[point] = self.statistics(lower[point])
        mean, scale, (_, z, z_squared) = self._standardised(natural[~point], lower[~point], upper[~point])
        out[~point, 0] = mean + scale * z
        out[~point, 1] = mean**2 + 2.0 * mean * scale * z + scale**2 * z_squared
        return out

    def nodes(self, bias: Array, coupling: Array) -> Array:
        """An even grid, the same whatever else is known: sums over it are integrals to many digits where densities are normal."""
        deviation = 1.0 / np.sqrt(2.0 * bias[1])
        pull = np.array([np.maximum(coupling[0], 0.0).sum(), np.minimum(coupling[0], 0.0).sum()])
        low, high = -(deviation**2) * (bias[0] + pull) + _REACH * deviation * np.array([-1.0, 1.0])
        step = max(_STEP * deviation, (high - low) / _MOST_NODES)
        return np.asarray(step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0))

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """(W h/sigma - a/sigma^2, 1/(2 sigma^2)), and the constant a^2/(2 sigma^2)."""
        precision = parameters["sigma"] ** -2.0
        a = parameters["a"]
        bias, coupling = np.empty((a.size, 2)), np.zeros((a.size, 2, parameters["W"].shape[1]))
        bias[:, 0], bias[:, 1] = -a * precision, 0.5 * precision
        coupling[:, 0] = parameters["W"] / parameters["sigma"][:, None]
        return Canonical(bias, coupling, float(-0.5 * a @ bias[:, 0]))

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """The gradient by W, a and sigma."""
        a, sigma = parameters["a"], parameters["sigma"]
        linear, quadratic = gradient.bias[:, 0], gradient.bias[:, 1]
        precision, coupling = 1.0 / (sigma * sigma), gradient.coupling[:, 0, :] / sigma[:, None]
        by_mean = gradient.constant * a - linear
        by_scale = ((linear - by_mean) * a - quadratic) * precision - (coupling * parameters["W"]).sum(axis=1)
        return {"W": coupling, "a": by_mean * precision, "sigma": by_scale / sigma}

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """W, a and sigma."""
        sigma = np.sqrt(0.5 / natural.bias[:, 1])
        return {"W": natural.coupling[:, 0, :] * sigma[:, None], "a": -natural.bias[:, 0] * sigma**2, "sigma": sigma}

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """Glorot-uniform W; a = 0 and sigma = 1, since numeric columns come standardised (docs/model.md, section 5)."""
        n = values.shape[1]
        width = sqrt(6.0 / (n_hidden + n))
        return {"W": rng.uniform(-width, width, (n, n_hidden)), "a": np.zeros(n), "sigma": np.ones(n)}
