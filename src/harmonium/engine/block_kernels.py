"""Loops over the rows of a block, for :mod:`harmonium.engine.block_sum`."""

from __future__ import annotations

from harmonium.engine.row_blocks import Places
from harmonium.engine.state_sum import SMALLEST_SUM
from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential, logarithm
from harmonium.typing import Array

__all__ = [
    "closed_form",
    "expected_hidden",
    "gather_factors",
    "invert_sums",
    "multiply_by_factors",
    "multiply_by_pattern",
    "row_dot",
    "state_weights",
    "unit_weights",
]


@compiled(fused=True)
def unit_weights(fields: Array, block: int, on: Array, off: Array, scale: Array) -> None:
    """Weights of the two states of each hidden unit, the larger one scaled to 1; the logarithm of the scale, visible energy included."""
    n_hidden = on.shape[0]
    for r in range(scale.size):
        scale[r] = fields[n_hidden, block, r]
    for j in range(n_hidden):
        for r in range(scale.size):
            x = fields[j, block, r]
            small = exponential(-abs(x))
            scale[r] += max(x, 0.0)
            on[j, r] = 1.0 if x > 0.0 else small
            off[j, r] = small if x > 0.0 else 1.0


@compiled(fused=True)
def closed_form(on: Array, off: Array, total: Array, expected: Array) -> None:
    """Rows with nothing unobserved: the sum is a product over hidden units, and their means are known (eq. 2)."""
    for r in range(total.size):
        total[r] = 1.0
    for j in range(on.shape[0]):
        for r in range(total.size):
            both = on[j, r] + off[j, r]
            total[r] *= both
            expected[j, r] = on[j, r] / both


@compiled(fused=True)
def state_weights(on: Array, off: Array, weights: Array) -> None:
    """Weights of all states by doubling."""
    for r in range(weights.shape[1]):
        weights[0, r] = 1.0
    half = 1
    for j in range(on.shape[0]):
        for i in range(half):
            for r in range(weights.shape[1]):
                value = weights[i, r]
                weights[half + i, r] = value * on[j, r]
                weights[i, r] = value * off[j, r]
        half *= 2


@compiled(fused=True)
def multiply_by_pattern(weights: Array, factors: Array, pattern: int, total: Array) -> None:
    """Multiply states' weights by factors that all rows have in common, and add them up."""
    for r in range(total.size):
        total[r] = 0.0
    for i in range(weights.shape[0]):
        factor = factors[pattern, i]
        for r in range(total.size):
            value = weights[i, r] * factor
            weights[i, r] = value
            total[r] += value


@compiled(fused=True)
def multiply_by_factors(weights: Array, factors: Array, total: Array) -> None:
    """Multiply states' weights by factors of each row, and add them up."""
    for r in range(total.size):
        total[r] = 0.0
    for i in range(weights.shape[0]):
        for r in range(total.size):
            value = weights[i, r] * factors[i, r]
            weights[i, r] = value
            total[r] += value


@compiled(fused=True)
def expected_hidden(weights: Array, folded: Array, expected: Array) -> None:
    """Sums over the states in which a hidden unit is on, folding the states in half once for each unit."""
    half, last = weights.shape[0] // 2, expected.shape[0] - 1
    if last < 0:
        return
    for r in range(weights.shape[1]):
        expected[last, r] = 0.0
    for i in range(half):
        for r in range(weights.shape[1]):
            expected[last, r] += weights[half + i, r]
            folded[i, r] = weights[i, r] + weights[half + i, r]
    for j in range(last - 1, -1, -1):
        half //= 2
        for r in range(weights.shape[1]):
            expected[j, r] = 0.0
        for i in range(half):
            for r in range(weights.shape[1]):
                expected[j, r] += folded[half + i, r]
                folded[i, r] += folded[half + i, r]


@compiled(sums=True)
def row_dot(a: Array, row: int, b: Array) -> float:
    """The product of a row of an array with a vector."""
    total = 0.0
    for r in range(b.size):
        total += a[row, r] * b[r]
    return total


@compiled(fused=True)
def gather_factors(
    pattern: Places, cells: Places, side: int, block: int, first: int, patterns: Array, cell_factors: Array, out: Array
) -> None:
    """The product of all factors of each row of a block, (states, rows)."""
    for r in range(out.shape[1]):
        own = pattern[side, block, r]
        for i in range(out.shape[0]):
            out[i, r] = patterns[own, i]
        for k in range(cells.shape[1]):
            cell = cells[side, k, block, r] - first
            if cell >= 0:
                for i in range(out.shape[0]):
                    out[i, r] *= cell_factors[cell, i]


@compiled()
def invert_sums(total: Array, inverse: Array, scale: Array) -> bool:
    """Add the logarithm of each sum to the scale, and invert it, unless it is too small; tells whether none is."""
    n_small = 0
    for r in range(total.size):
        good = total[r] > SMALLEST_SUM
        value = total[r] if good else 1.0
        n_small += 0 if good else 1
        inverse[r] = 1.0 / value if good else 0.0
        scale[r] += logarithm(value)
    return n_small == 0
