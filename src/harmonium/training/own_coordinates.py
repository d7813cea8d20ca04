"""The paper's parameters as one vector, and the compiled way from there to natural parameters and back.

Contrastive divergence takes thousands of small steps in the paper's own parameters; a step must cost microseconds. Every natural
parameter is a product coefficient * own * scale^power (:class:`harmonium.units.contract.NaturalTerm`), so a table of such products
serves all units.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from harmonium.engine.parameters import Parameters
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Integers
from harmonium.units.contract import NaturalTerm, Unit

__all__ = ["OwnCoordinates", "own_coordinates", "pull_back_to_own", "to_natural"]


class OwnCoordinates(NamedTuple):
    """For every statistic: coefficient, place in the vector (-1: none), place of its scale (-1: none) and power.

    Of its bias, and of its coupling to the first hidden unit, the others following.
    """

    bias_coefficient: Array
    bias_place: Integers
    bias_power: Array
    coupling_coefficient: Array
    coupling_place: Integers
    coupling_power: Array
    scale_place: Integers


def own_coordinates(parameters: Parameters) -> OwnCoordinates:
    """The table for parameters of given shapes, in the order of :meth:`Parameters.to_vector`."""
    n = parameters.layout.n_statistics
    table = OwnCoordinates(np.zeros(n), _nowhere(n), np.zeros(n), np.zeros(n), _nowhere(n), np.zeros(n), _nowhere(n))
    n_hidden = parameters.n_hidden
    start, statistic = n_hidden, 0
    for block, own in zip(parameters.layout.blocks, parameters.blocks, strict=True):
        starts = {}
        for name, array in own.items():
            starts[name] = start
            start += array.size
        for column in range(block.n_columns):
            for natural in block.unit.natural_parameters:
                bias, coupling = natural.bias, natural.coupling
                table.bias_coefficient[statistic], table.bias_power[statistic] = bias.coefficient, bias.power
                table.bias_place[statistic] = _place(bias, starts, block.unit, n_hidden, column)
                if coupling is not None:
                    table.coupling_coefficient[statistic], table.coupling_power[statistic] = coupling.coefficient, coupling.power
                    table.coupling_place[statistic] = _place(coupling, starts, block.unit, n_hidden, column)
                if natural.scale is not None:
                    table.scale_place[statistic] = starts[natural.scale] + column
                statistic += 1
    return table


def _nowhere(n: int) -> Integers:
    return np.full(n, -1, dtype=np.int64)


def _place(term: NaturalTerm, starts: dict[str, int], unit: Unit, n_hidden: int, column: int) -> int:
    """Where a term's own parameter is in the vector; of a coupling, that to the first hidden unit."""
    if term.name is None:
        return -1
    declared = next(declared for declared in unit.parameters if declared.name == term.name)
    per_level = n_hidden if declared.couples else 1
    return starts[term.name] + (column * prod(declared.shape) + term.place) * per_level


@compiled()
def to_natural(vector: Array, table: OwnCoordinates, bias: Array, coupling: Array) -> None:
    """Natural biases and couplings of a vector."""
    b_coefficient, b_place, b_power, c_coefficient, c_place, c_power, scale_place = table
    for d in range(bias.size):
        scale = vector[scale_place[d]] if scale_place[d] >= 0 else 1.0
        place = b_place[d]
        bias[d] = b_coefficient[d] * (vector[place] if place >= 0 else 1.0) * scale ** b_power[d]
        place = c_place[d]
        factor = c_coefficient[d] * scale ** c_power[d]
        for j in range(coupling.shape[1]):
            coupling[d, j] = factor * vector[place + j] if place >= 0 else 0.0


@compiled()
def pull_back_to_own(
    vector: Array, table: OwnCoordinates, bias: Array, coupling: Array, by_bias: Array, by_coupling: Array, by_hidden: Array, out: Array
) -> None:
    """The gradient by the vector from that by natural parameters."""
    out[:] = 0.0
    for j in range(by_hidden.size):
        out[j] = by_hidden[j]
    b_coefficient, b_place, b_power, c_coefficient, c_place, c_power, scale_place = table
    for d in range(bias.size):
        at_scale = scale_place[d]
        scale = vector[at_scale] if at_scale >= 0 else 1.0
        place = b_place[d]
        if place >= 0:
            out[place] += by_bias[d] * b_coefficient[d] * scale ** b_power[d]
        by_scale = b_power[d] * bias[d] * by_bias[d]
        place = c_place[d]
        if place >= 0:
            factor = c_coefficient[d] * scale ** c_power[d]
            for j in range(coupling.shape[1]):
                out[place + j] += by_coupling[d, j] * factor
                by_scale += c_power[d] * coupling[d, j] * by_coupling[d, j]
        if at_scale >= 0:
            out[at_scale] += by_scale / scale
