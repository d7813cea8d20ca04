"""Kaplan and Meier's curve against scikit-survival's, its interval against scipy's."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from harmonium.plots.estimate import KaplanMeier


def observed(n=80, late=False):
    rng = np.random.default_rng(n)
    time = np.round(rng.exponential(10.0, n), 0) + 1.0  # with ties
    entry = np.where(rng.random(n) < 0.3, 0.4 * time, 0.0) if late else np.zeros(n)
    return time, rng.random(n) < 0.6, entry


@pytest.mark.parametrize("late", [False, True])
def test_the_curve_is_that_of_scikit_survival(late):
    time, event, entry = observed(late=late)
    curve = KaplanMeier.fit(time, event, entry)
    steps, survival = kaplan_meier_estimator(event, time, time_enter=entry if late else None)
    np.testing.assert_allclose([curve.at(step) for step in steps[steps >= curve.steps[0]]], survival[steps >= curve.steps[0]])


def test_the_curve_has_corners_at_events_and_ends_with_the_observed_times():
    curve = KaplanMeier.fit(np.array([2.0, 3.0, 5.0]), np.array([True, False, False]), np.zeros(3))
    x, alive = curve.path()
    np.testing.assert_allclose(x, [0.0, 2.0, 5.0])
    np.testing.assert_allclose(alive, [1.0, 2.0 / 3.0, 2.0 / 3.0])
    assert curve.at(1.9) == 1.0
    assert np.isnan(curve.at(5.1))
    assert np.isnan(curve.interval(5.1)).all()


@pytest.mark.parametrize("n_events", [0, 1, 7, 19, 20])
def test_without_censoring_the_interval_is_wilsons(n_events):
    time = np.where(np.arange(20) < n_events, 1.0 + np.arange(20) / 40.0, 3.0)
    curve = KaplanMeier.fit(time, np.ones(20, dtype=bool), np.zeros(20))
    wanted = binomtest(20 - n_events, 20).proportion_ci(0.9, method="wilson")
    np.testing.assert_allclose(curve.interval(2.0, 0.9), wanted, atol=1e-12)


def test_with_censoring_the_interval_has_greenwoods_variance():
    time, event, entry = observed()
    _, survival, bounds = kaplan_meier_estimator(event, time, conf_type="log-log")
    at = np.unique(time)[5]
    alive = survival[5]
    theta = (np.log(-np.log(bounds[0, 5])) - np.log(-np.log(alive))) / norm.ppf(0.975)  # scikit-survival's, on the log-log scale
    variance = (theta * alive * np.log(alive)) ** 2
    n = alive * (1.0 - alive) / variance
    low, high = KaplanMeier.fit(time, event, entry).interval(at)
    for bound in (low, high):  # Wilson's bounds solve this equation
        assert abs(bound - alive) == pytest.approx(norm.ppf(0.975) * np.sqrt(bound * (1.0 - bound) / n))


def test_rows_without_observation_do_not_count():
    y = np.array([(True, 2.0), (False, 0.0), (False, 3.0)], dtype=[("event", bool), ("time", float)])
    curve, rows = KaplanMeier.of(y)
    assert rows.tolist() == [True, False, True]
    assert curve.survival.tolist() == [0.5]
    with pytest.raises(ValueError, match="nothing was observed of 'time'"):
        KaplanMeier.of(y[1:2])
    with pytest.raises(ValueError, match="endpoint must be one of 'os', 'rfs'"):
        KaplanMeier.of(hm.datasets.load_nvalt8()[1], "pfs")
