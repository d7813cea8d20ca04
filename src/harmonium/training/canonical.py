"""A table in the one form in which it is trained on, however it was written.

Optimisers amplify rounding: where a likelihood has many maxima of nearly the same height, the last bit of a sum decides in which of them a
search ends. So tables that say the same become the same bits before anything is summed. Rows are sorted; numbers have the sign, and yes/no
columns and levels the order, that their own distribution gives them; endpoints come in the order of their times; numbers and times lose
the digits in which another unit or sign would differ. What was learned is then written in the table's own terms again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Natural, Parameters
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.typing import Array, Booleans, Integers
from harmonium.units.contract import Unit

__all__ = ["CanonicalForm", "rounded"]

_SOMEWHERE = 1.3  # a number like any other
_BITS = 30  # of a number that are kept: a relative change by less than a billionth


@dataclass(frozen=True)
class CanonicalForm:
    """From a table's own form to the one in which it is trained on, and back.

    Attributes
    ----------
    layout : Layout
        Of both: columns change places among outcomes of equal unit only.
    rows : ndarray of int
        The table's rows, in order.
    outcomes : ndarray of int
        The table's outcomes, in order.
    levels : tuple of (ndarray of int or None)
        For each covariate: where each of its levels goes; None if there are no levels.
    signs : ndarray of shape (n_covariates,)
        Factors of numbers.
    """

    layout: Layout
    rows: Integers
    outcomes: Integers
    levels: tuple[Integers | None, ...]
    signs: Array

    @classmethod
    def of(cls, objective: Objective) -> CanonicalForm:
        """The form that a table calls for, which does not depend on how it is written."""
        cells, layout = objective.recorded, objective.layout
        lower, upper = (rounded(table) for table in cells.outcomes)
        weights, later = objective.row_weights, _later(lower, upper)
        outcomes = _order_of_outcomes(layout, lower, upper, weights)
        n_covariates = layout.outcomes.start
        levels: list[Integers | None] = []
        signs = np.ones(n_covariates)
        for column in range(n_covariates):
            values, unit = rounded(cells.column(column)[0]), layout.units[column]
            interchangeable = _is_yes_or_no(unit) or _is_one_hot(unit)
            levels.append(_order_of_levels(values, unit.domain[1], later, weights) if interchangeable else None)
            if _may_be_negated(unit):
                signs[column] = _sign(values, later, weights)
        form = cls(layout, np.arange(cells.n_rows), outcomes, tuple(levels), signs)
        return replace(form, rows=_order_of_rows(form.of_objective(objective)))

    def of_objective(self, objective: Objective) -> Objective:
        """A table in this form."""
        cells = objective.recorded
        covariates = np.empty((self.rows.size, len(self.signs)))
        for column, (levels, sign) in enumerate(zip(self.levels, self.signs, strict=True)):
            values = cells.column(column)[0][self.rows]
            covariates[:, column] = sign * rounded(values) if levels is None else _recoded(values, levels)
        own = (table[self.rows][:, self.outcomes] for table in cells.outcomes)
        lower, upper = _rounded_bounds(*own)
        entry = rounded(objective.entry[self.rows][:, self.outcomes])
        recorded = Cells.joined(self.layout, covariates, lower, upper)
        if not isinstance(objective, WeightedObjective):
            return Objective(recorded, entry, objective.conditional)
        subjects = None if objective.subjects is None else objective.subjects[self.rows]
        return WeightedObjective(recorded, entry, objective.conditional, objective.weights[self.rows], subjects)

    def rows_to_table(self, objective: WeightedObjective) -> WeightedObjective:
        """Other rows that are written in this form, in the table's own."""
        cells = objective.recorded
        covariates = np.empty((cells.n_rows, len(self.signs)))
        for column, (levels, sign) in enumerate(zip(self.levels, self.signs, strict=True)):
            values = cells.column(column)[0]
            covariates[:, column] = sign * values if levels is None else _recoded(values, np.argsort(levels))
        place = np.argsort(self.outcomes)
        lower, upper = (table[:, place] for table in cells.outcomes)
        return replace(objective, recorded=Cells.joined(self.layout, covariates, lower, upper), entry=objective.entry[:, place])

    def from_table(self, parameters: Parameters) -> Parameters:
        """Parameters of the table's own form, in this one."""
        place, sign, flipped = self._statistics()
        natural = parameters.natural()
        bias, coupling = np.empty_like(natural.bias), np.empty_like(natural.coupling)
        bias[place], coupling[place] = sign * natural.bias, sign[:, None] * natural.coupling
        hidden = natural.hidden_bias + natural.coupling[flipped].sum(axis=0)
        return Parameters.from_natural(self.layout, Natural(bias, coupling, hidden, 0.0))

    def to_table(self, parameters: Parameters) -> Parameters:
        """Parameters of this form, in the table's own."""
        place, sign, flipped = self._statistics()
        natural = parameters.natural()
        own = Natural(
            sign * natural.bias[place],
            sign[:, None] * natural.coupling[place],
            natural.hidden_bias + natural.coupling[place][flipped].sum(axis=0),
            0.0,
        )
        return Parameters.from_natural(self.layout, own)

    def units_to_table(self, units: CovariateUnits) -> CovariateUnits:
        """Covariate units of this form, in the table's own."""
        n = units.bias.size
        place, sign, flipped = (array[:n] for array in self._statistics())
        coupling = units.coupling[place]
        return CovariateUnits(sign * units.bias[place], sign[:, None] * coupling, units.hidden_bias + coupling[flipped].sum(axis=0))

    def _statistics(self) -> tuple[Integers, Array, Booleans]:
        """Of the table's statistics: their place in this form, their factor, and whether they say no here where they said yes."""
        layout = self.layout
        place, sign = np.arange(layout.n_statistics), np.ones(layout.n_statistics)
        flipped = np.zeros(layout.n_statistics, dtype=bool)
        for column, (levels, factor) in enumerate(zip(self.levels, self.signs, strict=True)):
            unit, first = layout.units[column], int(layout.offsets[column])
            if factor < 0.0:
                sign[first : first + unit.n_statistics] = _parity(unit)
            if levels is not None and _is_yes_or_no(unit):
                flipped[first] = levels[0] == 1
            elif levels is not None:
                place[first : first + levels.size] = first + levels
        sign[flipped] = -1.0
        starts = layout.offsets[layout.outcomes.start + np.arange(layout.n_outcomes)]
        for here, column in enumerate(self.outcomes):
            width = layout.units[layout.outcomes.start + int(column)].n_statistics
            place[starts[column] : starts[column] + width] = starts[here] + np.arange(width)
        return place, sign, flipped


