"""How often intervals hold the truth: three simulated designs, 300 and 1000 subjects, and two without an effect of treatment.

*Proportional hazards*, Weibull; *crossing hazards*, where treatment changes the shape and works in some patients only; and *ordered
endpoints*, recurrence and death, with a fifth of all covariates missing. In each the default model is fitted, and nominal 95 % intervals
are compared with the truth: of survival, incidence and restricted means of a hundred new patients, and of the standardised difference in
restricted means between arms. Beside them Cox regression, where it applies, with its own intervals of survival (Breslow's baseline). In
the designs without effect: how often the contrast's interval excludes zero and the win ratio's one, and how often the log-rank test
rejects; of these there are two and a half times as many tables.

Each replication is added to ``.cache/coverage.jsonl`` at once, so that an interrupted run goes on where it stopped; delete the file to
begin again. ``python -m benchmarks coverage 40`` makes forty of each kind.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from lifelines.statistics import logrank_test

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.typing import Array

__all__ = ["DESIGNS", "REPLICATIONS", "replication", "run", "summarise"]

REPLICATIONS = 200
_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "coverage.jsonl"
_SIZES = (300, 1000)
_MORE = 2.5  # tables without effect for each of the others
_TIMES = np.array([3.0, 6.0, 10.0, 15.0, 20.0, 30.0, 36.0])
_UNTIL = 36.0
_GRID = np.linspace(0.0, _UNTIL, 721)
_NEW = 100
_MISSING = 0.2
_ARMS = ("control", "treated")


class Design(NamedTuple):
    """How times come about: hazards of treated and others, and what is true of them."""

    survival: Callable[[pd.DataFrame, Array], Array]  # of death, (rows, times)
    incidence: Callable[[pd.DataFrame, Array], Array] | None  # of recurrence, where there is one
    draw: Callable[[pd.DataFrame, np.random.Generator], tuple[Array, Array]]  # recurrence, death
    treated: str | None = "treated"  # None: the arm has no effect
    missing: float = 0.0  # share of covariates


def _covariates(n: int, rng: np.random.Generator) -> pd.DataFrame:
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X.assign(sex=rng.choice(["f", "m"], n), arm=rng.choice(_ARMS, n))


def _prognosis(X: pd.DataFrame) -> Array:
    return np.asarray((0.6 * X["a"] - 0.4 * X["b"] + 0.5 * (X["sex"] == "m")).to_numpy())


def _treated(X: pd.DataFrame) -> Array:
    return np.asarray(X["arm"] == "treated", dtype=np.float64)


def _weibull(shape: Callable[[Array], Array], log_hazard: Callable[[pd.DataFrame, Array], Array]) -> Design:
    def survival(X: pd.DataFrame, times: Array) -> Array:
        treated = _treated(X)
        return np.asarray(np.exp(-np.exp(log_hazard(X, treated))[:, None] * (times / 20.0) ** shape(treated)[:, None]))

    def draw(X: pd.DataFrame, rng: np.random.Generator) -> tuple[Array, Array]:
        treated = _treated(X)
        time = 20.0 * (rng.exponential(size=len(X)) / np.exp(log_hazard(X, treated))) ** (1.0 / shape(treated))
        return time, time

    return Design(survival, None, draw)


def _rates(X: pd.DataFrame, effect: float) -> tuple[Array, Array, Array]:
    """Of recurrence, of death without it, and of death after it."""
    risk = _prognosis(X) + effect * _treated(X)
    return np.exp(risk) / 20.0, np.exp(0.5 * risk) / 60.0, np.exp(0.3 * risk) / 12.0


def _ordered(effect: float) -> Design:
    def survival(X: pd.DataFrame, times: Array) -> Array:
        r, d, g = (rate[:, None] for rate in _rates(X, effect))
        first = np.exp(-(r + d) * times)
        return np.asarray(first + r / (r + d - g) * (np.exp(-g * times) - first))

    def incidence(X: pd.DataFrame, times: Array) -> Array:
        r, d, _ = (rate[:, None] for rate in _rates(X, effect))
        return np.asarray(r / (r + d) * (1.0 - np.exp(-(r + d) * times)))

    def draw(X: pd.DataFrame, rng: np.random.Generator) -> tuple[Array, Array]:
        r, d, g = (rng.exponential(size=len(X)) / rate for rate in _rates(X, effect))
        return np.where(r < d, r, np.inf), np.where(r < d, r + g, d)

    return Design(survival, incidence, draw, missing=_MISSING)


DESIGNS: dict[str, Design] = {
    "proportional hazards": _weibull(lambda t: np.full(t.size, 1.3), lambda X, t: _prognosis(X) - 0.5 * t),
    "crossing hazards": _weibull(lambda t: np.where(t == 1.0, 1.9, 0.9), lambda X, t: _prognosis(X) + t * (0.5 * X["a"].to_numpy() - 0.3)),
    "ordered endpoints": _ordered(-0.5),
    "no effect": _weibull(lambda t: np.full(t.size, 1.3), lambda X, _: _prognosis(X))._replace(treated=None),
    "no effect, ordered": _ordered(0.0)._replace(treated=None, missing=0.0),
}


# --- one table ---


def _table(design: Design, X: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Covariates, some of which may be missing, and endpoints."""
    recurrence, death = design.draw(X, rng)
    end = rng.uniform(10.0, 60.0, len(X))
    observed = pd.DataFrame({"d": np.minimum(death, end), "de": death <= end})
    if design.incidence is None:
        return X, hm.endpoints(observed, death=("d", "de"))
    first = np.minimum(recurrence, observed["d"])
    observed = observed.assign(r=first, re=recurrence <= observed["d"])
    y = hm.endpoints(observed, recurrence=("r", "re"), death=("d", "de"), terminal="death")
    holes = rng.random(X.shape) < design.missing
    holes[:, list(X.columns).index("arm")] = False  # everybody knows who was treated
    return X.mask(holes), y


