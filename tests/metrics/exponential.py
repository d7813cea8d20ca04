"""A model whose predictions are known in closed form, and cohorts from it."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import harmonium as hm

NAMES = ("relapse", "death")


class ExponentialTimes(BaseEstimator):
    """Knows the rate of every event from the covariates; ``factor`` makes it wrong."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        return self

    def _rates(self, X):
        return self.factor * X[list(NAMES)].to_numpy()

    def predict(self, X, endpoint=None):
        return X[endpoint].to_numpy()

    def predict_survival_function(self, X, endpoint=None, times=None, *, return_array=False):
        assert return_array
        return np.exp(-np.outer(self._rates(X)[:, NAMES.index(endpoint)], times))

    def log_likelihood(self, X, y):
        rates = self._rates(X)
        event, time = (y.xs("lower", axis=1, level=1) == y.xs("upper", axis=1, level=1)).to_numpy(), y.xs("lower", axis=1, level=1)
        return (event * np.log(rates) - rates * time.to_numpy()).sum(axis=1)

    def draw_times(self, X, n_draws, random_state, given=None):
        rates = self._rates(X)
        since = 0.0 if given is None else given.xs("lower", axis=1, level=1).to_numpy()
        return since + np.random.default_rng(random_state).exponential(size=(n_draws, *rates.shape)) / rates


def cohort(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.gamma(2.0, 0.5, (n, 2)), columns=NAMES)
    times, end = rng.exponential(size=(n, 2)) / X.to_numpy(), rng.exponential(2.0, n)
    columns = {}
    for e, name in enumerate(NAMES):
        columns[name] = np.minimum(times[:, e], end)
        columns[f"{name} seen"] = times[:, e] <= end
    return X, hm.endpoints(pd.DataFrame(columns), **{name: (name, f"{name} seen") for name in NAMES})


def entering_late(y, entry):
    """The same times since entry, which is at ``entry``: to a model with constant rates nothing changes."""
    columns = {}
    for name in NAMES:
        columns[name, "lower"], columns[name, "upper"], columns[name, "entry"] = y[name, "lower"] + entry, y[name, "upper"] + entry, entry
    return pd.DataFrame(columns)
