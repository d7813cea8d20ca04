"""Random small models and tables for tests."""

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

EVERY_UNIT = Layout([Bernoulli(), Categorical(3), Gaussian(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def random_parameters(layout, n_hidden, rng, strength=1.0):
    """Parameters of every sign and size that a fit could reach, within their bounds."""
    start = Parameters.initial(layout, np.full((1, layout.n_columns), np.nan), n_hidden, rng)
    vector = start.to_vector()
    parameters = start.with_vector(rng.normal(0.0, strength, vector.size))
    for block, own in zip(layout.blocks, parameters.blocks, strict=True):
        if isinstance(block.unit, TruncatedGamma):
            own["W"][...] *= 5.0
            own["a"][...] *= 5.0
            own["V"][...] = 3.0 * np.abs(own["V"])
            own["c"][...] = np.abs(own["c"])
        if isinstance(block.unit, Gaussian):
            own["sigma"][...] = np.exp(rng.normal(0.0, 0.3, own["sigma"].shape))
    return parameters


def random_value(unit, rng):
    if unit.discrete:
        return float(rng.integers(0, int(unit.domain[1]) + 1))
    return rng.uniform(0.02, 1.0) if isinstance(unit, TruncatedGamma) else rng.normal()


def random_interval(unit, rng):
    """An interval of any kind: one-sided, narrow, wide, or of levels."""
    if unit.discrete:
        highest = unit.domain[1]
        return (0.0, highest) if rng.random() < 0.5 else (-1.0, highest // 2.0)
    lower = random_value(unit, rng)
    if isinstance(unit, Gaussian):
        return [(lower, lower + rng.exponential()), (-np.inf, lower), (lower, np.inf)][rng.integers(3)]
    lower = min(lower, 0.97)
    narrow = min(1.0, lower * (1.0 + 10.0 ** -rng.uniform(1.0, 8.0)))
    return [(lower, 1.0), (0.0, lower), (lower, lower + (1.0 - lower) * rng.random()), (lower, narrow)][rng.integers(4)]


def random_cells(layout, n_rows, rng, most_unobserved_continuous=None):
    """Rows that mix points, intervals and free cells of every unit."""
    lower = np.empty((n_rows, layout.n_columns))
    upper = np.empty((n_rows, layout.n_columns))
    for row in range(n_rows):
        left = layout.n_columns if most_unobserved_continuous is None else most_unobserved_continuous
        for column in rng.permutation(layout.n_columns):
            unit = layout.units[column]
            kind = rng.integers(3)
            if not unit.discrete and kind > 0:
                if left == 0:
                    kind = 0
                else:
                    left -= 1
            if kind == 0:
                lower[row, column] = upper[row, column] = random_value(unit, rng)
            elif kind == 1:
                lower[row, column], upper[row, column] = random_interval(unit, rng)
            else:
                lower[row, column] = upper[row, column] = np.nan
    return Cells.from_bounds(layout, lower, upper)
