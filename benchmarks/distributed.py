"""Fit, predictions and memory on a cluster of two processes; run as ``python -m benchmarks.distributed 200000``, prints JSON.

Writes a synthetic registry to Parquet, partition by partition: 15 covariates with 5 % of their values missing, two endpoints. The client
never holds the table.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

import harmonium as hm
import harmonium.distributed as hd
from benchmarks.large_fit import cohort
from benchmarks.rows import _memory

_PARTITION_ROWS = 50_000
_ENDPOINTS: dict[str, Any] = {name: (f"{name}_time", f"{name}_event") for name in ("first", "second")}
_COVARIATES = [f"x{i}" for i in range(15)]


def write_partition(folder: str, number: int, n_rows: int) -> int:
    """One file of the registry."""
    X, y = cohort(n_rows, seed=number)
    table = X.mask(np.random.default_rng([number, 1]).random(X.shape) < 0.05)
    for name in _ENDPOINTS:
        table[f"{name}_time"], table[f"{name}_event"] = y[name, "lower"], y[name, "lower"] == y[name, "upper"]
    table.to_parquet(Path(folder) / f"part-{number:05d}.parquet")
    return n_rows


def write_registry(folder: str, n_rows: int) -> None:
    """All files, written by the workers."""
    sizes = [min(_PARTITION_ROWS, n_rows - start) for start in range(0, n_rows, _PARTITION_ROWS)]
    dask.compute(*(dask.delayed(write_partition)(folder, number, size) for number, size in enumerate(sizes)))


def measure(n_rows: int, n_workers: int = 2) -> dict[str, Any]:
    """Times and memory of each step."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        registry, predictions = f"{folder}/registry", f"{folder}/predictions"
        Path(registry).mkdir()
        write_registry(registry, n_rows)
        table = dd.read_parquet(registry)
        X, y = table[_COVARIATES], hd.endpoints(table, **_ENDPOINTS)
        few = X.partitions[:1], y.partitions[:1]  # only to load compiled code
        hd.DaskSurvivalHarmonium(trainer=hm.Exact(n_starts=1, max_iter=2, tol=1.0), random_state=0).fit(*few)
        begin = time.perf_counter()
        model = hd.DaskSurvivalHarmonium(n_hidden=4, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        fitted = time.perf_counter()
        peaks = client.run(_memory, "VmHWM")
        model.predict_survival_function(X, endpoint="first", times=[0.25, 0.5, 1.0]).to_parquet(predictions)
        predicted = time.perf_counter()
        sample = X.partitions[:1], y.partitions[:1]
        scores = model.evaluate(*sample, likelihood=False)
        n_predicted = sum(len(pd.read_parquet(path, columns=["1"])) for path in Path(predictions).glob("*.parquet"))
    n_gradients = model.fitted_.training.n_evaluations
    return {
        "rows": n_rows,
        "partitions": table.npartitions,
        "workers": n_workers,
        "fit, seconds": fitted - begin,
        "gradients": n_gradients,
        "of these of all rows": model.fitted_.training.n_passes,
        "us per row and gradient": 1e6 * (fitted - begin) / n_rows / n_gradients,
        "us per row, gradient and worker": 1e6 * n_workers * (fitted - begin) / n_rows / n_gradients,
        "peak memory per worker, MB": [round(peak) for peak in peaks.values()],
        "peak memory of the client, MB": round(_memory("VmHWM")),
        "predictions to Parquet, seconds": predicted - fitted,
        "rows predicted": n_predicted,
        "converged": model.fitted_.training.converged,
        "concordance": scores["concordance"].round(4).to_dict(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1])), indent=1))
