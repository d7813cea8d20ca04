"""How long a fit takes: the six bundled studies against a Cox model and version 0.1, and gbsg2 against a random survival forest too.

A fit has become more than it was in version 0.1: its search has more stages and stops later, covariates' own distribution is learned, and
where values are missing both are fitted in turn. So there are two comparisons.

* *The same work*: today's code goes through version 0.1's stages. These are six runs of at most 40 iterations, the best of which goes on
  to a relative change of 1e-5, the Hessian from which the penalty is chosen, and a last run to 3e-6. Starts are today's. What a fit does
  besides is counted (encoding the table, the covariates' biases), covariate units and turns are not. The number of gradients stands beside
  version 0.1's.
* *The default fit* of both versions, whatever they do.

The Cox model is one of the first endpoint on the columns without missing values, the harmonium has all endpoints and columns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from sksurv.ensemble import RandomSurvivalForest
from sksurv.util import Surv
from threadpoolctl import threadpool_limits

import harmonium as hm
from benchmarks.provenance import best_of, print_table, write_result
from benchmarks.version_0_1 import VERSION_0_1, result_of
from harmonium.engine.parameters import Parameters
from harmonium.training.blas import one_thread
from harmonium.training.descent import descended
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.optimum_search import OptimumSearch
from harmonium.training.penalised import PenalisedLikelihood, evidence_precision, prior_precisions
from harmonium.training.starts import Directions
from harmonium.training.trainer import Fit

__all__ = ["run"]

_STUDIES = ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11")
_REPEATS = 5

_VERSION_0_1_FITS = """
import json, time, warnings
from threadpoolctl import threadpool_limits
import harmonium as hm

warnings.simplefilter("ignore")
found = {}
with threadpool_limits(1):
    for name in ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11"):
        X, y = hm.datasets.load_study(name)
        seconds = []
        for _ in range(4):
            begin = time.perf_counter()
            model = hm.SurvivalHarmonium(4, n_jobs=1, random_state=0).fit(X, y)
            seconds.append(time.perf_counter() - begin)
        found[name] = {"seconds": min(seconds), "gradients": model.n_evaluations_}
print(json.dumps(found))
"""


class FirstStages:
    """A trainer that goes through version 0.1's stages by today's code."""

    n_starts, short_run, rough, tol, max_iter, l2 = 6, 40, 1e-5, 3e-6, 1000, 5.0

    def fit(
        self,
        objective: Objective,
        n_hidden: int,
        *,
        rng: np.random.Generator,
        history: History,
        start: Parameters | None = None,
        n_threads: int | None = None,
    ) -> Fit:
        """Maximise the objective."""
        coordinates = objective.coordinates(n_hidden)
        precisions = prior_precisions(coordinates, self.l2)
        problem = PenalisedLikelihood(objective.likelihood(n_hidden, n_threads), coordinates, objective.n_rows, precisions)
        note = OptimumSearch(problem, history, objective.layout.n_outcomes > 1, self.max_iter, self.tol).note
        directions = Directions.of(objective.representative_rows(), coordinates)
        with one_thread():
            starts = [directions.start(number) for number in range(self.n_starts)]
            ends = [descended(problem, z, self.short_run, self.rough, note) for z in starts]
            z = descended(problem, min(ends, key=lambda end: float(end.fun)).x, self.max_iter, self.rough, note).x
            l2 = evidence_precision(problem, z, self.l2, problem.curvature(z))
            problem.precisions = prior_precisions(coordinates, l2)
            result = descended(problem, z, self.max_iter, self.tol, note)
        return Fit(problem.parameters_at(result.x), bool(result.success), l2, problem.n_evaluations, problem.n_evaluations)


def run() -> None:
    """Measure, print and keep."""
    before = result_of(_VERSION_0_1_FITS, VERSION_0_1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studies = [_study(name, before[name]) for name in _STUDIES]
        one_start = _one_start()
    same, default = [row[0] for row in studies], [row[1] for row in studies]
    print_table("Version 0.1's work with four hidden units and six starts, and a Cox model; one thread", same)
    print_table("The default fit with four hidden units, now and in version 0.1; one thread", default)
    print_table("A fit to gbsg2 with one start; one thread", one_start)
    sections = {"same work": same, "default": default, "one start": one_start}
    write_result("fit_speed", [{"section": name, **row} for name, part in sections.items() for row in part])


def _cox_table(X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """The columns without missing values as numbers, with time and event of the first endpoint."""
    numeric = pd.get_dummies(X.loc[:, X.notna().all()], drop_first=True, dtype=float)
    name = y.columns[0][0]
    return numeric.assign(time=y[name, "lower"], event=np.isfinite(y[name, "upper"]))


def _seconds(model: hm.SurvivalHarmonium, X: pd.DataFrame, y: pd.DataFrame) -> tuple[float, int]:
    """Of a fit, and the number of gradients that it takes."""
    seconds = best_of(lambda: model.fit(X, y), _REPEATS)
    return seconds, model.n_evaluations_


def _study(name: str, before: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same work, and the default fit."""
    X, y = hm.datasets.load_study(name)
    table = _cox_table(X, y)
    cox = best_of(lambda: CoxPHFitter().fit(table, "time", "event"), _REPEATS)
    first_stages = hm.SurvivalHarmonium(4, trainer=FirstStages(), n_covariate_units=0, n_jobs=1, random_state=0)
    seconds, n_gradients = _seconds(first_stages, X, y)
    default, n_default = _seconds(hm.SurvivalHarmonium(4, n_jobs=1, random_state=0), X, y)
    same_work = {
        "study": name,
        "rows": len(X),
        "gradients": n_gradients,
        "gradients of 0.1": before["gradients"],
        "harmonium ms": 1e3 * seconds,
        "Cox ms": 1e3 * cox,
        "ours relative to Cox": seconds / cox,
        "ours relative to 0.1": seconds / before["seconds"],
    }
    as_it_comes = {
        "study": name,
        "gradients": n_default,
        "harmonium ms": 1e3 * default,
        "0.1 ms": 1e3 * before["seconds"],
        "ours relative to 0.1": default / before["seconds"],
        "ours relative to Cox": default / cox,
    }
    return same_work, as_it_comes


def _one_start() -> list[dict[str, Any]]:
    X, y = hm.datasets.load_gbsg2()
    table = _cox_table(X, y)
    covariates, structured = table.drop(columns=["time", "event"]).to_numpy(), Surv.from_dataframe("event", "time", table)
    one_start = hm.SurvivalHarmonium(4, trainer=hm.Exact(n_starts=1), n_jobs=1, random_state=0)
    seconds = {
        "harmonium, 4 hidden units, one start": _seconds(one_start, X, y)[0],
        "Cox (lifelines)": best_of(lambda: CoxPHFitter().fit(table, "time", "event"), _REPEATS),
        "random survival forest, 200 trees of depth 7": best_of(
            lambda: RandomSurvivalForest(200, max_depth=7, random_state=0).fit(covariates, structured), 2
        ),
    }
    ours = next(iter(seconds.values()))
    return [{"model": name, "seconds": taken, "ours relative to it": ours / taken} for name, taken in seconds.items()]
