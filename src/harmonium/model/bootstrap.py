"""Confidence intervals from refits to resampled rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import norm

from harmonium.model.explanation import dependence
from harmonium.model.fitted import Fitted
from harmonium.model.fitting import Encoded, Recipe, encode_training_table, fit_model
from harmonium.table.groups import parse_groups
from harmonium.table.row_weights import parse_weights
from harmonium.typing import Array, Integers

__all__ = ["dependence_with_intervals"]


def dependence_with_intervals(
    recipe: Recipe,
    model: Fitted,
    X: Any,
    y: Any,
    n_bootstrap: int,
    confidence: float,
    random_state: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> pd.DataFrame:
    """Kendall's tau of each pair of endpoints, with intervals of as many standard errors on Fisher's scale.

    Not percentiles: resampled rows occur twice, which lowers the tau of the refits. Refits begin at the model's parameters. Weights are
    those of the refits; with groups, whole groups are drawn.
    """
    if n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be at least 2, or 0 for no intervals; found {n_bootstrap}")
    table = encode_training_table(recipe, X, y, model, sample_weight)
    out = dependence(model, table.covariates)
    rng = np.random.default_rng(random_state)
    members = _members(table.n_rows, X, sample_weight, groups)
    draws = [_drawn(members, rng) for _ in range(n_bootstrap)]
    replicates = np.array(
        Parallel(n_jobs=model.n_jobs, prefer="threads")(delayed(_refitted)(recipe, model, _rows(table, rows)) for rows in draws)
    )
    width = norm.ppf(0.5 + 0.5 * confidence) * np.arctanh(replicates).std(axis=0, ddof=1)
    for k, name in enumerate(["tau", "tau_given_covariates"]):
        middle = np.arctanh(out[name])
        out[f"{name}_lower"], out[f"{name}_upper"] = np.tanh(middle - width[:, k]), np.tanh(middle + width[:, k])
    return out


def _members(n_kept: int, X: Any, sample_weight: Any, groups: Any) -> list[Integers]:
    """The rows of every group among those with a positive weight; without groups, every row by itself."""
    if groups is None:
        return [np.array([row]) for row in range(n_kept)]
    weights, codes = parse_weights(sample_weight, len(X)), parse_groups(groups, len(X), index=getattr(X, "index", None))
    codes = codes if weights is None else codes[weights > 0.0]
    return [np.flatnonzero(codes == group) for group in np.unique(codes)]


def _drawn(members: list[Integers], rng: np.random.Generator) -> Integers:
    return np.concatenate([members[group] for group in rng.integers(len(members), size=len(members))])


def _rows(table: Encoded, rows: Integers) -> Encoded:
    return replace(table, covariates=table.covariates[rows], known=table.known.part(rows), weights=table.weights.part(rows))


def _refitted(recipe: Recipe, model: Fitted, table: Encoded) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has said what there is to say
        again, _ = fit_model(recipe, table, start=model, random_state=model.seed, n_jobs=1)
        return np.asarray(dependence(again, table.covariates), dtype=np.float64)
