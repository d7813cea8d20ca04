"""From starts to the optimum that is taken, under the prior that it chooses itself (see docs/training.md, "The exact trainer")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.training.descent import descended
from harmonium.training.history import History
from harmonium.training.optima import SAME, Optimum, best_of, found_again, merged, settled, worth_settling
from harmonium.training.penalised import PenalisedLikelihood, Prior, evidence_prior, log_evidence, prior_precisions, smoothed
from harmonium.training.quasi_newton import minimise
from harmonium.typing import Array

__all__ = ["FIRST_L2", "OptimumSearch"]

FIRST_L2 = 5.0
"""Precision of covariates' couplings in the search."""

_ROUGH = 1e-5  # relative change of the objective at which runs stop that are to be continued
_SMOOTH_RUN, _SHORT_RUN = 15, 25  # iterations, after which a run forgets what it has learned of the curvature
_SMOOTH = 1.0  # the prior's precision of times' couplings where a run begins
_SEARCHED = 0.1  # the same in the search: a weaker one has more optima
_LONGER = {False: 2e-6, True: 1e-6}  # relative change of the objective at which runs stop that are compared: before, values say little
_THOROUGH = 500  # rows from which on optima of several outcomes are settled: fits of small tables are to be quick
_MOST_RIVALS = 3  # other optima that are remembered
_ALIKE = 0.5  # nats of all rows: optima that differ by less are too close to be rivals
_WIDE = 800  # coordinates, such as those of two hundred levels: with more, factors of a Hessian take longer than the search
_DIAGONAL_ROUNDS = 3  # of prior and place in turn; the third changes precisions by a tenth at most
_SETTLED = 1e-3  # times tol: what the quadratic model may still promise to gain, per row
_NEARLY = 1e-3  # nats of all rows: the same where optima are compared


