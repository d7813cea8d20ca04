"""Tables that are cut into partitions."""

from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd

import harmonium as hm


def cohort(n_rows=600, seed=0, ties=False):
    """Numbers, levels and missing values; two endpoints, one of which depends on the covariates."""
    rng = np.random.default_rng(seed)
    age, arm = rng.normal(60.0, 10.0, n_rows), rng.choice(["control", "treated"], n_rows)
    stage, visits = rng.choice(["I", "II", "III"], n_rows), rng.integers(0, 9, n_rows)
    frame = pd.DataFrame({"age": age, "arm": arm, "stage": stage, "visits": visits, "smokes": rng.random(n_rows) < 0.3})
    for name, weight in (("os", 0.6), ("rfs", -0.4)):
        time = rng.weibull(1.2, n_rows) * np.exp(weight * (age - 60.0) / 10.0) * 20.0
        censoring = rng.exponential(30.0, n_rows)
        observed = np.minimum(time, censoring)
        frame[f"{name}_mth"], frame[f"{name}_event"] = np.ceil(observed) if ties else observed, time <= censoring
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "stage"] = None
    frame["rfs_event"] = frame["rfs_event"].astype("boolean")
    frame.loc[rng.random(n_rows) < 0.1, ["rfs_mth", "rfs_event"]] = [np.nan, pd.NA]
    return frame


DEFINITIONS = {"os": ("os_mth", "os_event"), "rfs": ("rfs_mth", "rfs_event")}
COVARIATES = ["age", "arm", "stage", "visits", "smokes"]


def both(frame):
    """Covariates and endpoints in memory."""
    return frame[COVARIATES], hm.endpoints(frame, **DEFINITIONS)


def cut(frame, *sizes):
    """A Dask DataFrame with partitions of these sizes, in order; the index has no divisions."""
    edges = np.cumsum([0, *sizes])
    assert edges[-1] == len(frame)
    parts = [frame.iloc[start:stop] for start, stop in pairwise(edges)]
    return dd.from_map(part_of, range(len(parts)), parts=parts, meta=frame.iloc[:0])


def part_of(number, parts):
    return parts[number]
