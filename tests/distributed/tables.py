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


def trial(n_rows=400, seed=0, ties=False):
    """Recurrence and death, which ends everything: the first 150 rows have no recurrence, and the 50 after them no death."""
    rng = np.random.default_rng(seed)
    age, stage = rng.normal(60.0, 10.0, n_rows), rng.choice(["I", "II", "III"], n_rows)
    recurrence = rng.exponential(30.0 * np.exp(-0.04 * (age - 60.0)))
    death, end = np.minimum(recurrence, 30.0) + rng.exponential(30.0, n_rows), rng.uniform(12.0, 60.0, n_rows)
    recurrence[:150], death[150:200] = np.inf, np.inf
    seen = np.minimum(death, end)
    frame = pd.DataFrame({"age": age, "stage": stage, "rec_mth": np.minimum(recurrence, seen), "recurred": recurrence < seen})
    frame["os_mth"], frame["dead"] = seen, death < end
    if ties:
        frame[["rec_mth", "os_mth"]] = np.ceil(frame[["rec_mth", "os_mth"]])
    frame["why"] = np.where(frame["recurred"], "recurrence", np.where(frame["dead"], "death", "none"))
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "stage"] = None
    return frame


TERMINAL = {"recurrence": ("rec_mth", "recurred"), "death": ("os_mth", "dead"), "terminal": "death"}
CAUSES = {"first": {"time": "rec_mth", "cause": "why", "causes": {"recurrence": "recurrence", "death": "death"}, "censored": "none"}}
OF_TRIAL = ["age", "stage"]


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
