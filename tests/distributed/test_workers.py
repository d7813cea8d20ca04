"""Neither the number of workers nor the loss of one changes the model."""

import os
import signal

import numpy as np
import pytest

import harmonium as hm
import harmonium.distributed as hd
from benchmarks.large_fit import cohort
from harmonium.distributed.objective import DistributedObjective

pytestmark = pytest.mark.slow  # processes are started, and each loads compiled code

SETTINGS = {"n_hidden": 2, "trainer": hm.Exact(n_starts=1), "random_state": 0}


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    import dask.dataframe as dd

    folder = tmp_path_factory.mktemp("registry")
    dd.from_pandas(table(), npartitions=5).to_parquet(folder)
    return folder


def table():
    """A likelihood with a clear maximum, so that the optimiser does not amplify rounding."""
    X, y = cohort(6000)
    times = {f"{name}_{kind}": values for name in DEFINITIONS for kind, values in recorded(y[name]).items()}
    return X.assign(**times)


def recorded(bounds):
    return {"time": bounds["lower"], "event": bounds["lower"] == bounds["upper"]}


DEFINITIONS = {name: (f"{name}_time", f"{name}_event") for name in ("first", "second")}
COVARIATES = [f"x{i}" for i in range(6)]


def fitted(folder, n_workers):
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = dd.read_parquet(folder)
        model = hd.DaskSurvivalHarmonium(client=client, **SETTINGS)
        model.fit(lazy[COVARIATES], hd.endpoints(lazy, **DEFINITIONS))
    return model


@pytest.fixture(scope="module")
def of_two(parquet):
    return fitted(parquet, 2)


def test_two_processes_find_what_one_finds(of_two):
    X, y = cohort(6000)
    whole = hm.SurvivalHarmonium(**SETTINGS).fit(X[COVARIATES], y)
    # A table in memory is brought into canonical form, one on a cluster is not: they come to the same optimum another way.
    np.testing.assert_allclose(of_two.fitted_.parameters.to_vector(), whole.parameters_.to_vector(), rtol=1e-8, atol=1e-8)
    assert of_two.fitted_.encoding.in_training().endpoints == whole.encoding_.in_training().endpoints


def test_one_worker_and_two_agree_to_the_last_bit(parquet, of_two):
    one = fitted(parquet, 1)
    np.testing.assert_array_equal(one.fitted_.parameters.to_vector(), of_two.fitted_.parameters.to_vector())


def test_the_loss_of_a_worker_changes_nothing(parquet, of_two, monkeypatch):
    """In the middle of the fit; the cluster does not know of it yet when the next tasks are sent."""
    evaluated, evaluate = [], DistributedObjective.value_and_natural_gradient

    def lose_one(objective, natural):
        if len(evaluated) == 5:
            os.kill(next(iter(objective.client.run(os.getpid).values())), signal.SIGKILL)
        evaluated.append(evaluate(objective, natural))
        return evaluated[-1]

    monkeypatch.setattr(DistributedObjective, "value_and_natural_gradient", lose_one)
    model = fitted(parquet, 2)
    assert len(evaluated) > 10
    np.testing.assert_array_equal(model.fitted_.parameters.to_vector(), of_two.fitted_.parameters.to_vector())
