"""One epoch of contrastive divergence, compiled: sample both phases of each mini-batch, contrast them, take a step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.engine.sweeps import CHAINS_PER_BLOCK, sweep_block
from harmonium.numerics.compilation import compiled
from harmonium.numerics.exponential import exponentials
from harmonium.training.own_coordinates import OwnCoordinates, pull_back_to_own, to_natural
from harmonium.typing import Array, Integers

__all__ = ["Learner", "Phase", "Step", "batch_gradient", "run_epoch"]

_ADAM_FIRST, _ADAM_SECOND, _ADAM_TINY = 0.9, 0.999, 1e-8


class Phase(NamedTuple):
    """Chains of one phase: bounds of all rows, and the values and streams of chains, which change in place.

    ``tied`` chains belong to rows; others to places in the batch. ``afresh`` chains begin each update at ``beginning``.
    """

    lower: Array
    upper: Array
    beginning: Array
    values: Array
    streams: NDArray[np.uint64]
    tied: bool
    afresh: bool


class Learner(NamedTuple):
    """The parameters as a vector with its coordinates, and what the optimiser remembers; all change in place."""

    vector: Array
    coordinates: OwnCoordinates
    velocity: Array
    second_moment: Array
    penalties: Array
    lowest: Array
    n_hidden: int


class Step(NamedTuple):
    """Settings of a step."""

    learning_rate: float
    momentum: float
    n_sweeps: int
    adam: bool
    centered: bool


@compiled(sums=True)
def _add_mean_products(weight: float, statistic: Array, expected: Array, out: Array) -> None:
    """out[j] += weight times the sum over chains of statistic expected[j]; four units at a time share what is read."""
    n, n_full = statistic.size, out.size - out.size % 4
    for j in range(0, n_full, 4):
        p0 = p1 = p2 = p3 = 0.0
        for i in range(n):
            s = statistic[i]
            p0 += s * expected[j, i]
            p1 += s * expected[j + 1, i]
            p2 += s * expected[j + 2, i]
            p3 += s * expected[j + 3, i]
        out[j] += weight * p0
        out[j + 1] += weight * p1
        out[j + 2] += weight * p2
        out[j + 3] += weight * p3
    for j in range(n_full, out.size):
        product = 0.0
        for i in range(n):
            product += statistic[i] * expected[j, i]
        out[j] += weight * product


@compiled(sums=True)
def _add_phase(
    phase: Phase,
    rows: Integers,
    domains: Array,
    codes: Integers,
    offsets: Integers,
    bias: Array,
    coupling: Array,
    coupling_place: Integers,
    hidden_bias: Array,
    n_sweeps: int,
    sign: float,
    by_bias: Array,
    by_coupling: Array,
    by_hidden: Array,
    mean_statistics: Array,
    mean_hidden: Array,
) -> None:
    """Move the chains of a batch and add ``sign`` times their mean statistics, hidden units and products (eq. 17)."""
    lower, upper, beginning, kept_values, kept_streams, tied, afresh = phase
    n, n_columns, n_statistics, n_hidden = rows.size, lower.shape[1], bias.size, hidden_bias.size
    values, streams = np.empty((n_columns, n)), np.empty((4, n), np.uint64)
    statistics, fields, expected = np.empty((n_statistics, n)), np.empty((n_hidden, n)), np.empty((n_hidden, n))
    chains = rows if tied else np.arange(n)
    for c in range(n_columns):
        for i in range(n):
            values[c, i] = beginning[rows[i], c] if afresh else kept_values[chains[i], c]
    for k in range(4):
        for i in range(n):
            streams[k, i] = kept_streams[k, chains[i]]
    for first in range(0, n, CHAINS_PER_BLOCK):
        last = min(first + CHAINS_PER_BLOCK, n)
        sweep_block(
            first,
            last,
            rows,
            lower,
            upper,
            domains,
            codes,
            offsets,
            bias,
            coupling,
            hidden_bias,
            n_sweeps,
            values,
            streams,
            statistics,
            fields,
        )
    for c in range(n_columns):
        for i in range(n):
            kept_values[chains[i], c] = values[c, i]
    for k in range(4):
        for i in range(n):
            kept_streams[k, chains[i]] = streams[k, i]
    exponentials(fields.ravel(), expected.ravel())
    for j in range(n_hidden):
        total = 0.0
        for i in range(n):
            expected[j, i] = 1.0 / (1.0 + expected[j, i])
            total += expected[j, i]
        by_hidden[j] += sign * total / n
        mean_hidden[j] += total / n
    for d in range(n_statistics):
        total = 0.0
        for i in range(n):
            total += statistics[d, i]
        by_bias[d] += sign * total / n
        mean_statistics[d] += total / n
        if coupling_place[d] >= 0:
            _add_mean_products(sign / n, statistics[d], expected, by_coupling[d])


@compiled()
def batch_gradient(
    positive: Phase,
    negative: Phase,
    rows: Integers,
    domains: Array,
    codes: Integers,
    offsets: Integers,
    learner: Learner,
    step: Step,
    out: Array,
) -> None:
    """The sampled gradient of a batch's mean log-likelihood by the paper's parameters (eq. 17, centered eq. 18)."""
    n_statistics = learner.coordinates.bias_coefficient.size
    bias, coupling = np.empty(n_statistics), np.empty((n_statistics, learner.n_hidden))
    to_natural(learner.vector, learner.coordinates, bias, coupling)
    hidden_bias = learner.vector[: learner.n_hidden].copy()
    by_bias, by_coupling = np.zeros(n_statistics), np.zeros((n_statistics, learner.n_hidden))
    by_hidden = np.zeros(learner.n_hidden)
    s_mean, m_mean = np.zeros(n_statistics), np.zeros(learner.n_hidden)
    for phase, sign in ((positive, -1.0), (negative, 1.0)):
        _add_phase(
            phase,
            rows,
            domains,
            codes,
            offsets,
            bias,
            coupling,
            learner.coordinates.coupling_place,
            hidden_bias,
            step.n_sweeps,
            sign,
            by_bias,
            by_coupling,
            by_hidden,
            s_mean,
            m_mean,
        )
    if step.centered:
        s_mean *= 0.5
        m_mean *= 0.5
        for d in range(n_statistics):
            for j in range(learner.n_hidden):
                by_coupling[d, j] -= s_mean[d] * by_hidden[j] + by_bias[d] * m_mean[j]
        for d in range(n_statistics):
            for j in range(learner.n_hidden):
                by_bias[d] -= by_coupling[d, j] * m_mean[j]
                by_hidden[j] -= by_coupling[d, j] * s_mean[d]
    pull_back_to_own(learner.vector, learner.coordinates, bias, coupling, by_bias, by_coupling, by_hidden, out)


@compiled()
def _take_step(learner: Learner, step: Step, gradient: Array, n_updates: int) -> float:
    """Move the parameters along the penalised gradient (eq. 19); returns the gradient's root mean square."""
    size = 0.0
    correction = sqrt(1.0 - _ADAM_SECOND**n_updates) / (1.0 - _ADAM_FIRST**n_updates)
    for i in range(gradient.size):
        slope = gradient[i] - learner.penalties[i] * learner.vector[i]
        size += slope * slope
        if step.adam:
            learner.velocity[i] = _ADAM_FIRST * learner.velocity[i] + (1.0 - _ADAM_FIRST) * slope
            learner.second_moment[i] = _ADAM_SECOND * learner.second_moment[i] + (1.0 - _ADAM_SECOND) * slope * slope
            change = step.learning_rate * correction * learner.velocity[i] / (sqrt(learner.second_moment[i]) + _ADAM_TINY)
        else:
            learner.velocity[i] = step.momentum * learner.velocity[i] + step.learning_rate * slope
            change = learner.velocity[i]
        learner.vector[i] = max(learner.vector[i] + change, learner.lowest[i])
    return sqrt(size / gradient.size)


@compiled()
def run_epoch(
    order: Integers,
    batch_size: int,
    positive: Phase,
    negative: Phase,
    domains: Array,
    codes: Integers,
    offsets: Integers,
    learner: Learner,
    step: Step,
    n_updates: int,
) -> tuple[float, int]:
    """One update for each mini-batch; returns the mean size of the gradient, NaN once it is not finite, and the updates so far."""
    gradient = np.empty(learner.vector.size)
    total, n_batches = 0.0, 0
    for start in range(0, order.size, batch_size):
        batch_gradient(positive, negative, order[start : start + batch_size], domains, codes, offsets, learner, step, gradient)
        n_updates += 1
        n_batches += 1
        size = _take_step(learner, step, gradient, n_updates)
        if not np.isfinite(size) or not np.isfinite(learner.vector).all():
            return np.nan, n_updates
        total += size
    return total / n_batches, n_updates
