"""Small fitted models, and a check that figures and settings are left as they were."""

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import pytest

import harmonium as hm


@pytest.fixture(autouse=True)
def tidy():
    """Settings stay what they were; figures that a test made are closed."""
    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.fixture(scope="session")
def nvalt8():
    X, y = hm.datasets.load_nvalt8()
    return hm.SurvivalHarmonium(n_hidden=2, objective=0.95, trainer=hm.Exact(n_starts=2, max_iter=40), random_state=0).fit(X, y), X, y


@pytest.fixture(scope="session")
def three_way():
    X, y = hm.datasets.make_three_way(200, random_state=0)
    settings = {"objective": "joint", "time_scale": "linear", "horizon": 1, "random_state": 0}
    return hm.SurvivalHarmonium(n_hidden=4, trainer=hm.Exact(n_starts=1, max_iter=60), **settings).fit(X, y), X, y


@pytest.fixture(scope="session")
def one_endpoint():
    X, y = hm.datasets.make_three_way(200, random_state=1)
    y = y[["t1"]]
    return hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1, max_iter=20), random_state=0).fit(X, y), X, y
