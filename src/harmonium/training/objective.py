"""Objectives: what is maximised, as a signed sum of log masses (eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum
from harmonium.engine.integrated_sum import IntegratedLogMassSum
from harmonium.engine.parameters import Natural
from harmonium.engine.prepared import Term
from harmonium.engine.states import EXACT_LIMIT
from harmonium.training.coordinates import Coordinates
from harmonium.training.samples import Drawn, count_kinds, draw, row_weights
from harmonium.training.statistics import StatisticsSummary
from harmonium.typing import Array, Integers

__all__ = [
    "MOST_REPRESENTATIVE",
    "ExactObjective",
    "LogLikelihood",
    "Objective",
    "SeveralAtOnce",
    "WeightedObjective",
    "conditioned_cells",
    "entry_cells",
    "with_rows_repeated",
]


MOST_REPRESENTATIVE = 20_000
"""Rows that tell what columns and their ties look like."""


class LogLikelihood(Protocol):
    """A log-likelihood that can be computed, wherever its rows are."""

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum over rows and its gradient by the natural parameters."""


@runtime_checkable
class SeveralAtOnce(Protocol):
    """A log-likelihood that is computed faster at several points together."""

    def values_and_natural_gradients(self, points: Sequence[Natural]) -> list[tuple[float, Natural]]:
        """As :meth:`LogLikelihood.value_and_natural_gradient`, for each of some parameters."""


class ExactObjective(Protocol):
    """What the exact trainer needs to know of an objective; its rows may be on other machines."""

    @property
    def layout(self) -> Layout:
        """The columns' units."""

    @property
    def n_rows(self) -> int:
        """How many rows."""

    @property
    def n_subjects(self) -> float:
        """For how many subjects the rows stand; as many as there are, unless they have weights."""

    def coordinates(self, n_hidden: int) -> Coordinates:
        """Those in which the objective is well conditioned."""

    def likelihood(self, n_hidden: int, n_threads: int | None = None) -> LogLikelihood:
        """What is maximised."""

    def sample(self, size: int, seed: int) -> WeightedObjective:
        """Some of the rows, in memory, with weights under which their sum estimates that of all rows."""

    def representative_rows(self) -> Cells:
        """All rows or, if there are many, some of them: what the columns and their ties look like."""

    def representative_weights(self) -> Array | None:
        """For how many subjects each of these rows stands; None if for one each."""


def conditioned_cells(recorded: Cells, entry: Array) -> Cells:
    """The denominator of the conditional likelihood (eq. 8): covariates as recorded, outcomes free, or beyond entry where that is late."""
    if not entry.any():
        return recorded.freeing_outcomes()
    late = entry > 0.0
    return recorded.with_outcomes(np.where(late, entry, np.nan), np.where(late, 1.0, np.nan))


def entry_cells(recorded: Cells, entry: Array) -> Cells:
    """The denominator of the joint likelihood (eq. 8): covariates free, outcomes free, or beyond entry where that is late."""
    return conditioned_cells(recorded, entry).freeing_covariates()


