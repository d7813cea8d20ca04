"""Whole fits to weighted rows: a weight of two is the row twice, of zero none; weights can undo a selection."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from tests.weighted_tables import present, repeated, states

QUICK = {"n_hidden": 2, "trainer": hm.Exact(n_starts=2), "random_state": 0}


@pytest.fixture(scope="module")
def weighted():
    X, y = hm.datasets.load_nvalt8()
    X, y = X.iloc[:90], y.iloc[:90]
    return X, y, np.random.default_rng(0).integers(0, 4, 90).astype(float)


def curves(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_survival_function(X, times=[6.0, 12.0, 24.0], return_array=True)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["conditional", "joint", 0.5])
def test_a_fit_to_weighted_rows_is_one_to_repeated_rows(weighted, objective):
    X, y, weights = weighted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = hm.SurvivalHarmonium(objective=objective, **QUICK).fit(X, y, weights)
        other = hm.SurvivalHarmonium(objective=objective, **QUICK).fit(*repeated(weights, X, y))
    np.testing.assert_allclose(curves(one, X), curves(other, X), atol=1e-3)
    assert one.n_covariate_units_ == other.n_covariate_units_
    assert one.l2_ == pytest.approx(other.l2_, rel=0.01)
    assert one.encoding_.endpoints[0].counts == other.encoding_.endpoints[0].counts
    assert (one.n_rows_, other.n_rows_) == ((weights > 0.0).sum(), weights.sum())


@pytest.mark.parametrize("objective", ["conditional", "joint"])
def test_a_fit_does_not_depend_on_rows_of_weight_zero(weighted, objective):
    X, y, weights = weighted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = hm.SurvivalHarmonium(objective=objective, **QUICK).fit(X, y, weights)
        other = hm.SurvivalHarmonium(objective=objective, **QUICK).fit(*present(weights, X, y), weights[weights > 0.0])
    np.testing.assert_array_equal(one.parameters_.to_vector(), other.parameters_.to_vector())


def test_a_cohort_is_like_the_weighted_rows(weighted):
    """A weight counts in the distribution of covariates."""
    X, y, _ = weighted
    settings = {**QUICK, "n_hidden": 1, "trainer": hm.Exact(n_starts=1, max_iter=20)}
    heavy = np.where(X["gender_female"] == 1, 30.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, loaded = (hm.SurvivalHarmonium(**settings).fit(X, y, own) for own in (None, heavy))
    share = [(model.sample(400, random_state=0)[0]["gender_female"] == 1).mean() for model in (plain, loaded)]
    expected = [np.average(X["gender_female"] == 1, weights=own) for own in (None, heavy)]
    np.testing.assert_allclose(share, expected, atol=0.08)


def test_states_with_weights():
    X, y, weights = states(80)
    settings = {"n_hidden": 1, "trainer": hm.Exact(n_starts=1, l2=1.0), "random_state": 0}
    one = hm.SurvivalHarmonium(**settings).fit(X, y, weights)
    other = hm.SurvivalHarmonium(**settings).fit(*repeated(weights, X, y))
    a, b = (model.predict_state_probabilities(X[:4], times=[5.0, 10.0]) for model in (one, other))
    for state in a:
        np.testing.assert_allclose(a[state], b[state], atol=1e-3)


def test_more_units_than_can_be_enumerated():
    X, y, weights = states(30)
    X, y = X[["arm"]], y.drop(columns=[("death", "terminal")])
    settings = {"n_hidden": 15, "trainer": hm.Exact(n_starts=1, l2=1.0, max_iter=3), "random_state": 0}
    one = hm.SurvivalHarmonium(**settings).fit(X, y, weights)
    other = hm.SurvivalHarmonium(**settings).fit(*repeated(weights, X, y))
    np.testing.assert_allclose(one.parameters_.to_vector(), other.parameters_.to_vector(), atol=1e-4)


def test_the_contrastive_trainer_repeats_rows():
    X, y, weights = states(30)
    y = y.drop(columns=[("death", "terminal")])
    settings = {"n_hidden": 2, "objective": "joint", "trainer": hm.Contrastive(n_epochs=3), "random_state": 0}
    one = hm.SurvivalHarmonium(**settings).fit(X, y, weights)
    other = hm.SurvivalHarmonium(**settings).fit(*repeated(weights, X, y))
    np.testing.assert_allclose(one.parameters_.to_vector(), other.parameters_.to_vector(), rtol=1e-9)
    with pytest.raises(ValueError, match=r"must be whole numbers; found 1.5. Use the exact trainer"):
        hm.SurvivalHarmonium(**settings).fit(X, y, np.full(30, 1.5))
    part = hm.SurvivalHarmonium(**settings).partial_fit(X, y, weights)
    np.testing.assert_allclose(
        part.parameters_.to_vector(), hm.SurvivalHarmonium(**settings).partial_fit(*repeated(weights, X, y)).parameters_.to_vector()
    )


def test_validation_data_may_have_weights(weighted):
    X, y, weights = weighted
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=15), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, y, validation=(X, y, weights)).history_["validation"].dropna().iloc[0]
        expected = model.fit(X, y, validation=repeated(weights, X, y)).history_["validation"].dropna().iloc[0]
    assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"\(X, y\) or \(X, y, sample_weight\); found a tuple of 4"):
        model.fit(X, y, validation=(X, y, weights, None))


def test_a_model_file_keeps_weighted_counts(tmp_path, weighted):
    X, y, weights = weighted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=3), random_state=0).fit(X, y, weights + 0.25)
    model.save(tmp_path / "model.harmonium")
    again = hm.load(tmp_path / "model.harmonium")
    assert again.encoding.endpoints[0].counts == model.encoding_.endpoints[0].counts
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_intervals_count_weights_as_subjects():
    X, y, weights = states(60)
    y = y.drop(columns=[("death", "terminal")])
    settings = {"n_hidden": 1, "trainer": hm.Exact(n_starts=1, l2=2.0), "random_state": 0}
    found = []
    for table in ((X, y, weights), repeated(weights, X, y)):
        survival = hm.SurvivalHarmonium(**settings).fit(*table).prognosis(X[:5]).survival("death", [5.0, 10.0], interval=0.9)
        found.append(np.asarray(survival.upper) - np.asarray(survival.lower))
    np.testing.assert_allclose(found[0], found[1], rtol=0.02, atol=1e-3)


class TestInverseProbabilityWeights:
    """Who is treated depends on severity, which is not in the model; weights by the inverse probability of treatment undo it."""

    TIMES = np.array([4.0, 8.0, 12.0])

    def truth(self, arm):
        """Survival of everybody under one arm: severe and mild subjects are as many."""
        mild, severe = (np.exp(-self.TIMES * rate * (0.6 if arm else 1.0)) for rate in (0.05, 0.25))
        return 0.5 * (mild + severe)

    def simulated(self, n, seed):
        rng = np.random.default_rng(seed)
        severe = rng.random(n) < 0.5
        chance = np.where(severe, 0.8, 0.2)  # of treatment
        arm = rng.random(n) < chance
        time = rng.exponential(1.0 / (np.where(severe, 0.25, 0.05) * np.where(arm, 0.6, 1.0)))
        end = rng.uniform(10.0, 25.0, n)
        weights = np.where(arm, 0.5 / chance, 0.5 / (1.0 - chance))
        frame = pd.DataFrame({"arm": arm.astype(int), "time": np.minimum(time, end), "event": time <= end})
        return frame[["arm"]], hm.endpoints(frame, death=("time", "event")), weights

    def survival(self, X, y, weights):
        model = hm.SurvivalHarmonium(3, trainer=hm.Exact(n_starts=2), random_state=0).fit(X, y, weights)
        return model.predict_survival_function(pd.DataFrame({"arm": [0, 1]}), times=self.TIMES, return_array=True)

    def test_they_remove_the_bias_of_a_selection(self):
        X, y, weights = self.simulated(4000, seed=0)
        truth = np.array([self.truth(0), self.truth(1)])
        plain, undone = (self.survival(X, y, own) for own in (None, weights))
        assert (plain[1] < plain[0]).all()  # treatment seems to harm
        assert np.abs(plain - truth).max() > 0.12
        assert (undone[1] > undone[0]).all()
        assert np.abs(undone - truth).max() < 0.035

    def test_they_remove_it_from_the_kaplan_meier_curve_and_from_metrics(self):
        X, y, weights = self.simulated(4000, seed=1)
        arm = X["arm"].to_numpy() == 1
        predicted = np.where(arm[:, None], self.truth(1), self.truth(0))
        scores = [hm.metrics.brier_score(y, predicted, self.TIMES, sample_weight=own) for own in (None, weights)]
        for own in (arm, ~arm):
            spread = truth_of_brier(self.truth(1) if own is arm else self.truth(0))
            found = hm.metrics.brier_score(y[own], predicted[own], self.TIMES, sample_weight=weights[own])
            np.testing.assert_allclose(found, spread, atol=0.02)
        assert np.abs(scores[1] - 0.5 * (truth_of_brier(self.truth(0)) + truth_of_brier(self.truth(1)))).max() < 0.015


def truth_of_brier(survival):
    """Of a prediction that is right: its variance."""
    return survival * (1.0 - survival)
