"""What rows with missing covariates may be, with weights: the same rows without missing values.

Levels are enumerated, and so is one number: on an even grid, since sums over it are integrals to many digits where densities are normal.
Where combinations are too many, values are drawn: hidden states in even steps through their distribution, the covariates given each state
independently. What is drawn for a row follows from what is known of it, so that it depends neither on other rows nor on their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.gibbs import Chains, row_contents
from harmonium.engine.parameters import Parameters
from harmonium.model.hidden import Enumerated, hidden_given, row_chunks
from harmonium.numerics.streams import streams_of
from harmonium.typing import Array, Booleans, Integers

__all__ = ["ANSWERS", "TRAINING", "Completions", "Effort"]

_ENUMERATED = 64  # combinations of values, at most, in place of as many draws
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)  # whose multiples are spread evenly over fractions


class Effort(NamedTuple):
    """How many completions a row has.

    Attributes
    ----------
    negligible : float
        A weight below which an enumerated value is left out.
    draws : int
        For each missing value, where combinations are too many to be enumerated.
    fewest, most : int
        Draws of one row.
    """

    negligible: float
    draws: int
    fewest: int
    most: int


ANSWERS = Effort(1e-10, 8, 32, 256)
"""For answers about single rows: a mean over 32 draws in even steps is off by less than an eighth of their standard deviation."""

TRAINING = Effort(1e-3, 4, 16, 32)
"""For training, whose sums over rows average the errors of draws."""


class Completions(NamedTuple):
    """Rows without missing values, those of each row of a table together, and their weights, which add up to one for each row."""

    rows: Integers
    cells: Cells
    weights: Array

    def averaged(self, answers: Array) -> Array:
        """Answers about the table's rows, from those about these."""
        starts = np.searchsorted(self.rows, np.arange(self.rows[-1] + 1 if self.rows.size else 0))
        weighted = answers * self.weights.reshape(-1, *[1] * (answers.ndim - 1))
        return np.asarray(np.add.reduceat(weighted, starts, axis=0)) if self.rows.size else answers

    @property
    def covariates(self) -> Array:
        """Encoded covariates of all rows."""
        return self.cells.bounds()[0][:, : self.cells.layout.outcomes.start]

    def drawn(self, rng: np.random.Generator) -> Array:
        """Covariates of one row for each row of the table, drawn by its weight."""
        ends = np.cumsum(self.averaged(np.ones(self.rows.size)))
        places = np.searchsorted(np.cumsum(self.weights), ends - 1.0 + rng.random(ends.size))
        first, last = np.searchsorted(self.rows, [np.arange(ends.size), np.arange(1, ends.size + 1)])
        return self.covariates[np.clip(places, first, last - 1)]

    def thinned(self, most: int) -> Completions:
        """At most so many of each row, for averages over rows: in even steps through their weights, from another place in each row."""
        kept, weights = [], []
        for number, own in enumerate(np.split(np.arange(self.rows.size), np.flatnonzero(np.diff(self.rows)) + 1)):
            few = own.size <= most
            steps = (np.arange(most) + number * _GOLDEN % 1.0) / most
            kept.append(own if few else own[np.minimum(np.searchsorted(np.cumsum(self.weights[own]), steps), own.size - 1)])
            weights.append(self.weights[own] if few else np.full(most, 1.0 / most))
        chosen = np.concatenate(kept)
        return Completions(self.rows[chosen], self.cells.part(chosen), np.concatenate(weights))

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        units: CovariateUnits | None,
        cells: Cells,
        n_threads: int | None = None,
        effort: Effort = ANSWERS,
    ) -> Completions:
        """Completions of rows of which something may be known of outcomes, too."""
        whole = parameters if units is None else units.joined(parameters)
        lower, upper = cells.bounds()
        n_covariates = cells.layout.outcomes.start
        missing = ~(lower == upper)[:, :n_covariates]
        values = _values(whole, cells)
        few = missing.any(axis=1) & _are_few(values, missing)
        parts = [(np.flatnonzero(~missing.any(axis=1)), lower[~missing.any(axis=1), :n_covariates])]
        parts += _enumerated(values, lower[:, :n_covariates], missing, few)
        parts += _drawn(whole, cells, missing, missing.any(axis=1) & ~few, effort, n_threads)
        rows, covariates = (np.concatenate(own) for own in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        rows, covariates = rows[order], covariates[order]
        completed = Cells.joined(cells.layout, covariates, *(bound[rows, n_covariates:] for bound in (lower, upper)))
        weights = _weights(whole, cells, completed, rows, few, n_threads)
        worth = np.flatnonzero((weights > effort.negligible) | ~few[rows])
        return cls(rows[worth], completed.part(worth), weights[worth])


def _values(whole: Parameters, cells: Cells) -> list[Array]:
    """What each covariate may be: its levels, or the nodes of a grid; nothing for units that have neither."""
    layout, natural = cells.layout, whole.natural()
    parts = [slice(*own) for own in pairwise(layout.offsets[: layout.outcomes.start + 1])]
    return [unit.nodes(natural.bias[own], natural.coupling[own]) for unit, own in zip(layout.units, parts, strict=False)]


def _are_few(values: Sequence[Array], missing: Booleans) -> Booleans:
    """Rows whose missing values are enumerated: one number, or few combinations."""
    sizes = np.array([own.size or np.inf for own in values])
    alone = (missing.sum(axis=1) == 1) & (missing & np.isfinite(sizes)).any(axis=1)
    return np.asarray(alone | (np.prod(np.where(missing, sizes, 1.0), axis=1) <= _ENUMERATED))


def _enumerated(values: Sequence[Array], covariates: Array, missing: Booleans, few: Booleans) -> Iterator[tuple[Integers, Array]]:
    """Rows with all combinations of values that they may have, pattern by pattern."""
    for pattern in np.unique(missing[few], axis=0):
        places, own = np.flatnonzero(pattern), np.flatnonzero(few & (missing == pattern).all(axis=1))
        combinations = np.array(list(product(*(values[int(place)] for place in places))))
        out = np.repeat(covariates[own], len(combinations), axis=0)
        out[:, places] = np.tile(combinations, (own.size, 1))
        yield np.repeat(own, len(combinations)), out


def _drawn(
    whole: Parameters, cells: Cells, missing: Booleans, many: Booleans, effort: Effort, n_threads: int | None
) -> Iterator[tuple[Integers, Array]]:
    """Rows with values that they may have, by the number of draws."""
    n_draws = np.where(missing.all(axis=1), effort.most, np.clip(effort.draws * missing.sum(axis=1), effort.fewest, effort.most))
    natural = whole.natural()
    for k in np.unique(n_draws[many]):
        rows = np.flatnonzero(many & (n_draws == k))
        for chunk in row_chunks(cells.part(rows), whole.n_hidden):
            own = cells.part(rows[chunk])
            streams = np.concatenate([streams_of(content, 0, int(k)) for content in row_contents(own)], axis=1)
            anything = np.ones((own.n_rows * k, cells.layout.n_columns))
            chains = Chains.start(whole, own, streams, int(k), anything, n_threads)
            chains.draw_given(natural.bias[:, None] + natural.coupling @ _states(whole, own, int(k), n_threads).T, n_threads)
            yield np.repeat(rows[chunk], k), np.array(chains.values[:, : missing.shape[1]])


def _states(whole: Parameters, cells: Cells, k: int, n_threads: int | None) -> Array:
    """Hidden states of all rows, k for each, in even steps through their distribution."""
    found, steps = hidden_given(whole, cells, np.random.default_rng(0), n_threads), (np.arange(k) + 0.5) / k
    if not isinstance(found, Enumerated):
        every = found.states.reshape(cells.n_rows, -1, whole.n_hidden)
        return np.asarray(every[:, (steps * every.shape[1]).astype(int)].reshape(-1, whole.n_hidden), dtype=np.float64)
    cumulative = np.cumsum(found.weights, axis=1)
    chosen = [np.searchsorted(own, steps * own[-1]) for own in cumulative]
    return np.asarray(found.states[np.concatenate(chosen)], dtype=np.float64)


def _weights(whole: Parameters, cells: Cells, completed: Cells, rows: Integers, few: Booleans, n_threads: int | None) -> Array:
    """Of draws, all the same; of enumerated values, how likely they are given everything else."""
    out = 1.0 / np.bincount(rows, minlength=cells.n_rows)[rows]
    own = np.flatnonzero(few[rows])
    if own.size:
        ln = log_mass(whole, completed.part(own), n_threads)
        best = np.full(cells.n_rows, -np.inf)
        np.maximum.at(best, rows[own], ln)
        weight = np.exp(ln - best[rows[own]])
        out[own] = weight / np.bincount(rows[own], weight, cells.n_rows)[rows[own]]
    return out
