"""What weights of rows mean to an encoding and to an objective: repetition, absence, and the prior's share."""

import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonium as hm
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.model.endpoint_tables import EndpointSettings
from harmonium.model.fitting import encode_training_table
from harmonium.model.stored_values import to_json
from harmonium.training.choice import hidden_units_for
from harmonium.training.covariate_fit import fit_covariate_units, number_of_units
from harmonium.training.penalised import PenalisedLikelihood, Prior, prior_precisions
from tests.weighted_tables import present, repeated, states, tables

OBJECTIVES = st.sampled_from(["conditional", "joint", 0.4])
SCALES = st.sampled_from(["kaplan-meier", "linear", "log"])


def encoded(X, y, sample_weight=None, **settings):
    recipe = hm.SurvivalHarmonium(n_hidden=2, **settings).recipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = encode_training_table(recipe, X, y, sample_weight=sample_weight)
    return table, table.objective(recipe.conditional)


def assert_close(a, b, rtol=1e-8, atol=1e-9):
    """Two nested structures of numbers and words."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_close(a[key], b[key], rtol, atol)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_close(one, other, rtol, atol)
    elif isinstance(a, float):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
    else:
        assert a == b


def value_and_gradient(objective, seed=0):
    coordinates = objective.coordinates(2)
    z = np.random.default_rng(seed).normal(0.0, 0.3, coordinates.size)
    value, natural = objective.likelihood(2, 1).value_and_natural_gradient(coordinates.to_natural(coordinates.within_bounds(z)))
    return value, coordinates.pull_back(natural)


def ties_of(objective):
    lower, upper = objective.recorded.bounds()
    return [tuple(row) for row in np.unique(np.column_stack([lower[:, -2:], upper[:, -2:]]), axis=0)]


@settings(max_examples=40)
@given(tables(), OBJECTIVES, SCALES)
def test_a_weight_of_two_is_the_row_twice(table, objective, time_scale):
    X, y, weights = table
    one, weighted = encoded(X, y, weights, objective=objective, time_scale=time_scale)
    other, longer = encoded(*repeated(weights, X, y), objective=objective, time_scale=time_scale)
    assert_close(to_json(one.encoding, {}), to_json(other.encoding, {}))
    assert weighted.n_subjects == longer.n_subjects == weights.sum()
    np.testing.assert_allclose(ties_of(weighted), ties_of(longer), atol=1e-9)
    first, second = value_and_gradient(weighted), value_and_gradient(longer)
    np.testing.assert_allclose(first[0], second[0], rtol=1e-7)
    np.testing.assert_allclose(first[1], second[1], rtol=1e-5, atol=1e-6 * weights.sum())


@settings(max_examples=25)
@given(tables(), OBJECTIVES, SCALES)
def test_a_weight_of_zero_is_absence(table, objective, time_scale):
    X, y, weights = table
    one, weighted = encoded(X, y, weights, objective=objective, time_scale=time_scale)
    other, fewer = encoded(*present(weights, X, y), weights[weights > 0.0], objective=objective, time_scale=time_scale)
    assert one.encoding == other.encoding
    assert value_and_gradient(weighted)[0] == value_and_gradient(fewer)[0]


@settings(max_examples=25)
@given(tables(smallest=1), OBJECTIVES, st.sampled_from([0.37, 2.0, 9.5]))
def test_scaling_all_weights_changes_nothing_but_the_share_of_the_prior(table, objective, factor):
    X, y, weights = table
    plain = {"objective": objective, "time_scale": "linear", "numeric_scale": "linear"}
    one, weighted = encoded(X, y, weights, **plain)
    other, scaled = encoded(X, y, factor * weights, **plain)
    for a, b in zip(one.encoding.columns, other.encoding.columns, strict=True):
        assert_close(to_json(a, {}), to_json(b, {}))
    for a, b in zip(one.encoding.scales, other.encoding.scales, strict=True):
        assert_close(asdict(a), asdict(b))
    assert ties_of(weighted) == ties_of(scaled)
    coordinates = weighted.coordinates(2)  # those of the other differ by a prior too: half a subject of every level
    np.testing.assert_allclose(coordinates.mean, scaled.coordinates(2).mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(coordinates.scale, scaled.coordinates(2).scale, rtol=1e-9)
    z = coordinates.within_bounds(np.random.default_rng(1).normal(0.0, 0.3, coordinates.size))
    prior = prior_precisions(coordinates, Prior(np.full(4, 3.0), 0.1))
    losses = []
    for own, precisions in ((weighted, prior), (scaled, factor * prior)):
        found, slope = PenalisedLikelihood(own.likelihood(2, 1), coordinates, own.n_subjects, precisions).loss(z)
        losses.append(np.append(slope, found))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-8, atol=1e-10)


def test_ties_do_not_depend_on_whether_a_row_is_repeated_or_weighted_or_all_weights_are_scaled():
    time = np.array([[1.0], [2.0], [2.0], [3.0], [4.0]])
    y = pd.DataFrame({("os", "lower"): time.ravel(), ("os", "upper"): time.ravel()})
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0, 5.0]})
    weights = np.array([1.0, 1.0, 1.0, 2.0, 1.0])

    def wide(*arguments):
        lower, upper = encoded(*arguments, time_scale="linear", horizon=4.0)[1].recorded.bounds()
        return sorted({(float(a), float(b)) for a, b in zip(lower[:, -1], upper[:, -1], strict=True) if a < b})

    tied = [(0.25, 0.5), (0.5, 0.75)]
    assert wide(X, y, weights) == wide(*repeated(weights, X, y)) == tied
    assert wide(X, y, 10.0 * weights) == wide(X, y, 0.1 * weights) == tied
    twice = (pd.concat([X, X]), pd.concat([y, y]))
    assert wide(*twice) == wide(X, y) == [(0.25, 0.5)]  # a table twice has no ties that it had not once


def test_a_level_and_a_time_that_only_rows_of_weight_zero_have_are_unknown():
    X = pd.DataFrame({"stage": ["I", "II", "III", "I", "II"], "crp": [1.0, 2.0, 1e9, 3.0, 5.0]})
    time = np.array([1.0, 2.0, 900.0, 4.0, 5.0])
    y = hm.endpoints(pd.DataFrame({"t": time, "e": 1}), os=("t", "e"))
    encoding = encoded(X, y, [1, 1, 0, 1, 1])[0].encoding
    stage, crp = encoding.columns
    assert stage.levels == ("I", "II")
    assert crp.highest == 5.0
    assert encoding.endpoints[0].follow_up.last == 5.0
    assert encoding.endpoints[0].counts.rows == 4


def test_states_have_weights_too():
    X, y, weights = states(40)
    one, weighted = encoded(X, y, weights)
    other, longer = encoded(*repeated(weights, X, y))
    assert_close(to_json(one.encoding, {}), to_json(other.encoding, {}))
    np.testing.assert_allclose(value_and_gradient(weighted)[0], value_and_gradient(longer)[0], rtol=1e-8, atol=1e-12)
    settings = EndpointSettings(1.0, "kaplan-meier", None, "scores")
    for own, repeats in zip(one.endpoint_tables(settings), other.endpoint_tables(settings), strict=True):
        assert_close(to_json(own.form.encoding, {}), to_json(repeats.form.encoding, {}))
        values = [value_and_gradient(table.objective)[0] for table in (own, repeats)]
        assert values[0] < -1.0
        np.testing.assert_allclose(*values, rtol=1e-8)


def test_what_counts_rows_counts_weights():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(size=60), "e": 1}), os=("t", "e"))
    one, twenty = (encoded(X, y, np.full(60, weight))[1] for weight in (1.0, 20.0))
    assert (hidden_units_for(one), hidden_units_for(twenty)) == (4, 6)
    assert (number_of_units(one.recorded, 4, weights=one.subjects), number_of_units(twenty.recorded, 4, weights=twenty.subjects)) == (1, 4)


def test_covariate_units_of_weighted_rows():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd")).mask(rng.random((40, 4)) < 0.1)
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(size=40), "e": 1}), os=("t", "e"))
    weights = rng.integers(1, 4, 40).astype(float)
    weighted, longer = encoded(X, y, weights)[1], encoded(*repeated(weights, X, y))[1]
    start = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(X, y).parameters_
    a, b = (fit_covariate_units(own, start, 2) for own in (weighted, longer))
    assert isinstance(a, CovariateUnits)
    np.testing.assert_allclose(a.bias, b.bias, atol=1e-4)
    np.testing.assert_allclose(a.coupling, b.coupling, atol=1e-4)


def test_a_sample_of_weighted_rows_stands_for_all_subjects():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=2000)})
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(size=2000), "e": 1}), os=("t", "e"))
    weights = rng.uniform(0.5, 3.0, 2000)
    whole = encoded(X, y, weights)[1]
    sample = whole.sample(300, seed=0)
    assert sample.weights.sum() == pytest.approx(weights.sum())
    assert sample.subjects.sum() < weights.sum()
    assert value_and_gradient(sample)[0] == pytest.approx(value_and_gradient(whole)[0], rel=0.2)
