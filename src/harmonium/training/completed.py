r"""The observed-data likelihood of subjects of whom something is not known, given what each of them may be.

A subject may be one of several *completions* k without missing values. With :math:`a_k`, the logarithm of the probability of the completion
by everything but the harmonium that is trained, the subject contributes

.. math:: \ln \sum_k e^{a_k} L_k(\theta), \qquad \nabla = \sum_k r_k \nabla \ln L_k, \qquad r_k \propto e^{a_k} L_k,

where :math:`L_k` is the conditional likelihood of the completion's rows. The distribution of what is missing stays as it is, so values that
are missing depending on the outcome do not bias the harmonium, as long as that distribution is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum
from harmonium.engine.parameters import Natural, Parameters
from harmonium.engine.prepared import Term
from harmonium.training.coordinates import Coordinates
from harmonium.training.objective import Objective, WeightedObjective
from harmonium.typing import Array, Integers

__all__ = ["CompletedObjective", "posterior_weights"]


def posterior_weights(subject: Integers, log_likelihood: Array, n_subjects: int) -> tuple[Array, Array]:
    """Probabilities of completions, which add up to one for each subject, and the logarithm of each subject's sum.

    Where nothing that is thought of is possible, all completions have the same probability.

    Examples
    --------
    >>> weights, total = posterior_weights(np.array([0, 0, 1]), np.log([0.1, 0.3, 0.5]), 2)
    >>> weights.round(6), np.exp(total).round(6)
    (array([0.25, 0.75, 1.  ]), array([0.4, 0.5]))
    """
    best = np.full(n_subjects, -np.inf)
    np.maximum.at(best, subject, log_likelihood)
    shift = np.nan_to_num(best, neginf=0.0)
    likely = np.where(np.isfinite(best[subject]), np.exp(log_likelihood - shift[subject]), 1.0)
    total = np.bincount(subject, likely, n_subjects)
    with np.errstate(divide="ignore"):
        return likely / total[subject], np.where(np.isfinite(best), np.log(total) + shift, -np.inf)


@dataclass(frozen=True)
class CompletedObjective:
    """What the exact trainer maximises over one harmonium.

    Attributes
    ----------
    recorded : Objective
        The conditional likelihood of the table as it was recorded, in whose coordinates training goes on.
    rows : Objective
        Rows without missing covariates.
    completion : ndarray of int
        The completion that each row belongs to.
    subject : ndarray of int
        The subject of each completion.
    log_prior : ndarray
        Of each completion, by everything but this harmonium.
    weights : ndarray
        Of each subject.
    """

    recorded: Objective
    rows: Objective
    completion: Integers
    subject: Integers
    log_prior: Array
    weights: Array
    _sums: list[LogMassSum] = field(default_factory=list, repr=False)  # of the rows, which are the same whatever else is known of them

    @property
    def layout(self) -> Layout:
        """The columns' units."""
        return self.recorded.layout

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.recorded.n_rows

    @property
    def n_subjects(self) -> float:
        """For how many subjects the rows stand."""
        return self.recorded.n_subjects

    def coordinates(self, n_hidden: int) -> Coordinates:
        """Those of the table as it was recorded."""
        return self.recorded.coordinates(n_hidden)

    def likelihood(self, n_hidden: int, n_threads: int | None = None) -> _CompletedLikelihood:
        """What is maximised."""
        return _CompletedLikelihood(self, n_threads)

    def representative_rows(self) -> Cells:
        """Those of the table as it was recorded."""
        return self.recorded.representative_rows()

    def representative_weights(self) -> Array | None:
        """Those of the table as it was recorded."""
        return self.recorded.representative_weights()

    def sample(self, size: int, seed: int) -> WeightedObjective:
        """The search for a start is over: nothing is left to be done on a sample."""
        raise NotImplementedError("given completions, training goes on from parameters that were found before")

    def log_likelihoods(self, parameters: Parameters, n_threads: int | None = None) -> Array:
        """Ln L of every completion."""
        return self.likelihood(parameters.n_hidden, n_threads).by_completion(parameters)

    def weighted(self, log_likelihoods: Array) -> WeightedObjective:
        """Its rows, each with the probability of its completion."""
        share, _ = posterior_weights(self.subject, self.log_prior + log_likelihoods, self.weights.size)
        weights = (share * self.weights[self.subject])[self.completion]
        kept = np.flatnonzero(weights > 0.0)
        of = self.subject[self.completion[kept]]
        recorded, entry = self.rows.recorded.part(kept), self.rows.entry[kept]
        return WeightedObjective(recorded, entry, self.rows.conditional, weights[kept], weights[kept], of, self.weights)


class _CompletedLikelihood:
    """Two passes over the rows: their likelihoods, hence the probabilities of completions, and then the gradient with these as weights."""

    def __init__(self, objective: CompletedObjective, n_threads: int | None) -> None:
        terms, kept = objective.rows.terms(), objective._sums
        if not kept:
            kept.append(LogMassSum([Term(term.cells, np.array(term.weights)) for term in terms], n_threads))
        self._objective, self._sum = objective, kept[0]
        self._signs = [float(np.sign(term.weights[0])) if term.weights.size else 0.0 for term in terms]

    def by_completion(self, parameters: Parameters) -> Array:
        """Ln L of every completion."""
        found = self._sum.log_masses(parameters)
        own = np.sum([sign * values for sign, values in zip(self._signs, found, strict=True)], axis=0)
        return np.asarray(np.bincount(self._objective.completion, own, self._objective.subject.size), dtype=np.float64)

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The sum over subjects and its gradient by the natural parameters."""
        own = self._objective
        found = self.by_completion(Parameters.from_natural(own.layout, natural))
        share, total = posterior_weights(own.subject, own.log_prior + found, own.weights.size)
        weights = (share * own.weights[own.subject])[own.completion]
        self._sum.reweigh([sign * weights for sign in self._signs])
        return float(own.weights @ total), self._sum.value_and_natural_gradient(natural)[1]
