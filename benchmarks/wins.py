"""Net benefit and win ratio under censoring: what the model says, and what counting says, beside the truth.

Recurrence and death of treated and others, followed until they die, or censored by an end of follow-up that is uniform on an interval. The
truth is counted among many subjects without censoring. ``python -m benchmarks wins 40`` makes forty tables of 400 subjects for each
follow-up.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.metrics import count_wins

__all__ = ["run", "trial"]

REPLICATIONS = 40
_ROWS, _MANY = 400, 20_000
_UNTIL = 36.0
_ARMS = ("control", "treated")
_ORDER = ["death", "recurrence"]
_FOLLOW_UP: dict[str, tuple[float, float] | None] = {"until death": None, "10 to 60": (10.0, 60.0), "3 to 40": (3.0, 40.0)}
_ASKED = ("net benefit", "win ratio", "ties")


def trial(n: int, rng: np.random.Generator, follow_up: tuple[float, float] | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Treatment halves the hazard of recurrence, and lowers that of death by a fifth."""
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, n), "arm": rng.choice(_ARMS, n)})
    treated, older = (X["arm"] == "treated").to_numpy(), 0.04 * (X["age"].to_numpy() - 60.0)
    recurrence = 15.0 * rng.exponential(size=n) / np.exp(older - 0.7 * treated)
    death = 40.0 * rng.exponential(size=n) / np.exp(older - 0.2 * treated)
    end = np.full(n, 1e4) if follow_up is None else rng.uniform(*follow_up, n)
    table = pd.DataFrame(
        {
            "r": np.minimum(np.minimum(recurrence, death), end),
            "re": (recurrence < death) & (recurrence <= end),
            "d": np.minimum(death, end),
            "de": death <= end,
        }
    )
    return X, hm.endpoints(table, recurrence=("r", "re"), death=("d", "de"), terminal="death")


def run(replications: int | str = REPLICATIONS) -> None:
    """Measure, print and keep."""
    X, y = trial(_MANY, np.random.default_rng(0), None)
    truth = count_wins(y, X["arm"] == "treated", order=_ORDER, until=_UNTIL)["share"]
    table = []
    for name, follow_up in _FOLLOW_UP.items():
        found = [_one(number, follow_up) for number in range(int(replications))]
        for asked in _ASKED:
            own = {"follow-up": name, "of": asked, "replications": len(found), "truth": float(truth[asked])}
            for source in ("estimate", "observed"):
                values = np.array([one.loc[asked, source] for one in found])
                own |= {f"bias of {source}": float(values.mean() - truth[asked]), f"its error, {source}": _error(values)}
            inside = [one.loc[asked, "lower"] <= truth[asked] <= one.loc[asked, "upper"] for one in found]
            table.append(own | {"coverage": float(np.mean(inside))})
    print_table("net benefit and win ratio: the model and counting", table)
    write_result("wins", table)


def _one(number: int, follow_up: tuple[float, float] | None) -> Any:
    X, y = trial(_ROWS, np.random.default_rng([1, number]), follow_up)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(random_state=0, n_jobs=1).fit(X, y)
        return model.win_ratio(X, "arm", _ARMS, until=_UNTIL, y=y)


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
