"""Columns without an effect, among correlated ones that have some: how often they are said to have one, and by how much on average.

Covariates as in a study of a liver disease: a latent severity is seen in five laboratory values and signs that act on the hazard, in one
(``copper``) that does not, and in the choice of who is exposed to two exposures that do nothing, a common and a rare one; an arm is
randomised and does nothing either. One endpoint or two competing causes, covariates complete or with a fifth of the measured values
missing. For each null column: the standardized difference in the probability of the event as ``contrast`` and a report give it. Beside it
the coefficient of a Cox regression of the same columns, complete or filled in by chained equations.

Each table is added to ``.cache/null_effects.jsonl`` at once, so that an interrupted run goes on where it stopped; delete the file to
begin again. ``python -m benchmarks null_effects 40`` makes forty tables of each kind.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from lifelines.exceptions import ConvergenceError
from scipy.special import expit
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next import possible
from sklearn.impute import IterativeImputer

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.model.effects import measure_of, standardised
from harmonium.typing import Array

__all__ = ["CELLS", "replication", "run", "study", "summarise"]

REPLICATIONS = 200
_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "null_effects.jsonl"
_ROWS = 300  # about as many as the randomised patients of pbc
_MISSING = 0.2
_TIME = 5.0
_IMPUTATIONS = 5
_ASKED = 100  # rows over which differences are standardized, as in a report
CELLS = [(causes, missing) for causes in (1, 2) for missing in (False, True)]
_NULL: Mapping[str, Sequence[Any]] = {"copper": (), "exposed": ("no", "yes"), "rare": ("no", "yes"), "arm": ("placebo", "treated")}
_ARMED = ["arm", "exposed", "rare"]  # everybody knows who got what


def study(n: int, causes: int, missing: bool, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One table: covariates and endpoints."""
    severity = rng.normal(size=n)

    def sign(share: float, slope: float) -> Array:
        return np.asarray(rng.random(n) < expit(np.log(share / (1.0 - share)) + slope * severity))

    seen = {name: 0.7 * severity + np.sqrt(1.0 - 0.7**2) * rng.normal(size=n) for name in ("bili", "albumin", "protime", "copper")}
    edema, ascites = sign(0.2, 1.0), sign(0.08, 1.5)
    age = rng.normal(size=n)
    X = pd.DataFrame(
        {
            "bili": np.exp(0.7 + seen["bili"]),
            "albumin": 3.5 - 0.4 * seen["albumin"],
            "protime": 10.7 + np.exp(0.3 * seen["protime"]),
            "copper": np.exp(4.3 + 0.8 * seen["copper"]),
            "edema": edema.astype(float),
            "ascites": ascites.astype(float),
            "age": 50.0 + 10.0 * age,
            "exposed": np.where(sign(0.5, 0.7), "yes", "no"),
            "rare": np.where(sign(0.05, 0.7), "yes", "no"),
            "arm": rng.choice(("placebo", "treated"), n),
        }
    )
    risk = 0.7 * seen["bili"] + 0.4 * seen["albumin"] + 0.3 * seen["protime"] + 0.6 * edema + 0.6 * ascites + 0.3 * age
    death, end = 14.0 * (rng.exponential(size=n) / np.exp(risk)) ** (1.0 / 1.2), rng.uniform(3.0, 12.0, n)
    table = pd.DataFrame({"t": np.minimum(death, end), "d": death <= end})
    if causes == 1:
        y = hm.endpoints(table, death=("t", "d"))
    else:
        other = 30.0 * rng.exponential(size=n) / np.exp(0.5 * risk - 0.6 * age)
        first = np.minimum(np.minimum(death, other), end)
        table = pd.DataFrame({"t": first, "d": (death == first), "o": (other == first)})
        y = hm.endpoints(table, death=("t", "d"), transplant=("t", "o"), terminal=("death", "transplant"))
    if missing:
        holes = rng.random(X.shape) < _MISSING
        holes[:, [list(X.columns).index(name) for name in _ARMED]] = False
        X = X.mask(holes)
    return X, y


