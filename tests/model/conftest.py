"""A model and its file, for the tests of files."""

import pytest

import harmonium as hm


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(study):
    X, y = study
    estimator = hm.SurvivalHarmonium(n_hidden=2, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=30))
    return estimator.fit(X, y, validation=(X[:50], y[:50])).fitted_


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.harmonium"
    model.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def ordered_content(tmp_path_factory):
    """The file of a model whose endpoints are ordered."""
    X, y = hm.datasets.load_nvalt8(terminal=True)
    path = tmp_path_factory.mktemp("ordered") / "model.harmonium"
    hm.SurvivalHarmonium(n_hidden=1, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=30)).fit(X[["age", "arm"]], y).save(path)
    return path.read_bytes()
