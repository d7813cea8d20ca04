"""The default model's predictions, without tuning, against tuned rivals.

The paper's six studies (overall survival for the NVALT trials) and two of scikit-survival's; 5 folds, shuffled twice. Cox
(elastic net), random survival forest and gradient boosting are tuned by the integrated Brier score (IBS) in three inner folds, on
the same outer folds. The IBS is taken between the 10 % and 90 % quantiles of the event times and divided by that of
Kaplan-Meier. Everything is fitted inside the training folds. Each task's result is kept under ``.cache/quality``, so an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sksurv.datasets import load_veterans_lung_cancer, load_whas500
from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, integrated_brier_score
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.table.endpoints import parse_endpoints

__all__ = ["DATASETS", "as_structured", "complete_encoder", "curves_at", "fit_kaplan_meier", "fold_ibs", "run", "usable_times"]

_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "quality"
_SHUFFLES, _FOLDS = 2, 5
Curves = Callable[[pd.DataFrame, Any], Any]


def _paper(name: str) -> tuple[pd.DataFrame, Any]:
    X, y = getattr(hm.datasets, f"load_{name}")()
    known = parse_endpoints(y)
    return X, as_structured(known.event[:, 0], np.maximum(known.lower[:, 0], 1e-6))


def as_structured(event: Any, time: Any) -> Any:
    """Events and times as scikit-survival takes them."""
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


def _of_sksurv(load: Callable[[], tuple[pd.DataFrame, Any]]) -> tuple[pd.DataFrame, Any]:
    X, y = load()
    event, time = y.dtype.names
    return X, as_structured(y[event], y[time])


DATASETS: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    **{name: partial(_paper, name) for name in ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11")},
    "whas500": lambda: _of_sksurv(load_whas500),
    "veterans": lambda: _of_sksurv(load_veterans_lung_cancer),
}
"""Covariates, events and times of every study."""


# --- models: each fits on training rows and returns risk and survival curves of test rows ---


def complete_encoder(X: pd.DataFrame) -> Any:
    """Rivals need complete numbers: gaps filled with the median or the most frequent level, levels one-hot encoded."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    one_hot = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    levels = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot)
    is_number, is_level = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return make_column_transformer((numbers, is_number), (levels, is_level))


def _cox(X: pd.DataFrame, y: Any, setting: Any) -> Any:
    l1_ratio, alpha = setting
    return CoxnetSurvivalAnalysis(alphas=[alpha], l1_ratio=l1_ratio, fit_baseline_model=True, max_iter=20_000).fit(X, y)


def _forest(X: pd.DataFrame, y: Any, leaf: Any) -> Any:
    return RandomSurvivalForest(200, max_depth=7, min_samples_leaf=leaf, max_features="sqrt", random_state=0).fit(X, y)


def _boosting(X: pd.DataFrame, y: Any, setting: Any) -> Any:
    depth, n_trees, rate = setting
    return GradientBoostingSurvivalAnalysis(max_depth=depth, n_estimators=n_trees, learning_rate=rate, subsample=0.5, random_state=0).fit(
        X, y
    )


_RIVALS: dict[str, tuple[Callable[[Any, Any, Any], Any], list[Any]]] = {
    "cox": (_cox, list(product((0.01, 0.5), np.geomspace(0.003, 1.0, 7)))),
    "forest": (_forest, [5, 15, 30]),
    "boosting": (_boosting, [(1, 100, 0.1), (1, 300, 0.1), (2, 100, 0.05), (3, 100, 0.05)]),
}


def _fit_rival(name: str, X: pd.DataFrame, y: Any, times: Any) -> tuple[Curves, Any]:
    """Tune by inner cross-validation, then fit on all training rows."""
    make, settings = _RIVALS[name]
    losses = np.zeros(len(settings))
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        encoder = complete_encoder(X)
        X_train, X_test = encoder.fit_transform(X.iloc[train]), encoder.transform(X.iloc[test])
        inner = usable_times(times, y[train], y[test])
        for i, setting in enumerate(settings):
            try:
                losses[i] += fold_ibs(y[train], y[test], curves_at(make(X_train, y[train], setting), X_test, inner), inner)
            except (ArithmeticError, ValueError):
                losses[i] = np.inf
    encoder = complete_encoder(X)
    model = make(encoder.fit_transform(X), y, settings[int(np.argmin(losses))])

    def curves(X_new: pd.DataFrame, t: Any) -> Any:
        encoded = encoder.transform(X_new)
        return model.predict(encoded), curves_at(model, encoded, t)

    return curves, settings[int(np.argmin(losses))]


def curves_at(model: Any, X: Any, times: Any) -> Any:
    """Survival curves of a scikit-survival model at given times."""
    out = np.empty((len(X), len(times)))
    for row, step in zip(out, model.predict_survival_function(X), strict=True):
        row[:] = step(np.clip(times, *step.domain)) if step.domain[0] is not None else step(times)
    return out


