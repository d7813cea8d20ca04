"""Scorers give the metrics of what an estimator says, to scikit-learn."""

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

import harmonium as hm
from harmonium import metrics
from harmonium.metrics import MetricWarning, scorers
from tests.metrics.exponential import NAMES, ExponentialTimes, cohort, entering_late
from tests.metrics.tables import INF, table

ALL = {
    "concordance_index": scorers.concordance_index_scorer,
    "concordance_index_ipcw": partial(scorers.concordance_index_ipcw_scorer, tau=2.0),
    "neg_brier_score": partial(scorers.neg_brier_score_scorer, time=1.0),
    "neg_integrated_brier_score": scorers.neg_integrated_brier_score_scorer,
    "neg_d_calibration": scorers.neg_d_calibration_scorer,
    "global_concordance": scorers.global_concordance_scorer,
    "local_concordance": scorers.local_concordance_scorer,
    "joint_concordance": scorers.joint_concordance_scorer,
    "log_likelihood": scorers.log_likelihood_scorer,
    "neg_energy_score": scorers.neg_energy_score_scorer,
}


def test_every_scorer_works_in_cross_validation():
    of_terminal_endpoints = {"competing_concordance_scorer", "neg_integrated_incidence_brier_score_scorer"}  # in test_competing.py
    assert {f"{name}_scorer" for name in ALL} == set(scorers.__all__) - of_terminal_endpoints
    assert set(scorers.__all__) < set(metrics.__all__)
    X, y = cohort()
    found = cross_validate(ExponentialTimes(), X, y, scoring=ALL, cv=3, error_score="raise")
    for name in ALL:
        assert np.isfinite(found[f"test_{name}"]).all(), name
    for name in ("neg_brier_score", "neg_integrated_brier_score", "neg_d_calibration", "neg_energy_score"):
        assert (found[f"test_{name}"] < 0.0).all(), name


def test_a_scorer_is_the_metric_of_the_fold():
    """All of them, on one fold, against the functions on arrays."""
    X, y = cohort()
    model, times = ExponentialTimes(), np.array([0.2, 0.5, 1.0])
    curves = {name: np.exp(-np.outer(X[name], times)) for name in NAMES}
    own = {name: np.exp(-X[name] * y[name, "lower"]) for name in NAMES}
    risk = X[list(NAMES)].to_numpy()

    for k in NAMES:
        by_name = {"endpoint": k}
        assert scorers.concordance_index_scorer(model, X, y, **by_name) == metrics.concordance_index(y, X[k], **by_name)
        uno = metrics.concordance_index_ipcw(y, X[k], **by_name, tau=2.0)
        assert scorers.concordance_index_ipcw_scorer(model, X, y, **by_name, tau=2.0) == uno
        brier = metrics.brier_score(y, curves[k][:, [1]], 0.5, **by_name)[0]
        assert scorers.neg_brier_score_scorer(model, X, y, time=0.5, **by_name) == -brier
        integrated = metrics.integrated_brier_score(y, curves[k], times, **by_name)
        assert scorers.neg_integrated_brier_score_scorer(model, X, y, times=times, **by_name) == -integrated
        calibration = metrics.d_calibration(y, own[k], **by_name, n_bins=5)
        assert scorers.neg_d_calibration_scorer(model, X, y, n_bins=5, **by_name) == pytest.approx(-calibration.statistic, rel=1e-12)
    assert scorers.global_concordance_scorer(model, X, y) == metrics.global_concordance(y, risk)
    assert scorers.joint_concordance_scorer(model, X, y) == metrics.joint_concordance(y, risk)
    assert scorers.log_likelihood_scorer(model, X, y) == model.log_likelihood(X, y).mean()
    draws = model.draw_times(X, n_draws=30, random_state=4)
    assert scorers.neg_energy_score_scorer(model, X, y, n_draws=30, random_state=4) == -metrics.energy_score(y, draws)


ONE_ENDPOINT = ["concordance_index", "concordance_index_ipcw", "neg_brier_score", "neg_integrated_brier_score", "neg_d_calibration"]


@pytest.mark.parametrize("name", ONE_ENDPOINT)
def test_without_a_name_it_is_the_first_endpoint(name):
    X, y = cohort()
    assert ALL[name](ExponentialTimes(), X, y) == ALL[name](ExponentialTimes(), X, y, endpoint="relapse")


def test_without_times_they_are_the_central_ones():
    X, y = cohort()
    for k in NAMES:
        times = metrics.central_times(y, endpoint=k)
        at = y[k, "lower"][y[k, "lower"] == y[k, "upper"]]
        np.testing.assert_allclose(times, np.linspace(*np.quantile(at, [0.1, 0.9]), 60))
        given = scorers.neg_integrated_brier_score_scorer(ExponentialTimes(), X, y, endpoint=k, times=times)
        assert scorers.neg_integrated_brier_score_scorer(ExponentialTimes(), X, y, endpoint=k) == given
    with pytest.raises(ValueError, match="times must be 'central' or hold numbers; found 'middle'"):
        scorers.neg_integrated_brier_score_scorer(ExponentialTimes(), X, y, times="middle")


