"""Covariate units: what they leave as it was, what they put right, and what they refuse."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter

import harmonium as hm
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.model.fitted import Fitted
from harmonium.model.fitting import _in_turn, encode_training_table
from harmonium.model.joint_training import CovariatesBeside, JointTraining
from harmonium.training.history import History
from harmonium.training.penalised import PenalisedLikelihood, prior_precisions

QUICK = hm.Exact(n_starts=1)


@pytest.fixture(scope="module")
def gbsg2():
    return hm.datasets.load_gbsg2()


@pytest.fixture(scope="module")
def model(gbsg2):
    return hm.SurvivalHarmonium(3, trainer=QUICK, random_state=0).fit(*gbsg2)


def with_units(fitted, units):
    return Fitted(fitted.encoding, fitted.parameters, fitted.training, covariate_units=units)


@given(seed=st.integers(0, 2**32 - 1), n_units=st.integers(0, 5), size=st.floats(0.0, 3.0))
def test_complete_rows_are_predicted_as_without_them(model, gbsg2, seed, n_units, size):
    """Whatever the units are: p(outcomes | complete covariates) is that of the prognostic part; and what is enumerated agrees."""
    fitted, X = model.fitted_, gbsg2[0][:5]
    rng, n = np.random.default_rng(seed), model.fitted_.covariate_units.bias.size
    coupled = np.concatenate([unit.coupled for unit in fitted.encoding.layout.units])[:n]
    bias = fitted.covariate_units.bias * rng.uniform(0.5, 2.0, n)
    units = CovariateUnits(bias, size * rng.normal(size=(n, n_units)) * coupled[:, None], rng.normal(size=n_units))
    times = [200.0, 1000.0, 2000.0]
    without = with_units(fitted, None).predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(with_units(fitted, units).predict_survival_function(X, times=times, return_array=True), without, atol=1e-9)
    whole = Fitted(fitted.encoding, units.joined(fitted.parameters), fitted.training)  # all units enumerated together
    np.testing.assert_allclose(whole.predict_survival_function(X, times=times, return_array=True), without, atol=1e-9)


def test_they_do_not_couple_to_outcomes(model):
    fitted = model.fitted_
    coupling = fitted.whole_parameters.natural().coupling
    assert fitted.n_covariate_units == 4
    assert not coupling[fitted.encoding.layout.outcome_statistics, fitted.n_hidden :].any()
    assert np.abs(coupling[: fitted.covariate_units.bias.size, fitted.n_hidden :]).max() > 0.1


def test_rows_with_gaps_see_both_kinds_of_units(model, gbsg2):
    """Summing covariate units out is the same as enumerating all units together."""
    fitted, X = model.fitted_, gbsg2[0][:40].mask(np.random.default_rng(0).random((40, 8)) < 0.4)
    whole = Fitted(fitted.encoding, fitted.whole_parameters, fitted.training)
    times = [200.0, 1000.0, 2000.0]
    expected = whole.predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(model.predict_survival_function(X, times=times, return_array=True), expected, atol=1e-12)
    assert np.abs(with_units(fitted, None).predict_survival_function(X, times=times, return_array=True) - expected).max() > 0.05
    np.testing.assert_allclose(model.transform(X), whole.transform(X)[:, :3], atol=1e-12)


def test_likelihoods_are_those_of_all_units(model, gbsg2):
    fitted, X, y = model.fitted_, gbsg2[0][:30].mask(np.random.default_rng(1).random((30, 8)) < 0.3), gbsg2[1][:30]
    whole = Fitted(fitted.encoding, fitted.whole_parameters, fitted.training)
    for kind in ("conditional", "joint"):
        np.testing.assert_allclose(model.log_likelihood(X, y, kind=kind), whole.log_likelihood(X, y, kind=kind), atol=1e-9)


@pytest.mark.parametrize("study", ["arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11"])
def test_knowing_nothing_is_knowing_the_average(study):
    """Of a subject of whom nothing is known the model says what it says of its training rows on average.

    That is close to Kaplan-Meier, as far as its standard error lets one tell. Not where another event ends the observation of an endpoint
    and goes with it: symptomatic metastases of NVALT-11, which death censors.
    """
    X, y = hm.datasets.load_study(study)
    model = hm.SurvivalHarmonium(random_state=0, trainer=hm.Exact(n_starts=2)).fit(X, y)
    nothing = X[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
    for e, name in enumerate(model.endpoint_names_):
        known = y[name, "lower"] > 0.0
        time, event = y[name, "lower"][known].to_numpy(), np.isfinite(y[name, "upper"][known]).to_numpy()
        grid = np.unique(np.quantile(time, np.linspace(0.1, 0.9, 17), method="inverted_cdf"))
        found, rows = (model.predict_survival_function(table, endpoint=name, times=grid, return_array=True) for table in (nothing, X))
        assert np.abs(found[0] - rows.mean(axis=0)).max() < 0.015
        if model.encoding_.observation.ended_by[e]:
            assert (study, name) == ("nvalt11", "sbmfs")
            continue
        curve = KaplanMeierFitter().fit(time, event)
        dead, at_risk = curve.event_table["observed"], curve.event_table["at_risk"]
        greenwood = (dead / (at_risk * (at_risk - dead))).cumsum().asof(grid)
        error = np.sqrt(greenwood.to_numpy()) * curve.predict(grid).to_numpy()
        near = 0.04 if study == "democracy" else 0.025  # whose times are whole years
        assert (np.abs(found[0] - curve.predict(grid).to_numpy()) < np.maximum(near, 1.5 * error)).all()


def test_where_training_rows_have_gaps_both_parts_are_trained_in_turn():
    """The prognostic part gains from knowing how covariates are distributed: given that, its penalised likelihood is higher."""
    X, y = hm.datasets.load_ncctg()
    estimator = hm.SurvivalHarmonium(3, trainer=QUICK, random_state=0)
    objective = encode_training_table(estimator.recipe(), X, y).objective(1.0)
    alone = QUICK.fit(objective, 3, rng=np.random.default_rng(0), history=History())
    covariates = CovariatesBeside.of(objective, QUICK, 3, 1.0, 2).fitted(alone.parameters)
    training = JointTraining.of_rows(objective, alone.parameters, covariates, 1)
    (after,), covariates, (rows,) = _in_turn(training, covariates, [QUICK], [alone], None, 1)
    assert after.n_evaluations > alone.n_evaluations
    np.testing.assert_allclose(np.bincount(rows.subject, rows.row_weights), 1.0)
    assert not incomplete_rows(rows.recorded).any()
    own = replace(training.objectives[0], log_prior=training._prior(covariates, [after.parameters]))
    coordinates = own.coordinates(3)
    problem = PenalisedLikelihood(own.likelihood(3), coordinates, own.n_rows, prior_precisions(coordinates, alone.l2))
    losses = [problem.loss(coordinates.from_natural(fit.parameters.natural()))[0] for fit in (alone, after)]
    assert losses[1] < losses[0] - 1e-4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_covariate_units": -1}, '"auto" or a whole number that is not negative; found -1'),
        ({"n_covariate_units": "many"}, "found 'many'"),
        ({"n_covariate_units": True}, "found True"),
        ({"n_covariate_units": 2, "objective": "joint"}, 'go with objective="conditional"'),
        ({"n_covariate_units": 2, "trainer": hm.Contrastive(n_epochs=1)}, "the contrastive trainer has no covariate units"),
        ({"n_covariate_units": 11}, "may be 14 together"),
    ],
)
def test_numbers_of_no_use_are_refused(gbsg2, settings, message):
    with pytest.raises(ValueError, match=message):
        hm.SurvivalHarmonium(4, **settings).fit(*gbsg2)


def test_none_may_be_asked_for(gbsg2):
    """Then covariates' biases and scales are learned all the same, and gaps are answered."""
    model = hm.SurvivalHarmonium(2, n_covariate_units=0, trainer=QUICK, random_state=0).fit(*gbsg2)
    assert model.fitted_.n_covariate_units == 0
    assert model.fitted_.covariate_units.bias.size > 0
    two = hm.SurvivalHarmonium(2, n_covariate_units=2, trainer=QUICK, random_state=0).fit(*gbsg2)
    assert two.fitted_.n_covariate_units == 2
    assert two.log_likelihood(*gbsg2, kind="joint").mean() > model.log_likelihood(*gbsg2, kind="joint").mean() + 0.1


def test_neither_seed_nor_coding_decides_what_they_learn(gbsg2):
    """Given the same prognostic part: another order of columns, other names of levels and other signs give the same predictions."""
    X, y = gbsg2
    one = hm.SurvivalHarmonium(0, random_state=0).fit(X, y)
    other_x = X[X.columns[::-1]].assign(age=-X["age"])
    other = hm.SurvivalHarmonium(0, random_state=1).fit(other_x, y)
    likelihoods = [m.fitted_.log_likelihood(table, y, kind="joint") for m, table in ((one, X), (other, other_x))]
    np.testing.assert_allclose(*likelihoods, atol=1e-6)


def test_one_column_and_no_column():
    rng = np.random.default_rng(0)
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(5.0, 80), "e": 1}), t=("t", "e"))
    model = hm.SurvivalHarmonium(2, trainer=QUICK, random_state=0).fit(pd.DataFrame({"x": rng.normal(size=80)}), y)
    assert model.fitted_.n_covariate_units == 2  # prognostic units tie even one column to the times
    assert np.isfinite(model.predict(pd.DataFrame({"x": [np.nan]}))).all()
