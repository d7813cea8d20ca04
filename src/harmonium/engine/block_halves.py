"""Sums over the states of a block of rows by halves of the hidden units, for :mod:`harmonium.engine.block_sum`.

A state's weight is a product over hidden units, and so the product of a weight of the *low* units and one of the *high* ones. Two sums
against a row's factors (high states, low states) give its mass and the posteriors of its hidden units. None of the arrays (states, rows)
that passes over all states would write and read again is needed, and no adjoint of a factor needs a division.

Where the rows of a block have the same factors, these sums are products of matrices. Otherwise they are made row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.block_kernels import expected_hidden, state_weights
from harmonium.engine.row_blocks import ROWS, RowBlocks
from harmonium.numerics.compilation import compiled
from harmonium.numerics.products import add_products, add_sums_of_products
from harmonium.typing import Array

__all__ = [
    "FEWEST_FOR_HALVES",
    "Halves",
    "add_occupancy",
    "expected_by_halves",
    "leave_out",
    "multiply_factors",
    "room_for_halves",
    "sum_block",
    "sum_pattern",
    "times_weights",
    "unit_halves",
]

FEWEST_FOR_HALVES = 7
"""Hidden units; with fewer, loops over half of the states are too short."""

_N_LOW = 4  # hidden units of the low half


class Halves(NamedTuple):
    """Working memory.

    For the rows of a block (half states, rows): weights of either half, sums against the other half, and high weights times what rows
    count. Then the factors of one row, and sums over rows (high states, low states).
    """

    low: Array
    high: Array
    by_low: Array
    by_high: Array
    scaled: Array
    factors: Array
    products: Array


@compiled()
def room_for_halves(n_hidden: int) -> Halves:
    """Working memory for the rows of a block."""
    n_low = min(_N_LOW, n_hidden)
    n_high = 1 << (n_hidden - n_low)
    low, high = np.empty((2, 1 << n_low, ROWS)), np.empty((3, n_high, ROWS))
    return Halves(low[0], high[0], low[1], high[1], high[2], np.empty(n_high << n_low), np.empty((n_high, 1 << n_low)))


@compiled()
def unit_halves(on: Array, off: Array, at: Halves) -> None:
    """Weights of the states of either half, from those of hidden units."""
    state_weights(on[:_N_LOW], off[:_N_LOW], at.low)
    state_weights(on[_N_LOW:], off[_N_LOW:], at.high)


# --- rows with the same factors ---------------------------------------------------------------------------------------


@compiled()
def sum_pattern(factors: Array, at: Halves, total: Array) -> None:
    """Sum over all states, with factors that all rows have in common."""
    low, high, matrix = np.arange(at.low.shape[0]), np.arange(at.high.shape[0]), factors.reshape(at.high.shape[0], at.low.shape[0])
    _clear(at.by_low)
    _clear(at.by_high)
    add_products(matrix, high, low, at.low, at.by_high)
    add_products(matrix.T, low, high, at.high, at.by_low)
    _add_up(at.low, at.by_low, total)


@compiled(fused=True)
def _clear(out: Array) -> None:
    for i in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[i, r] = 0.0


@compiled(fused=True)
def _add_up(weights: Array, sums: Array, total: Array) -> None:
    for r in range(total.size):
        total[r] = 0.0
    for i in range(weights.shape[0]):
        for r in range(total.size):
            total[r] += weights[i, r] * sums[i, r]


@compiled()
def add_occupancy(factors: Array, inverse: Array, at: Halves, occupancy: Array) -> None:
    """Add up the rows' posterior probabilities of all states; ``inverse`` is what rows count, divided by their sums over states."""
    for b in range(at.high.shape[0]):
        for r in range(inverse.size):
            at.scaled[b, r] = at.high[b, r] * inverse[r]
    _clear(at.products)
    add_sums_of_products(at.scaled, at.low, at.products)
    products = at.products.reshape(-1)
    for i in range(occupancy.size):
        occupancy[i] += factors[i] * products[i]


# --- rows with factors of their own -----------------------------------------------------------------------------------


@compiled()
def sum_block(rows: RowBlocks, side: int, block: int, first: int, patterns: Array, cells: Array, at: Halves, total: Array) -> None:
    """Sum over all states, row by row."""
    work = np.empty((2, at.low.shape[0]))
    for r in range(total.size):
        multiply_factors(rows, side, block, r, first, -1, patterns, cells, at.factors)
        total[r] = _sum_row(at.factors, at.low, at.high, r, work, at.by_low, at.by_high)


@compiled()
def multiply_factors(
    rows: RowBlocks, side: int, block: int, r: int, first: int, left_out: int, patterns: Array, cells: Array, out: Array
) -> None:
    """Write the product of a row's factors, but for those of one of its cells."""
    own = rows.pattern[side, block, r]
    for i in range(out.size):
        out[i] = patterns[own, i]
    for k in range(rows.cells.shape[1]):
        cell = rows.cells[side, k, block, r] - first
        if cell >= 0 and k != left_out:
            for i in range(out.size):
                out[i] *= cells[cell, i]


@compiled(sums=True)
def _sum_row(factors: Array, low: Array, high: Array, r: int, work: Array, by_low: Array, by_high: Array) -> float:
    """A row's sums against the weights of either half, and over all states."""
    weights, sums, n_low = work[0], work[1], low.shape[0]
    for a in range(n_low):
        weights[a], sums[a] = low[a, r], 0.0
    for b in range(high.shape[0]):
        own, total, start = high[b, r], 0.0, b * n_low
        for a in range(n_low):
            value = factors[start + a]
            sums[a] += own * value
            total += weights[a] * value
        by_high[b, r] = total
    whole = 0.0
    for a in range(n_low):
        by_low[a, r] = sums[a]
        whole += weights[a] * sums[a]
    return whole


@compiled(sums=True)
def times_weights(low: Array, high: Array, r: int, scale: float, work: Array, values: Array) -> None:
    """Multiply by the weights of a row's states, times a number."""
    n_low = low.shape[0]
    for a in range(n_low):
        work[a] = scale * low[a, r]
    for b in range(high.shape[0]):
        own, start = high[b, r], b * n_low
        for a in range(n_low):
            values[start + a] *= own * work[a]


# --- both -------------------------------------------------------------------------------------------------------------


@compiled()
def expected_by_halves(at: Halves, folded: Array, expected: Array) -> None:
    """Sums over the states in which a hidden unit is on; sums against halves are used up."""
    _multiply(at.low, at.by_low)
    _multiply(at.high, at.by_high)
    expected_hidden(at.by_low, folded, expected[:_N_LOW])
    expected_hidden(at.by_high, folded, expected[_N_LOW:])


@compiled(fused=True)
def _multiply(weights: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[i, r] *= weights[i, r]


@compiled()
def leave_out(at: Halves, r: int) -> None:
    """Take a row out."""
    for a in range(at.low.shape[0]):
        at.low[a, r] = at.by_low[a, r] = 0.0
    for b in range(at.high.shape[0]):
        at.high[b, r] = at.by_high[b, r] = 0.0
