"""Predictions in the user's units, for anything that is known."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm

pytestmark = pytest.mark.filterwarnings("ignore::harmonium.errors.UnseenLevelWarning", "ignore::harmonium.errors.ExtrapolationWarning")
QUICK = {"n_hidden": 3, "trainer": hm.Exact(n_starts=1, max_iter=60), "random_state": 0}
TIMES = np.array([3.0, 6.0, 12.0, 24.0, 48.0])


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module", params=["kaplan-meier", "linear", "log"])
def model(nvalt8, request):
    return hm.SurvivalHarmonium(**QUICK, time_scale=request.param).fit(*nvalt8)


def curves(model, X, endpoint="os", times=TIMES, given=None):
    return model.predict_survival_function(X, endpoint=endpoint, times=times, given=given, return_array=True)


def endpoint_table(**columns):
    """A table of endpoints from (lower, upper) for each."""
    return pd.DataFrame({(name, kind): bounds[k] for name, bounds in columns.items() for k, kind in enumerate(["lower", "upper"])})


def test_hazard_density_and_cumulative_hazard_agree_with_survival(model, nvalt8):
    X, _ = nvalt8
    X = X[:20]
    alive = curves(model, X)
    np.testing.assert_allclose(model.predict_cumulative_hazard_function(X, endpoint="os", times=TIMES, return_array=True), -np.log(alive))
    around = curves(model, X, times=np.concatenate([TIMES - 1e-3, TIMES + 1e-3]))
    slope = (around[:, : TIMES.size] - around[:, TIMES.size :]) / 2e-3
    found = model.predict_density(X, endpoint="os", times=TIMES)
    np.testing.assert_allclose(found, slope, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(model.predict_hazard(X, endpoint="os", times=TIMES), found / alive)
    steps = model.predict_cumulative_hazard_function(X, endpoint="os", times=TIMES)
    np.testing.assert_allclose(steps[0](TIMES), -np.log(alive[0]))


def test_a_prognosis_answers_as_the_model_does(model, nvalt8):
    X, y = nvalt8
    for given in (None, hm.landmark(y, 6.0)):
        prognosis = model.prognosis(X, given=given)
        for name in ("os", "rfs"):
            np.testing.assert_array_equal(prognosis.survival(name, TIMES), curves(model, X, name, given=given))
            np.testing.assert_array_equal(prognosis.risk(name), model.predict(X, endpoint=name, given=given))
            own = prognosis.survival_at(name, y[name, "lower"])
            every = prognosis.survival(name, np.unique(y[name, "lower"]))
            place = np.searchsorted(np.unique(y[name, "lower"]), y[name, "lower"])
            np.testing.assert_allclose(own, every[np.arange(len(X)), place], atol=1e-9)


def test_after_a_known_event_nobody_is_left_wherever_the_scale_ends(model, nvalt8):
    X, _ = nvalt8
    scale = model.encoding_.scales[0]
    horizon = scale.end  # what lies beyond counts as there; without a horizon, of later events only that is known
    times = np.array([0.0, 12.0, 50.0, 1.5 * horizon])
    for at in (12.0, horizon, 2.0 * horizon)[: 3 if scale.reach == 1.0 else 2]:
        found = curves(model, X[:2], "os", times, endpoint_table(os=([at] * 2, [at] * 2), rfs=([0.0] * 2, [np.inf] * 2)))
        np.testing.assert_array_equal(found, np.tile(times < min(at, horizon), (2, 1)))


def test_the_median_and_other_quantiles_are_where_survival_says(model, nvalt8):
    X, y = nvalt8
    X, y = X[:15], y[:15]
    for q, times in ((0.5, model.predict_median(X, endpoint="rfs")), (0.2, model.predict_quantile(X, q=0.2, endpoint="rfs"))):
        reached = np.array([curves(model, X[i : i + 1], "rfs", [times[i]])[0, 0] for i in range(15)])
        known = np.isfinite(times)
        np.testing.assert_allclose(reached[known], 1.0 - q, atol=1e-6)
        assert (reached[~known] > 1.0 - q).all()  # at the end of follow-up
        assert known.any()
    known = hm.landmark(y, 6.0)
    given = model.predict_median(X, endpoint="rfs", given=known)
    seen = known["rfs", "upper"] == known["rfs", "lower"]
    np.testing.assert_allclose(given[seen], known.loc[seen, ("rfs", "lower")])
    assert (given[~seen] > known.loc[~seen, ("rfs", "lower")]).all()


def test_the_restricted_mean_is_the_area_under_the_curve(model, nvalt8):
    X, y = nvalt8
    X, y = X[:12], y[:12]
    grid = np.linspace(0.0, 30.0, 20_001)
    for given in (None, hm.landmark(y, 9.0)):
        area = np.trapezoid(curves(model, X, "os", grid, given), grid, axis=1)
        np.testing.assert_allclose(model.predict_restricted_mean(X, until=30.0, endpoint="os", given=given), area, rtol=2e-4)


def test_joint_survival_and_density_in_the_users_units(model, nvalt8):
    X, _ = nvalt8
    X = X[:3]
    joint = model.predict_joint_survival(X, times={"os": [0.0, *TIMES], "rfs": [0.0, 6.0]})
    assert joint.shape == (3, 6, 2)
    np.testing.assert_allclose(joint[:, 1:, 0], curves(model, X), atol=1e-12)
    np.testing.assert_allclose(joint[:, 0, 1], curves(model, X, "rfs", [6.0])[:, 0], atol=1e-12)
    step = 1e-2
    a, b = [12.0 - step, 12.0 + step], [6.0 - step, 6.0 + step]
    corners = model.predict_joint_survival(X, times={"os": a, "rfs": b})
    mixed = (corners[:, 0, 0] - corners[:, 0, 1] - corners[:, 1, 0] + corners[:, 1, 1]) / (2 * step) ** 2
    np.testing.assert_allclose(model.predict_joint_density(X, times={"os": [12.0], "rfs": [6.0]})[:, 0, 0], mixed, rtol=1e-3)


def test_conditioning_agrees_with_the_joint_survival(model, nvalt8):
    """P(os > t | rfs > s) = P(os > t, rfs > s) / P(rfs > s), and alive at s likewise."""
    X, _ = nvalt8
    X = X[:5]
    given = endpoint_table(rfs=(np.full(5, 8.0), np.full(5, np.inf)))
    joint = model.predict_joint_survival(X, times={"os": TIMES, "rfs": [8.0]})[:, :, 0]
    np.testing.assert_allclose(curves(model, X, given=given), joint / curves(model, X, "rfs", [8.0]), rtol=1e-9)
    own = endpoint_table(os=(np.full(5, 8.0), np.full(5, np.inf)))
    expected = np.where(TIMES <= 8.0, 1.0, curves(model, X) / curves(model, X, times=[8.0]))
    np.testing.assert_allclose(curves(model, X, given=own), expected, rtol=1e-9)


def test_a_known_relapse_lowers_survival(nvalt8):
    """In NVALT-8 relapse precedes death."""
    X, y = nvalt8
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    relapse = endpoint_table(os=([12.0], [np.inf]), rfs=([8.0], [8.0]))
    healthy = endpoint_table(os=([12.0], [np.inf]), rfs=([12.0], [np.inf]))
    after, before = (model.predict_median(X[:1], endpoint="os", given=known)[0] for known in (relapse, healthy))
    assert after < 0.7 * before


def test_landmarks_cut_to_what_was_known():
    y = endpoint_table(a=([2.0, 5.0, 5.0, 1.0, 3.0], [2.0, np.inf, 5.0, 3.0, 9.0]))
    cut = hm.landmark(y, 4.0)
    np.testing.assert_array_equal(cut["a", "lower"], [2.0, 4.0, 4.0, 1.0, 3.0])
    np.testing.assert_array_equal(cut["a", "upper"], [2.0, np.inf, np.inf, 3.0, np.inf])
    with pytest.raises(ValueError, match="not negative; found -1"):
        hm.landmark(y, -1.0)


def test_what_is_given_may_leave_endpoints_out_and_is_checked(model, nvalt8):
    X, y = nvalt8
    partial = y[:4][["rfs"]]
    whole = y[:4].copy()
    whole["os", "lower"], whole["os", "upper"] = 0.0, np.inf
    with pytest.warns(hm.errors.UnknownEndpointWarning, match="an event is given, and nothing about 'os'"):
        found = model.prognosis(X[:4], given=partial)
    np.testing.assert_allclose(found.survival("os", TIMES), curves(model, X[:4], given=whole))
    np.testing.assert_allclose(found.risk("os"), model.predict(X[:4], endpoint="os", given=whole))
    with pytest.raises(ValueError, match="there is no endpoint 'pfs'"):
        curves(model, X[:1], given=endpoint_table(pfs=([1.0], [2.0])))
    with pytest.raises(ValueError, match="as many rows as X; found 4 and 3"):
        curves(model, X[:3], given=partial)
    with pytest.raises(ValueError, match="mapping of endpoints to times"):
        model.predict_joint_survival(X[:1], times=[1.0])
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        model.predict_quantile(X[:1], q=1.0)
    with pytest.raises(ValueError, match="positive time"):
        model.predict_restricted_mean(X[:1], until=0.0)


def test_diagnostics_of_exact_answers_are_zero(model, nvalt8):
    X, _ = nvalt8
    alive, answer = model.predict_survival_function(X[:2], endpoint="os", times=TIMES, return_array=True, return_diagnostics=True)
    np.testing.assert_array_equal(alive, answer.mean)
    assert (answer.standard_error == 0.0).all()
    assert (answer.r_hat == 1.0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::harmonium.errors.SamplingWarning")
def test_large_models_answer_by_sampling_where_much_is_missing(nvalt8):
    X, y = nvalt8[0].copy(), nvalt8[1]
    X.iloc[:3, 2:] = None
    model = hm.SurvivalHarmonium(20, random_state=0, objective="joint", trainer=hm.Contrastive(n_epochs=5)).fit(X, y)
    first, answer = model.predict_survival_function(X[:3], endpoint="os", times=TIMES, return_array=True, return_diagnostics=True)
    second = curves(model, X[:3])
    np.testing.assert_array_equal(first, second)
    assert (answer.standard_error > 0.0).any()
    assert model.predict_median(X[:2], endpoint="os").shape == (2,)
    assert np.isfinite(model.log_likelihood(X[:3], y[:3])).all()
    assert model.predict(X[:3]).shape == (3,)
    assert model.transform(X[:3]).shape == (3, 20)
