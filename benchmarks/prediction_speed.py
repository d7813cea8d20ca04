"""How fast are predictions? Against `harmoniums` on the same parameters; whole curves against the number of patients; one patient's curves.

One thread throughout, through the public interface, from a DataFrame to an array.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import harmonium as hm
from benchmarks.parity import Encoded, Subjects, with_levels_as_columns
from benchmarks.peer import Peer
from benchmarks.provenance import best_of, print_table, write_result

__all__ = ["run"]

Row = dict[str, Any]

_N_HIDDEN = 8
_N_TIMES = 100
_HORIZON = 3000.0  # days, beyond the last recording of gbsg2
_LANDMARK = 730.0  # days


def run() -> None:
    """Measure, print and keep."""
    with threadpool_limits(1):
        with Peer(timeout=600.0) as peer:
            against_peer = [_against_peer(peer)]
            versions = peer.call("versions")
        curves = _whole_curves()
        one = _one_patient()
    print_table("Survival at one time, gbsg2, 8 hidden units, against harmoniums 0.1.2 with the same parameters", against_peer)
    print_table("Whole curves, 100 times, 8 hidden units, gbsg2's patients with jitter", curves)
    print_table("One patient's curves of both endpoints, 100 times each, NVALT-8, 8 hidden units", one)
    sections = {"against harmoniums": against_peer, "whole curves": curves, "one patient": one}
    rows = [{"section": name, **row} for name, part in sections.items() for row in part]
    path = write_result("prediction_speed", rows, peer_versions=versions)
    print(f"\nwritten to {path.relative_to(path.parents[2])}")


def _against_peer(peer: Peer) -> Row:
    """All 686 patients on both sides; the peer compiles on a few of them first."""
    X, y = hm.datasets.load_gbsg2()
    X = with_levels_as_columns(X)
    model = _fitted(X, y, time_scale="linear", horizon=_HORIZON, n_covariate_units=0)  # the peer would sum over them, too
    encoded = Encoded.of(model, Subjects(X, y))

    def ask(n_rows: int, repeats: int) -> dict[str, Any]:
        answer: dict[str, Any] = peer.call(
            "survival_probabilities",
            parameters={name: array.tolist() for name, array in model.paper_parameters_.items()},
            values=np.hstack([encoded.covariates, encoded.times])[:n_rows].tolist(),
            events=encoded.events[:n_rows].tolist(),
            n_binary=encoded.n_binary,
            positions=[[0.5]],
            conditional=False,
            repeats=repeats,
        )
        return answer

    def predict() -> Any:
        return model.predict_survival_function(X, times=[0.5 * _HORIZON], return_array=True)

    ask(n_rows=5, repeats=1)
    theirs = ask(n_rows=len(X), repeats=2)
    ours = best_of(predict, repeats=7)
    return {
        "patients": len(X),
        "peer s": theirs["seconds"],
        "ours ms": 1e3 * ours,
        "ratio": theirs["seconds"] / ours,
        "largest difference": float(np.abs(predict()[:, 0] - np.array(theirs["survival"])[0, :, 0]).max()),
    }


def _whole_curves() -> list[Row]:
    """Of ever more patients; then of patients who are known to be alive, all at one time or each at a time of their own."""
    X, y = hm.datasets.load_gbsg2()
    model = _fitted(X, y)
    times = np.linspace(20.0, float(y["rfs", "lower"].max()), _N_TIMES)

    def measure(n_rows: int, known: str, given: pd.DataFrame | None = None) -> Row:
        many = _with_jitter(X, n_rows)
        seconds = best_of(lambda: model.predict_survival_function(many, times=times, given=given, return_array=True), repeats=3)
        return {"patients": n_rows, "known of the endpoint": known, "seconds": seconds, "us per patient": 1e6 * seconds / n_rows}

    own = np.random.default_rng(0).uniform(0.0, times[-1], 10_000)
    return [
        *(measure(n_rows, "nothing") for n_rows in (1_000, 10_000, 100_000)),
        measure(10_000, f"alive at {_LANDMARK:g} days", _alive(np.full(10_000, _LANDMARK))),
        measure(10_000, "alive at times of their own", _alive(own)),
    ]


def _alive(until: Any) -> pd.DataFrame:
    return pd.DataFrame({("rfs", "lower"): until, ("rfs", "upper"): np.inf})


def _with_jitter(X: pd.DataFrame, n_rows: int) -> pd.DataFrame:
    """Rows drawn with replacement, their numbers moved by a tenth of the standard deviation."""
    rng = np.random.default_rng(0)
    out = X.iloc[rng.integers(0, len(X), n_rows)].reset_index(drop=True)
    numbers = X.select_dtypes("number").columns
    out[numbers] = out[numbers] + 0.1 * X[numbers].std().to_numpy() * rng.standard_normal((n_rows, len(numbers)))
    return out


def _one_patient() -> list[Row]:
    """All endpoints' curves of one patient."""
    X, y = hm.datasets.load_nvalt8()
    model = _fitted(X, y)
    one, times = X.iloc[[0]], np.linspace(1.0, 90.0, _N_TIMES)
    cases = {"covariates": None, "covariates, and what was known at month 6": hm.landmark(y.iloc[[0]], 6.0)}
    rows = []
    for name, given in cases.items():
        seconds = best_of(partial(_all_curves, model, one, times, given), repeats=7)
        rows.append({"what is known": name, "ms": 1e3 * seconds})
    return rows


def _all_curves(model: hm.Fitted, X: pd.DataFrame, times: Any, given: pd.DataFrame | None) -> list[Any]:
    """Of all endpoints, from one prognosis."""
    prognosis = model.prognosis(X, given=given)
    return [prognosis.survival(name, times) for name in model.endpoint_names]


def _fitted(X: pd.DataFrame, y: pd.DataFrame, **settings: Any) -> hm.Fitted:
    """A model with eight hidden units from one start, answering in one thread."""
    return hm.SurvivalHarmonium(_N_HIDDEN, trainer=hm.Exact(n_starts=1), random_state=0, n_jobs=1, **settings).fit(X, y).fitted_
