"""A default conditional fit on gbsg2 against a Cox model and a random survival forest, in one run."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from sksurv.ensemble import RandomSurvivalForest
from sksurv.util import Surv
from threadpoolctl import threadpool_limits

import harmonium as hm
from benchmarks.provenance import best_of, print_table, write_result

__all__ = ["run"]


def run() -> None:
    """Measure, print and keep."""
    X, y = hm.datasets.load_gbsg2()
    time, event = y["rfs", "lower"], np.isfinite(y["rfs", "upper"])
    numeric = pd.get_dummies(X, drop_first=True, dtype=float)
    joined = numeric.assign(time=time, event=event)
    structured = Surv.from_arrays(event, time)
    fits: dict[str, Callable[[], object]] = {
        "harmonium, 4 hidden units, one start": lambda: hm.SurvivalHarmonium(4, trainer=hm.Exact(n_starts=1), n_jobs=1, random_state=0).fit(
            X, y
        ),
        "Cox (lifelines)": lambda: CoxPHFitter().fit(joined, "time", "event"),
        "random survival forest, 200 trees of depth 7": lambda: RandomSurvivalForest(200, max_depth=7, random_state=0).fit(
            numeric.to_numpy(), structured
        ),
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = {name: best_of(fit, 5) for name, fit in fits.items()}
    ours = next(iter(seconds.values()))
    rows = [{"model": name, "seconds": taken, "ours relative to it": ours / taken} for name, taken in seconds.items()]
    print_table("A fit to gbsg2, one thread", rows)
    write_result("fit_speed", rows)
