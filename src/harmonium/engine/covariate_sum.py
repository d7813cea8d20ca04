r"""The joint likelihood as a function of what belongs to covariates alone, the prognostic part being fixed (eq. 33).

Given the prognostic state h, outcomes and covariates are independent. So all that a row's outcomes say is one number for each h, found
once. Where covariates are complete, the covariate units have a closed form, a sum of softplus, and the prognostic units add a constant.
Where some are missing, the row's mass is a bilinear form: a vector over prognostic states that does not change, a vector over covariate
states that is a product over units, and between them the factors of the missing cells, which rows with the same missing columns share.
The normalising constant is one more such row, with everything free.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import posterior
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.states import hidden_states
from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.registry import integrate

__all__ = ["CovariateSum", "covariate_cells", "covariate_layout", "observed_statistics"]

_SMALLEST = 1e-300  # of a probability; below, its logarithm is taken to be that of this


class _Missing(NamedTuple):
    """Distinct cells that were not observed: unit's number, statistics ``first`` to ``last``, and bounds of each."""

    code: Integers
    first: Integers
    last: Integers
    lower: Array
    upper: Array


class _Groups(NamedTuple):
    """Rows in groups with the same missing cells: group g has rows and cells from ``row[g]`` and ``cell[g]`` on."""

    row: Integers
    cell: Integers
    cells: Integers
    statistics: Array
    prognostic: Array
    weights: Array


def covariate_layout(layout: Layout) -> Layout:
    """The covariates' columns alone."""
    return Layout(layout.units[: layout.outcomes.start])


def covariate_cells(cells: Cells) -> Cells:
    """The covariates' cells alone."""
    covariates = [number for number, block in enumerate(cells.layout.blocks) if not block.outcome]
    own = (tuple(parts[number] for number in covariates) for parts in (cells.lower, cells.upper))
    return Cells(covariate_layout(cells.layout), *own)


class CovariateSum:
    """The joint log-likelihood, up to a constant, for given cells and prognostic part and many covariate units.

    Parameters
    ----------
    parameters : Parameters
        The prognostic part; its biases of covariates do not matter.
    recorded : Cells
    free : Cells
        Of the denominator (eq. 8): covariates free, outcomes free or beyond entry.
    weights : ndarray
        Of the recorded rows.
    free_weights : ndarray
        Of the denominator's rows.
    """

    def __init__(self, parameters: Parameters, recorded: Cells, free: Cells, weights: Array, free_weights: Array) -> None:
        natural = parameters.natural()
        self._layout = covariate_layout(recorded.layout)
        self._coupling = natural.coupling[: self._layout.n_statistics]
        self._n_prognostic = natural.n_hidden
        self.n_rows = recorded.n_rows
        statistics, missing = observed_statistics(recorded)
        complete = ~missing.any(axis=1)
        self._complete, self._weights = np.ascontiguousarray(statistics[complete]), weights[complete]
        self._linear = self._weights @ self._complete
        gaps = np.flatnonzero(~complete)
        states = hidden_states(self._n_prognostic)
        rows = recorded.part(gaps)
        log_outcome = _log_outcomes(parameters, rows) - (statistics[gaps] @ self._coupling) @ states.T
        bounds = covariate_cells(rows).bounds()
        self._missing, number = _distinct_missing(self._layout, *bounds)
        everything = np.tile(self._number_of_free(), (free.n_rows, 1))
        self._groups = _grouped(
            np.concatenate([number, everything]),
            np.concatenate([statistics[gaps], np.zeros((free.n_rows, self._layout.n_statistics))]),
            np.concatenate([log_outcome, _log_outcomes(parameters, free)]),
            np.concatenate([weights[gaps], -free_weights]),
        )

    def _number_of_free(self) -> Integers:
        """Of every column, the number of the cell of which nothing is known: these come first."""
        return np.arange(self._layout.n_columns)

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum and its gradient by the covariates' biases, and by couplings and biases of the covariate units."""
        coupling, n_units = np.ascontiguousarray(natural.coupling), natural.n_hidden
        by_state = _by_state(natural.bias, self._coupling, coupling)
        log_factor = np.empty((self._missing.code.size, by_state.shape[1]))
        means = np.empty((self._missing_places()[-1], by_state.shape[1]))
        _integrate_cells(self._missing, by_state, self._missing_places(), log_factor, means)
        bias, by_coupling, by_hidden = -self._linear, np.zeros_like(coupling), np.zeros(n_units)
        value = float(bias @ natural.bias)
        value += _sum_complete(self._complete, self._weights, coupling, natural.hidden_bias, by_coupling, by_hidden)
        occupancy = np.zeros_like(log_factor)
        value += _sum_groups(self._groups, log_factor, natural.bias, coupling, natural.hidden_bias, occupancy, bias, by_coupling, by_hidden)
        _pull_back(self._missing, self._missing_places(), occupancy, means, self._n_prognostic, bias, by_coupling)
        return value, Natural(bias, by_coupling, by_hidden, 0.0)

    def _missing_places(self) -> Integers:
        """Where each missing cell's means are kept, and how many there are."""
        return np.concatenate([[0], np.cumsum(self._missing.last - self._missing.first)])


