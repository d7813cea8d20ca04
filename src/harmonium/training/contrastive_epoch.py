"""One epoch of contrastive divergence, compiled: sample both phases of each mini-batch, contrast them, take a step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.engine.hidden_units import expect_hidden
from harmonium.engine.sweeps import CHAINS_PER_BLOCK, Bounds, Coupled, couple, sweep_block
from harmonium.numerics.compilation import compiled
from harmonium.numerics.products import add_sums_of_products
from harmonium.numerics.streams import permutation
from harmonium.training.own_coordinates import OwnCoordinates, pull_back_to_own, to_natural
from harmonium.typing import Array, Booleans, Integers

__all__ = ["Learner", "Phase", "Step", "batch_gradient", "run_epoch"]

_UNITS_AT_ONCE = 32  # so that their means stay in the first cache
_ADAM_FIRST, _ADAM_SECOND, _ADAM_TINY = 0.9, 0.999, 1e-8


class Phase(NamedTuple):
    """Chains of one phase: bounds of all rows, and the values and streams of chains, which change in place.

    ``tied`` chains belong to rows; others to places in the batch. ``afresh`` chains begin each update at ``beginning``. Values are
    (chains, columns), column after column in memory.
    """

    bounds: Bounds
    beginning: Array
    values: Array
    streams: NDArray[np.uint64]
    tied: bool
    afresh: bool


class Learner(NamedTuple):
    """The parameters as a vector with its coordinates, and what the optimiser remembers; all change in place.

    ``coupled`` are the places of the statistics on which hidden units act, and the constant's, once or twice to make their number even.
    """

    vector: Array
    coordinates: OwnCoordinates
    velocity: Array
    second_moment: Array
    penalties: Array
    lowest: Array
    coupled: Integers
    n_hidden: int


class Step(NamedTuple):
    """Settings of a step."""

    learning_rate: float
    momentum: float
    n_sweeps: int
    adam: bool
    centered: bool


class Means(NamedTuple):
    """Means over the chains of a phase: of statistics, and of their products with hidden units, (coupled statistics, hidden).

    The last row is that of the constant, so it holds the means of the hidden units themselves.
    """

    statistics: Array
    products: Array


@compiled(sums=True)
def _add_sums(terms: Array, out: Array) -> None:
    """out[d] += sum of terms[d]."""
    for d in range(out.size):
        total = 0.0
        for i in range(terms.shape[1]):
            total += terms[d, i]
        out[d] += total


@compiled()
def _add_block(phase: Phase, rows: Integers, chains: Integers, natural: Coupled, coupled: Integers, n_sweeps: int, sums: Means) -> None:
    """Move some chains; add up their statistics, and the products of ``coupled`` ones with the means of hidden units."""
    begin = phase.beginning if phase.afresh else phase.values
    places = rows if phase.afresh else chains
    block = sweep_block(phase.bounds, rows, chains, natural, n_sweeps, begin, places, phase.values, phase.streams)
    _add_sums(block.statistics, sums.statistics)
    terms = np.empty((coupled.size, rows.size))
    for k in range(coupled.size):
        for i in range(rows.size):
            terms[k, i] = block.statistics[coupled[k], i]
    for first in range(0, block.fields.shape[0], _UNITS_AT_ONCE):
        expected = block.fields[first : first + _UNITS_AT_ONCE]
        expect_hidden(expected)
        add_sums_of_products(terms, expected, sums.products[:, first : first + _UNITS_AT_ONCE])


@compiled()
def _means(phase: Phase, rows: Integers, natural: Coupled, coupled: Integers, n_sweeps: int) -> Means:
    """Move the chains of a batch; returns their means."""
    sums = Means(np.zeros(natural.bias.size), np.zeros((coupled.size, natural.coupling.shape[1])))
    chains = rows if phase.tied else np.arange(rows.size)
    for first in range(0, rows.size, CHAINS_PER_BLOCK):
        block = slice(first, min(first + CHAINS_PER_BLOCK, rows.size))
        _add_block(phase, rows[block], chains[block], natural, coupled, n_sweeps, sums)
    for d in range(sums.statistics.size):
        sums.statistics[d] /= rows.size
    for k in range(coupled.size):
        for j in range(sums.products.shape[1]):
            sums.products[k, j] /= rows.size
    return sums


@compiled()
def _incomplete_first(rows: Integers, complete: Booleans) -> Integers:
    """The same rows, those at the end that need no sweeps."""
    out = np.empty_like(rows)
    first, last = 0, rows.size
    for row in rows:
        if complete[row]:
            last -= 1
            out[last] = row
        else:
            out[first] = row
            first += 1
    return out


@compiled()
def batch_gradient(positive: Phase, negative: Phase, rows: Integers, learner: Learner, step: Step, out: Array) -> None:
    """The sampled gradient of a batch's mean log-likelihood by the paper's parameters (eq. 17, centered eq. 18)."""
    n_statistics, n_hidden = learner.coordinates.bias_coefficient.size, learner.n_hidden
    bias, coupling = np.empty(n_statistics), np.empty((n_statistics, n_hidden))
    to_natural(learner.vector, learner.coordinates, bias, coupling)
    natural = couple(bias, coupling, learner.vector[:n_hidden])
    coupled = learner.coupled
    rows = _incomplete_first(rows, positive.bounds.complete)
    data = _means(positive, rows, natural, coupled, step.n_sweeps)
    model = _means(negative, rows, natural, coupled, step.n_sweeps)
    by_bias, by_coupling, by_hidden = np.empty(n_statistics), np.zeros((n_statistics, n_hidden)), np.empty(n_hidden)
    for d in range(n_statistics):
        by_bias[d] = model.statistics[d] - data.statistics[d]
    for k in range(coupled.size):
        by = by_coupling[coupled[k]] if coupled[k] < n_statistics else by_hidden
        for j in range(n_hidden):
            by[j] = model.products[k, j] - data.products[k, j]
    if step.centered:
        _center(data, model, by_bias, by_coupling, by_hidden)
    pull_back_to_own(learner.vector, learner.coordinates, bias, coupling, by_bias, by_coupling, by_hidden, out)


@compiled()
def _center(data: Means, model: Means, by_bias: Array, by_coupling: Array, by_hidden: Array) -> None:
    """Take the gradient of couplings between deviations from the means of both phases (eq. 18), in place."""
    s_mean = 0.5 * (data.statistics + model.statistics)
    m_mean = 0.5 * (data.products[-1] + model.products[-1])
    for d in range(by_bias.size):
        for j in range(by_hidden.size):
            by_coupling[d, j] -= s_mean[d] * by_hidden[j] + by_bias[d] * m_mean[j]
    for d in range(by_bias.size):
        for j in range(by_hidden.size):
            by_bias[d] -= by_coupling[d, j] * m_mean[j]
            by_hidden[j] -= by_coupling[d, j] * s_mean[d]


@compiled(sums=True)
def _sum_of_squares(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i] * values[i]
    return total


@compiled()
def _adam(learner: Learner, step: Step, slope: Array, n_updates: int) -> None:
    """Replace slopes by the changes that Adam makes of them."""
    correction = sqrt(1.0 - _ADAM_SECOND**n_updates) / (1.0 - _ADAM_FIRST**n_updates)
    velocity, second_moment = learner.velocity, learner.second_moment
    for i in range(slope.size):
        velocity[i] = _ADAM_FIRST * velocity[i] + (1.0 - _ADAM_FIRST) * slope[i]
        second_moment[i] = _ADAM_SECOND * second_moment[i] + (1.0 - _ADAM_SECOND) * slope[i] * slope[i]
        slope[i] = step.learning_rate * correction * velocity[i] / (sqrt(second_moment[i]) + _ADAM_TINY)


@compiled()
def _take_step(learner: Learner, step: Step, slope: Array, n_updates: int) -> float:
    """Move the parameters along the penalised gradient (eq. 19); returns its root mean square. ``slope``, the gradient, is used up."""
    vector, velocity, penalties, lowest = learner.vector, learner.velocity, learner.penalties, learner.lowest
    for i in range(slope.size):
        slope[i] -= penalties[i] * vector[i]
    size = sqrt(_sum_of_squares(slope) / slope.size)
    if step.adam:
        _adam(learner, step, slope, n_updates)
    else:
        momentum, learning_rate = step.momentum, step.learning_rate
        for i in range(slope.size):
            velocity[i] = momentum * velocity[i] + learning_rate * slope[i]
            slope[i] = velocity[i]
    for i in range(slope.size):
        vector[i] = max(vector[i] + slope[i], lowest[i])
    return size


@compiled()
def run_epoch(
    streams: NDArray[np.uint64],
    batch_size: int,
    positive: Phase,
    negative: Phase,
    learner: Learner,
    step: Step,
    n_updates: int,
) -> tuple[float, int]:
    """One update for each mini-batch; returns the mean size of the gradient, NaN once it is not finite, and the updates so far.

    The first of the streams shuffles the rows.
    """
    order = permutation(streams, positive.values.shape[0])
    gradient = np.empty(learner.vector.size)
    total, n_batches = 0.0, 0
    for start in range(0, order.size, batch_size):
        batch_gradient(positive, negative, order[start : start + batch_size], learner, step, gradient)
        n_updates += 1
        n_batches += 1
        size = _take_step(learner, step, gradient, n_updates)
        if not (np.isfinite(size) and np.isfinite(_sum_of_squares(learner.vector))):
            return np.nan, n_updates
        total += size
    return total / n_batches, n_updates