def _fit_harmonium(X: pd.DataFrame, y: Any, times: Any) -> tuple[Curves, Any]:
    model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)

    def curves(X_new: pd.DataFrame, t: Any) -> Any:
        prognosis = model.prognosis(X_new)
        return prognosis.risk(), prognosis.survival(times=t)

    return curves, model.l2_


def fit_kaplan_meier(X: pd.DataFrame, y: Any, times: Any) -> tuple[Curves, Any]:
    """The same curve for everybody, and no settings."""
    time, share = kaplan_meier_estimator(y["event"], y["time"])

    def curves(X_new: pd.DataFrame, t: Any) -> Any:
        row = np.concatenate([[1.0], share])[np.searchsorted(time, t, side="right")]
        return np.zeros(len(X_new)), np.tile(row, (len(X_new), 1))

    return curves, None


# --- tasks ---


def usable_times(times: Any, train: Any, test: Any) -> Any:
    """Times at which the Brier score is defined in a fold."""
    inside = test["time"][test["time"] <= train["time"].max()]
    return times[(times >= inside.min()) & (times < inside.max())]


def fold_ibs(train: Any, test: Any, curves: Any, times: Any) -> float:
    """Integrated Brier score of the test rows of a fold."""
    inside = test["time"] <= train["time"].max()
    return float(integrated_brier_score(train, test[inside], curves[inside], times))


def _task(dataset: str, shuffle: int, fold: int, model: str, version: str) -> dict[str, Any]:
    path = _CACHE / f"{dataset}-{shuffle}-{fold}-{model}-{version}.json"
    if path.exists():
        stored: dict[str, Any] = json.loads(path.read_text())
        return stored
    X, y = DATASETS[dataset]()
    train, test = list(KFold(_FOLDS, shuffle=True, random_state=shuffle).split(X))[fold]
    first, last = np.quantile(y["time"][y["event"]], [0.1, 0.9])
    times = np.linspace(first, last, 60)
    X_train, X_test, y_train, y_test = X.iloc[train], X.iloc[test], y[train], y[test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "harmonium":
            curves, setting = _fit_harmonium(X_train, y_train, times)
        elif model == "kaplan-meier":
            curves, setting = fit_kaplan_meier(X_train, y_train, times)
        else:
            curves, setting = _fit_rival(model, X_train, y_train, times)
        usable = usable_times(times, y_train, y_test)
        risk, survival = curves(X_test, usable)
    result = {
        "dataset": dataset,
        "shuffle": shuffle,
        "fold": fold,
        "model": model,
        "c_index": float(concordance_index_censored(y_test["event"], y_test["time"], risk)[0]),
        "ibs": fold_ibs(y_train, y_test, survival, usable),
        "setting": setting,
    }
    _CACHE.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(result, default=float))
    temporary.replace(path)
    return result


def _version() -> str:
    """Our own results depend on the sources; the rivals' do not."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).resolve().parents[1] / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


_MODELS = ("kaplan-meier", "cox", "forest", "boosting", "harmonium")


def run(models: tuple[str, ...] = _MODELS, datasets: tuple[str, ...] | None = None) -> None:
    """Run all tasks on two processes, print the tables and keep them."""
    names = datasets or tuple(DATASETS)
    tasks = [
        (dataset, shuffle, fold, model, _version() if model == "harmonium" else "rival")
        for dataset in names
        for model in models
        for shuffle in range(_SHUFFLES)
        for fold in range(_FOLDS)
    ]
    results = pd.DataFrame(Parallel(n_jobs=2, verbose=1)(delayed(_task)(*task) for task in tasks))
    table, summary = summarise(results)
    print_table("Integrated Brier score relative to Kaplan-Meier, and C-index (mean over folds)", table)
    print_table("All datasets", summary)
    write_result("quality", [*table, *summary])


def summarise(results: pd.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """By dataset, and over all."""
    mean = results.groupby(["dataset", "model"])[["ibs", "c_index"]].mean()
    ibs, c_index = mean["ibs"].unstack(), mean["c_index"].unstack()
    relative = ibs.div(ibs["kaplan-meier"], axis=0).drop(columns="kaplan-meier")
    c_index = c_index.drop(columns="kaplan-meier")
    rivals = [column for column in relative if column != "harmonium"]
    table = []
    for dataset in relative.index:
        row: dict[str, Any] = {"dataset": dataset}
        row.update({f"ibs {model}": relative.loc[dataset, model] for model in relative})
        row.update({f"c {model}": c_index.loc[dataset, model] for model in c_index})
        if "harmonium" in relative and rivals:
            row["above best rival"] = relative.loc[dataset, "harmonium"] / relative.loc[dataset, rivals].min() - 1.0
        table.append(row)
    ranks = relative.rank(axis=1).mean()
    summary = [{"model": m, "mean relative ibs": relative[m].mean(), "mean rank": ranks[m], "mean c": c_index[m].mean()} for m in relative]
    return table, summary