# --- preparation ---


def observed_statistics(cells: Cells) -> tuple[Array, Booleans]:
    """Statistics of all covariates, zero where they were not observed, and which columns were not."""
    layout = cells.layout
    out = np.zeros((cells.n_rows, layout.outcome_statistics.start))
    missing = np.empty((cells.n_rows, layout.outcomes.start), dtype=bool)
    for block, lower, upper in zip(layout.blocks, cells.lower, cells.upper, strict=True):
        if block.outcome:
            continue
        seen = lower == upper
        missing[:, block.columns] = ~seen
        values = block.unit.statistics(np.where(seen, lower, 1.0))
        out[:, block.statistics] = np.where(seen[:, :, None], values, 0.0).reshape(cells.n_rows, -1)
    return out, missing


def _log_outcomes(parameters: Parameters, cells: Cells) -> Array:
    """Ln of what the outcomes of every row say of each prognostic state, (rows, states), up to a constant for each row."""
    layout = cells.layout
    outcomes = [number for number, block in enumerate(layout.blocks) if block.outcome]
    own = Layout(layout.units[layout.outcomes], layout.n_outcomes)
    part = Parameters(own, parameters.hidden_bias, tuple(parameters.blocks[number] for number in outcomes))
    if not outcomes:
        log_weight = np.broadcast_to(-hidden_states(parameters.n_hidden) @ parameters.hidden_bias, (cells.n_rows, 2**parameters.n_hidden))
        return np.array(log_weight)
    known = Cells(own, *(tuple(parts[number] for number in outcomes) for parts in (cells.lower, cells.upper)))
    return np.log(np.maximum(posterior(part, known, 1), _SMALLEST))


def _distinct_missing(layout: Layout, lower: Array, upper: Array) -> tuple[_Missing, Integers]:
    """Distinct missing cells, the free ones of every column first, and each cell's number (rows, columns), -1 where it was observed."""
    known = {(column, *layout.domains[column]): column for column in range(layout.n_columns)}
    number = np.full(lower.shape, -1, dtype=np.int64)
    for column in range(layout.n_columns):
        free = np.isnan(lower[:, column])
        number[free, column] = column
        for row in np.flatnonzero(~free & (lower[:, column] != upper[:, column])):
            low, high = layout.domains[column]
            bounds = (column, max(float(lower[row, column]), low), min(float(upper[row, column]), high))
            number[row, column] = known.setdefault(bounds, len(known))
    columns = np.array([column for column, _, _ in known], dtype=np.int64)
    low, high = (np.array([cell[side] for cell in known], dtype=np.float64) for side in (1, 2))
    return _Missing(layout.codes[columns], layout.offsets[columns], layout.offsets[columns + 1], low, high), number


