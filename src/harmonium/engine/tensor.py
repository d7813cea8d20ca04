r"""The integrand of a row on a tensor grid of values of its unobserved cells, compiled.

At every node the hidden units are summed in closed form: :math:`\prod_j (1 + e^{-\phi_j(x)})` (eq. 28). Fields are affine in the
statistics of the unobserved cells, so on a product of axes :math:`e^{-\phi_j}` is a product of one number for each axis. Exponentials
are therefore taken for axes, not for nodes; a node costs two multiplications and an addition per hidden unit, in vector instructions
along the longest axis. Each unit's largest value on the grid is scaled to one, so nothing overflows; products that could underflow hand
their exponents over to integers on the way. Rows in which a single unit's field reaches beyond e^600 are summed in logarithms instead.

Rows are taken one by one and in loops whose order does not depend on where arrays lie, so that a row has the same bits whatever stands
beside it.
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.typing import Array, Integers

__all__ = [
    "UNITS_AT_ONCE",
    "hidden_sums",
    "hidden_sums_in_logs",
    "log_marginals",
    "log_products",
    "log_products_in_logs",
    "observed_fields",
]

UNITS_AT_ONCE = 4
"""Hidden units whose factors are multiplied in one pass; arrays are padded to a multiple of it."""

_DEEPEST = 650.0  # a product is split into exponent and mantissa before it can fall by more than this, in logarithm
_GROWTH = 2.8  # of the logarithm of a product over four units: each is at most 2
_EXPONENT_SHIFT, _EXPONENT_OF_ONE = 52, 1023
_MANTISSA, _ONE = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000
_LN2 = log(2.0)
_NEGLIGIBLE = 1e-22  # of the probability: a line of nodes that adds nothing to expectations


@compiled()
def observed_fields(statistics: Array, bias: Array, coupling: Array, hidden_bias: Array, fields: Array, energy: Array) -> None:
    """Fields of the observed cells of every row (eq. 2), and their energy without hidden units."""
    for row in range(statistics.shape[0]):
        fields[row] = hidden_bias
        energy[row] = 0.0
        for d in range(statistics.shape[1]):
            s = statistics[row, d]
            if s != 0.0:
                energy[row] += bias[d] * s
                for j in range(hidden_bias.size):
                    fields[row, j] += coupling[d, j] * s


@compiled()
def _split(values: Array, exponents: Integers) -> None:
    """Move the exponents of positive numbers to an array of their own; what is left lies between 1 and 2."""
    bits = values.view(np.int64)
    for i in range(values.size):
        exponents[i] += (bits[i] >> _EXPONENT_SHIFT) - _EXPONENT_OF_ONE
        bits[i] = (bits[i] & _MANTISSA) | _ONE


@compiled()
def log_products(floor: Array, scale: Array, depth: Array, rest: Array, first: Array, inner: Array, out: Array) -> None:
    """Ln of the product over hidden units j of floor_j + scale_j rest_j first_j inner_j at every node (eq. 28).

    ``rest`` and ``first`` are (nodes, hidden), ``inner`` (hidden, nodes) and ``out`` (rest, first, inner); ``depth`` is -ln floor.
    """
    n_hidden, n = inner.shape
    p, exponents = np.empty(n_hidden), np.empty(n, np.int64)
    for q in range(rest.shape[0]):
        for k in range(first.shape[0]):
            values = out[q, k]
            values[:] = 1.0
            exponents[:] = 0
            for j in range(n_hidden):
                p[j] = scale[j] * rest[q, j] * first[k, j]
            fallen = 0.0
            for j in range(0, n_hidden, UNITS_AT_ONCE):
                fall = depth[j] + depth[j + 1] + depth[j + 2] + depth[j + 3] + _GROWTH
                if fallen + fall > _DEEPEST:
                    _split(values, exponents)
                    fallen = 0.0
                fallen += fall
                p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
                r0, r1, r2, r3 = floor[j], floor[j + 1], floor[j + 2], floor[j + 3]
                q0, q1, q2, q3 = inner[j], inner[j + 1], inner[j + 2], inner[j + 3]
                for i in range(n):
                    values[i] *= ((r0 + p0 * q0[i]) * (r1 + p1 * q1[i])) * ((r2 + p2 * q2[i]) * (r3 + p3 * q3[i]))
            for i in range(n):
                values[i] = log(values[i]) + _LN2 * exponents[i]


@compiled()
def log_products_in_logs(fields: Array, rest: Array, first: Array, inner: Array, out: Array) -> None:
    """As :func:`log_products`, from fields: slower, whatever their size."""
    for q in range(rest.shape[0]):
        for k in range(first.shape[0]):
            for i in range(inner.shape[1]):
                total = 0.0
                for j in range(fields.size):
                    field = fields[j] + rest[q, j] + first[k, j] + inner[j, i]
                    total += max(-field, 0.0) + log1p(exp(-abs(field)))
                out[q, k, i] = total


@compiled(sums=True)
def _sum(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@compiled()
def _log_sum(values: Array, work: Array) -> float:
    """Ln of the sum of exponentials."""
    highest = -np.inf
    for i in range(values.size):
        highest = max(highest, values[i])
    for i in range(values.size):
        work[i] = values[i] - highest
    exponentials(work, work)
    return float(highest + log(_sum(work)))


@compiled()
def log_marginals(values: Array, by_rest: Array, by_first: Array, by_inner: Array) -> float:
    """Ln of the sums of e^values (rest, first, inner) over all axes but one, for each axis; returns that of all."""
    n_rest, n_first, n = values.shape
    highest, sums, work = np.full(n, -np.inf), np.zeros(n), np.empty(n)
    by_line = np.empty((n_rest, n_first))
    for q in range(n_rest):
        for k in range(n_first):
            line = values[q, k]
            by_line[q, k] = _log_sum(line, work)
            for i in range(n):
                highest[i] = max(highest[i], line[i])
    for q in range(n_rest):
        for k in range(n_first):
            line = values[q, k]
            for i in range(n):
                work[i] = line[i] - highest[i]
            exponentials(work, work)
            for i in range(n):
                sums[i] += work[i]
    for i in range(n):
        by_inner[i] = highest[i] + log(sums[i])
    for q in range(n_rest):
        by_rest[q] = _log_sum(by_line[q], np.empty(n_first))
    for k in range(n_first):
        by_first[k] = _log_sum(by_line[:, k].copy(), np.empty(n_rest))
    return _log_sum(by_inner, work)


@compiled()
def hidden_sums(
    floor: Array,
    scale: Array,
    rest: Array,
    first: Array,
    inner: Array,
    values: Array,
    log_total: float,
    by_rest: Array,
    by_first: Array,
    by_inner: Array,
) -> None:
    """Probability of a node and of h_j = 1 (eq. 29), summed over all axes but one: (hidden, nodes) each, added.

    ``values`` (rest, first, inner) are logarithms of the integrand and become probabilities.
    """
    n_hidden, n = inner.shape
    share = np.empty(n)
    for q in range(rest.shape[0]):
        for k in range(first.shape[0]):
            line = values[q, k]
            for i in range(n):
                line[i] -= log_total
            exponentials(line, line)
            if _sum(line) < _NEGLIGIBLE:
                continue
            for j in range(n_hidden):
                p, r, own = scale[j] * rest[q, j] * first[k, j], floor[j], inner[j]
                for i in range(n):
                    share[i] = line[i] * (p * own[i]) / (r + p * own[i])
                of_unit = by_inner[j]
                for i in range(n):
                    of_unit[i] += share[i]
                total = _sum(share)
                by_rest[j, q] += total
                by_first[j, k] += total


@compiled()
def hidden_sums_in_logs(
    fields: Array,
    rest: Array,
    first: Array,
    inner: Array,
    values: Array,
    log_total: float,
    by_rest: Array,
    by_first: Array,
    by_inner: Array,
) -> None:
    """As :func:`hidden_sums`, from fields."""
    for q in range(rest.shape[0]):
        for k in range(first.shape[0]):
            for i in range(inner.shape[1]):
                values[q, k, i] = exp(values[q, k, i] - log_total)
                for j in range(fields.size):
                    on = values[q, k, i] / (1.0 + exp(min(fields[j] + rest[q, j] + first[k, j] + inner[j, i], 700.0)))
                    by_rest[j, q] += on
                    by_first[j, k] += on
                    by_inner[j, i] += on
