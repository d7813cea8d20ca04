"""Time and memory of `fit` as rows grow; run as ``python -m benchmarks.large_fit 1000000``, prints JSON."""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import harmonium as hm
from benchmarks.rows import _memory

_N_COVARIATES = 15


def cohort(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ten numeric and five binary covariates; two endpoints whose hazards depend on some of them, each censored on its own."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) if i < 10 else rng.integers(0, 2, n_rows) for i in range(_N_COVARIATES)})
    frailty = rng.gamma(2.0, 0.5, n_rows)
    columns = {}
    for name, effects in (("first", (0.5, -0.4, 0.3)), ("second", (0.2, 0.4, -0.5))):
        hazard = frailty * np.exp(X[["x0", "x1", "x10"]].to_numpy() @ np.array(effects))
        event, censoring = rng.weibull(1.3, n_rows) / hazard ** (1 / 1.3), rng.exponential(2.0, n_rows)
        columns[name], columns[f"{name}_event"] = np.minimum(event, censoring), event <= censoring
    frame = pd.DataFrame(columns)
    return X, hm.endpoints(frame, first=("first", "first_event"), second=("second", "second_event"))


def measure(n_rows: int) -> dict[str, float]:
    """One default fit with four hidden units and a single start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only to load compiled code and start the threads
        hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=1, max_iter=2), random_state=0).fit(*cohort(5000))
    X, y = cohort(n_rows)
    begin = time.perf_counter()
    model = hm.SurvivalHarmonium(n_hidden=4, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    seconds = time.perf_counter() - begin
    return {
        "rows": n_rows,
        "seconds": seconds,
        "gradients": model.n_evaluations_,
        "us a row and gradient": 1e6 * seconds / n_rows / model.n_evaluations_,
        "peak memory GB": _memory("VmHWM") / 1024.0,
        "concordance": model.score(X[:20_000], y[:20_000]),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
