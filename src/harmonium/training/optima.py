"""Optima of a likelihood of several outcomes, each under the prior that it chooses itself, and which of them is taken.

An optimum and the prior that the evidence prefers there depend on each other. Followed until neither changes, searches that came to quite
different places end in a few optima, each of them in one place and with one evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.training.penalised import PenalisedLikelihood, Prior, evidence_prior, log_evidence, prior_precisions
from harmonium.typing import Array

__all__ = ["SAME", "Optimum", "best_of", "found_again", "merged", "settled", "worth_settling"]

SAME = 0.02
"""Nats of all rows: optima whose objectives differ by less are one."""

_MOST_ROUNDS = 6  # of prior and optimum in turn
_PROMISING = 6.0  # nats below the largest evidence, that an optimum may gain by settling
_SAME_EVIDENCE = 0.1  # nats; that of two ends of one search may differ by more than their objectives do
_ENOUGH = 2  # starts that must have led to an optimum before it is taken without a further search

Polish = Callable[[Array, Array], OptimizeResult]
"""To the optimum under the problem's prior from a place nearby, where the likelihood's curvature is known."""


@dataclass(frozen=True)
class Optimum:
    """An optimum under its own prior.

    Attributes
    ----------
    prior : Prior
    end : OptimizeResult
        Its place, and the objective there.
    evidence : float
        Its logarithm.
    n_starts : int
        Starts that led there.
    is_settled : bool
        Whether the prior is the one that the evidence prefers at this very place.
    """

    prior: Prior
    end: OptimizeResult
    evidence: float
    n_starts: int = 1
    is_settled: bool = False


def settled(problem: PenalisedLikelihood, optimum: Optimum, polish: Polish) -> Optimum:
    """Where neither optimum nor prior changes the other any more, or nearly so."""
    prior, end = optimum.prior, optimum.end
    for _ in range(_MOST_ROUNDS):
        problem.precisions = prior_precisions(problem.coordinates, prior)
        curvature = problem.curvature(end.x)
        before, prior = prior, evidence_prior(problem, end.x, prior, curvature)
        problem.precisions = prior_precisions(problem.coordinates, prior)
        end = polish(end.x, curvature)
        if _is_same_prior(before, prior):
            break
    else:
        curvature = problem.curvature(end.x)
    end.hess = problem.hessian(end.x, curvature)
    return Optimum(prior, end, log_evidence(problem, end), optimum.n_starts, is_settled=True)


def worth_settling(optima: Iterable[Optimum]) -> list[Optimum]:
    """Those that may turn out best."""
    known = list(optima)
    least = max(one.evidence for one in known) - _PROMISING
    return [one for one in known if not one.is_settled and one.evidence > least]


def merged(optima: Iterable[Optimum], n_rows: float) -> list[Optimum]:
    """Optima without repetition, best first; each with all starts that led there."""
    out: list[Optimum] = []
    for one in sorted(optima, key=lambda one: -one.evidence):
        place = next((k for k, other in enumerate(out) if _are_same(one, other, n_rows)), None)
        if place is None:
            out.append(one)
        else:
            out[place] = replace(out[place], n_starts=out[place].n_starts + one.n_starts)
    return out


def best_of(optima: Iterable[Optimum]) -> Optimum:
    """The optimum with the largest evidence, times the number of starts that led there."""
    return max(optima, key=lambda one: one.evidence + np.log(one.n_starts))


def found_again(optimum: Optimum) -> bool:
    """Whether starts have led there often enough not to look for something better."""
    return optimum.n_starts >= _ENOUGH


def _is_same_prior(one: Prior, other: Prior) -> bool:
    return np.array_equal(one.covariates, other.covariates) and one.outcomes == other.outcomes


def _are_same(one: Optimum, other: Optimum, n_rows: float) -> bool:
    return abs(one.evidence - other.evidence) < _SAME_EVIDENCE and abs(float(one.end.fun - other.end.fun)) * n_rows < SAME