def replication(name: str, n: int, number: int) -> dict[str, Any]:
    """One simulated table: coverage and width of everything."""
    design = DESIGNS[name]
    rng = np.random.default_rng([n, number, list(DESIGNS).index(name)])
    X = _covariates(n, rng)
    table, y = _table(design, X, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(table, y)
        found: dict[str, Any] = {"contrast": _contrast(design, model, X, table)}
        if design.treated is None:
            found |= _of_nothing(design, model, table, y)
        else:
            found |= _curves(design, model, _covariates(_NEW, rng))
        if name == "proportional hazards":
            found["Cox survival"] = _cox(design, X, y, _covariates(_NEW, rng))
    return {"design": name, "n": n, "replication": number, "found": found}


def _curves(design: Design, model: Any, new: pd.DataFrame) -> dict[str, list[float]]:
    prognosis = model.prognosis(new)
    area = np.asarray(np.trapezoid(design.survival(new, _GRID), _GRID, axis=1))
    incidence = prognosis.cumulative_incidence("death", _TIMES, interval=0.95)
    out = {
        "survival": _score(1.0 - np.array(incidence)[[0, 2, 1]], design.survival(new, _TIMES)),
        "restricted mean": _score(np.array(prognosis.restricted_mean("death", until=_UNTIL, interval=0.95)), area),
    }
    if design.incidence is not None:
        found = np.array(prognosis.cumulative_incidence("recurrence", _TIMES, interval=0.95))
        out["incidence"] = _score(found, design.incidence(new, _TIMES))
    return out


def _score(interval: Array, truth: Array) -> list[float]:
    """Coverage, width, and the root mean squared error of the estimate."""
    estimate, lower, upper = interval
    inside = (lower <= truth) & (truth <= upper)
    return [float(inside.mean()), float((upper - lower).mean()), float(np.sqrt(np.mean((estimate - truth) ** 2)))]


def _contrast(design: Design, model: Any, X: pd.DataFrame, table: pd.DataFrame) -> list[float]:
    found = model.contrast(table, "arm", _ARMS, endpoint="death", measure="restricted_mean", until=_UNTIL)
    areas = [np.trapezoid(design.survival(X.assign(arm=arm), _GRID).mean(axis=0), _GRID) for arm in _ARMS]
    own = found.xs("difference", level="of").iloc[0]
    return _score(own[["estimate", "lower", "upper"]].to_numpy()[:, None], np.array([areas[1] - areas[0]]))


def _of_nothing(design: Design, model: Any, X: pd.DataFrame, y: pd.DataFrame) -> dict[str, list[float]]:
    """Without an effect: the win ratio, and the log-rank test; one where nothing is found."""
    treated, time, event = (X["arm"] == "treated").to_numpy(), y["death", "lower"], np.isfinite(y["death", "upper"])
    test = logrank_test(time[treated], time[~treated], event[treated], event[~treated])
    out = {"log-rank": [float(test.p_value > 0.05), np.nan, np.nan]}
    if design.incidence is not None:
        ratio = model.win_ratio(X, "arm", _ARMS, until=_UNTIL).loc["win ratio"]
        out["win ratio"] = _score(ratio[["estimate", "lower", "upper"]].to_numpy()[:, None], np.ones(1))
    return out


def _cox(design: Design, X: pd.DataFrame, y: pd.DataFrame, new: pd.DataFrame) -> list[float]:
    """Cox regression's intervals of survival, on the scale of ln(-ln S), with the variance of Breslow's baseline."""
    time, event = y["death", "lower"].to_numpy(), np.isfinite(y["death", "upper"]).to_numpy()
    columns, future = (pd.get_dummies(own, drop_first=True, dtype=float) for own in (X, new))
    fit = CoxPHFitter().fit(columns.assign(time=time, event=event), "time", "event")
    beta, covariance = fit.params_[list(columns)].to_numpy(), fit.variance_matrix_.loc[list(columns), list(columns)].to_numpy()
    Z, risk = columns.to_numpy(), np.exp(columns.to_numpy() @ beta)
    order = np.argsort(time)
    at_risk = np.cumsum(risk[order][::-1])[::-1]
    means = np.cumsum((risk[:, None] * Z)[order][::-1], axis=0)[::-1] / at_risk[:, None]
    step = event[order] / at_risk
    last = np.searchsorted(time[order], _TIMES, side="right") - 1
    hazard, squares = np.cumsum(step)[last], np.cumsum(step / at_risk)[last]
    drift = np.cumsum(step[:, None] * means, axis=0)[last]
    x = future[list(columns)].to_numpy()
    total = np.exp(x @ beta)[:, None] * hazard
    q = x[:, None, :] * hazard[:, None] - drift
    error = np.exp(x @ beta)[:, None] * np.sqrt(squares + np.einsum("rtj,jk,rtk->rt", q, covariance, q)) / total
    ends = [np.exp(-total * np.exp(sign * 1.96 * error)) for sign in (0.0, 1.0, -1.0)]
    return _score(np.array(ends), design.survival(new, _TIMES))


# --- all of them ---


def run(replications: int | str = REPLICATIONS) -> None:
    """Make the replications that are not there yet, print the table and keep it."""
    replications = int(replications)
    _CACHE.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in _CACHE.read_text().splitlines()] if _CACHE.exists() else []
    have = {(row["design"], row["n"], row["replication"]) for row in done}
    for name, n, number in _plan(replications):
        if (name, n, number) not in have:
            done.append(replication(name, n, number))
            with _CACHE.open("a") as file:
                file.write(json.dumps(done[-1], default=float) + "\n")
    table = summarise(done)
    print_table(f"coverage of nominal 95 % intervals, {replications} replications", table)
    write_result("coverage", table)


def _plan(replications: int) -> Iterator[tuple[str, int, int]]:
    """Design, size and number of all tables; those that take long come last."""
    for slow in (False, True):
        for number in range(int(_MORE * replications)):
            for name, design in DESIGNS.items():
                here = replications if design.treated is not None else int(_MORE * replications)
                if (design.missing > 0.0) == slow and number < here:
                    yield from ((name, n, number) for n in (_SIZES if design.treated is not None else _SIZES[:1]))


def summarise(done: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean coverage, width and error by design, size and what was asked."""
    out = []
    for name in DESIGNS:
        for n in _SIZES:
            rows = [row["found"] for row in done if row["design"] == name and row["n"] == n]
            for asked in dict.fromkeys(key for row in rows for key in row):
                found = np.array([row[asked] for row in rows if asked in row], dtype=float)
                out.append(
                    {
                        "design": name,
                        "n": n,
                        "of": asked,
                        "replications": len(found),
                        "coverage": float(found[:, 0].mean()),
                        "its standard error": float(found[:, 0].std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else np.nan,
                        "width": float(found[:, 1].mean()),
                        "root mean squared error": float(found[:, 2].mean()),
                    }
                )
    return out
