"""The three-way problem by one line of user code, for fifty seeds: how near to the generator, and at what cost.

Then by the paper's own training: contrastive divergence with its settings, until all four modes stand.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import harmonium as hm
from benchmarks.provenance import print_table, write_result
from harmonium.datasets.three_way import BLOBS, three_way_log_density
from harmonium.studies.three_way import contrastive_trainer

__all__ = ["run"]


_STAGE = 30_000  # epochs after which the modes are looked at
_MOST_EPOCHS = 300_000  # the paper's number


def _modes(model: Any, X: Any, y: Any) -> Any:
    """Density at each blob's mode, relative to the generator's."""
    shares = []
    for colour, *times in BLOBS:
        first, second = ((shape - 1.0) / rate for shape, rate in times)
        at_mode = y.iloc[:1].copy()
        at_mode.iloc[0] = [first, first, second, second]
        found = model.log_likelihood(X.iloc[:1].assign(colour=colour), at_mode, kind="joint")[0]
        shares.append(np.exp(found - three_way_log_density(colour, (first, first), (second, second))))
    return np.array(shares)


def _generator(X: Any, y: Any) -> float:
    """Mean log density of the rows under the generator."""
    recorded = zip(X["colour"], y.to_numpy(), strict=True)
    return float(np.mean([three_way_log_density(colour, (row[0], row[1]), (row[2], row[3])) for colour, row in recorded]))


def _solve(seed: int) -> dict[str, Any]:
    X, y = hm.datasets.make_three_way(1000, random_state=seed)
    begin = time.perf_counter()
    model = hm.SurvivalHarmonium(n_hidden=4, objective="joint", time_scale="linear", horizon=1, random_state=seed).fit(X, y)
    seconds = time.perf_counter() - begin
    return {
        "seed": seed,
        "nats a row above the generator": float(model.log_likelihood(X, y, kind="joint").mean() - _generator(X, y)),
        "lowest mode, relative to the generator": float(_modes(model, X, y).min()),
        "gradients": model.n_evaluations_,
        "seconds": seconds,
    }


def _solve_by_contrast(seed: int) -> dict[str, Any]:
    """The paper's settings, in full batches."""
    X, y = hm.datasets.make_three_way(1000, random_state=seed)
    model = hm.SurvivalHarmonium(
        n_hidden=4,
        objective="joint",
        time_scale="linear",
        horizon=1,
        trainer=contrastive_trainer(_STAGE, batch_size=1000),
        warm_start=True,
        random_state=seed,
    )
    begin = time.perf_counter()
    epochs, lowest = 0, 0.0
    while lowest < 0.5 and epochs < _MOST_EPOCHS:
        lowest = float(_modes(model.fit(X, y), X, y).min())
        epochs += _STAGE
    return {
        "seed": seed,
        "epochs": epochs,
        "lowest mode, relative to the generator": lowest,
        "nats a row above the generator": float(model.log_likelihood(X, y, kind="joint").mean() - _generator(X, y)),
        "seconds": time.perf_counter() - begin,
    }


def run() -> None:
    """Solve, print and keep."""
    rows = [_solve(seed) for seed in range(50)]
    print_table("The three-way problem, 1000 rows, exact trainer", rows)
    solved = sum(row["nats a row above the generator"] > -0.03 and row["lowest mode, relative to the generator"] >= 0.5 for row in rows)
    print(f"solved: {solved} of {len(rows)}; median gradients {np.median([row['gradients'] for row in rows]):.0f}")
    write_result("three_way", rows)
    by_contrast = [_solve_by_contrast(seed) for seed in range(3)]
    print_table("The same by contrastive divergence, until every mode has half the generator's height", by_contrast)
    write_result("three_way_contrastive", by_contrast)
