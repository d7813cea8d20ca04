"""Latent codes, receptive fields and dependence between endpoints."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import harmonium as hm


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(nvalt8):
    return hm.SurvivalHarmonium(3, objective=0.9, random_state=0).fit(*nvalt8)


def test_latent_codes_are_probabilities_that_use_what_is_known(model, nvalt8):
    X, y = nvalt8
    codes, informed = model.transform(X), model.transform(X, given=y)
    assert codes.shape == (len(X), 3)
    assert ((codes >= 0.0) & (codes <= 1.0)).all()
    assert np.abs(codes - informed).max() > 0.05
    assert list(model.get_feature_names_out()) == ["hidden0", "hidden1", "hidden2"]
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == ["hidden0", "hidden1", "hidden2"]
    model.set_output(transform="default")


def test_receptive_fields_are_the_effects_of_switching_a_unit_on(model, nvalt8):
    X, y = nvalt8
    fields = model.receptive_fields(X, given=y)
    natural, offsets = model.parameters_.natural(), model.encoding_.layout.offsets
    assert set(fields.index.get_level_values("column")) == {*(c.name for c in model.encoding_.modelled), "os", "rfs"}
    for c, column in enumerate(model.encoding_.modelled):
        on, off = (natural.bias[offsets[c] : offsets[c + 1]] + h * natural.coupling[offsets[c] : offsets[c + 1], 1] for h in (1, 0))
        found = fields.xs(column.name, level="column")["hidden1"].to_numpy()
        if column.role == "numeric":
            means = [column.unit.mean_statistics(n, np.array(np.nan), np.array(np.nan))[0] for n in (on, off)]
            np.testing.assert_allclose(found, [means[0] - means[1]], rtol=1e-9)
        elif column.role == "binary":
            np.testing.assert_allclose(found, off - on)
        else:
            np.testing.assert_allclose(found, (off - on) - (off - on).mean())
    assert fields.loc["os"].shape == (1, 3)


def test_attraction_and_repulsion_are_told_apart():
    rng = np.random.default_rng(0)
    n = 400
    group = rng.random(n) < 0.5
    for sign in (1.0, -1.0):
        early, late = rng.gamma(4.0, 1.0, n), rng.gamma(4.0, 4.0, n)
        first = np.where(group, early, late)
        second = np.where(group if sign > 0 else ~group, rng.gamma(4.0, 1.0, n), rng.gamma(4.0, 4.0, n))
        table = pd.DataFrame({"a": first, "b": second, "seen": 1, "group": group})
        y = hm.endpoints(table, a=("a", "seen"), b=("b", "seen"))
        model = hm.SurvivalHarmonium(2, random_state=0).fit(table[["group"]], y)
        found = model.dependence(table[["group"]]).loc[("a", "b")]
        observed = kendalltau(first, second)[0]
        assert abs(found["tau"] - observed) < 0.12
        assert np.sign(found["tau"]) == sign
        assert abs(found["tau_given_covariates"]) < 0.12  # the group explains all of it


def test_dependence_needs_two_endpoints():
    X, y = hm.datasets.load_gbsg2()
    model = hm.SurvivalHarmonium(1, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=3)).fit(X, y)
    with pytest.raises(ValueError, match="at least two endpoints"):
        model.dependence(X)