def _grouped(number: Integers, statistics: Array, log_prognostic: Array, weights: Array) -> _Groups:
    """Rows sorted into groups; the largest of each row's prognostic factors becomes one, which changes the sum by a constant."""
    _, place = np.unique(number, axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    cells = [row[row >= 0] for row in number[order[starts]]]
    prognostic = np.exp(log_prognostic - log_prognostic.max(axis=1, keepdims=True))
    return _Groups(
        np.append(starts, order.size),
        np.concatenate([[0], np.cumsum([own.size for own in cells])]).astype(np.int64),
        np.concatenate([number[:0, 0], *cells]),
        np.ascontiguousarray(statistics[order]),
        np.ascontiguousarray(prognostic[order]),
        weights[order],
    )


def _by_state(bias: Array, prognostic: Array, coupling: Array) -> Array:
    """Natural parameters (statistics, states) of all states: prognostic units in the low bits, covariate units in the high ones."""
    out = bias[:, None]
    for column in (*prognostic.T, *coupling.T):
        out = np.concatenate([out, out + column[:, None]], axis=1)
    return np.ascontiguousarray(out)


# --- sums ---


@compiled()
def _integrate_cells(missing: _Missing, by_state: Array, place: Integers, log_factor: Array, means: Array) -> None:
    """Log masses of missing cells in all states, and the means of their statistics (eq. 5 and eq. 12)."""
    for c in range(missing.code.size):
        integrate(
            missing.code[c], by_state, missing.first[c], missing.last[c], missing.lower[c], missing.upper[c], log_factor[c], means, place[c]
        )


@compiled()
def _sum_complete(statistics: Array, weights: Array, coupling: Array, hidden_bias: Array, by_coupling: Array, by_hidden: Array) -> float:
    """Rows with complete covariates: the sum over covariate units in closed form, but for the biases' part."""
    n_units = hidden_bias.size
    total, field = 0.0, np.empty(n_units)
    for n in range(weights.size):
        for j in range(n_units):
            field[j] = hidden_bias[j]
        for d in range(statistics.shape[1]):
            for j in range(n_units):
                field[j] += statistics[n, d] * coupling[d, j]
        for j in range(n_units):
            small = exp(-abs(field[j]))
            total += weights[n] * (max(-field[j], 0.0) + log1p(small))
            field[j] = weights[n] * (small if field[j] > 0.0 else 1.0) / (1.0 + small)
            by_hidden[j] -= field[j]
        for d in range(statistics.shape[1]):
            for j in range(n_units):
                by_coupling[d, j] -= statistics[n, d] * field[j]
    return total


@compiled()
def _factors_of(log_factor: Array, cells: Integers, start: int, stop: int, out: Array) -> float:
    """The product of some cells' factors in all states, the largest of which is one; returns the logarithm of what it was."""
    highest = -np.inf
    for s in range(out.size):
        total = 0.0
        for c in range(start, stop):
            total += log_factor[cells[c], s]
        out[s] = total
        highest = max(highest, total)
    for s in range(out.size):
        out[s] = exp(out[s] - highest)
    return highest


@compiled()
def _covariate_states(field: Array, out: Array) -> float:
    """e^(-field.k) of all states of the covariate units, the largest of which is one; returns the logarithm of what it was."""
    out[0], half, shift = 1.0, 1, 0.0
    for j in range(field.size):
        top = max(-field[j], 0.0)
        on, off = exp(-field[j] - top), exp(-top)
        for i in range(half):
            out[half + i] = out[i] * on
            out[i] *= off
        half *= 2
        shift += top
    return shift


@compiled()
def _sum_groups(
    groups: _Groups,
    log_factor: Array,
    bias: Array,
    coupling: Array,
    hidden_bias: Array,
    occupancy: Array,
    by_bias: Array,
    by_coupling: Array,
    by_hidden: Array,
) -> float:
    """Rows with missing covariates (eq. 33); ``occupancy`` becomes the weight with which each missing cell was in each state."""
    n_units, n_prognostic = hidden_bias.size, groups.prognostic.shape[1]
    n_own = 2**n_units
    factor, weight = np.empty(n_own * n_prognostic), np.empty(n_own * n_prognostic)
    field, own, mass = np.empty(n_units), np.empty(n_own), np.empty(n_own)
    total = 0.0
    for g in range(groups.row.size - 1):
        highest = _factors_of(log_factor, groups.cells, groups.cell[g], groups.cell[g + 1], factor)
        weight[:] = 0.0
        for n in range(groups.row[g], groups.row[g + 1]):
            s, prognostic = groups.statistics[n], groups.prognostic[n]
            energy = 0.0
            for j in range(n_units):
                field[j] = hidden_bias[j]
            for d in range(s.size):
                energy += s[d] * bias[d]
                for j in range(n_units):
                    field[j] += s[d] * coupling[d, j]
            shift = _covariate_states(field, own)
            all_states = 0.0
            for k in range(n_own):
                inner = 0.0
                for h in range(n_prognostic):
                    inner += prognostic[h] * factor[k * n_prognostic + h]
                mass[k] = own[k] * inner
                all_states += mass[k]
            all_states = max(all_states, _SMALLEST)
            total += groups.weights[n] * (log(all_states) + highest + shift - energy)
            share = groups.weights[n] / all_states
            for k in range(n_own):
                for h in range(n_prognostic):
                    weight[k * n_prognostic + h] += share * own[k] * prognostic[h]
            for j in range(n_units):
                on = 0.0
                for k in range(n_own):
                    if (k >> j) & 1:
                        on += mass[k]
                field[j] = share * on
                by_hidden[j] -= field[j]
            for d in range(s.size):
                by_bias[d] -= groups.weights[n] * s[d]
                for j in range(n_units):
                    by_coupling[d, j] -= s[d] * field[j]
        for c in range(groups.cell[g], groups.cell[g + 1]):
            for i in range(weight.size):
                occupancy[groups.cells[c], i] += weight[i] * factor[i]
    return total


@compiled()
def _pull_back(
    missing: _Missing, place: Integers, occupancy: Array, means: Array, n_prognostic: int, by_bias: Array, by_coupling: Array
) -> None:
    """What missing cells add to the gradient (eq. 11)."""
    n_units = by_coupling.shape[1]
    for c in range(missing.code.size):
        for d in range(missing.first[c], missing.last[c]):
            row = place[c] + d - missing.first[c]
            for i in range(occupancy.shape[1]):
                term = occupancy[c, i] * means[row, i]
                by_bias[d] -= term
                for j in range(n_units):
                    if (i >> (n_prognostic + j)) & 1:
                        by_coupling[d, j] -= term
