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
