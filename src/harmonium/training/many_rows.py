"""How a table with many rows is fitted: the search for an optimum on a sample of its rows, the end of it on all of them.

Every start is followed until it has settled on the sample, by L-BFGS-B and then by a quasi-Newton method, since unsettled ends of different
starts cannot be compared. The best few distinct optima go on to all rows, with the sample's curvature, and are compared there; the best of
them is followed to the end. A fit that uses no sample takes the same steps on all rows, so that both end in the same optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.training.history import History
from harmonium.training.penalised import PenalisedLikelihood, evidence_precision, prior_precisions
from harmonium.training.quasi_newton import minimise
from harmonium.typing import Array

__all__ = ["ManyRows"]

_SETTLED = 1e-1  # of tol: what the quadratic model may still promise, per row, where a start has settled
_FINISHED = 1e-2  # of tol: the same where the fit ends
_DISTINCT = 1e-6  # per row; optima that differ by less are one
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

    def fit(self, starts: Sequence[Array]) -> OptimizeResult:
        """Follow starts to the best of their optima."""
        best: OptimizeResult | None = None
        for end in _distinct([self._settled(z) for z in starts]):
            rival = self._polished(end.x, _SETTLED, _COMPARING, may_stop=False, target=np.inf if best is None else best.fun)
            best = rival if best is None or rival.fun < best.fun else best
        assert best is not None
        return self._finished(best.x)

    def continued(self, z: Array) -> OptimizeResult:
        """Go on from given parameters, on all rows."""
        return self._finished(self._polished(z, _SETTLED, self.max_iter).x if self.chooses_l2 else z)

    def _finished(self, z: Array) -> OptimizeResult:
        self._choose_l2(z)
        return self._polished(z, _FINISHED, self.max_iter)

    def _settled(self, z: Array) -> OptimizeResult:
        self.history.begin_run(may_stop=False)
        note = self._listener(self.part)
        near = self.descent(self.part, z, self.max_iter, _ROUGH, note)
        return self._minimised(self.part, near.x, _SETTLED, self.max_iter, note)

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

    def _choose_l2(self, z: Array) -> None:
        """By the evidence, with the sample's curvature; the nearest power of two, in which small errors of that are lost."""
        if not self.chooses_l2 or z.size > _MOST_DENSE:
            return
        self.l2 = float(2.0 ** np.round(np.log2(evidence_precision(self.part, z, self.l2, self.part.curvature(z)))))
        for problem in (self.whole, self.part):
            problem.precisions = prior_precisions(problem.coordinates, self.l2)

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


def _distinct(ends: Sequence[OptimizeResult]) -> list[OptimizeResult]:
    """The best few ends that are not the same optimum."""
    out: list[OptimizeResult] = []
    for end in sorted(ends, key=lambda end: float(end.fun)):
        if not out or end.fun > out[-1].fun + _DISTINCT:
            out.append(end)
    return out[:_MOST_COMPARED]
