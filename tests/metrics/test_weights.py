"""Weights in metrics: a weight of two is the row twice, of zero none, and their unit does not matter."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

import harmonium as hm
from harmonium.metrics import scorers
from harmonium.metrics.brier import integrated
from harmonium.metrics.concordance import harrell, uno
from harmonium.metrics.observed import Estimate, mean_of, right_censored
from harmonium.metrics.splitting import MultiEndpointStratifiedKFold
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import ProductLimit
from tests.weighted_tables import present, repeated, states, tables

TIMES = [6.0, 10.0, 14.0]


def metrics_of(y, risk, curves, own, sample_weight=None):
    """All metrics of an endpoint that take weights."""
    weights = {"sample_weight": sample_weight}
    observed = right_censored(parse_endpoints(y), quiet=True, **weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "harrell": harrell(observed, risk[:, 0], with_error=True),
            "uno": uno(observed, observed, risk[:, 0], with_error=True),
            "concordance": hm.metrics.concordance_index(y, risk[:, 0], **weights),
            "ipcw": hm.metrics.concordance_index_ipcw(y, risk[:, 0], **weights),
            "brier": hm.metrics.brier_score(y, curves, TIMES, **weights),
            "ibs": integrated(observed, observed, curves, TIMES),
            "calibration": hm.metrics.d_calibration(y, own, **weights).proportions,
            "statistic": hm.metrics.d_calibration(y, own, **weights).statistic,
            "global": hm.metrics.global_concordance(y, risk, **weights),
            "local": hm.metrics.local_concordance(y, risk, **weights),
            "joint": hm.metrics.joint_concordance(y, risk, **weights),
            "grid": hm.metrics.central_times(y, **weights),
            "kaplan-meier": observed.kaplan_meier().at(TIMES),
        }


def predictions(n, seed=0):
    rng = np.random.default_rng(seed)
    curves = np.sort(rng.random((n, len(TIMES))), axis=1)[:, ::-1]
    return rng.normal(size=(n, 2)).round(1), curves, rng.random(n)


def numbers(answer):
    """A value and its standard error, without every subject's influence on it."""
    return answer[:2] if isinstance(answer, Estimate) else answer


def assert_same(found, expected, leave_out=(), rtol=1e-9):
    for name in found:
        if name not in leave_out:
            np.testing.assert_allclose(numbers(found[name]), numbers(expected[name]), rtol=rtol, atol=1e-12, err_msg=name)


@settings(max_examples=40)
@given(tables(), st.integers(0, 100))
def test_a_weight_of_two_is_the_row_twice(table, seed):
    _, y, weights = table
    predicted = predictions(len(y), seed)
    longer = [np.repeat(values, weights.astype(int), axis=0) for values in predicted]
    assert_same(metrics_of(y, *predicted, weights), metrics_of(*repeated(weights, y), *longer))


@settings(max_examples=25)
@given(tables(), st.integers(0, 100))
def test_a_weight_of_zero_is_absence(table, seed):
    _, y, weights = table
    predicted, kept = predictions(len(y), seed), weights > 0.0
    fewer = [values[kept] for values in predicted]
    assert_same(metrics_of(y, *predicted, weights), metrics_of(*present(weights, y), *fewer, weights[kept]))


@settings(max_examples=25)
@given(tables(smallest=1), st.sampled_from([0.25, 3.0]))
def test_the_unit_of_weights_does_not_matter(table, factor):
    _, y, weights = table
    predicted = predictions(len(y))
    found, scaled = (metrics_of(y, *predicted, own) for own in (weights, factor * weights))
    number_of_subjects = ("harrell", "uno", "ibs", "statistic", "grid")  # errors, a test's statistic and a default grid depend on it
    assert_same(found, scaled, leave_out=number_of_subjects)
    for name in ("harrell", "uno", "ibs"):
        np.testing.assert_allclose(found[name].value, scaled[name].value)
    np.testing.assert_allclose(found["harrell"].standard_error, np.sqrt(factor) * scaled["harrell"].standard_error)


def test_equal_weights_of_one_change_nothing():
    _, y, _ = states(40)
    y = y["recurrence"][["lower", "upper"]].set_axis(pd.MultiIndex.from_product([["recurrence"], ["lower", "upper"]]), axis=1)
    predicted = predictions(len(y))
    risk = np.repeat(predicted[0][:, :1], 1, axis=1)
    assert_same(metrics_of(y, risk, *predicted[1:], np.ones(len(y))), metrics_of(y, risk, *predicted[1:]), rtol=1e-12)


def test_metrics_where_a_terminal_event_may_come_first():
    _, y, weights = states(60)
    rng = np.random.default_rng(1)
    risk, incidence = rng.normal(size=60), np.sort(rng.random((60, 3)), axis=1)
    (longer,) = repeated(weights, y)
    rows = np.repeat(np.arange(60), weights.astype(int))
    for metric, predicted in (
        (hm.metrics.competing_concordance, (risk,)),
        (hm.metrics.incidence_brier_score, (incidence, TIMES)),
        (hm.metrics.integrated_incidence_brier_score, (incidence, TIMES)),
    ):
        again = (predicted[0][rows], *predicted[1:])
        np.testing.assert_allclose(metric(y, *predicted, sample_weight=weights), metric(longer, *again))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(states(60)[0], y)
    of_states = model.predict_state_probabilities(states(60)[0], times=TIMES)
    again = {state: values[rows] for state, values in of_states.items()}
    found = hm.metrics.state_brier_score(y, of_states, TIMES, sample_weight=weights)
    np.testing.assert_allclose(found, hm.metrics.state_brier_score(longer, again, TIMES))
    np.testing.assert_allclose(hm.metrics.aalen_johansen(y, TIMES, sample_weight=weights), hm.metrics.aalen_johansen(longer, TIMES))


