"""Mistakes of version 0.1, each with a test that fails there.

Others are where they belong: a file's settings (tests/model/test_storage.py), compiling where nothing can be written
(tests/numerics/test_compilation.py), Ctrl-C inside a callback (tests/training/test_interruption.py), an output that is an input
(tests/cli/test_outputs.py), lists and lazy tables (tests/table/test_columns.py).
"""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.engine.parameters import Parameters
from harmonium.errors import ExtrapolationWarning
from harmonium.model.fitted import Fitted
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints

FAR = pytest.mark.filterwarnings("ignore::harmonium.errors.ExtrapolationWarning")


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(nvalt8):
    return hm.SurvivalHarmonium(n_hidden=3, trainer=hm.Exact(n_starts=1, max_iter=60), random_state=0).fit(*nvalt8)


def steep(X, y, rate):
    """A model without hidden units whose times, on their scale, have an exponential density with some rate."""
    encoding, _ = Encoding.learn(X, parse_endpoints(y))
    blocks = tuple(
        {name: np.zeros((block.n_columns, *shape)) for name, shape in block.unit.parameter_shapes(0).items()}
        for block in encoding.layout.blocks
    )
    for block in blocks:
        block.get("sigma", np.zeros(0))[...] = 1.0
    blocks[-1]["a"][...] = rate
    return Fitted(encoding, Parameters(encoding.layout, np.zeros(0), blocks), TrainingSummary())


# --- restricted mean ---


@FAR
@pytest.mark.parametrize("until", [1e-3, 10.0, 60.0, 96.0])
def test_the_restricted_mean_is_right_until_follow_up_ends(model, nvalt8, until):
    X, y = nvalt8
    for given in (None, hm.landmark(y, 20.0)):
        prognosis = model.prognosis(X[:3], given=None if given is None else given[:3])
        found = prognosis.restricted_mean("os", until=until)
        np.testing.assert_allclose(found, area_below(prognosis, until), rtol=1e-5)


def area_below(prognosis, until):
    """By Gauss's rule with forty nodes in each of some pieces, which grow with time."""
    edges = np.unique(np.clip([0.0, *range(5, 101, 5), *np.geomspace(125.0, 1e12, 60), until], 0.0, until))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves, middles = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    order = np.argsort(times := (middles + halves * nodes).ravel())
    return prognosis.survival("os", times[order]) @ (halves * weights).ravel()[order]


@FAR
def test_the_restricted_mean_grows_with_the_horizon(model, nvalt8):
    prognosis = model.prognosis(nvalt8[0])
    means = np.stack([prognosis.restricted_mean("os", until=until) for until in (1.0, 50.0, 96.0)])
    assert (np.diff(means, axis=0) >= -1e-9).all()


def test_beyond_follow_up_there_is_no_mean_unless_the_event_is_known(model, nvalt8):
    X, y = nvalt8
    known = y[("os", "lower")] == y[("os", "upper")]
    with pytest.warns(ExtrapolationWarning, match=r"the mean until 1000 is not known: endpoint 'os' was observed until 96\.13"):
        found = model.prognosis(X, given=y).restricted_mean("os", until=1e3)
    np.testing.assert_array_equal(found[known], y.loc[known, ("os", "lower")])
    assert np.isnan(found[~known]).all()
    with pytest.warns(ExtrapolationWarning):
        assert np.isnan(model.predict_restricted_mean(X[:2], until=97.0, endpoint="os")).all()


@FAR
def test_long_horizons_of_scales_that_end_stop_there(nvalt8):
    X, y = nvalt8
    quick = hm.Exact(n_starts=1, max_iter=20)
    for scale in ("linear", "log"):
        model = hm.SurvivalHarmonium(2, time_scale=scale, trainer=quick, random_state=0).fit(X, y)
        horizon = model.encoding_.scales[0].horizon
        at_end, beyond = (model.prognosis(X[:5]).restricted_mean("os", until=until) for until in (horizon, 1e9))
        np.testing.assert_allclose(at_end, beyond, rtol=1e-9)


# --- hazard ---


@FAR
def test_a_hazard_is_found_where_survival_is_too_small_for_a_number(nvalt8):
    X, y = nvalt8
    model = steep(X, y, 5000.0)
    times = np.array([20.0, 40.0, 80.0])
    prognosis = model.prognosis(X[:2])
    assert (prognosis.survival("os", times)[:, 1:] == 0.0).all()
    scale = model.encoding.scales[0]
    expected = 5000.0 * np.exp(scale.log_slope(times))  # an exponential has a constant hazard, up to its end
    np.testing.assert_allclose(prognosis.hazard("os", times), np.tile(expected, (2, 1)), rtol=1e-9)


