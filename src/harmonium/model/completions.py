r"""What rows with missing covariates may be, with weights: the same rows without missing values.

Levels are enumerated, and so is one number: on an even grid, since sums over it are integrals to many digits where densities are normal.
Where combinations are too many, values are drawn: hidden states in even steps through their distribution, the covariates given each state
independently. What is drawn for a row follows from what is known of it, so that it depends neither on other rows nor on their order.

Completions of rows of whose covariates or event history something is not known: rows of which everything is, with weights.

.. math:: p(x_m, \text{history} \mid \text{what is known}) \propto p(x_m \mid x_o) \, L(\text{history} \mid x), \qquad x = (x_o, x_m) .

Missing covariates are completed as above; possible histories, of an event between two visits, say, or of a
subject that is known to be alive for longer than it was examined, by :mod:`harmonium.table.possible_histories`. L is the likelihood under
the harmoniums of all endpoints, so any answer about such a row is the average of the answers about its completions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.gibbs import Chains, row_contents
from harmonium.engine.parameters import Parameters
from harmonium.model.hidden import Enumerated, hidden_given, row_chunks
from harmonium.model.transitions import Transitions
from harmonium.numerics.quadrature import panel_nodes
from harmonium.numerics.streams import streams_of
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.possible_histories import Rule, possible_histories
from harmonium.training.completed import posterior_weights
from harmonium.typing import Array, Booleans, Integers

__all__ = ["ANSWERS", "FINE", "TRAINING", "Completions", "Effort", "HistoryCompletions"]

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


_NEGLIGIBLE = 1e-10  # a weight that is not worth an answer

FINE = Rule(*panel_nodes(np.linspace(0.0, 1.0, 9), 4))
"""Of integrals over the time of an event that was not seen: to about four digits where hazards are smooth."""


@dataclass(frozen=True)
class HistoryCompletions:
    """Rows of which everything is known until some time; those of each row of a table are next to each other.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    rows : ndarray of int
        The row of the table of each completion.
    covariates : ndarray
        Encoded.
    y : Endpoints
    known : Histories
    log_prior : ndarray
        Of the covariates given those that were observed, and of the width that the time of an unobserved event stands for.
    log_likelihood : ndarray
        Of the history given the covariates; zero where it was not needed.
    weights : ndarray
        They add up to one for each row.
    """

    n_rows: int
    rows: Integers
    covariates: Array
    y: Endpoints
    known: Histories
    log_prior: Array
    log_likelihood: Array
    weights: Array

    @classmethod
    def possible(
        cls,
        encoding: Encoding,
        parameters: Parameters,
        units: CovariateUnits | None,
        covariates: Array,
        y: Endpoints,
        n_threads: int | None = None,
        *,
        rule: Rule = FINE,
        effort: Effort = ANSWERS,
        events: Sequence[str] | None = None,
    ) -> HistoryCompletions:
        """Completions of rows with encoded covariates, NaN where missing, weighted by the distribution of covariates alone.

        Parameters and covariate units say how covariates are distributed; ``events`` which events may have been missed, by default any.
        """
        if covariates.shape[1]:
            found = Completions.of(parameters, units, encoding.cells(covariates), n_threads, effort)
            parts = found.rows, found.covariates, np.log(found.weights)
        else:
            parts = np.arange(len(covariates)), covariates, np.zeros(len(covariates))
        return cls.joined(encoding, len(covariates), *parts, y, rule, events)

    @classmethod
    def joined(
        cls,
        encoding: Encoding,
        n_rows: int,
        own_rows: Integers,
        values: Array,
        own_prior: Array,
        y: Endpoints,
        rule: Rule,
        events: Sequence[str] | None = None,
    ) -> HistoryCompletions:
        """Completed covariates, with rows and logarithms of weights, together with all possible histories of their rows."""
        assert encoding.ordered is not None
        graph = encoding.ordered.graph
        histories = possible_histories(graph, y, encoding.ordered.histories(y), rule, graph.names if events is None else events)
        first = np.searchsorted(own_rows, np.arange(n_rows + 1))
        sizes = np.diff(first)[histories.rows]
        history = np.repeat(np.arange(histories.rows.size), sizes)
        own = np.arange(history.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[histories.rows[history]]
        order = np.argsort(histories.rows[history], kind="stable")
        history, own = history[order], own[order]
        rows, known = histories.rows[history], histories.y.part(history)
        prior = own_prior[own] + histories.log_width[history]
        weights, _ = posterior_weights(rows, prior, n_rows)
        return cls(n_rows, rows, values[own], known, encoding.ordered.histories(known), prior, np.zeros(rows.size), weights)

    def given(self, transitions: Transitions, encoding: Encoding, *, everything: bool = False) -> HistoryCompletions:
        """The same completions weighted by their likelihood as well.

        Likelihoods of rows with a single completion are found if ``everything`` is wanted; their weights do not need them.
        """
        uncertain = np.flatnonzero((np.bincount(self.rows, minlength=self.n_rows)[self.rows] > 1) | everything)
        ln = np.zeros(self.rows.size)
        parts = self.covariates[uncertain], self.y.part(uncertain), self.known.part(uncertain)
        ln[uncertain] = transitions.log_likelihood(encoding, *parts)
        weights, _ = posterior_weights(self.rows, self.log_prior + ln, self.n_rows)
        found = replace(self, log_likelihood=ln).completions(np.flatnonzero(weights > _NEGLIGIBLE))
        weights, _ = posterior_weights(found.rows, found.log_prior + found.log_likelihood, found.n_rows)
        return replace(found, weights=weights)

    def completions(self, chosen: Integers) -> HistoryCompletions:
        """Some of the completions."""
        arrays = (array[chosen] for array in (self.log_prior, self.log_likelihood, self.weights))
        known = self.y.part(chosen), self.known.part(chosen)
        return HistoryCompletions(self.n_rows, self.rows[chosen], self.covariates[chosen], *known, *arrays)

    def alone(self) -> HistoryCompletions:
        """Every completion as a row of its own."""
        size, certain = self.rows.size, np.zeros(self.rows.size)
        return HistoryCompletions(size, np.arange(size), self.covariates, self.y, self.known, certain, certain, np.ones(size))

    def part(self, rows: Integers) -> HistoryCompletions:
        """Completions of some rows of the table, which are numbered anew."""
        number = np.full(self.n_rows, -1)
        number[rows] = np.arange(rows.size)
        own = np.flatnonzero(number[self.rows] >= 0)
        own = own[np.argsort(number[self.rows[own]], kind="stable")]
        found = self.completions(own)
        return replace(found, n_rows=rows.size, rows=number[found.rows])

    def log_likelihoods(self) -> Array:
        """Ln p of what is known of the history of each row, given the covariates that were observed."""
        return posterior_weights(self.rows, self.log_likelihood + self.log_prior, self.n_rows)[1]

    def averaged(self, answers: Array) -> Array:
        """Answers about the table's rows, from those about completions."""
        if self.rows.size == self.n_rows:
            return answers
        starts = np.searchsorted(self.rows, np.arange(self.n_rows))
        weighted = answers * self.weights.reshape(-1, *[1] * (answers.ndim - 1))
        return np.asarray(np.add.reduceat(weighted, starts, axis=0)) if self.n_rows else answers

    def drawn(self, rng: np.random.Generator) -> Integers:
        """One completion of each row, drawn by its weight."""
        first = np.searchsorted(self.rows, np.arange(self.n_rows))
        last = np.append(first[1:], self.rows.size) - 1
        places = np.searchsorted(np.cumsum(self.weights), np.arange(self.n_rows) + rng.random(self.n_rows))
        return np.clip(places, first, last)
