import dask
import pytest


@pytest.fixture(autouse=True)
def plain_strings():
    """Text as pandas has it, so that encodings can be compared with those of the table in memory."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


@pytest.fixture(scope="package")
def client():
    """A cluster in this process."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as opened,
    ):
        yield opened
