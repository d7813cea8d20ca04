"""Compile what the tests need, once, before they start.

Compiled code is kept on disk, in the folder that NUMBA_CACHE_DIR names. Tests run in several processes, all of which would begin with the
same compilation at the same time; after this, they find its result. It asks the library what users ask it, so a kernel may change, or
come and go, and nothing is to be done here: what is not compiled here is compiled by the first test that needs it.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import harmonium as hm
from harmonium.errors import HarmoniumWarning

TIMES = [12, 24]


def main() -> None:
    """Small fits by every trainer and every way of summing, and every question about them; the part that is named, or both."""
    X, y = (table[:60] for table in hm.datasets.load_nvalt8())
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    for part in sys.argv[1:] or ("summed", "sampled"):
        {"summed": summed, "sampled": sampled}[part](X, y)


def summed(X: pd.DataFrame, y: pd.DataFrame) -> None:
    """What sums over hidden states."""
    small = fit(2, hm.Exact(n_starts=2, max_iter=5), X, y)
    many_missing = fit(7, hm.Exact(l2=1.0, n_starts=1, max_iter=2), X, y)
    for model in (small, many_missing):
        ask(model, X[:9], y[:9])
    explain(small, X, y)
    judge(small, X, y)


def sampled(X: pd.DataFrame, y: pd.DataFrame) -> None:
    """What draws hidden states, or integrates what was not observed."""
    ask(fit(16, hm.Contrastive(n_epochs=2), X, y), X[:9], y[:9])
    fit(16, hm.Exact(l2=1.0, n_starts=1, max_iter=1), X.dropna(), y.loc[X.dropna().index], objective="conditional")
    hm.SurvivalHarmonium(2, trainer=hm.Contrastive(n_epochs=1), random_state=0).partial_fit(X, y)
    hm.datasets.make_three_way(50, random_state=0)


def fit(n_hidden: int, trainer: hm.Exact | hm.Contrastive, X: pd.DataFrame, y: pd.DataFrame, objective: str | float = 0.5) -> hm.Fitted:
    """A model that need not be good."""
    return hm.SurvivalHarmonium(n_hidden, objective=objective, trainer=trainer, random_state=0).fit(X, y).fitted_


def ask(model: hm.Fitted, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Everything that a prognosis knows, without and with outcomes; draws and likelihoods."""
    first, second = model.endpoint_names[:2]
    for given in (None, hm.landmark(y, 6)):
        prognosis = model.prognosis(X, given=given)
        for answer in (prognosis.survival, prognosis.density, prognosis.hazard, prognosis.cumulative_hazard):
            answer(first, TIMES)
        prognosis.median(first)
        prognosis.restricted_mean(first, until=24)
        prognosis.risk()
        prognosis.joint_survival({first: TIMES, second: TIMES})
        prognosis.joint_density({first: TIMES, second: TIMES})
    model.transform(X, given=y)
    model.impute(X, y, random_state=0)
    model.sample(20, random_state=0)
    model.score(X, y)


def explain(model: hm.Fitted, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """What a model has learned."""
    model.receptive_fields(X, given=y)
    model.dependence(X)


def judge(model: hm.Fitted, X: pd.DataFrame, y: pd.DataFrame) -> None:
    """Metrics."""
    hm.evaluate(model, X, y)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HarmoniumWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        main()