def rounded(values: Array) -> Array:
    """Numbers without the digits in which the same number, computed otherwise, may differ.

    Examples
    --------
    >>> bool(rounded(np.array([0.1 + 0.2]))[0] == rounded(np.array([0.3]))[0])
    True
    """
    fraction, exponent = np.frexp(values)
    out: Array = np.ldexp(np.round(np.ldexp(fraction, _BITS)), exponent - _BITS)
    return out


def _is_yes_or_no(unit: Unit) -> bool:
    """Whether values are 0 and 1, and the statistic the value itself."""
    return unit.discrete and unit.n_statistics == 1 and unit.domain == (-1.0, 1.0)


def _is_one_hot(unit: Unit) -> bool:
    """Whether values are levels, each with a statistic of its own."""
    levels = np.arange(unit.n_statistics, dtype=np.float64)
    return unit.discrete and unit.domain == (-1.0, levels.size - 1.0) and np.array_equal(unit.statistics(levels), np.eye(levels.size))


def _parity(unit: Unit) -> Array:
    """What a value with the other sign does to each statistic: 1, -1, or something else."""
    above, below = unit.statistics(np.array([_SOMEWHERE, -_SOMEWHERE]))
    return np.asarray(below / above)


def _may_be_negated(unit: Unit) -> bool:
    """Whether numbers of any sign are possible, and the other sign is only another way to write them."""
    return not unit.discrete and unit.domain == (-np.inf, np.inf) and bool((np.abs(_parity(unit)) == 1.0).all())


def _rounded_bounds(lower: Array, upper: Array) -> tuple[Array, Array]:
    """The same of bounds, unless nothing would be left between them."""
    low, high = rounded(lower), rounded(upper)
    collapsed = (low == high) & (lower != upper)
    return np.where(collapsed, lower, low), np.where(collapsed, upper, high)


def _later(lower: Array, upper: Array) -> Array:
    """A number for each row that grows with its times, whatever the order of the endpoints."""
    known = np.where(np.isnan(lower), 0.0, lower) + np.where(np.isnan(upper), 0.0, upper)
    return np.array([fsum(row) for row in known.tolist()])


def _order_of_outcomes(layout: Layout, lower: Array, upper: Array, weights: Array) -> Integers:
    """Endpoints in the order of their times; other outcomes, whose order means something, stay where they are."""
    order = np.arange(layout.n_outcomes)
    units = layout.units[layout.outcomes]
    if any(unit.discrete or unit != units[0] for unit in units):
        return order
    sums = [tuple(_sum(table[:, e], weights) for table in (lower, upper)) for e in order]
    return np.array(sorted(order, key=lambda e: sums[e]), dtype=np.int64)


def _sum(values: Array, weights: Array) -> float:
    """Of what is known, in any order and to the last bit."""
    return fsum((weights * np.where(np.isfinite(values), values, 0.0)).tolist())


def _order_of_levels(values: Array, last: float, later: Array, weights: Array) -> Integers:
    """Where each level goes: the most frequent first and, among equals, those with shorter times."""
    own = [values == level for level in range(int(last) + 1)]
    keys = [(-_sum(rows.astype(np.float64), weights), _sum(rows * later, weights)) for rows in own]
    order = sorted(range(len(own)), key=lambda level: keys[level])
    place = np.empty(len(own), dtype=np.int64)
    place[order] = np.arange(len(own))
    return place


def _sign(values: Array, later: Array, weights: Array) -> float:
    """1, or -1 for a column whose long tail is below or, if it has none, that goes with shorter times."""
    skew = _sum(values**3, weights) or _sum(values * later, weights)
    return -1.0 if skew < 0.0 else 1.0


def _recoded(values: Array, place: Integers) -> Array:
    out = np.full(values.size, np.nan)
    seen = np.isfinite(values)
    out[seen] = place[values[seen].astype(np.int64)]
    return out


def _order_of_rows(objective: Objective) -> Integers:
    """Rows sorted by all that is known of them, and by their weight."""
    tables = [*objective.recorded.bounds(), objective.entry, objective.row_weights[:, None]]
    keys = np.concatenate(tables, axis=1)
    order: Integers = np.lexsort(keys.T) if keys.shape[1] else np.arange(objective.n_rows)
    return order