def replication(causes: int, missing: bool, number: int) -> dict[str, Any]:
    """One simulated table: estimate and limits of every null column, and Cox's."""
    X, y = study(_ROWS, causes, missing, np.random.default_rng([number, causes, missing]))
    found: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
        steps = {name: levels or [float(q) for q in X[name].quantile([0.25, 0.75])] for name, levels in _NULL.items()}
        measure = measure_of(model.fitted_, "incidence", "death", [_TIME], None)
        for name, (one, other) in standardised(model.fitted_, X[:_ASKED], steps, measure.question, sure=True).items():
            found[name] = [float(own[0]) for own in (other - one).columns(0.95, measure.difference).values()]
        found |= _cox(X, y, number)
    return {"causes": causes, "missing": missing, "replication": number, "found": found}


def _cox(X: pd.DataFrame, y: pd.DataFrame, seed: int) -> dict[str, list[float]]:
    """Log hazard ratios of the null columns with 95 % limits, pooled over imputations where values are missing."""
    plain = pd.get_dummies(X.assign(bili=np.log(X["bili"]), copper=np.log(X["copper"])), drop_first=True, dtype=float)
    time, event = y["death", "lower"].to_numpy(), np.isfinite(y["death", "upper"]).to_numpy()
    outcome = pd.DataFrame({"event": event.astype(float), "log_time": np.log(time)})
    fits = []
    for number in range(_IMPUTATIONS if X.isna().to_numpy().any() else 1):
        filled = plain
        if plain.isna().to_numpy().any():
            chained = IterativeImputer(sample_posterior=True, max_iter=5, random_state=1000 * seed + number)
            filled = pd.DataFrame(chained.fit_transform(pd.concat([plain, outcome], axis=1))[:, : plain.shape[1]], columns=plain.columns)
        try:
            fits.append(CoxPHFitter().fit(filled.assign(time=time, status=event), "time", "status"))
        except ConvergenceError:
            continue
    names = {column: next(name for name in plain if name.startswith(column)) for column in _NULL}
    out = {}
    for column, name in names.items():
        beta = np.array([fit.params_[name] for fit in fits])
        within = np.mean([fit.variance_matrix_.loc[name, name] for fit in fits])
        error = np.sqrt(within + (1.0 + 1.0 / len(fits)) * (beta.var(ddof=1) if len(fits) > 1 else 0.0))
        out[f"Cox {column}"] = [float(beta.mean() + k * 1.96 * error) for k in (0.0, -1.0, 1.0)]
    return out


def run(replications: int | str = REPLICATIONS) -> None:
    """Make the tables that are not there yet, print what was found and keep it."""
    _CACHE.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in _CACHE.read_text().splitlines()] if _CACHE.exists() else []
    have = {(row["causes"], row["missing"], row["replication"]) for row in done}
    for number in range(int(replications)):
        for causes, missing in CELLS:
            if (causes, missing, number) not in have:
                done.append(replication(causes, missing, number))
                with _CACHE.open("a") as file:
                    file.write(json.dumps(done[-1], default=float) + "\n")
    table = summarise(done)
    print_table(f"columns without an effect, {replications} tables of each kind", table)
    write_result("null_effects", table)


def summarise(done: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How often the interval excludes zero, and the mean estimate with its standard error, by kind of table and column."""
    out = []
    for causes, missing in CELLS:
        rows = [row["found"] for row in done if row["causes"] == causes and row["missing"] == missing]
        for asked in dict.fromkeys(key for row in rows for key in row):
            estimate, lower, upper = np.array([row[asked] for row in rows if asked in row]).T
            out.append(
                {
                    "causes": causes,
                    "missing": "a fifth" if missing else "none",
                    "of": asked,
                    "tables": len(estimate),
                    "excludes zero": float(((lower > 0.0) | (upper < 0.0)).mean()),
                    "mean estimate": float(estimate.mean()),
                    "its standard error": float(estimate.std(ddof=1) / np.sqrt(len(estimate))) if len(estimate) > 1 else np.nan,
                    "mean width": float((upper - lower).mean()),
                    "standard deviations in width": float((upper - lower).mean() / estimate.std(ddof=1)) if len(estimate) > 1 else np.nan,
                }
            )
    return out
