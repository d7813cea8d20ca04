"""Rows whose unobserved cells are all shared: missing covariates, endpoints of which nothing is known, the denominators of training.

Rows with the same shared cells, a *pattern*, have the same factor G for each state; only the weights of the states differ, and these are
products over hidden units. With the hidden units cut in two halves, the weights are an outer product of two short vectors a and b, and

* the sum over states is b G a, two thin products instead of a pass over all states with a product for each cell;
* means of the hidden units need G a and b G only;
* what the rows of a pattern add to its states' occupancy is a sum of outer products, times G once for all rows.

So a row costs three multiplications and additions per state, whatever the number of its unobserved cells.
"""

from __future__ import annotations

from math import log

import numpy as np

from harmonium.engine.assembly import Chunk
from harmonium.engine.state_sum import (
    SMALLEST_SUM,
    SUMMED,
    UNDERFLOWN,
    Energy,
    Factors,
    Sums,
    add_observed,
    add_up,
    fields_of,
    state_weights,
    visible_energy,
)
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers

__all__ = ["sum_patterns"]


@compiled(sums=True)
def _pattern_factor(chunk: Chunk, row: int, factors: Factors, out: Array) -> float:
    """The product of the factors of a row's cells, by state (high units, low units); returns the logarithm of its scale."""
    n_low = out.shape[1]
    log_scale = 0.0
    out[:] = 1.0
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        shared = chunk.shared[cell]
        log_scale += factors.shared_scale[shared]
        for b in range(out.shape[0]):
            for a in range(n_low):
                out[b, a] *= factors.shared[shared, b * n_low + a]
    return log_scale


@compiled(sums=True)
def _spread(chunk: Chunk, row: int, factor: Array, total: Array, occupancy: Array) -> None:
    """Hand what the rows of a pattern have added up to each of its cells; ``total`` is used up."""
    n_low = total.shape[1]
    for b in range(total.shape[0]):
        for a in range(n_low):
            total[b, a] *= factor[b, a]
    for cell in range(chunk.first_cell[row], chunk.first_cell[row + 1]):
        for b in range(total.shape[0]):
            for a in range(n_low):
                occupancy[chunk.shared[cell], b * n_low + a] += total[b, a]
    total[:] = 0.0


@compiled(sums=True)
def _over_low(factor: Array, low: Array, high: Array, out: Array) -> float:
    """G a in ``out``, times b; returns the sum b G a."""
    total = 0.0
    for b in range(high.size):
        product = 0.0
        for a in range(low.size):
            product += factor[b, a] * low[a]
        out[b] = high[b] * product
        total += out[b]
    return total


@compiled(sums=True)
def _over_high(factor: Array, low: Array, high: Array, out: Array) -> None:
    """B G in ``out``, times a."""
    out[:] = 0.0
    for b in range(high.size):
        weight = high[b]
        for a in range(low.size):
            out[a] += weight * factor[b, a]
    for a in range(low.size):
        out[a] *= low[a]


@compiled()
def means_of_units(states: Array, scale: float, expected: Array, first: int, n_units: int) -> None:
    """Means of ``n_units`` hidden units from the weights of their states, which are used up."""
    half = states.size
    for j in range(n_units - 1, -1, -1):
        half //= 2
        expected[first + j] = scale * add_up(states, half, 2 * half)
        for i in range(half):
            states[i] += states[half + i]


@compiled(sums=True)
def _add_outer(weight: float, low: Array, high: Array, out: Array) -> None:
    for b in range(high.size):
        factor = weight * high[b]
        for a in range(low.size):
            out[b, a] += factor * low[a]


@compiled()
def _begins(chunk: Chunk, row: int, before: int) -> bool:
    """Whether a row has other cells than the one before it."""
    cell, other = chunk.first_cell[row], chunk.first_cell[before]
    n = chunk.first_cell[row + 1] - cell
    differs = chunk.first_cell[before + 1] - other != n
    for k in range(0 if differs else n):
        differs = differs or chunk.shared[cell + k] != chunk.shared[other + k]
    return bool(differs)


@compiled()
def sum_patterns(chunk: Chunk, rows: Integers, row_weights: Array, energy: Energy, factors: Factors, sums: Sums) -> None:
    """Sum over the hidden states of some rows, sorted by pattern (eq. 5), as :func:`harmonium.engine.state_sum.sum_states` does."""
    statistics, bias, coupling, hidden_bias = chunk.statistics, energy.bias, energy.coupling, energy.hidden_bias
    n_hidden, with_gradient = hidden_bias.size, sums.value.size > 0
    n_low = n_hidden - n_hidden // 2
    low, high = np.empty(1 << n_low), np.empty(1 << (n_hidden - n_low))
    over_low, over_high = np.empty(high.size), np.empty(low.size)
    factor, total = np.empty((high.size, low.size)), np.zeros((high.size, low.size))
    fields, expected = np.empty(n_hidden), np.empty(n_hidden)
    pattern_scale = 0.0
    for place in range(rows.size):
        row = rows[place]
        if place == 0 or _begins(chunk, row, rows[place - 1]):
            if with_gradient and place > 0:
                _spread(chunk, rows[place - 1], factor, total, sums.occupancy)
            pattern_scale = _pattern_factor(chunk, row, factors, factor)
        fields_of(statistics, row, coupling, hidden_bias, fields)
        log_scale = state_weights(fields[:n_low], low) + state_weights(fields[n_low:], high) + pattern_scale
        mass = _over_low(factor, low, high, over_low)
        if not mass > SMALLEST_SUM:
            sums.flag[row] = UNDERFLOWN
            continue
        sums.flag[row] = SUMMED
        log_mass = log(mass) + log_scale - visible_energy(statistics, row, bias) - energy.constant
        sums.log_mass[row] = log_mass
        if with_gradient:
            _over_high(factor, low, high, over_high)
            means_of_units(over_high, 1.0 / mass, expected, 0, n_low)
            means_of_units(over_low, 1.0 / mass, expected, n_low, n_hidden - n_low)
            sums.value[0] += row_weights[row] * log_mass
            add_observed(statistics, row, row_weights[row], expected, sums.bias, sums.coupling, sums.hidden_bias)
            _add_outer(row_weights[row] / mass, low, high, total)
    if with_gradient and rows.size > 0:
        _spread(chunk, rows[-1], factor, total, sums.occupancy)
