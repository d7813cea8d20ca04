"""The exact trainer: maximum a posteriori by L-BFGS-B on the exact likelihood. No learning rate, no sampling noise.

Several runs from wide starts. The prior's precisions of couplings, one for each covariate and one for all outcomes, are chosen by the data
(MacKay's evidence approximation, eq. 16): the effective number of well determined couplings divided by their sum of squares. With several
outcomes each optimum that was found goes on to the prior that it chooses, and evidence and the number of starts that led there decide which
is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.errors import InterruptionWarning, warn
from harmonium.training.blas import one_thread
from harmonium.training.coordinates import Coordinates
from harmonium.training.descent import descended
from harmonium.training.history import History, StopTraining
from harmonium.training.interruption import interruptible
from harmonium.training.many_rows import ManyRows
from harmonium.training.objective import ExactObjective, LogLikelihood
from harmonium.training.optima import Optimum
from harmonium.training.optimum_search import FIRST_L2, OptimumSearch
from harmonium.training.penalised import PenalisedLikelihood, Prior, prior_precisions
from harmonium.training.samples import rows_for_search
from harmonium.training.settings import require_number, require_whole_number
from harmonium.training.starts import Directions
from harmonium.training.trainer import Fit, check_start
from harmonium.typing import Array

__all__ = ["Exact"]

_N_STARTS = {False: 6, True: 10}  # with one outcome, and with several
_MOST_STARTS = 40  # with several, if no other start leads to the best optimum again
_MOST_ROWS_FOR_EVIDENCE = 20_000  # beyond, the prior hardly matters and its Hessian would cost more than the fit
_ABNORMAL = 2  # L-BFGS-B's status when its line search finds nothing better
_LEVEL = 1e-4  # projected gradient per row and standard deviation below which there is nothing better to find


class Exact(BaseEstimator):  # type: ignore[misc]
    """Fit by maximising the exact penalised likelihood (eq. 14).

    Up to 14 hidden units their states are enumerated. With more, what is not observed is integrated instead (eq. 28), which every row of
    the objective must allow: at most two unobserved event times, one other missing number and 64 combinations of missing levels per row.

    Settings are checked when they are used. The fit has converged if the last run of the optimiser ended because the objective or its
    gradient had settled, or because its line search found nothing better where the projected gradient is below 1e-4: the objective is
    then level to within rounding. Otherwise there is scikit-learn's ``ConvergenceWarning``, but not after an interrupt or early stopping.

    Parameters
    ----------
    l2 : "auto", float or Prior
        Precision of the prior on covariates' couplings, in effects of a standard deviation; "auto" lets the data choose one for each
        covariate and one for the couplings of outcomes, which is 0.01 otherwise.
    n_starts : "auto" or int
        Runs of the optimiser from different starts. "auto": six with one outcome; with several, whose likelihood has more maxima, ten and,
        from 500 rows on, up to forty, until a second one has led to the best optimum. Where the search begins on a sample, further starts
        lend it single hidden units, unless there is only one.
    design : int
        Which design of starts. A design depends neither on a seed nor on how the table is coded, and no two have a start in common: where
        two of them end in different predictions, the data do not determine these well.
    max_iter : int
        Most iterations of each later run.
    tol : float
        A thousand times what the quadratic model of the objective, per row, may still promise to gain where the optimiser stops, times the
        share of rows with an event: the others say little. Where the penalty is given, so that there is no such model: the relative
        change of the objective. Where a table is fitted in stages: a hundred times that promise.
    sample_rows : "auto", int or None
        On how many rows the search for an optimum begins; it ends on all of them. "auto" takes a sample of tables with at least 100,000
        rows, None never does; such tables are fitted in the same stages either way. A number, however small the table, is that of rows
        drawn, beside those that make sure that rare levels and events are in the sample.

    Examples
    --------
    >>> Exact(l2=2.0).get_params()
    {'design': 0, 'l2': 2.0, 'max_iter': 1000, 'n_starts': 'auto', 'sample_rows': 'auto', 'tol': 3e-07}
    """

    def __init__(
        self,
        l2: str | float | Prior = "auto",
        n_starts: str | int = "auto",
        max_iter: int = 1000,
        tol: float = 3e-7,
        sample_rows: str | int | None = "auto",
        design: int = 0,
    ) -> None:
        self.l2 = l2
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.sample_rows = sample_rows
        self.design = design

    def fit(
        self,
        objective: ExactObjective,
        n_hidden: int,
        *,
        rng: np.random.Generator,
        history: History,
        start: Parameters | None = None,
        n_threads: int | None = None,
    ) -> Fit:
        """Maximise the objective; see :class:`harmonium.training.trainer.Trainer`."""
        prior = self._check()
        if start is not None:
            check_start(start, objective, n_hidden)
        coordinates = objective.coordinates(n_hidden)
        total = objective.likelihood(n_hidden, n_threads)
        share = _share_of_events(objective.representative_rows(), objective.representative_weights())
        problem = PenalisedLikelihood(total, coordinates, objective.n_subjects, prior_precisions(coordinates, prior), share)
        stages = self._stages(problem, objective, history, n_threads)
        search = OptimumSearch(problem, history, objective.layout.n_outcomes > 1, self.max_iter, self.tol)
        converged, rivals = False, list[Array]()
        try:
            with interruptible(), one_thread():
                z = None if start is None else coordinates.from_natural(start.natural())
                if stages is not None:
                    result = stages.fit(*self._numbered_starts(problem, objective)) if z is None else stages.continued(z)
                elif self._chooses_l2(problem):
                    best, rivals = self._best_optimum(search, objective) if z is None else (search.nearest(z), [])
                    prior, result = best.prior, best.end
                else:
                    begin, *rivals = [z] if z is not None else search.different_ends(self._starts(problem, objective))
                    result = search.run(begin, self.tol * problem.share_of_events)
                z, converged = result.x, _has_converged(result, coordinates)
                if not converged:
                    _warn_of(result, coordinates)
                _warn_if_unresolved(total)
        except (KeyboardInterrupt, StopTraining) as reason:
            if problem.current is None:
                raise
            if isinstance(reason, KeyboardInterrupt):
                warn("training was interrupted; the best parameters so far are kept", InterruptionWarning)
            z = problem.current
        n_evaluations, prior = (problem.n_evaluations, prior) if stages is None else (stages.n_evaluations, stages.l2)
        others = tuple(map(problem.parameters_at, rivals))
        return Fit(history.best or problem.parameters_at(z), converged, prior, n_evaluations, problem.n_evaluations, others)

    def _check(self) -> float | Prior:
        """Refuse settings that make no sense; return the penalty to begin with."""
        if not (isinstance(self.l2, Prior) or (isinstance(self.l2, str) and self.l2 == "auto")):
            require_number("l2", self.l2, least=0.0, instead='"auto" or ')
        if not (isinstance(self.n_starts, str) and self.n_starts == "auto"):
            require_whole_number("n_starts", self.n_starts, least=1, instead='"auto" or ')
        require_whole_number("max_iter", self.max_iter, least=1)
        require_number("tol", self.tol, least=0.0)
        require_whole_number("design", self.design, least=0)
        if not (self.sample_rows is None or (isinstance(self.sample_rows, str) and self.sample_rows == "auto")):
            require_whole_number("sample_rows", self.sample_rows, least=1, instead='"auto", None or ')
        if isinstance(self.l2, Prior):
            return self.l2
        return FIRST_L2 if self.l2 == "auto" else float(self.l2)

    def _chooses_l2(self, problem: PenalisedLikelihood) -> bool:
        return self._may_choose_l2(problem) and problem.n_rows <= _MOST_ROWS_FOR_EVIDENCE

    def _may_choose_l2(self, problem: PenalisedLikelihood) -> bool:
        has_couplings = problem.coordinates.n_hidden > 0 and not problem.coordinates.of_outcomes.all()
        return isinstance(self.l2, str) and has_couplings

    def _stages(self, problem: PenalisedLikelihood, objective: ExactObjective, history: History, n_threads: int | None) -> ManyRows | None:
        """How the fit proceeds if there are many rows."""
        size = rows_for_search(self.sample_rows, objective.n_rows, problem.coordinates.size)
        if size is None:
            return None
        part = problem
        if size < objective.n_rows:
            drawn = objective.sample(size, self.design)
            part = replace(problem, total=drawn.likelihood(problem.coordinates.n_hidden, n_threads))
        prior = self._check()
        l2 = prior.typical if isinstance(prior, Prior) else prior
        return ManyRows(problem, part, history, l2, self._may_choose_l2(problem), self.tol, self.max_iter, descended)

    def _numbered_starts(self, problem: PenalisedLikelihood, objective: ExactObjective) -> tuple[int, Callable[[int], Array]]:
        """How many starts, and what makes one of its number."""
        directions = Directions.of(objective.representative_rows(), problem.coordinates, objective.representative_weights())
        n_starts = _N_STARTS[objective.layout.n_outcomes > 1] if self.n_starts == "auto" else int(self.n_starts)
        return n_starts, partial(directions.start, design=self.design)

    def _starts(self, problem: PenalisedLikelihood, objective: ExactObjective) -> list[Array]:
        """All with which the search begins."""
        n_starts, start_of = self._numbered_starts(problem, objective)
        return [start_of(number) for number in range(n_starts)]

    def _best_optimum(self, search: OptimumSearch, objective: ExactObjective) -> tuple[Optimum, list[Array]]:
        """The optimum that is taken, and places near others."""
        n_starts, start_of = self._numbered_starts(search.problem, objective)
        return search.best(start_of, n_starts, _MOST_STARTS if self.n_starts == "auto" else n_starts)


def _share_of_events(cells: Cells, weights: Array | None = None) -> float:
    """Of rows, those with an event; as if there were one at least."""
    seen = cells.observed_events()
    return max(float(np.average(seen.any(axis=1), weights=weights)), 1.0 / max(cells.n_rows, 1)) if seen.shape[1] else 1.0


def _warn_if_unresolved(total: LogLikelihood) -> None:
    n_unresolved = getattr(total, "n_unresolved", 0)
    if n_unresolved:
        warn(
            f"the log masses of {n_unresolved} rows were not integrated to full accuracy: their densities are too narrow",
            ConvergenceWarning,
        )


def _projected_gradient(result: OptimizeResult, coordinates: Coordinates) -> float:
    """The largest slope in a direction in which the bounds leave room."""
    step: Array = np.clip(result.x - result.jac, *coordinates.bounds()) - result.x
    return float(np.abs(step).max(initial=0.0))


def _has_converged(result: OptimizeResult, coordinates: Coordinates) -> bool:
    return bool(result.success) or (result.status == _ABNORMAL and _projected_gradient(result, coordinates) <= _LEVEL)


def _warn_of(result: OptimizeResult, coordinates: Coordinates) -> None:
    warn(
        f"the exact trainer has not converged after {result.nit} iterations ({result.message}; the largest projected gradient is "
        f"{_projected_gradient(result, coordinates):.1g}). Raise max_iter or tol, or raise l2 if the likelihood has no maximum",
        ConvergenceWarning,
    )
