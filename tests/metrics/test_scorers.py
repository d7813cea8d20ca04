"""Scorers give the metrics of what an estimator says, to scikit-learn."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

import harmonium as hm
from harmonium import metrics
from harmonium.metrics import MetricWarning, scorers
from tests.metrics.tables import INF, table

NAMES = ("relapse", "death")


class ExponentialTimes(BaseEstimator):
    """Knows the rate of every event from the covariates; ``factor`` makes it wrong."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        return self

    def _rates(self, X):
        return self.factor * X[list(NAMES)].to_numpy()

    def predict(self, X, endpoint=None):
        return X[endpoint].to_numpy()

    def predict_survival_function(self, X, endpoint=None, times=None, *, return_array=False):
        assert return_array
        return np.exp(-np.outer(self._rates(X)[:, NAMES.index(endpoint)], times))

    def log_likelihood(self, X, y):
        rates = self._rates(X)
        event, time = (y.xs("lower", axis=1, level=1) == y.xs("upper", axis=1, level=1)).to_numpy(), y.xs("lower", axis=1, level=1)
        return (event * np.log(rates) - rates * time.to_numpy()).sum(axis=1)

    def draw_times(self, X, n_draws, random_state):
        rates = self._rates(X)
        return np.random.default_rng(random_state).exponential(size=(n_draws, *rates.shape)) / rates


def cohort(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.gamma(2.0, 0.5, (n, 2)), columns=NAMES)
    times, end = rng.exponential(size=(n, 2)) / X.to_numpy(), rng.exponential(2.0, n)
    columns = {}
    for e, name in enumerate(NAMES):
        columns[name] = np.minimum(times[:, e], end)
        columns[f"{name} seen"] = times[:, e] <= end
    return X, hm.endpoints(pd.DataFrame(columns), **{name: (name, f"{name} seen") for name in NAMES})


ALL = {
    "concordance_index": scorers.concordance_index,
    "concordance_index_ipcw": partial(scorers.concordance_index_ipcw, tau=2.0),
    "neg_brier_score": partial(scorers.neg_brier_score, time=1.0),
    "neg_integrated_brier_score": scorers.neg_integrated_brier_score,
    "neg_d_calibration": scorers.neg_d_calibration,
    "global_concordance": scorers.global_concordance,
    "local_concordance": scorers.local_concordance,
    "joint_concordance": scorers.joint_concordance,
    "log_likelihood": scorers.log_likelihood,
    "neg_energy_score": scorers.neg_energy_score,
}


def test_every_scorer_works_in_cross_validation():
    assert set(ALL) == set(scorers.__all__)
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

    def mean(metric):
        return pytest.approx(np.mean([metric(name) for name in NAMES]), rel=1e-12)

    assert scorers.concordance_index(model, X, y) == mean(lambda k: metrics.concordance_index(y, X[k], endpoint=k))
    assert scorers.concordance_index(model, X, y, endpoint="death") == metrics.concordance_index(y, X["death"], endpoint="death")
    assert scorers.concordance_index_ipcw(model, X, y, tau=2.0) == mean(
        lambda k: metrics.concordance_index_ipcw(y, X[k], endpoint=k, tau=2.0)
    )
    assert scorers.neg_brier_score(model, X, y, time=0.5) == mean(lambda k: -metrics.brier_score(y, curves[k][:, [1]], 0.5, endpoint=k)[0])
    assert scorers.neg_integrated_brier_score(model, X, y, times=times) == mean(
        lambda k: -metrics.integrated_brier_score(y, curves[k], times, endpoint=k)
    )
    assert scorers.neg_d_calibration(model, X, y, n_bins=5) == mean(
        lambda k: -metrics.d_calibration(y, own[k], endpoint=k, n_bins=5).statistic
    )
    assert scorers.global_concordance(model, X, y) == metrics.global_concordance(y, risk)
    assert scorers.joint_concordance(model, X, y) == metrics.joint_concordance(y, risk)
    assert scorers.log_likelihood(model, X, y) == model.log_likelihood(X, y).mean()
    draws = model.draw_times(X, n_draws=30, random_state=4)
    assert scorers.neg_energy_score(model, X, y, n_draws=30, random_state=4) == -metrics.energy_score(y, draws)


def test_predicted_times_of_local_concordance_are_means_until_the_last_recording():
    X, y = cohort()
    last = y.xs("lower", axis=1, level=1).to_numpy().max()
    rates = X[list(NAMES)].to_numpy()
    means = (1.0 - np.exp(-rates * last)) / rates
    assert scorers.local_concordance(ExponentialTimes(), X, y) == pytest.approx(metrics.local_concordance(y, means), abs=0.02)
    swapped = X.rename(columns=dict(zip(NAMES, NAMES[::-1], strict=True)))
    assert scorers.local_concordance(ExponentialTimes(), X, y) > 0.6
    assert scorers.local_concordance(ExponentialTimes(), swapped, y) < 0.4


