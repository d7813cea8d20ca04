"""How long a fit takes: the six bundled studies against a Cox model, and gbsg2 against a random survival forest too, in one run."""

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

__all__ = ["run"]

_STUDIES = ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11")
_REPEATS = 5


def run() -> None:
    """Measure, print and keep."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [_study(name) for name in _STUDIES]
        one_start = _one_start()
    print_table(
        "A fit with four hidden units and six starts, and a Cox model of the first endpoint on the complete columns; one thread", rows
    )
    print_table("A fit to gbsg2 with one start; one thread", one_start)
    sections = {"six starts": rows, "one start": one_start}
    write_result("fit_speed", [{"section": name, **row} for name, part in sections.items() for row in part])


def _cox_table(X: pd.DataFrame, y: pd.DataFrame) -> pd.DataFrame:
    """The columns without missing values as numbers, with time and event of the first endpoint."""
    numeric = pd.get_dummies(X.loc[:, X.notna().all()], drop_first=True, dtype=float)
    name = y.columns[0][0]
    return numeric.assign(time=y[name, "lower"], event=np.isfinite(y[name, "upper"]))


def _seconds(X: pd.DataFrame, y: pd.DataFrame, n_starts: int) -> tuple[float, int]:
    """Of a fit, and the number of gradients that it takes."""
    model = hm.SurvivalHarmonium(4, trainer=hm.Exact(n_starts=n_starts), n_jobs=1, random_state=0)
    seconds = best_of(lambda: model.fit(X, y), _REPEATS)
    return seconds, model.n_evaluations_


def _study(name: str) -> dict[str, Any]:
    X, y = hm.datasets.load_study(name)
    table = _cox_table(X, y)
    cox = best_of(lambda: CoxPHFitter().fit(table, "time", "event"), _REPEATS)
    seconds, n_gradients = _seconds(X, y, 6)
    return {
        "study": name,
        "rows": len(X),
        "gradients": n_gradients,
        "harmonium ms": 1e3 * seconds,
        "Cox ms": 1e3 * cox,
        "ours relative to Cox": seconds / cox,
    }


def _one_start() -> list[dict[str, Any]]:
    X, y = hm.datasets.load_gbsg2()
    table = _cox_table(X, y)
    covariates, structured = table.drop(columns=["time", "event"]).to_numpy(), Surv.from_dataframe("event", "time", table)
    seconds = {
        "harmonium, 4 hidden units, one start": _seconds(X, y, 1)[0],
        "Cox (lifelines)": best_of(lambda: CoxPHFitter().fit(table, "time", "event"), _REPEATS),
        "random survival forest, 200 trees of depth 7": best_of(
            lambda: RandomSurvivalForest(200, max_depth=7, random_state=0).fit(covariates, structured), 2
        ),
    }
    ours = next(iter(seconds.values()))
    return [{"model": name, "seconds": taken, "ours relative to it": ours / taken} for name, taken in seconds.items()]