@pytest.mark.parametrize("terminal", [False, True])
def test_evaluate(terminal):
    X, y, weights = states(60)
    if not terminal:
        y = y.drop(columns=[("death", "terminal")])
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=10), random_state=0).fit(X, y)
    found = hm.evaluate(model, X, y, sample_weight=weights)
    longer_X, longer_y = repeated(weights, X, y)
    pd.testing.assert_frame_equal(found, hm.evaluate(model, longer_X, longer_y), check_dtype=False, rtol=1e-9)
    assert model.score(X, y, weights) == pytest.approx(model.score(longer_X, longer_y))


def test_a_mean_of_weighted_values():
    values, weights = np.array([1.0, 2.0, 5.0]), np.array([2.0, 1.0, 3.0])
    np.testing.assert_allclose(mean_of(values, weights)[:2], mean_of(np.repeat(values, [2, 1, 3]))[:2])


def test_kaplan_meier_ends_at_zero_whatever_the_weights():
    rng = np.random.default_rng(0)
    time = rng.exponential(size=200)
    curve = ProductLimit.of_events(time, np.ones(200, dtype=bool), weights=rng.uniform(0.1, 3.0, 200))
    assert curve.survival[-1] == 0.0
    assert (np.diff(curve.survival) < 0.0).all()


class TestScikitLearn:
    """Weights as scikit-learn passes them."""

    X, y, weights = states(60)
    y = y.drop(columns=[("death", "terminal")])
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0)

    @pytest.mark.filterwarnings("ignore::harmonium.errors.MetricWarning")
    @pytest.mark.parametrize("name", [name for name in scorers.__all__ if name != "neg_energy_score_scorer"])
    def test_every_scorer_takes_weights(self, name):
        X, y, weights = states(60)
        competing = "competing" in name or "incidence" in name
        y = y if competing else y.drop(columns=[("death", "terminal")])
        model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(X, y)
        scorer = getattr(scorers, name)
        scorer = partial(scorer, time=10.0) if name == "neg_brier_score_scorer" else scorer
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = scorer(model, X, y, sample_weight=weights), scorer(model, *repeated(weights, X, y))
        assert found == pytest.approx(expected, rel=1e-9)

    def test_a_search_over_settings_passes_weights_to_fit(self):
        search = GridSearchCV(self.model, {"n_hidden": [0, 1]}, cv=2).fit(self.X, self.y, sample_weight=self.weights)
        alone = sklearn.clone(search.best_estimator_).fit(self.X, self.y, self.weights)
        np.testing.assert_array_equal(search.predict(self.X), alone.predict(self.X))

    def test_metadata_routing_passes_weights_to_fit_and_scorer(self):
        class Watched(hm.SurvivalHarmonium):
            def fit(self, X, y, sample_weight=None):
                self.seen_ = sample_weight
                return super().fit(X, y, sample_weight)

        watched = Watched(**self.model.get_params(deep=False))
        with sklearn.config_context(enable_metadata_routing=True):
            watched = watched.set_fit_request(sample_weight=True)
            done = cross_validate(
                watched,
                self.X,
                self.y,
                scoring=hm.metrics.weighted_scorer(scorers.concordance_index_scorer),
                cv=2,
                params={"sample_weight": self.weights},
                return_estimator=True,
                return_indices=True,
            )
        for k, model in enumerate(done["estimator"]):
            train, test = done["indices"]["train"][k], done["indices"]["test"][k]
            np.testing.assert_array_equal(model.seen_, self.weights[train])
            own = hm.metrics.concordance_index(
                self.y.iloc[test], model.predict(self.X.iloc[test], endpoint="recurrence"), sample_weight=self.weights[test]
            )
            assert done["test_score"][k] == pytest.approx(own)


class TestGroups:
    """Rows of one group stay together."""

    def test_folds_do_not_divide_groups(self):
        X, y, _ = states(90)
        groups = np.random.default_rng(0).integers(0, 12, 90)
        tests = [test for _, test in MultiEndpointStratifiedKFold(4, shuffle=True, random_state=0).split(X, y, groups)]
        assert sorted(np.concatenate(tests)) == list(range(90))
        for test in tests:
            assert not set(groups[test]) & set(np.delete(groups, test))

    def test_groups_of_one_row_are_no_groups(self):
        X, y, _ = states(50)
        cv = MultiEndpointStratifiedKFold(3)
        for (_, a), (_, b) in zip(cv.split(X, y), cv.split(X, y, [f"g{row}" for row in range(50)]), strict=True):
            np.testing.assert_array_equal(a, b)

    def test_refused(self):
        X, y, _ = states(10)
        cv = MultiEndpointStratifiedKFold(3)
        with pytest.raises(ValueError, match="at least as many groups as folds; found 2 and 3"):
            list(cv.split(X, y, [0, 1] * 5))
        with pytest.raises(ValueError, match="groups must not be missing; found none in row 1"):
            list(cv.split(X, y, ["a", None, *"bcdefghi"]))

    def test_the_choice_by_cross_validation_takes_groups_and_weights(self):
        X, y, weights = states(60)
        quick = hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0)
        groups = np.arange(60) // 3
        search = hm.SurvivalHarmoniumCV(n_hidden=(0, 1), objective=("conditional",), cv=GroupKFold(3), estimator=quick)
        found = search.fit(X, y, sample_weight=weights, groups=groups).cv_results_
        assert np.isfinite(found["mean"]).all()
        own = hm.SurvivalHarmoniumCV(n_hidden=(0, 1), objective=("conditional",), cv=3, estimator=quick).fit(X, y, weights, groups)
        assert np.isfinite(own.cv_results_["standard_error"]).all()
