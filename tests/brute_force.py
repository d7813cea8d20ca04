"""The log mass from its definition: the paper's energy, nested quadrature over x, and a sum over h.

Shares nothing with the package but the parameters' names, and does not use that units are independent given h.
"""

from itertools import product

import numpy as np

from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma


def energy(parameters, x, h):
    """Eq. (1) for x: list of arrays, one for each column, of one broadcast shape; h: tuple."""
    h = np.array(h, dtype=float)
    total = parameters.hidden_bias @ h if h.size else 0.0
    column = 0
    for block, own in zip(parameters.layout.blocks, parameters.blocks, strict=True):
        for i in range(block.n_columns):
            value = x[column]
            field = own["W"][i] @ h
            if isinstance(block.unit, Bernoulli):
                total = total + value * (own["a"][i] + field)
            elif isinstance(block.unit, Categorical):
                level = value.astype(int)
                total = total + (own["a"][i] + field)[level]
            elif isinstance(block.unit, Gaussian):
                sigma = own["sigma"][i]
                total = total + value / sigma * field + (value - own["a"][i]) ** 2 / (2.0 * sigma**2)
            else:
                total = total + value * (own["a"][i] + field) - np.log(value) * (own["c"][i] + own["V"][i] @ h)
            column += 1
    return total


def _gauss(edges, n=24):
    nodes, weights = np.polynomial.legendre.leggauss(n)
    edges = np.asarray(edges, dtype=float)
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def _rule(unit, lower, upper, breaks=()):
    """Points and weights that sum or integrate over a cell; event times with fewer nodes, and panels that end at ``breaks``, if given."""
    if lower == upper:
        return np.array([lower]), np.ones(1)
    free = np.isnan(lower)
    if unit.discrete:
        levels = np.arange(int(unit.domain[1]) + 1.0)
        inside = levels if free else levels[(levels > lower) & (levels <= upper)]
        return inside, np.ones(inside.size)
    if isinstance(unit, TruncatedGamma):
        low, high = (0.0, 1.0) if free else (max(lower, 0.0), min(upper, 1.0))
        if breaks:
            edges = {low, high, *(x for x in (*breaks, *0.5 ** np.arange(12.0)) if low < x < high)}
            return _gauss(sorted(edges), 12)
        if low == 0.0:
            return _gauss(high * np.concatenate([[0.0], 0.5 ** np.arange(40, -1, -1.0)]))
        return _gauss(np.geomspace(low, high, 2 + int(8 * np.log(high / low))))
    low, high = (-30.0, 30.0) if free else (max(lower, -30.0), min(upper, 30.0))
    return _gauss(np.linspace(low, high, 2 + int(high - low)), 16)


def log_mass(parameters, lower, upper):
    """Of one row."""
    rules = [_rule(unit, lo, hi) for unit, lo, hi in zip(parameters.layout.units, lower, upper, strict=True)]
    grid = np.meshgrid(*(points for points, _ in rules), indexing="ij", sparse=True)
    weights = np.meshgrid(*(weights for _, weights in rules), indexing="ij", sparse=True)
    total = 0.0
    for h in product((0, 1), repeat=parameters.n_hidden):
        density = np.exp(-energy(parameters, grid, h))
        for weight in weights:
            density = density * weight
        total += density.sum()
    return np.log(total)


def survival(parameters, lower, upper, column, positions, density):
    """P(x > u) of an unobserved event time in one row, by dense quadrature over all of its unobserved cells together.

    ``density`` is one of the two functions below: p(x) up to a factor, by enumeration or in closed form.
    """
    rules = [_rule(unit, lo, hi, positions) for unit, lo, hi in zip(parameters.layout.units, lower, upper, strict=True)]
    total = density(parameters, np.meshgrid(*(points for points, _ in rules), indexing="ij", sparse=True))
    for weight in np.meshgrid(*(weights for _, weights in rules), indexing="ij", sparse=True):
        total = total * weight
    marginal = total.sum(axis=tuple(c for c in range(len(rules)) if c != column))
    return np.array([marginal[rules[column][0] > u].sum() for u in positions]) / marginal.sum()


def density_by_enumeration(parameters, grid):
    """Sum over all hidden states, one by one."""
    shift = energy(parameters, grid, np.zeros(parameters.n_hidden)).min()
    return sum(np.exp(shift - energy(parameters, grid, h)) for h in product((0, 1), repeat=parameters.n_hidden))


def density_in_closed_form(parameters, grid):
    """The product over hidden units of 1 + e^-phi; the energy is affine in h, so that a unit's phi is a difference."""
    none = energy(parameters, grid, np.zeros(parameters.n_hidden))
    log_density = -none
    for unit in np.eye(parameters.n_hidden):
        log_density = log_density + np.logaddexp(0.0, none - energy(parameters, grid, unit))
    return np.exp(log_density - log_density.max())
