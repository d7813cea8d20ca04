"""Tables of endpoints and predictions that the tests of metrics share."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd

import harmonium as hm
from harmonium.metrics import MetricWarning
from harmonium.table.endpoints import parse_endpoints

STUDIES = ["arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11"]
INF = np.inf


def structured(event, time):
    out = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    out["event"], out["time"] = event, time
    return out


def table(**endpoints):
    """Endpoints, each as a list of (lower, upper) or (lower, upper, entry)."""
    columns = {}
    for name, rows in endpoints.items():
        for kind, values in zip(("lower", "upper", "entry"), np.array(rows, dtype=float).T, strict=False):
            columns[name, kind] = values
    return pd.DataFrame(columns)


def study(name):
    return getattr(hm.datasets, f"load_{name}")()


def study_endpoints():
    """Every endpoint of every study: its name, its observed times as scikit-survival takes them, the table, and a risk for every row."""
    for name in STUDIES:
        X, y = study(name)
        known = parse_endpoints(y)
        for e, endpoint in enumerate(known.names):
            rows = ~known.unknown[:, e]
            yield f"{name} {endpoint}", endpoint, structured(known.event[rows, e], known.lower[rows, e]), y[rows], risk_of(X)[rows]


def risk_of(X):
    """A simple score of the covariates, with ties where they have few levels."""
    codes = np.column_stack([pd.factorize(X[column], sort=True)[0] for column in X]).astype(float)
    spread = codes.std(axis=0)
    return np.round(((codes - codes.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)).sum(axis=1), 4)


def curves_of(risk, times, scale):
    """Survival that falls the faster the higher the risk is."""
    return np.exp(-np.outer(np.exp(0.1 * risk), np.asarray(times, float) / scale))


@contextmanager
def only_metric_warnings():
    """Collect warnings; any that is not a metric's own is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", MetricWarning)
        yield caught
