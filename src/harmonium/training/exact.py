"""The exact trainer: maximum a posteriori by L-BFGS-B on the exact likelihood. No learning rate, no sampling noise.

Several runs from wide starts. The prior's precisions of couplings, one for each covariate and one for all outcomes, are chosen by the data
(MacKay's evidence approximation, eq. 16): the effective number of well determined couplings divided by their sum of squares. With several
outcomes each optimum that was found goes on to the prior that it chooses, and the one with the largest evidence is taken, once a second
start has led there.
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
from harmonium.training.optima import Optimum, best_of, found_again, merged, settled, worth_settling
from harmonium.training.penalised import PenalisedLikelihood, Prior, evidence_prior, log_evidence, prior_precisions, smoothed
from harmonium.training.quasi_newton import minimise
from harmonium.training.samples import rows_for_search
from harmonium.training.settings import require_number, require_whole_number
from harmonium.training.starts import Directions
from harmonium.training.trainer import Fit, check_start
from harmonium.typing import Array

__all__ = ["Exact"]

_FIRST_L2 = 5.0
_ROUGH = 1e-5  # relative change of the objective at which runs stop that are to be continued
_N_STARTS = {False: 6, True: 10}  # with one outcome, and with several
_MOST_STARTS = 40  # with several, if no other start leads to the best optimum again
_THOROUGH = 500  # rows from which on that is tried: fits of small tables are to be quick
_SMOOTH_RUN, _SHORT_RUN = 15, 25  # iterations, after which a run forgets what it has learned of the curvature
_SMOOTH = 1.0  # the prior's precision of times' couplings where a run begins
_SEARCHED = 0.1  # the same in the search: a weaker one has more optima
_LONGER = {False: 2e-6, True: 1e-6}  # relative change of the objective at which runs stop that are compared: before, values say little
_MOST_RIVALS = 3  # other optima that are remembered
_SAME, _ALIKE = 0.02, 0.5  # nats of all rows: ends of two runs that differ by less are one optimum, or too close to be a rival
_MOST_ROWS_FOR_EVIDENCE = 20_000  # beyond, the prior hardly matters and its Hessian would cost more than the fit
_SETTLED = 1e-3  # times tol: what the quadratic model may still promise to gain, per row
_NEARLY = 1e-3  # nats of all rows: the same where optima are compared
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
        Runs of the optimiser from different starts. "auto": six with one outcome, ten with several, whose likelihood has more maxima. Where
        the search begins on a sample, further starts lend it single hidden units, unless there is only one.
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
        converged, rivals = False, list[Array]()
        try:
            with interruptible(), one_thread():
                z = None if start is None else coordinates.from_natural(start.natural())
                if stages is not None:
                    result = stages.fit(*self._numbered_starts(problem, objective)) if z is None else stages.continued(z)
                elif self._chooses_l2(problem):
                    best, rivals = self._best_optimum(problem, objective, history, z)
                    prior, result = best.prior, best.end
                else:
                    begin, *rivals = [z] if z is not None else self._different_ends(problem, objective, history)
                    result = self._run(problem, begin, self.max_iter, history, self.tol * problem.share_of_events)
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
        return _FIRST_L2 if self.l2 == "auto" else float(self.l2)

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

    def _ends(self, problem: PenalisedLikelihood, objective: ExactObjective, history: History, first: int = 0) -> list[OptimizeResult]:
        """Ends of runs from some starts, best first; with a smooth beginning, then under the prior of the search."""
        n_starts, start_of = self._numbered_starts(problem, objective)
        starts = [start_of(number) for number in range(first, first + n_starts)]
        if n_starts == 1:
            return [OptimizeResult(x=starts[0], fun=np.inf)]
        final, several = problem.precisions, objective.layout.n_outcomes > 1
        try:
            ends = []
            for start in starts:
                problem.precisions = smoothed(problem.coordinates, final, _SMOOTH)
                near = self._run(problem, start, _SMOOTH_RUN, history, _ROUGH, may_stop=False)
                problem.precisions = smoothed(problem.coordinates, final, _SEARCHED)
                short = self._run(problem, near.x, _SHORT_RUN, history, _ROUGH, may_stop=False)
                ends.append(self._run(problem, short.x, self.max_iter, history, _LONGER[several], may_stop=False))
            return sorted(ends, key=lambda end: float(end.fun))
        finally:
            problem.precisions = final

    def _different_ends(self, problem: PenalisedLikelihood, objective: ExactObjective, history: History) -> list[Array]:
        """The best end, and a few others that may be its rivals."""
        ends = _different(self._ends(problem, objective, history), _ALIKE / problem.n_rows)
        return [end.x for end, _ in ends[: 1 + _MOST_RIVALS]]

    def _best_optimum(
        self, problem: PenalisedLikelihood, objective: ExactObjective, history: History, z: Array | None
    ) -> tuple[Optimum, list[Array]]:
        """The optimum that is taken, under the prior that it chooses itself, and places near others; from a z, the one that is nearest."""
        several = objective.layout.n_outcomes > 1
        if z is not None:
            return self._nearest(problem, z, history, several), []
        if not several:
            begin, *rivals = self._different_ends(problem, objective, history)
            return self._nearest(problem, begin, history, several), rivals
        best, *others = self._compared(problem, objective, history)
        problem.precisions = prior_precisions(problem.coordinates, best.prior)
        if others:
            history.begin_run()
            _listener(problem, history)(best.end)
        return best, [other.end.x for other in others if _differ(best, other, problem.n_rows)][:_MOST_RIVALS]

    def _compared(self, problem: PenalisedLikelihood, objective: ExactObjective, history: History) -> list[Optimum]:
        """Optima that were found, the one that is taken first.

        Unless the table is small, each is followed until it and its prior agree, and starts follow until a second one has led to the
        best, or there were many.
        """
        first, n_starts, thorough = problem.precisions, self._numbered_starts(problem, objective)[0], problem.n_rows >= _THOROUGH
        most = _MOST_STARTS if self.n_starts == "auto" and thorough else n_starts
        known = list[Optimum]()
        for done in range(0, most, n_starts):
            problem.precisions = first
            ends = _different(self._ends(problem, objective, history, done), _SAME / problem.n_rows)
            for end, n_ends in ends:
                problem.precisions = first
                known.append(replace(self._under_own_prior(problem, end.x, history, to_the_point=not thorough), n_starts=n_ends))
            known = merged(known, problem.n_rows)
            if thorough:
                known = self._all_settled(problem, known, history)
            best = best_of(known)
            if found_again(best):
                break
        others = [one for one in known if one is not best]
        return [settled(problem, best, partial(self._polish, problem, history)) if thorough else best, *others]

    def _all_settled(self, problem: PenalisedLikelihood, optima: list[Optimum], history: History) -> list[Optimum]:
        """Those that may be best where they and their priors agree."""
        nearly = partial(self._polish, problem, history, to_the_point=False)
        while waiting := worth_settling(optima):
            others = [one for one in optima if one is not waiting[0]]
            optima = merged([*others, settled(problem, waiting[0], nearly)], problem.n_rows)
        return optima

    def _nearest(self, problem: PenalisedLikelihood, z: Array, history: History, several: bool) -> Optimum:
        """The optimum near a place, where it and its prior agree if there are several outcomes and enough rows."""
        found = self._under_own_prior(problem, z, history)
        thorough = several and problem.n_rows >= _THOROUGH
        return settled(problem, found, partial(self._polish, problem, history)) if thorough else found

    def _under_own_prior(self, problem: PenalisedLikelihood, z: Array, history: History, *, to_the_point: bool = True) -> Optimum:
        """To the optimum near a place that is one under the prior of the search, under the prior that the evidence prefers there."""
        coordinates = problem.coordinates
        problem.precisions = smoothed(coordinates, problem.precisions, _SEARCHED)
        z = self._run(problem, z, self.max_iter, history, _ROUGH).x
        curvature = problem.curvature(z)
        n_covariates = coordinates.layout.n_columns - coordinates.layout.n_outcomes
        prior = evidence_prior(problem, z, Prior(np.full(n_covariates, _FIRST_L2), _SEARCHED), curvature)
        problem.precisions = prior_precisions(coordinates, prior)
        end = self._polish(problem, history, z, curvature, to_the_point=to_the_point)
        return Optimum(prior, end, log_evidence(problem, end))

    def _run(
        self, problem: PenalisedLikelihood, z: Array, max_iter: int, history: History, tol: float, *, may_stop: bool = True
    ) -> OptimizeResult:
        history.begin_run(may_stop=may_stop)
        return descended(problem, z, max_iter, tol, _listener(problem, history))

    def _polish(
        self, problem: PenalisedLikelihood, history: History, z: Array, curvature: Array, *, to_the_point: bool = True
    ) -> OptimizeResult:
        """To the optimum from nearby, the likelihood's curvature being known: flat directions take no longer than steep ones."""
        known = [curvature]

        def hessian(at: Array) -> Array:
            return problem.hessian(at, known.pop() if known else None)

        history.begin_run()
        promised = _SETTLED * self.tol * problem.share_of_events if to_the_point else _NEARLY / problem.n_rows
        bounds, note = problem.coordinates.bounds(), _listener(problem, history)
        return minimise(problem.loss, z, bounds, hessian, tol=promised, max_iter=self.max_iter, to_the_point=to_the_point, note=note)


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


def _listener(problem: PenalisedLikelihood, history: History) -> Callable[[OptimizeResult], None]:
    def note(intermediate_result: OptimizeResult) -> None:
        problem.current = np.array(intermediate_result.x)
        history.add(problem.parameters, objective=-float(intermediate_result.fun), evaluations=problem.n_evaluations)

    return note


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
