"""The prior that the data choose, and how many hidden units they get."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.model.fitting import encode_training_table
from harmonium.training.choice import hidden_units_for
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.penalised import Prior, prior_precisions

QUICK = Exact(n_starts=2)


def simulated(n_rows, seed=0):
    """Two covariates, of which the first decides on the time."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"strong": rng.normal(size=n_rows), "noise": rng.normal(size=n_rows)})
    return X, hm.endpoints(pd.DataFrame({"t": rng.exponential(np.exp(X["strong"])), "e": 1}), death=("t", "e"))


def objective_of(X, y, **settings):
    recipe = hm.SurvivalHarmonium(**settings).recipe()
    return encode_training_table(recipe, X, y).objective(recipe.conditional)


def test_a_column_of_noise_has_a_stronger_prior():
    fit = QUICK.fit(objective_of(*simulated(300)), 2, rng=np.random.default_rng(0), history=History())
    noise, strong = fit.l2.covariates  # by name
    assert noise > 2.0 * strong


def test_precisions_are_those_of_a_grid():
    """So that digits in which two searches differ are none of the prior's."""
    fit = QUICK.fit(objective_of(*simulated(300)), 2, rng=np.random.default_rng(0), history=History())
    steps = 16.0 * np.log2([*fit.l2.covariates, fit.l2.outcomes])
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def test_the_evidence_keeps_the_prior_of_sharp_times_weak():
    """The three-way problem's densities are narrow."""
    X, y = hm.datasets.make_three_way(500, random_state=0)
    objective = objective_of(X, y, objective="joint", time_scale="linear", horizon=1)
    fit = Exact().fit(objective, 4, rng=np.random.default_rng(0), history=History())
    assert fit.l2.outcomes < 0.05


def test_precisions_of_a_prior():
    """Couplings of a covariate have its own, those of outcomes theirs, biases none."""
    coordinates = objective_of(*simulated(20)).coordinates(3)
    hidden, couplings, biases = coordinates.split(prior_precisions(coordinates, Prior(np.array([2.0, 7.0]), 0.05)))
    assert (couplings[~coordinates.of_outcomes] == np.array([[2.0], [7.0]])).all()
    assert (couplings[coordinates.of_outcomes] == 0.05).all()
    assert (biases == 0.0).all()
    assert (hidden > 0.0).all()
    same = prior_precisions(coordinates, Prior(np.array([2.0, 2.0])))
    np.testing.assert_array_equal(same, prior_precisions(coordinates, 2.0))


@pytest.mark.parametrize(("n_rows", "n_units"), [(999, 4), (1000, 6)])
def test_units_grow_with_events(n_rows, n_units):
    X, y = simulated(n_rows)
    assert hidden_units_for(objective_of(X, y)) == n_units


def test_the_number_of_units_may_be_left_to_the_table():
    model = hm.SurvivalHarmonium(trainer=Exact(n_starts=1), random_state=0).fit(*hm.datasets.load_nvalt8())
    assert model.fitted_.n_hidden == 4
    assert model.fitted_.training.settings["n_hidden"] == 4