@dataclass(frozen=True)
class Objective:
    """The log-likelihood of a training table, conditional on covariates with a weight between 0 (joint) and 1 (eq. 14).

    Parameters
    ----------
    recorded : Cells
        The training table; its layout says which columns are outcomes.
    entry : ndarray of shape (n_rows, n_outcomes)
        Entry times on the outcomes' scales, 0 where there is none.
    conditional : float
        Weight of ln p(outcomes | covariates); ln p(outcomes, covariates) has the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Bernoulli, TruncatedGamma
    >>> layout = Layout([Bernoulli(), TruncatedGamma()], n_outcomes=1)
    >>> cells = Cells.from_bounds(layout, [[1.0, 0.5], [0.0, 0.3]])
    >>> [float(term.weights.sum()) for term in Objective(cells, np.zeros((2, 1)), conditional=0.25).terms()]
    [2.0, -0.5, -1.5]
    """

    recorded: Cells
    entry: Array
    conditional: float

    def __post_init__(self) -> None:
        shape = (self.recorded.n_rows, self.recorded.layout.n_outcomes)
        if self.entry.shape != shape:
            raise ValueError(f"entry must have a row per row of the table and a column per outcome, {shape}; found {self.entry.shape}")
        if not 0.0 <= self.conditional <= 1.0:
            raise ValueError(f"conditional must be a weight between 0 and 1; found {self.conditional}")

    @property
    def layout(self) -> Layout:
        """The columns' units."""
        return self.recorded.layout

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.recorded.n_rows

    @property
    def row_weights(self) -> Array:
        """For how many rows each stands."""
        return np.ones(self.n_rows)

    @property
    def subjects(self) -> Array | None:
        """For how many subjects each row stands by the user's word; None if for one each."""
        return None

    @property
    def n_subjects(self) -> float:
        """For how many subjects the rows stand."""
        return self.n_rows if self.subjects is None else float(self.subjects.sum())

    def coordinates(self, n_hidden: int) -> Coordinates:
        """Those in which the objective is well conditioned."""
        statistics = StatisticsSummary.of(self.recorded, self.subjects)
        return Coordinates.of_statistics(self.layout, statistics, n_hidden, self.conditional)

    def likelihood(self, n_hidden: int, n_threads: int | None = None) -> LogLikelihood:
        """The log-likelihood, to be computed for many parameters: by enumeration, or beyond that by integration if all rows allow it."""
        if n_hidden <= EXACT_LIMIT:
            return LogMassSum([term.distinct() for term in self.terms()], n_threads)
        try:
            return IntegratedLogMassSum(self.terms(), n_hidden, n_threads)
        except ValueError as error:
            raise ValueError(
                f"the exact trainer enumerates hidden states up to {EXACT_LIMIT} hidden units; {error}. Use fewer hidden units, or the "
                "contrastive trainer"
            ) from error

    def sample(self, size: int, seed: int) -> WeightedObjective:
        """Some of the rows, in memory, with weights under which their sum estimates that of all rows."""
        drawn = draw(self.recorded, self.entry, count_kinds(self.recorded), size, seed, weights=self.subjects)
        return WeightedObjective.of(drawn, self.conditional, self.n_rows, self.n_subjects)

    def representative_rows(self) -> Cells:
        """All rows or, if there are many, some of them: what the columns and their ties look like."""
        return self.recorded if self.n_rows <= MOST_REPRESENTATIVE else self.sample(MOST_REPRESENTATIVE, 0).recorded

    def representative_weights(self) -> Array | None:
        """For how many subjects each of these rows stands; None if for one each."""
        few = self.n_rows <= MOST_REPRESENTATIVE or self.subjects is None
        return self.subjects if few else self.sample(MOST_REPRESENTATIVE, 0).subjects

    def terms(self) -> list[Term]:
        """Terms whose sum is the log-likelihood; the first holds the table as recorded."""
        recorded, joint = self.recorded, 1.0 - self.conditional
        terms = [Term.uniform(recorded, 1.0)]
        if self.conditional > 0.0:
            terms.append(Term.uniform(conditioned_cells(recorded, self.entry), -self.conditional))
        if joint > 0.0 and self.entry.any():
            terms.append(Term.uniform(entry_cells(recorded, self.entry), -joint))
        elif joint > 0.0:
            terms.append(Term.uniform(Cells.all_free(recorded.layout), -joint * recorded.n_rows))
        return terms

    def clamped(self) -> Cells | None:
        """What contrastive training clamps its negative chains to; None if the denominator is the same for all rows, nothing being fixed.

        Sampling takes no weights in between: unless the objective is conditional, this is the joint likelihood's.
        """
        if self.conditional == 1.0:
            return conditioned_cells(self.recorded, self.entry)
        return entry_cells(self.recorded, self.entry) if self.entry.any() else None


@dataclass(frozen=True)
class WeightedObjective(Objective):
    """The log-likelihood of rows that stand for several each.

    Parameters
    ----------
    recorded, entry, conditional
        As in :class:`Objective`.
    weights : ndarray of shape (n_rows,)
        For how many rows each stands.
    subjects : ndarray of shape (n_rows,), optional
        For how many subjects each stands by the user's word: what means, scales and numbers of rows are weighted with. By default, and
        where a sample stands for a table without weights, for one each.
    subject : ndarray of int, optional
        Where rows are what subjects may be, or several belong to one: whose each is. By default every row is a subject.
    subject_weights : ndarray, optional
        Of these subjects, by number.

    Examples
    --------
    >>> from harmonium.units import Bernoulli
    >>> cells = Cells.from_bounds(Layout([Bernoulli()]), [[1.0], [0.0]])
    >>> [term.weights for term in WeightedObjective(cells, np.zeros((2, 0)), 0.0, np.array([3.0, 1.0])).terms()]
    [array([3., 1.]), array([-4.])]
    """

    weights: Array
    subjects: Array | None = None
    subject: Integers | None = None
    subject_weights: Array | None = None

    @property
    def row_weights(self) -> Array:
        """For how many rows each stands."""
        return self.weights

    @classmethod
    def of(cls, drawn: Drawn, conditional: float, n_rows: int, n_subjects: float | None = None) -> WeightedObjective:
        """Of rows that were drawn from a table with ``n_rows`` rows, which stand for ``n_subjects``."""
        weights = row_weights(drawn.chance, n_rows)
        if drawn.weights is not None and n_subjects is not None:
            weights = weights * drawn.weights
            weights *= n_subjects / weights.sum()
        return cls(drawn.cells, drawn.entry, conditional, weights, drawn.weights)

    def terms(self) -> list[Term]:
        """Terms whose sum is the log-likelihood; one that is the same for all rows has the sum of their weights."""
        return [
            Term(term.cells, term.weights * (self.weights if term.cells.n_rows == self.n_rows else self.weights.mean()))
            for term in super().terms()
        ]


def with_rows_repeated(objective: Objective) -> Objective:
    """The same objective with every row as often as its weight says, for training that draws rows; weights must be whole numbers."""
    if objective.subjects is None:
        return objective
    times = np.round(objective.subjects).astype(np.int64)
    wrong = np.abs(objective.subjects - times) > 1e-9 * times
    if wrong.any():
        raise ValueError(
            f"the contrastive trainer repeats rows, so that their weights must be whole numbers; found {objective.subjects[wrong][0]:g}. "
            "Use the exact trainer: trainer=harmonium.Exact()"
        )
    rows = np.repeat(np.arange(objective.n_rows), times)
    return Objective(objective.recorded.part(rows), objective.entry[rows], objective.conditional)