@dataclass(frozen=True)
class OptimumSearch:
    """A search for the optima of a penalised likelihood; the problem's prior is changed on the way, and is at last that of the result.

    Attributes
    ----------
    problem : PenalisedLikelihood
        With the prior of covariates' couplings with which the search begins.
    history : History
    several : bool
        Whether there are several outcomes.
    max_iter : int
    tol : float
    """

    problem: PenalisedLikelihood
    history: History
    several: bool
    max_iter: int
    tol: float

    @property
    def is_thorough(self) -> bool:
        """Whether optima are settled before they are compared."""
        return self.several and self.problem.n_rows >= _THOROUGH

    # --- runs of an optimiser ---

    def run(self, z: Array, tol: float, max_iter: int | None = None, *, may_stop: bool = True) -> OptimizeResult:
        """L-BFGS-B from a place."""
        self.history.begin_run(may_stop=may_stop)
        return descended(self.problem, z, max_iter or self.max_iter, tol, self.note)

    def polish(self, z: Array, curvature: Array, *, to_the_point: bool = True) -> OptimizeResult:
        """To the optimum from nearby, the likelihood's curvature being known: flat directions take no longer than steep ones."""
        problem, known = self.problem, [curvature]

        def hessian(at: Array) -> Array:
            return problem.hessian(at, known.pop() if known else None)

        self.history.begin_run()
        tol = _SETTLED * self.tol * problem.share_of_events if to_the_point else _NEARLY / problem.n_rows
        bounds = problem.coordinates.bounds()
        return minimise(problem.loss, z, bounds, hessian, tol=tol, max_iter=self.max_iter, to_the_point=to_the_point, note=self.note)

    def note(self, intermediate_result: OptimizeResult) -> None:
        """Remember an iterate, and tell the history of it."""
        self.problem.current = np.array(intermediate_result.x)
        objective = -float(intermediate_result.fun)
        self.history.add(self.problem.parameters, objective=objective, evaluations=self.problem.n_evaluations)

    # --- from starts to optima ---

    def ends(self, starts: list[Array]) -> list[OptimizeResult]:
        """Ends of runs, best first; with a smooth beginning, then under the prior of the search. A single start is an end itself."""
        if len(starts) == 1:
            return [OptimizeResult(x=starts[0], fun=np.inf)]
        problem, first = self.problem, self.problem.precisions
        smooth, searched = (smoothed(problem.coordinates, first, outcomes) for outcomes in (_SMOOTH, _SEARCHED))
        try:
            out = []
            for start in starts:
                problem.precisions = smooth
                near = self.run(start, _ROUGH, _SMOOTH_RUN, may_stop=False)
                problem.precisions = searched
                short = self.run(near.x, _ROUGH, _SHORT_RUN, may_stop=False)
                out.append(self.run(short.x, _LONGER[self.several], may_stop=False))
            return sorted(out, key=lambda end: float(end.fun))
        finally:
            problem.precisions = first

    def different_ends(self, starts: list[Array]) -> list[Array]:
        """The best end, and a few others that may be its rivals."""
        found = _different(self.ends(starts), _ALIKE / self.problem.n_rows)
        return [end.x for end, _ in found[: 1 + _MOST_RIVALS]]

    def under_own_prior(self, z: Array, *, to_the_point: bool = True) -> Optimum:
        """To the optimum near a place that is one under the prior of the search, under the prior that the evidence prefers there."""
        problem, coordinates = self.problem, self.problem.coordinates
        problem.precisions = smoothed(coordinates, problem.precisions, _SEARCHED)
        z = self.run(z, _ROUGH).x
        if coordinates.size > _WIDE:
            return self._under_diagonal_prior(z)
        curvature = problem.curvature(z)
        n_covariates = coordinates.layout.n_columns - coordinates.layout.n_outcomes
        prior = evidence_prior(problem, z, Prior(np.full(n_covariates, FIRST_L2), _SEARCHED), curvature)
        problem.precisions = prior_precisions(coordinates, prior)
        end = self.polish(z, curvature, to_the_point=to_the_point)
        return Optimum(prior, end, log_evidence(problem, end))

    def _under_diagonal_prior(self, z: Array) -> Optimum:
        """The same where there are so many couplings that a Hessian takes longer than a search: by its diagonal, in turn with the place."""
        problem, coordinates = self.problem, self.problem.coordinates
        n_covariates = coordinates.layout.n_columns - coordinates.layout.n_outcomes
        prior = Prior(np.full(n_covariates, FIRST_L2), _SEARCHED)
        for _ in range(_DIAGONAL_ROUNDS):
            diagonal = problem.diagonal(z)
            prior = evidence_prior(problem, z, prior, diagonal)
            problem.precisions = prior_precisions(coordinates, prior)
            end = self.run(z, self.tol * problem.share_of_events)
            z = end.x
        end.hess = np.diag((diagonal + problem.precisions) / problem.n_rows)
        return Optimum(prior, end, log_evidence(problem, end), is_settled=True)

    def nearest(self, z: Array) -> Optimum:
        """The optimum near a place; if the search is thorough, where it and its prior agree."""
        found = self.under_own_prior(z)
        return settled(self.problem, found, self.polish) if self.is_thorough and not found.is_settled else found

    def best(self, start_of: Callable[[int], Array], n_starts: int, most_starts: int) -> tuple[Optimum, list[Array]]:
        """The optimum that is taken, and places near others that may be its rivals.

        Parameters
        ----------
        start_of : callable
            Makes a start of its number.
        n_starts, most_starts : int
            With which the search begins, and at most if only one start leads to the best optimum.
        """
        if not self.several:
            begin, *rivals = self.different_ends([start_of(number) for number in range(n_starts)])
            return self.nearest(begin), rivals
        best, others = self._compared(start_of, n_starts, most_starts if self.is_thorough else n_starts)
        self.problem.precisions = prior_precisions(self.problem.coordinates, best.prior)
        if others:
            self.history.begin_run()
            self.note(best.end)
        return best, [other.end.x for other in others if _differ(best, other, self.problem.n_rows)][:_MOST_RIVALS]

    def _compared(self, start_of: Callable[[int], Array], n_starts: int, most_starts: int) -> tuple[Optimum, list[Optimum]]:
        """The best of all optima that were found, and the others; starts follow until a second one has led to the best."""
        problem, first, known = self.problem, self.problem.precisions, list[Optimum]()
        for done in range(0, most_starts, n_starts):
            problem.precisions = first
            ends = self.ends([start_of(number) for number in range(done, min(done + n_starts, most_starts))])
            for end, n_ends in _different(ends, SAME / problem.n_rows):
                problem.precisions = first
                known.append(replace(self.under_own_prior(end.x, to_the_point=not self.is_thorough), n_starts=n_ends))
            known = merged(known, problem.n_rows)
            if self.is_thorough:
                known = self._all_settled(known)
            best = best_of(known)
            if found_again(best):
                break
        others = [one for one in known if one is not best]
        return settled(problem, best, self.polish) if self.is_thorough and problem.coordinates.size <= _WIDE else best, others

    def _all_settled(self, optima: list[Optimum]) -> list[Optimum]:
        """Those that may be best where they and their priors agree."""
        nearly = partial(self.polish, to_the_point=False)
        while waiting := worth_settling(optima):
            others = [one for one in optima if one is not waiting[0]]
            optima = merged([*others, settled(self.problem, waiting[0], nearly)], self.problem.n_rows)
        return optima


def _different(ends: list[OptimizeResult], least: float) -> list[tuple[OptimizeResult, int]]:
    """Of ends in order, those that are worse than the one before by something, and how many came to the same optimum."""
    out: list[tuple[OptimizeResult, int]] = []
    for end in ends:
        if out and end.fun - out[-1][0].fun <= least:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        else:
            out.append((end, 1))
    return out


def _differ(one: Optimum, other: Optimum, n_rows: float) -> bool:
    """Whether two optima are far enough from each other to be rivals."""
    return abs(float(one.end.fun - other.end.fun)) * n_rows > _ALIKE or abs(one.evidence - other.evidence) > _ALIKE