@FAR
def test_beyond_follow_up_hazard_and_density_are_not_known_and_survival_is_a_bound(model, nvalt8):
    prognosis, end = model.prognosis(nvalt8[0][:4]), model.encoding_.scales[0].end
    for question in (prognosis.hazard, prognosis.density):
        found = question("os", [end, 1.01 * end, 1e3, np.inf])
        assert np.isfinite(found[:, 0]).all()
        assert np.isnan(found[:, 1:]).all()
    alive = prognosis.survival("os", [end, 1.01 * end, 1e3, np.inf])
    np.testing.assert_array_equal(alive, np.repeat(alive[:, :1], 4, axis=1))


def test_an_event_beyond_follow_up_counts_as_one_that_is_late(model, nvalt8):
    X, y = nvalt8
    late = y[:1].copy()
    late.loc[:, ("os", ["lower", "upper"])] = 500.0
    late.loc[:, ("rfs", ["lower", "upper"])] = (0.0, np.inf)
    end = model.encoding_.scales[0].end
    alive = model.predict_survival_function(X[:1], endpoint="os", times=[end], return_array=True)[0, 0]
    assert model.log_likelihood(X[:1], late)[0] == pytest.approx(np.log(alive), abs=1e-6)


# --- density near zero ---


def test_density_and_likelihood_agree_however_early_the_event(nvalt8):
    X, y = nvalt8
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=30), time_scale="linear", random_state=0).fit(X, y)
    for time in (1e-3, 1e-8, 1e-12, 1e-30):
        known = pd.DataFrame({("os", "lower"): [time], ("os", "upper"): [time], ("rfs", "lower"): [0.0], ("rfs", "upper"): [np.inf]})
        likelihood = model.log_likelihood(X[:1].reset_index(drop=True), known)[0]
        assert np.log(model.predict_density(X[:1], endpoint="os", times=[time])[0, 0]) == pytest.approx(likelihood, abs=1e-9)


# --- threads ---


def test_minus_one_means_all_cores(nvalt8):
    X, y = nvalt8
    quick = {"n_hidden": 1, "trainer": hm.Exact(n_starts=1, max_iter=3), "random_state": 0}
    one, every = (hm.SurvivalHarmonium(**quick, n_jobs=n).fit(X, y) for n in (1, -1))
    np.testing.assert_array_equal(one.predict(X), every.predict(X))


# --- times that cannot be computed with ---


def test_times_beyond_what_can_be_computed_are_refused_with_column_and_row():
    df = pd.DataFrame({"t": [1.0, 2e300], "e": [1, 0]})
    with pytest.raises(hm.errors.TableError, match=r"column 't' must not hold times beyond 1e\+300; found 2e\+300 in row 1"):
        hm.endpoints(df, os=("t", "e"))
    y = pd.DataFrame({("os", "lower"): [1.0, 2e300], ("os", "upper"): [1.0, np.inf]})
    with pytest.raises(hm.errors.TableError, match="row 1: times must not exceed"):
        hm.SurvivalHarmonium().fit(pd.DataFrame({"x": [1.0, 2.0]}), y)


# --- endpoints without information ---


def test_an_endpoint_without_events_is_rare_rather_than_certain_at_the_end():
    """Version 0.1: everybody has the event at the last follow-up."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"t": rng.uniform(1.0, 10.0, 80), "e": 0, "x": rng.normal(size=80)})
    with pytest.warns(hm.errors.EndpointWarning, match="endpoint 'os' has no event in training"):
        model = hm.SurvivalHarmonium(2, random_state=0).fit(df[["x"]], hm.endpoints(df, os=("t", "e")))
    assert (model.prognosis(df[["x"]]).survival("os", [5.0, df["t"].max()]) > 0.8).all()


def test_an_endpoint_that_nobody_observed_is_refused_by_name(nvalt8):
    X, y = nvalt8
    unknown = y.copy()
    unknown["rfs", "lower"], unknown["rfs", "upper"] = 0.0, np.inf
    with pytest.raises(hm.errors.TableError, match="endpoint 'rfs' was not observed in any row; leave it out"):
        hm.SurvivalHarmonium().fit(X, unknown)