@pytest.mark.parametrize("name", [name for name in ALL if "concordance" not in name])
def test_the_right_model_scores_higher_than_one_that_is_too_early(name):
    X, y = cohort(400)
    right, early = (ALL[name](ExponentialTimes(factor), X, y) for factor in (1.0, 2.0))
    assert right > early


def test_the_censoring_may_come_from_the_training_rows():
    X, y = cohort()
    y_train, X_test, y_test = y[:100], X[100:], y[100:]
    times = np.array([0.2, 0.5, 1.0])
    given = scorers.neg_integrated_brier_score(ExponentialTimes(), X_test, y_test, times=times, endpoint="death", y_train=y_train)
    curves = np.exp(-np.outer(X_test["death"], times))
    assert given == -metrics.integrated_brier_score(y_test, curves, times, endpoint="death", y_train=y_train)
    assert given != scorers.neg_integrated_brier_score(ExponentialTimes(), X_test, y_test, times=times, endpoint="death")


def test_late_entry_is_taken_into_account_by_d_calibration():
    """Who entered late is known to have survived until then: with a constant rate, only the time since entry matters."""
    X, y = cohort()
    late = y.copy()
    for name in NAMES:
        late[name, "lower"], late[name, "upper"], late[name, "entry"] = y[name, "lower"] + 3.0, y[name, "upper"] + 3.0, 3.0
    late = late[[(name, kind) for name in NAMES for kind in ("lower", "upper", "entry")]]
    model = ExponentialTimes()
    assert scorers.neg_d_calibration(model, X, late) == pytest.approx(scorers.neg_d_calibration(model, X, y), rel=1e-9)


def test_grid_search_finds_the_right_model():
    X, y = cohort(300)
    settings = {"scoring": scorers.neg_energy_score, "cv": KFold(3), "error_score": "raise"}
    search = GridSearchCV(ExponentialTimes(), {"factor": [0.3, 1.0, 3.0]}, **settings)
    assert search.fit(X, y).best_params_ == {"factor": 1.0}


def test_an_endpoint_without_events_is_left_out_of_the_mean():
    X, _ = cohort(4)
    y = table(relapse=[(1, 1), (2, 2), (3, INF), (4, 4)], death=[(1, INF), (2, INF), (3, INF), (4, INF)])
    for name in ("concordance_index", "concordance_index_ipcw", "neg_brier_score", "neg_integrated_brier_score"):
        settings = {"time": 2.0} if name == "neg_brier_score" else {}
        scorer = partial(getattr(scorers, name), ExponentialTimes(), X, y, **settings)
        with pytest.warns(MetricWarning, match="'death' is undefined"):
            assert scorer() == scorer(endpoint="relapse")
        with pytest.warns(MetricWarning, match="'death' is undefined"):
            assert np.isnan(scorer(endpoint="death"))


def test_an_endpoint_that_does_not_exist_is_named():
    X, y = cohort(5)
    with pytest.raises(ValueError, match="endpoint must be one of 'relapse', 'death'; found 'dearth'"):
        scorers.neg_d_calibration(ExponentialTimes(), X, y, endpoint="dearth")


def test_a_missing_likelihood_makes_it_nan():
    class Silent(ExponentialTimes):
        def log_likelihood(self, X, y):
            return np.full(len(X), np.nan)

    X, y = cohort(5)
    with pytest.warns(MetricWarning, match="missing for some rows"):
        assert np.isnan(scorers.log_likelihood(Silent(), X, y))
    with pytest.warns(MetricWarning, match="there are no rows"):
        assert np.isnan(scorers.log_likelihood(Silent(), X[:0], y[:0]))


def test_scorers_take_a_harmonium():
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(n_hidden=1, n_starts=1, max_iter=5, random_state=0).fit(X, y)
    assert scorers.global_concordance(model, X, y) == pytest.approx(model.score(X, y), abs=1e-12)
    assert scorers.log_likelihood(model, X, y) == pytest.approx(model.log_likelihood(X, y).mean())
    assert 0.1 < -scorers.neg_integrated_brier_score(model, X, y, times=[12, 24, 36]) < 0.25
    assert scorers.neg_brier_score(model, X, y, time=24.0, endpoint="os") < 0.0
    assert scorers.local_concordance(model, X, y) > 0.9  # recurrence-free survival ends with death at the latest
    assert 0.25 < scorers.joint_concordance(model, X, y) <= scorers.global_concordance(model, X, y)
    assert scorers.neg_d_calibration(model, X, y) < 0.0
    assert 0.5 < scorers.concordance_index_ipcw(model, X, y, tau=36.0) < 0.9
