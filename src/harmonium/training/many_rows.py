"""How a table with many rows is fitted: the search for an optimum on a sample of its rows, the end of it on all of them.

The search (``search.py``) ends in a few distinct optima that have settled, since unsettled ends of different starts cannot be compared.
Where the prior is left to the data, the evidence chooses it there, and the optima move on the sample, where that costs little. They go on
to all rows, with the sample's curvature, and are compared there; the best of them is followed to the end, and the prior is looked at once
more. A fit that uses no sample takes the same steps on all rows, but follows every start and exchanges no hidden units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.training.history import History
from harmonium.training.penalised import PenalisedLikelihood, evidence_precision, prior_precisions
from harmonium.training.quasi_newton import minimise
from harmonium.training.search import Search, distinct, n_followed
from harmonium.typing import Array

__all__ = ["ManyRows"]

_SETTLED = 1e-1  # of tol: what the quadratic model may still promise, per row, where a start has settled
_FINISHED = 1e-2  # of tol: the same where the fit ends
_MOST_COMPARED = 3  # optima that go on to all rows
_COMPARING = 12  # iterations on all rows, at most, before optima are compared

_ROUGH = 1e-5  # relative change of the objective at which L-BFGS-B hands over
_MOST_DENSE = 600  # coordinates; beyond, a dense matrix costs more than it saves

Note = Callable[[OptimizeResult], None]


class Descent(Protocol):
    """A method that needs gradients alone."""

    def __call__(self, problem: PenalisedLikelihood, z: Array, max_iter: int, tol: float, note: Note) -> OptimizeResult:
        """Minimise the loss, from z on, until its relative change is below ``tol``."""


@dataclass
class ManyRows:
    """A fit in stages.

    Attributes
    ----------
    whole : PenalisedLikelihood
        Of all rows.
    part : PenalisedLikelihood
        Of the sample; the same object if there is none.
    history : History
    l2 : float
        The precision of the prior.
    chooses_l2 : bool
        Whether the data choose it.
    tol : float
    max_iter : int
    descent : callable
        What leads from a start to somewhere near an optimum.
    """

    whole: PenalisedLikelihood
    part: PenalisedLikelihood
    history: History
    l2: float
    chooses_l2: bool
    tol: float
    max_iter: int
    descent: Descent

    @property
    def n_evaluations(self) -> int:
        """Gradients so far, of the sample and of all rows."""
        return self.whole.n_evaluations + (0 if self.part is self.whole else self.part.n_evaluations)

    def fit(self, n_starts: int, start: Callable[[int], Array]) -> OptimizeResult:
        """Follow numbered starts to the best of their optima; on a sample, go on from there with more of them."""
        found = self._searched(n_starts, start)
        if self._choose_l2(self.part, found[0].x):
            found = distinct([self._settled(end.x) for end in found])
        return self._finished(self._best_on_all_rows([end.x for end in found]).x)

    def continued(self, z: Array) -> OptimizeResult:
        """Go on from given parameters, on all rows."""
        return self._finished(z)

    def _searched(self, n_starts: int, start: Callable[[int], Array]) -> list[OptimizeResult]:
        """The best few optima of the sample, or of all rows if there is none."""
        search = Search(self.part.coordinates, self._run, self._settled, self.max_iter)
        starts = [start(number) for number in range(n_starts)]
        samples = self.part is not self.whole
        search.follow(starts, n_followed(n_starts) if samples else None)
        if samples and n_starts > 1 and self.part.coordinates.n_hidden:
            search.exchange(map(start, count(n_starts)))
        return search.best(_MOST_COMPARED)

    def _best_on_all_rows(self, candidates: list[Array]) -> OptimizeResult:
        """Those that promise most are followed first, so that the others can be dropped soon."""
        if self.part is not self.whole and len(candidates) > 1:
            candidates = sorted(candidates, key=lambda z: self.whole.loss(z)[0])
        best: OptimizeResult | None = None
        for z in candidates:
            rival = self._polished(z, _SETTLED, _COMPARING, may_stop=False, target=np.inf if best is None else best.fun)
            best = rival if best is None or rival.fun < best.fun else best
        assert best is not None
        return best

    def _finished(self, z: Array) -> OptimizeResult:
        result = self._polished(z, _FINISHED, self.max_iter)
        if self._choose_l2(self.whole, result.x):
            result = self._polished(result.x, _FINISHED, self.max_iter)
        if result.nit == 0:  # the history ends with the result, which is then another run's
            self._listener(self.whole)(result)
        return result

    def _run(self, z: Array, max_iter: int) -> OptimizeResult:
        self.history.begin_run(may_stop=False)
        return self.descent(self.part, z, max_iter, _ROUGH, self._listener(self.part))

    def _settled(self, z: Array) -> OptimizeResult:
        self.history.begin_run(may_stop=False)
        return self._minimised(self.part, z, _SETTLED, self.max_iter, self._listener(self.part))

    def _polished(self, z: Array, tol: float, max_iter: int, *, may_stop: bool = True, target: float = np.inf) -> OptimizeResult:
        self.history.begin_run(may_stop=may_stop)
        return self._minimised(self.whole, z, tol, max_iter, self._listener(self.whole), target)

    def _minimised(
        self, problem: PenalisedLikelihood, z: Array, tol: float, max_iter: int, note: Note, target: float = np.inf
    ) -> OptimizeResult:
        if z.size > _MOST_DENSE:
            return self.descent(problem, z, max_iter, tol * self.tol, note)
        bounds = problem.coordinates.bounds()
        return minimise(problem.loss, z, bounds, self._curvature, tol=tol * self.tol, max_iter=max_iter, target=target, note=note)

    def _curvature(self, z: Array) -> Array:
        return self.part.hessian(z)

    def _choose_l2(self, problem: PenalisedLikelihood, z: Array) -> bool:
        """By the evidence around an optimum of the problem, with the sample's curvature; whether it has changed.

        The nearest power of two: the evidence is flat around its maximum, and small errors of the curvature are lost in rounding.
        """
        if not self.chooses_l2 or z.size > _MOST_DENSE:
            return False
        before, found = self.l2, evidence_precision(problem, z, self.l2, self.part.curvature(z))
        self.l2 = float(2.0 ** np.round(np.log2(found)))
        for each in (self.whole, self.part):
            each.precisions = prior_precisions(each.coordinates, self.l2)
        return self.l2 != before

    def _listener(self, problem: PenalisedLikelihood) -> Note:
        stage = "all rows" if problem is self.whole else "a sample"

        def note(intermediate_result: OptimizeResult) -> None:
            self.whole.current = np.array(intermediate_result.x)
            self.history.add(
                self.whole.parameters,
                objective=-float(intermediate_result.fun),
                evaluations=self.n_evaluations,
                stage=stage,
                passes=self.whole.n_evaluations,
            )

        return note
