"""One epoch of contrastive divergence, compiled: sample both phases of each mini-batch, contrast them, take a step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.compilation import compiled
from harmonium.engine.gibbs import fill_statistics, sweep_chains
from harmonium.exponential import exponentials
from harmonium.training.own_coordinates import OwnCoordinates, pull_back_to_own, to_natural
from harmonium.units.contract import Array

__all__ = ["Learner", "Phase", "Step", "batch_gradient", "run_epoch"]

Integers = NDArray[np.int64]
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
    centred: bool


@compiled(sums=True)
def _add_phase(
    phase: Phase,
    rows: Integers,
    codes: Integers,
    offsets: Integers,
    bias: Array,
    coupling: Array,
    hidden_bias: Array,
    n_sweeps: int,
    sign: float,
    by_bias: Array,
    by_coupling: Array,
    by_hidden: Array,
    mean_statistics: Array,
    mean_hidden: Array,
) -> None:
    """Move the chains of a batch and add ``sign`` times their mean statistics, hidden units and products."""
    # Arrays of their own names: taking one out of a tuple inside a loop costs more than the work there.
    lower, upper, beginning, kept_values, kept_streams, tied, afresh = phase
    n, n_columns = rows.size, lower.shape[1]
    values, streams, fields = np.empty((n, n_columns)), np.empty((n, 4), np.uint64), np.empty((n, hidden_bias.size))
    for i in range(n):
        chain = rows[i] if tied else i
        for c in range(n_columns):
            values[i, c] = beginning[rows[i], c] if afresh else kept_values[chain, c]
        for k in range(4):
            streams[i, k] = kept_streams[chain, k]
    sweep_chains(slice(0, n), rows, lower, upper, codes, offsets, bias, coupling, hidden_bias, n_sweeps, values, streams, fields)
    statistics = np.empty((n, bias.size))
    fill_statistics(values, codes, offsets, statistics)
    weight = sign / n
    expected, work = np.empty(hidden_bias.size), np.empty(hidden_bias.size, np.int64)
    for i in range(n):
        chain = rows[i] if tied else i
        for c in range(n_columns):
            kept_values[chain, c] = values[i, c]
        for k in range(4):
            kept_streams[chain, k] = streams[i, k]
        exponentials(fields[i], expected, work)
        for j in range(expected.size):
            expected[j] = weight / (1.0 + expected[j])
            by_hidden[j] += expected[j]
            mean_hidden[j] += abs(expected[j])
        for d in range(bias.size):
            s = statistics[i, d]
            if s != 0.0:
                by_bias[d] += weight * s
                mean_statistics[d] += s / n
                for j in range(expected.size):
                    by_coupling[d, j] += s * expected[j]


@compiled()
def batch_gradient(
    positive: Phase,
    negative: Phase,
    rows: Integers,
    codes: Integers,
    offsets: Integers,
    learner: Learner,
    step: Step,
    out: Array,
) -> None:
    """The sampled gradient of a batch's mean log-likelihood by the paper's parameters (eq. 4)."""
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
            codes,
            offsets,
            bias,
            coupling,
            hidden_bias,
            step.n_sweeps,
            sign,
            by_bias,
            by_coupling,
            by_hidden,
            s_mean,
            m_mean,
        )
    if step.centred:
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
    """Move the parameters along the penalised gradient; returns the gradient's root mean square."""
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
        batch_gradient(positive, negative, order[start : start + batch_size], codes, offsets, learner, step, gradient)
        n_updates += 1
        n_batches += 1
        size = _take_step(learner, step, gradient, n_updates)
        if not np.isfinite(size) or not np.isfinite(learner.vector).all():
            return np.nan, n_updates
        total += size
    return total / n_batches, n_updates