def test_predicted_times_of_local_concordance_are_means_until_the_last_observed_time():
    X, y = cohort()
    last = y.xs("lower", axis=1, level=1).to_numpy().max()
    rates = X[list(NAMES)].to_numpy()
    means = (1.0 - np.exp(-rates * last)) / rates
    assert scorers.local_concordance_scorer(ExponentialTimes(), X, y) == pytest.approx(metrics.local_concordance(y, means), abs=0.02)
    swapped = X.rename(columns=dict(zip(NAMES, NAMES[::-1], strict=True)))
    assert scorers.local_concordance_scorer(ExponentialTimes(), X, y) > 0.6
    assert scorers.local_concordance_scorer(ExponentialTimes(), swapped, y) < 0.4


@pytest.mark.parametrize("name", [name for name in ALL if "concordance" not in name])
def test_the_right_model_scores_higher_than_one_that_is_too_early(name):
    X, y = cohort(400)
    right, early = (ALL[name](ExponentialTimes(factor), X, y) for factor in (1.0, 2.0))
    assert right > early


def test_the_censoring_may_come_from_the_training_rows():
    X, y = cohort()
    y_train, X_test, y_test = y[:100], X[100:], y[100:]
    times = np.array([0.2, 0.5, 1.0])
    given = scorers.neg_integrated_brier_score_scorer(ExponentialTimes(), X_test, y_test, times=times, endpoint="death", y_train=y_train)
    curves = np.exp(-np.outer(X_test["death"], times))
    assert given == -metrics.integrated_brier_score(y_test, curves, times, endpoint="death", y_train=y_train)
    assert given != scorers.neg_integrated_brier_score_scorer(ExponentialTimes(), X_test, y_test, times=times, endpoint="death")


@pytest.mark.parametrize("name", ["concordance_index", "neg_integrated_brier_score", "neg_d_calibration", "neg_energy_score"])
def test_with_constant_rates_only_the_time_since_entry_matters(name):
    """Who entered late is known to have survived until then."""
    X, y = cohort()
    late = entering_late(y, 3.0)
    assert ALL[name](ExponentialTimes(), X, late) == pytest.approx(ALL[name](ExponentialTimes(), X, y), rel=1e-9)


def test_grid_search_finds_the_right_model():
    X, y = cohort(300)
    settings = {"scoring": scorers.neg_energy_score_scorer, "cv": KFold(3), "error_score": "raise"}
    search = GridSearchCV(ExponentialTimes(), {"factor": [0.3, 1.0, 3.0]}, **settings)
    assert search.fit(X, y).best_params_ == {"factor": 1.0}


def test_an_endpoint_without_events_has_no_score():
    X, _ = cohort(4)
    y = table(relapse=[(1, 1), (2, 2), (3, INF), (4, 4)], death=[(1, INF), (2, INF), (3, INF), (4, INF)])
    for name in ONE_ENDPOINT[:-1]:
        with pytest.warns(MetricWarning, match="'death' is undefined: there are no events"):
            assert np.isnan(ALL[name](ExponentialTimes(), X, y, endpoint="death"))
    with pytest.warns(MetricWarning, match="'death' is undefined"):
        assert scorers.global_concordance_scorer(ExponentialTimes(), X, y) == scorers.concordance_index_scorer(ExponentialTimes(), X, y)


def test_an_endpoint_that_does_not_exist_is_named():
    X, y = cohort(5)
    with pytest.raises(ValueError, match="endpoint must be one of 'relapse', 'death'; found 'dearth'"):
        scorers.neg_d_calibration_scorer(ExponentialTimes(), X, y, endpoint="dearth")


def test_a_missing_likelihood_makes_it_nan():
    class Silent(ExponentialTimes):
        def log_likelihood(self, X, y):
            return np.full(len(X), np.nan)

    X, y = cohort(5)
    with pytest.warns(MetricWarning, match="missing for some rows"):
        assert np.isnan(scorers.log_likelihood_scorer(Silent(), X, y))
    with pytest.warns(MetricWarning, match="there are no rows"):
        assert np.isnan(scorers.log_likelihood_scorer(Silent(), X[:0], y[:0]))


def test_scorers_take_a_harmonium():
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(n_hidden=1, random_state=0).fit(X, y)
    assert scorers.global_concordance_scorer(model, X, y) == pytest.approx(model.score(X, y), abs=1e-12)
    assert scorers.log_likelihood_scorer(model, X, y) == pytest.approx(model.log_likelihood(X, y).mean())
    assert 0.1 < -scorers.neg_integrated_brier_score_scorer(model, X, y, times=[12, 24, 36]) < 0.25
    assert scorers.neg_brier_score_scorer(model, X, y, time=24.0, endpoint="os") < 0.0
    assert scorers.local_concordance_scorer(model, X, y) > 0.9  # recurrence-free survival ends with death at the latest
    assert 0.25 < scorers.joint_concordance_scorer(model, X, y) <= scorers.global_concordance_scorer(model, X, y)
    assert scorers.neg_d_calibration_scorer(model, X, y) < 0.0
    assert 0.5 < scorers.concordance_index_ipcw_scorer(model, X, y, tau=36.0) < 0.9
