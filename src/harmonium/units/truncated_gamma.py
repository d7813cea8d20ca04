r"""Truncated gamma: an event time on the unit interval.

The density given the hidden state is proportional to :math:`x^{\alpha-1} e^{-\beta x}` on (0, 1], with shape
:math:`\alpha \geq 1` and a rate :math:`\beta` of any sign. Its statistics are :math:`(x, -\ln x)` and the natural
parameters that go with them :math:`(\beta, \alpha - 1)`, both affine in the hidden state (eq. 4).

Two kernels decide whether the package is right and fast: the integral of the density over an interval with its two moments
(:mod:`harmonium.units.gamma_integral`), and a draw from an interval, here. Both are explained in docs/numerics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential, logarithm, logarithm_of_one_plus
from harmonium.numerics.streams import open_uniform, spawn
from harmonium.typing import Array
from harmonium.units.arguments import IntervalArguments
from harmonium.units.contract import Canonical, NaturalParameter, NaturalTerm, Parameter, ParameterBlock, UnitDefaults, broadcast_cells
from harmonium.units.gamma_integral import element, interval_mass, interval_mass_of_one
from harmonium.units.tangent_hat import MOST_PROPOSALS, Hat, draw_exponential, is_accepted, make_hat, propose

__all__ = ["TruncatedGamma", "draw", "integrate", "interval_mass", "sample", "write_statistics"]

_FLAT_SHAPE = 1e-14  # below this, x^(alpha - 1) is 1 to the last digit wherever there is mass
_SHAPES = (0.0, 300.0)  # of V and c each; beyond, a hidden unit shrinks onto one event time (docs/model.md, section 4)
_EARLIEST = 1e-4  # a representative time, so that its logarithm says something about the others
_WIDEST_SHAPE, _CENTRES = 6.0, (0.2, 0.8)  # of the bells where the exact trainer begins


# --- the sampler ------------------------------------------------------------------------------------------------------


@compiled(inline=True)
def _mode(k: float, beta: float, lower: float, upper: float) -> float:
    return upper if beta <= 0.0 else min(max(k / beta, lower), upper)


@compiled(inline=True)
def _contacts(k: float, beta: float, mode: float, lower: float, upper: float) -> tuple[float, float]:
    """Where k ln x - beta x has dropped by about one left and right of the mode: from second-order expansions in ln x and in x."""
    slope = k - beta * mode
    v = min(2.0 / (slope + sqrt(slope * slope + 2.0 * max(beta, 0.0) * mode)), 2.0)
    at_mode = k / mode
    fall = beta - at_mode
    right = mode + 2.0 / (fall + sqrt(fall * fall + 2.0 * at_mode / mode))
    return max(mode * exponential(-v), lower), min(right, upper)


@compiled(inline=True)
def _tangent(k: float, beta: float, mode: float, p: float) -> tuple[float, float, float]:
    """The tangent at p as (point, log density relative to the mode, slope)."""
    return p, k * logarithm_of_one_plus((p - mode) / mode) - beta * (p - mode), k / p - beta


@compiled(inline=True)
def _hat(k: float, beta: float, mode: float, contacts: tuple[float, float], lower: float, upper: float) -> Hat:
    middle = mode, 0.0, 0.0 if lower < mode < upper else k / mode - beta
    return make_hat(_tangent(k, beta, mode, contacts[0]), middle, _tangent(k, beta, mode, contacts[1]), lower, upper)


@compiled(inline=True)
def _log_ratio(k: float, beta: float, mode: float, x: float, log_hat: float) -> float:
    """Ln of the density x^k e^(-beta x) divided by the hat."""
    return k * logarithm(x / mode) - beta * (x - mode) - log_hat


@compiled(inline=True)
def _draw_counted(k: float, beta: float, mode: float, hat: Hat, streams: NDArray[np.uint64], i: int) -> tuple[float, int]:
    """One draw from x^k e^(-beta x) under a hat, with the number of proposals it took."""
    for n_proposals in range(1, MOST_PROPOSALS):
        x, log_hat = propose(hat, open_uniform(streams, i))
        if x > 0.0 and is_accepted(_log_ratio(k, beta, mode, x, log_hat), open_uniform(streams, i)):
            return x, n_proposals
    return mode, MOST_PROPOSALS


class _Draws(NamedTuple):
    """Draws on their way, an array for each quantity: one first proposal for each cell, with its log ratio to the hat."""

    k: Array
    beta: Array
    lower: Array
    upper: Array
    mode: Array
    left: Array
    right: Array
    uniform: Array
    second_uniform: Array
    x: Array
    log_ratio: Array


@compiled()
def _find_contacts(d: _Draws, n: int) -> None:
    for m in range(n):
        d.mode[m] = _mode(d.k[m], d.beta[m], d.lower[m], d.upper[m])
        d.left[m], d.right[m] = _contacts(d.k[m], d.beta[m], d.mode[m], d.lower[m], d.upper[m])


@compiled()
def _propose(d: _Draws, n: int) -> None:
    for m in range(n):
        hat = _hat(d.k[m], d.beta[m], d.mode[m], (d.left[m], d.right[m]), d.lower[m], d.upper[m])
        d.x[m], d.log_ratio[m] = propose(hat, d.uniform[m])


@compiled()
def _compare(d: _Draws, n: int) -> None:
    for m in range(n):
        d.log_ratio[m] = _log_ratio(d.k[m], d.beta[m], d.mode[m], d.x[m], d.log_ratio[m])


@compiled()
def draw(natural: Array, first: int, last: int, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> None:
    """A time in (lower, upper], given the natural parameters (beta, alpha - 1) (eq. 4).

    Nearly all proposals are accepted. So the first ones of all cells are made together, by vector instructions; in three loops, because a
    core that waits for one result works on the next cells only if they are near. The others follow one by one.
    """
    work, chains, n = np.empty((11, out.size)), np.empty(out.size, np.int64), 0
    d = _Draws(work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7], work[8], work[9], work[10])
    for i in range(out.size):
        if lower[i] == upper[i]:
            continue
        k, beta = natural[first + 1, i], natural[first, i]
        if k < _FLAT_SHAPE:
            out[i] = draw_exponential(-beta, lower[i], upper[i], streams, i)
            continue
        d.k[n], d.beta[n], d.lower[n], d.upper[n] = k, beta, lower[i], upper[i]
        d.uniform[n], d.second_uniform[n] = open_uniform(streams, i), open_uniform(streams, i)
        chains[n] = i
        n += 1
    _find_contacts(d, n)
    _propose(d, n)
    _compare(d, n)
    for m in range(n):
        if d.x[m] > 0.0 and is_accepted(d.log_ratio[m], d.second_uniform[m]):
            out[chains[m]] = d.x[m]
        else:
            k, beta, mode = d.k[m], d.beta[m], d.mode[m]
            hat = _hat(k, beta, mode, (d.left[m], d.right[m]), d.lower[m], d.upper[m])
            out[chains[m]] = _draw_counted(k, beta, mode, hat, streams, chains[m])[0]


@compiled()
def _draws(alpha: Array, beta: Array, lower: Array, upper: Array, streams: NDArray[np.uint64], out: Array) -> int:
    """One draw for each set of parameters; equal neighbours share a hat. Returns the number of proposals."""
    n_proposals = 0
    k = rate = low = high = mode = np.nan
    hat = make_hat((0.5, 0.0, 0.0), (0.5, 0.0, 0.0), (0.5, 0.0, 0.0), 0.0, 1.0)
    for i in range(out.size):
        new = (element(alpha, i) - 1.0, element(beta, i), element(lower, i), element(upper, i))
        if new[0] < _FLAT_SHAPE:
            out[i] = draw_exponential(-new[1], new[2], new[3], streams, 0)
            n_proposals += 1
            continue
        if new != (k, rate, low, high):
            k, rate, low, high = new
            mode = _mode(k, rate, low, high)
            hat = _hat(k, rate, mode, _contacts(k, rate, mode, low, high), low, high)
        out[i], n = _draw_counted(k, rate, mode, hat, streams, 0)
        n_proposals += n
    return n_proposals


def sample(alpha: ArrayLike, beta: ArrayLike, lower: ArrayLike, upper: ArrayLike, rng: np.random.Generator) -> Array:
    r"""Draw from the density proportional to :math:`x^{\alpha-1} e^{-\beta x}` on an interval (eq. 4).

    One draw for each element of the broadcast arguments.

    Parameters
    ----------
    alpha, beta, lower, upper : array_like
        As in :func:`interval_mass`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray
        Draws, of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> x = sample(8.127, 28.508, np.full(1000, 0.2), 1.0, np.random.default_rng(0))
    >>> bool((x > 0.2).all()), round(float(x.mean()), 1)
    (True, 0.3)
    """
    arguments = IntervalArguments(alpha, beta, lower, upper)
    out = np.empty(arguments.size)
    _draws(*arguments.flat(), spawn(rng, 1), out)
    return out.reshape(arguments.shape)


# --- the unit ---------------------------------------------------------------------------------------------------------


@compiled()
def write_statistics(x: Array, out: Array, first: int, last: int) -> None:
    """The statistics (x, -ln x)."""
    for i in range(x.size):
        out[first, i] = x[i]
        out[first + 1, i] = -logarithm(x[i])


@compiled()
def integrate(natural: Array, first: int, last: int, lower: float, upper: float, log_mass: Array, means: Array, place: int) -> None:
    """A time of which no more is known than that it lies in (lower, upper] (eq. 5 and eq. 12)."""
    for i in range(log_mass.size):
        log_mass[i], mean_log_x, means[place, i] = interval_mass_of_one(1.0 + natural[first + 1, i], natural[first, i], lower, upper)
        means[place + 1, i] = -mean_log_x


@dataclass(frozen=True)
class TruncatedGamma(UnitDefaults):
    """An event time on (0, 1] (eq. 4); parameters W, V (couplings) and a, c (biases), with V and c not negative."""

    name: ClassVar[str] = "truncated_gamma"
    discrete: ClassVar[bool] = False
    tabulated: ClassVar[bool] = True
    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("W", couples=True, penalised=True, paper_name="W_B"),
        Parameter("V", couples=True, penalised=True, lowest=0.0, paper_name="V"),
        Parameter("a", paper_name="a_B"),
        Parameter("c", lowest=0.0, paper_name="c"),
    )
    natural_parameters: ClassVar[tuple[NaturalParameter, ...]] = (
        NaturalParameter(NaturalTerm(1.0, "a"), NaturalTerm(1.0, "W")),
        NaturalParameter(NaturalTerm(1.0, "c"), NaturalTerm(1.0, "V"), bias_bounds=_SHAPES, coupling_bounds=_SHAPES, compensated_by=0),
    )

    def statistics(self, x: Array) -> Array:
        """(x, -ln x) along a new last axis."""
        return np.stack([x, -np.log(x)], axis=-1)

    def _masses(self, natural: Array, lower: Array, upper: Array) -> Array:
        """(log mass, mean of ln x, mean of x) of intervals, all arguments of one length."""
        return np.stack(interval_mass(natural[:, 1] + 1.0, natural[:, 0], lower, upper))

    def log_mass(self, natural: Array, lower: Array, upper: Array) -> Array:
        """-energy at a point, ln of the integral over an interval (eq. 5)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        out = np.empty(lower.shape)
        out[point] = -np.sum(natural[point] * self.statistics(lower[point]), axis=-1)
        out[~point] = self._masses(natural[~point], lower[~point], upper[~point])[0]
        return out

    def mean_statistics(self, natural: Array, lower: Array, upper: Array) -> Array:
        """Means of (x, -ln x) under the constraint (eq. 12)."""
        natural, lower, upper, point = broadcast_cells(self, natural, lower, upper)
        out = np.empty(natural.shape)
        out[point] = self.statistics(lower[point])
        _, mean_log_x, mean_x = self._masses(natural[~point], lower[~point], upper[~point])
        out[~point] = np.stack([mean_x, -mean_log_x], axis=-1)
        return out

    def canonical(self, parameters: ParameterBlock) -> Canonical:
        """Natural parameters: beta = a + W h and alpha - 1 = c + V h."""
        n_columns, n_hidden = parameters["W"].shape
        bias, coupling = np.empty((n_columns, 2)), np.empty((n_columns, 2, n_hidden))
        bias[:, 0], bias[:, 1] = parameters["a"], parameters["c"]
        coupling[:, 0], coupling[:, 1] = parameters["W"], parameters["V"]
        return Canonical(bias, coupling, 0.0)

    def pull_back(self, parameters: ParameterBlock, gradient: Canonical) -> ParameterBlock:
        """The gradient by W, V, a and c."""
        return {
            "W": gradient.coupling[..., 0, :],
            "V": gradient.coupling[..., 1, :],
            "a": gradient.bias[..., 0],
            "c": gradient.bias[..., 1],
        }

    def own_parameters(self, natural: Canonical) -> ParameterBlock:
        """W, V, a and c."""
        return {
            "W": natural.coupling[:, 0, :],
            "V": natural.coupling[:, 1, :],
            "a": natural.bias[:, 0],
            "c": natural.bias[:, 1],
        }

    def initial_parameters(self, values: Array, n_hidden: int, rng: np.random.Generator) -> ParameterBlock:
        """The paper's start: Glorot-uniform W; V and c uniform and not negative; a = 0 (docs/model.md, section 5)."""
        n = values.shape[1]
        width = sqrt(6.0 / (n_hidden + n))
        return {
            "W": rng.uniform(-width, width, (n, n_hidden)),
            "V": rng.uniform(0.0, 2.0 * width, (n, n_hidden)),
            "a": np.zeros(n),
            "c": rng.uniform(0.0, 2.0 * width, (n,)),
        }

    def representative_values(self, lower: Array, upper: Array) -> Array:
        """The time, or of a censored one its lower bound."""
        return np.clip(lower, _EARLIEST, 1.0)

    def neutral_parameters(self, values: Array, counts: Array | float = 1.0) -> ParameterBlock:
        """A flat density."""
        nothing = np.zeros(values.shape[1])
        return {"W": np.empty((nothing.size, 0)), "V": np.empty((nothing.size, 0)), "a": nothing, "c": nothing.copy()}

    def wide_start(self, n_hidden: int, rng: np.random.Generator) -> Array:
        """Bells of every width all over the time axis."""
        shape, centre = rng.uniform(0.0, _WIDEST_SHAPE, n_hidden), rng.uniform(*_CENTRES, n_hidden)
        return np.stack([shape / centre, shape])
