"""Factors of what rows have in common, for :mod:`harmonium.engine.block_sum`: patterns and cells of tables, and their adjoints.

Inner loops run over all states. None has more arrays than the compiler can tell apart: it uses vector instructions only where eight
comparisons of addresses show that what is written is not read.
"""

from __future__ import annotations

from harmonium.engine.panels import NODES
from harmonium.engine.row_blocks import RowBlocks
from harmonium.engine.state_sum import Factors
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array

__all__ = ["evaluate_cells", "pattern_factors", "pull_back_cells", "spread_patterns"]


@compiled()
def pattern_factors(rows: RowBlocks, factors: Factors, out: Array, scale: Array) -> None:
    """The product of the factors of each pattern's cells, and the logarithm of its scale."""
    out[:] = 1.0
    scale[:] = 0.0
    for pattern in range(scale.size):
        for k in range(rows.pattern_first[pattern], rows.pattern_first[pattern + 1]):
            shared = rows.pattern_shared[k]
            scale[pattern] += factors.shared_scale[shared]
            for i in range(out.shape[1]):
                out[pattern, i] *= factors.shared[shared, i]


@compiled()
def spread_patterns(rows: RowBlocks, total: Array, occupancy: Array) -> None:
    """Hand what the rows of each pattern have added up to its cells."""
    for pattern in range(total.shape[0]):
        for k in range(rows.pattern_first[pattern], rows.pattern_first[pattern + 1]):
            for i in range(total.shape[1]):
                occupancy[rows.pattern_shared[k], i] += total[pattern, i]


@compiled(sums=True)
def evaluate_cells(rows: RowBlocks, first: int, table: Array, errors: Array, out: Array, out_errors: Array) -> None:
    """Factors of some cells of tables, by state, and how wrong they may be."""
    whole, parts, part_row, part_weights = rows.whole, rows.parts, rows.part_row, rows.part_weights
    error_row, part_error, part_length, n_states = rows.error, rows.part_error, rows.part_length, out.shape[1]
    for c in range(out.shape[0]):
        cell = first + c
        error, begin, end = error_row[cell], whole[cell, 0], whole[cell, 0] + whole[cell, 1]
        for i in range(n_states):
            out[c, i] = 0.0
            out_errors[c, i] = errors[error, i] if error >= 0 else 0.0
        for row in range(begin, end):
            for i in range(n_states):
                out[c, i] += table[row, i]
        for side in range(2):
            part = parts[cell, side]
            if part < 0:
                continue
            for k in range(0, NODES, 6):
                row, w0, w1, w2 = part_row[part] + k, part_weights[part, k], part_weights[part, k + 1], part_weights[part, k + 2]
                w3, w4, w5 = part_weights[part, k + 3], part_weights[part, k + 4], part_weights[part, k + 5]
                for i in range(n_states):
                    low = w0 * table[row, i] + w1 * table[row + 1, i] + w2 * table[row + 2, i]
                    out[c, i] += low + w3 * table[row + 3, i] + w4 * table[row + 4, i] + w5 * table[row + 5, i]
            own, length = part_error[part], part_length[part]
            for i in range(n_states):
                out_errors[c, i] += length * errors[own, i]


@compiled(sums=True)
def pull_back_cells(rows: RowBlocks, first: int, by_factor: Array, adjoint: Array) -> None:
    """The adjoint of :func:`evaluate_cells`."""
    whole, parts, part_row, part_weights, n_states = rows.whole, rows.parts, rows.part_row, rows.part_weights, adjoint.shape[1]
    for c in range(by_factor.shape[0]):
        cell = first + c
        for row in range(whole[cell, 0], whole[cell, 0] + whole[cell, 1]):
            for i in range(n_states):
                adjoint[row, i] += by_factor[c, i]
        for side in range(2):
            part = parts[cell, side]
            if part < 0:
                continue
            for k in range(0, NODES, 3):
                row = part_row[part] + k
                w0, w1, w2 = part_weights[part, k], part_weights[part, k + 1], part_weights[part, k + 2]
                for i in range(n_states):
                    value = by_factor[c, i]
                    adjoint[row, i] += w0 * value
                    adjoint[row + 1, i] += w1 * value
                    adjoint[row + 2, i] += w2 * value
