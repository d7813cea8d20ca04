"""Where the search for an optimum begins: a design of starts that depends neither on a seed nor on how the table is coded.

Couplings of covariates are drawn along the principal axes of the standardised statistics, longest first, each turned so that it goes with
longer times; outcomes take their turn in the order of their mean times. Other names, another order of columns, levels, endpoints or rows,
flipped signs and other units then lead to the same starts, written in the other coding. The random numbers are always the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harmonium.cells import Cells
from harmonium.training.coordinates import Coordinates
from harmonium.typing import Array, Integers

__all__ = ["Directions"]

_LOOSE = 0.3  # standard deviation of covariates' couplings where training begins
_FLAT = 1e-8  # variance relative to the largest below which an axis is no axis
_DESIGN = 20_202  # first of the seeds of all designs


@dataclass(frozen=True)
class Directions:
    """What starts are made of.

    Attributes
    ----------
    coordinates : Coordinates
    axes : ndarray of shape (n_coupled_covariate_statistics, n_axes)
        Orthonormal, in units of a standard deviation.
    outcomes : ndarray of int
        Outcomes in the order of their mean times.
    """

    coordinates: Coordinates
    axes: Array
    outcomes: Integers

    @classmethod
    def of(cls, cells: Cells, coordinates: Coordinates, weights: Array | None = None) -> Directions:
        """From a training table, or a sample of it, whose rows may have weights."""
        statistics, seen = _standardised(cells, coordinates)
        if weights is not None:
            root = np.sqrt(weights / weights.mean())[:, None]
            statistics, seen = statistics * root, seen * root
        layout = coordinates.layout
        of_outcomes = np.zeros(layout.n_statistics, dtype=bool)
        of_outcomes[layout.outcome_statistics] = True
        first = layout.offsets[layout.n_columns - layout.n_outcomes : layout.n_columns]
        later = statistics[:, first].sum(axis=1)
        own = coordinates.coupled & ~of_outcomes
        axes = _axes(statistics[:, own], seen[:, own], later)
        return cls(coordinates, axes, np.argsort(coordinates.mean[first], kind="stable"))

    def start(self, number: int, design: int = 0) -> Array:
        """The z of one start of a design; designs have no start in common."""
        rng = np.random.default_rng([_DESIGN, design, number])
        coordinates = self.coordinates
        z = np.zeros(coordinates.size)
        _, couplings, biases = coordinates.split(z)
        n_hidden = coordinates.n_hidden
        couplings[~coordinates.of_outcomes] = self.axes @ rng.normal(0.0, _LOOSE, (self.axes.shape[1], n_hidden))
        couplings[coordinates.of_outcomes] = coordinates.couplings_of_outcomes(self._outcome_couplings(rng))
        biases[:] = coordinates.neutral_biases()
        return coordinates.within_bounds(z)

    def _outcome_couplings(self, rng: np.random.Generator) -> Array:
        """Natural couplings of all outcomes' statistics, by hidden unit."""
        units = self.coordinates.layout.units[self.coordinates.layout.outcomes]
        drawn = {place: units[place].wide_start(self.coordinates.n_hidden, rng) for place in self.outcomes.tolist()}
        return np.concatenate([np.empty((0, self.coordinates.n_hidden)), *(drawn[place] for place in range(len(units)))])


def _standardised(cells: Cells, coordinates: Coordinates) -> tuple[Array, Array]:
    """Statistics of representative values in standard deviations from their mean, 0 where there is none, and where there are some."""
    parts = []
    for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
        values = block.unit.representative_values(lower, upper)
        statistics = block.unit.statistics(np.where(np.isnan(values), 1.0, values))
        statistics[np.isnan(values)] = np.nan
        parts.append(statistics.reshape(len(values), -1))
    table = (np.concatenate(parts, axis=1) - coordinates.mean) / coordinates.scale
    seen = np.isfinite(table)
    return np.where(seen, table, 0.0), seen.astype(np.float64)


def _axes(statistics: Array, seen: Array, later: Array) -> Array:
    """Principal axes, from the variances and covariances of what was observed together."""
    covariance = (statistics.T @ statistics) / np.maximum(seen.T @ seen, 1.0)
    values, axes = np.linalg.eigh(covariance)
    longest = np.argsort(-values, kind="stable")
    axes = axes[:, longest[values[longest] > _FLAT * values.max(initial=0.0)]]
    goes_with = later @ (statistics @ axes)
    turned: Array = axes * np.where(goes_with < 0.0, -1.0, 1.0)
    return turned
