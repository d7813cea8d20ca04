"""Intervals of answers: on the right scale, along the right directions, the same after saving, and refused where there are none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter

import harmonium as hm
from harmonium.engine.parameters import Parameters
from harmonium.model.confidence import CORRELATION, EVENT, NO_EVENT, POSITIVE, SHARE, between, interval_of, standard_error
from harmonium.model.fitting import Recipe, encode_training_table
from harmonium.model.on_demand import OnDemand
from harmonium.model.row_likelihood import RowLikelihood
from harmonium.model.spread import LEADING, moved
from harmonium.model.spreading import _inverse, jumps_to
from harmonium.training.penalised import Prior

TIMES = [5.0, 10.0, 20.0]


def simulated(n, seed=0, unit=1.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, n), "arm": rng.integers(0, 2, n), "site": rng.choice(["a", "b", "c"], n)})
    risk = np.exp(0.05 * (X["age"] - 60.0) - 0.5 * X["arm"])
    time, end = 15.0 * rng.exponential(size=n) / risk, rng.uniform(5.0, 40.0, n)
    table = pd.DataFrame({"t": unit * np.minimum(time, end), "e": time <= end})
    return X, hm.endpoints(table, death=("t", "e"))


@pytest.fixture(scope="module")
def study():
    return simulated(200)


@pytest.fixture(scope="module")
def model(study):
    return hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(*study)


@pytest.fixture(scope="module")
def ordered():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    return X, hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)


# --- scales ---


@given(st.floats(0.0, 1.0), st.floats(0.0, 10.0), st.floats(0.01, 0.999))
def test_probabilities_stay_probabilities(share, error, level):
    for scale in (NO_EVENT, EVENT, SHARE):
        found = interval_of(np.array([share]), np.array([error]), level, scale)
        assert 0.0 <= found.lower[0] <= share + 1e-12
        assert share - 1e-12 <= found.upper[0] <= 1.0


@given(st.floats(1e-6, 1.0 - 1e-6), st.floats(0.0, 0.5))
def test_no_event_and_event_are_two_sides_of_one_interval(share, error):
    alive = interval_of(np.array([share]), np.array([error]), 0.9, NO_EVENT)
    happened = interval_of(1.0 - alive.estimate, np.array([error]), 0.9, EVENT)
    np.testing.assert_allclose([happened.lower, happened.upper], [1.0 - alive.upper, 1.0 - alive.lower], rtol=1e-6, atol=1e-9)


@given(st.floats(1e-3, 1e3), st.floats(0.0, 5.0))
def test_times_stay_within_their_bounds(time, error):
    positive = interval_of(np.array([time]), np.array([error]), 0.95, POSITIVE)
    bounded = interval_of(np.array([time]), np.array([error]), 0.95, between(0.0, 1e3 + 1.0))
    assert 0.0 <= positive.lower[0] <= time * (1.0 + 1e-9)
    assert 0.0 <= bounded.lower[0] <= bounded.upper[0] <= 1e3 + 1.0


@given(st.floats(1e-12, 1.0 - 1e-12), st.floats(1e-8, 100.0), st.sampled_from([NO_EVENT, EVENT, SHARE, between(0.0, 1.0)]))
def test_a_limit_is_at_a_bound_only_if_the_estimate_is(share, error, scale):
    found = interval_of(np.array([share, 0.0, 1.0]), np.array([error, 0.0, 0.0]), 0.95, scale)
    assert 0.0 < found.lower[0] <= share <= found.upper[0] < 1.0
    np.testing.assert_array_equal(found.lower[1:], [0.0, 1.0])
    np.testing.assert_array_equal(found.upper[1:], [0.0, 1.0])


def test_scales_go_there_and_back_with_the_slope_they_say():
    for scale, at in ((NO_EVENT, 0.3), (EVENT, 0.3), (SHARE, 0.3), (POSITIVE, 2.0), (CORRELATION, -0.4), (between(1.0, 3.0), 1.5)):
        value, step = np.array([at]), 1e-6
        np.testing.assert_allclose(scale.back(scale.there(value)), value)
        np.testing.assert_allclose((scale.there(value + step) - scale.there(value - step)) / (2 * step), scale.slope(value), rtol=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, "0.95", True])
def test_a_level_is_a_probability(model, study, level):
    with pytest.raises(ValueError, match="interval must be a probability"):
        model.prognosis(study[0][:2]).survival(times=TIMES, interval=level)


# --- directions ---


def without_linear_effects(spread):
    """So that averages deviate along directions only."""
    return replace(spread, linear=spread.linear[:0], linear_roots=spread.linear_roots[:0], linear_moves=spread.linear_moves[:0])


def survival(answerer):
    """At the usual times."""
    return answerer.survival((0,), np.array(TIMES)).mean


def test_the_variance_along_directions_is_that_of_the_covariance(model, study):
    """Beside a Jacobian by differences of its own, with every row's direct effects as a shift of its biases."""
    spread = without_linear_effects(model.fitted_.spread)
    prognosis = replace(model.fitted_, spreading=OnDemand(made=spread)).prognosis(study[0][:5])
    _, deviations = prognosis.deviations(lambda own: own.survival(times=TIMES), thorough=True)
    found = standard_error(deviations, np.zeros((5, 3)))
    size, step = spread.directions.shape[1], 1e-6
    free = np.flatnonzero((spread.directions != 0.0).any(axis=0))
    for row in range(5):
        single = model.prognosis(study[0][row : row + 1]).answerer
        base = survival(single)[0]
        jacobian = np.array([(survival(single.moved(step * np.eye(size)[k]))[0] - base) / step for k in free]).T
        shifts = spread.covariates(single.cells)[0] @ spread.effects[1:]
        whole = (spread.directions[1:] + shifts @ spread.biases)[:, free]
        np.testing.assert_allclose(found[row], np.sqrt(np.diagonal(jacobian @ whole.T @ whole @ jacobian.T)), rtol=0.05)


def test_few_directions_stand_for_all_of_them(ordered):
    X, model = ordered
    prognosis = model.prognosis(X[:50])

    def question(own):
        return own.cumulative_incidence("death", [6.0, 24.0])

    few, whole = (list(prognosis.deviations(question, thorough=thorough)[1]) for thorough in (False, True))
    spreads = [own.spread for own in model.fitted_.transitions.models]
    assert not any(len(own.jumps) for own in spreads)  # there was one start
    assert all(len(own.kept) > LEADING for own in spreads)
    assert len(few) % len(spreads) == 0
    displacements = range(0, len(few), len(few) // len(spreads))  # the first of each endpoint's directions
    few = [own for place, own in enumerate(few) if place not in displacements]
    errors = [standard_error(own, np.zeros((50, 2))) for own in (few, whole)]
    np.testing.assert_allclose(np.mean(errors[0]) / np.mean(errors[1]), 1.0, rtol=0.1)


def test_other_optima_count_by_the_chance_that_they_would_have_been_chosen(model, study):
    spread = without_linear_effects(model.fitted_.spread)
    prognosis = model.prognosis(study[0][:5])
    jump = 3.0 * spread.directions[1]

    def question(own):
        return own.survival(times=TIMES)

    away = survival(prognosis.answerer.moved(jump)) - question(prognosis)
    nothing = np.zeros((0, 2 + len(spread.kept), 1 + spread.unit.size))
    other = replace(spread, jumps=jump[None], chances=np.array([0.25]), linear_moves=nothing)
    prognosis.answerer.spreading = OnDemand(made=other)
    for thorough in (False, True):
        *_, last = prognosis.deviations(question, thorough=thorough)[1]
        np.testing.assert_allclose(last, 0.5 * away)


def test_rivals_are_followed_to_their_optimum(study):
    """One that is near the optimum itself is no jump away."""
    X, y = study
    recipe = hm.SurvivalHarmonium(3, trainer=hm.Exact(l2=1.0, n_starts=1), random_state=0)
    model = recipe.fit(X, y).fitted_
    rows = encode_training_table(Recipe.of(recipe), X, y).objective(1.0)
    near = moved(model.parameters, 0.3 * model.spread.directions[1])
    jumps, chances = jumps_to(model, rows, 1.0, [near])
    answerer = model.prognosis(X).answerer
    assert np.abs(survival(answerer.moved(jumps[0])) - survival(answerer)).max() < 0.02
    assert 0.0 <= chances[0] <= 1.0


def test_a_matrix_of_any_stiffness_is_inverted():
    stiff = np.diag([1e-6, 1.0, 1e12]) + 1e-7
    np.testing.assert_allclose(_inverse(stiff) @ stiff, np.eye(3), atol=1e-6)


def test_columns_that_repeat_each_other_and_parameters_at_bounds_do_no_harm():
    X, y = simulated(80, seed=3)
    X = X.assign(again=X["age"], constant_but_one=np.arange(80) == 0)
    model = hm.SurvivalHarmonium(3, trainer=hm.Exact(n_starts=1, l2=0.0), random_state=0).fit(X, y)
    found = model.prognosis(X).survival(times=TIMES, interval=0.95)
    assert np.isfinite(found.lower).all()
    assert np.isfinite(found.upper).all()
    assert (found.lower < found.estimate).all()


def test_without_hidden_units_the_interval_is_that_of_one_curve(study):
    X, y = study
    model = hm.SurvivalHarmonium(0, random_state=0).fit(X, y)
    prognosis = model.prognosis(X)
    error = standard_error(prognosis.deviations(lambda own: own.survival(times=[10.0]), thorough=True)[1], np.zeros((200, 1)))
    alive = float(prognosis.survival(times=[10.0])[0, 0])
    binomial = np.sqrt(alive * (1.0 - alive) / 200.0)
    no_effects = replace(without_linear_effects(model.fitted_.spread), effects=np.zeros_like(model.fitted_.spread.effects))
    own = replace(model.fitted_, spreading=OnDemand(made=no_effects)).prognosis(X[:1])
    plain = standard_error(own.deviations(lambda one: one.survival(times=[10.0]), thorough=True)[1], np.zeros((1, 1)))
    assert 0.7 * binomial < plain[0, 0] < 1.4 * binomial
    assert error.mean() > plain[0, 0]  # direct effects may be there


def test_the_prior_narrows_intervals(study):
    X, _ = study
    widths = []
    for precision in (0.5, 50.0):
        again = hm.SurvivalHarmonium(2, trainer=hm.Exact(l2=precision, n_starts=1), random_state=0).fit(*study)
        _, deviations = again.prognosis(X[:20]).deviations(lambda own: own.survival(times=TIMES), thorough=True)
        widths.append(float(standard_error(deviations, np.zeros((20, 3))).mean()))
    assert widths[1] < widths[0]


def test_more_rows_mean_narrower_intervals():
    widths = []
    for n in (150, 600):
        X, y = simulated(n, seed=1)
        model = hm.SurvivalHarmonium(2, trainer=hm.Exact(l2=2.0, n_starts=1), random_state=0).fit(X, y)
        found = model.prognosis(X[:40]).survival(times=TIMES, interval=0.95)
        widths.append(float(np.mean(found.upper - found.lower)))
    assert 0.35 < widths[1] / widths[0] < 0.75  # a half, more or less


def test_moving_by_nothing_changes_nothing(model):
    parameters = model.parameters_
    again = moved(parameters, np.zeros(model.fitted_.spread.directions.shape[1]))
    np.testing.assert_allclose(again.to_vector(), parameters.to_vector(), rtol=1e-12, atol=1e-14)


def test_a_unit_of_time_or_of_a_column_makes_no_difference():
    X, y = simulated(120, seed=2)
    _, in_days = simulated(120, seed=2, unit=30.0)
    recipe = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0)
    first = recipe.fit(X, y).prognosis(X[:5]).restricted_mean(until=20.0, interval=0.95)
    second = recipe.fit(X.assign(age=X["age"] * 100.0), in_days).prognosis(X[:5].assign(age=X["age"] * 100.0))
    np.testing.assert_allclose(np.array(second.restricted_mean(until=600.0, interval=0.95)) / 30.0, np.array(first), rtol=2e-2)


# --- answers ---


def test_every_answer_has_an_interval_around_it(model, study):
    prognosis = model.prognosis(study[0][:4])
    asked = {
        "survival": lambda **own: prognosis.survival(times=TIMES, **own),
        "cumulative_incidence": lambda **own: prognosis.cumulative_incidence(times=TIMES, **own),
        "cumulative_hazard": lambda **own: prognosis.cumulative_hazard(times=TIMES, **own),
        "density": lambda **own: prognosis.density(times=TIMES, **own),
        "hazard": lambda **own: prognosis.hazard(times=TIMES, **own),
        "survival_at": lambda **own: prognosis.survival_at(None, [5.0, 6.0, 7.0, 8.0], **own),
        "quantile": lambda **own: prognosis.quantile(q=0.25, **own),
        "median": prognosis.median,
        "restricted_mean": lambda **own: prognosis.restricted_mean(until=20.0, **own),
        "risk": prognosis.risk,
        "joint_survival": lambda **own: prognosis.joint_survival({"death": TIMES}, **own),
    }
    for name, question in asked.items():
        narrow, wide, plain = question(interval=0.5), question(interval=0.95), question()
        np.testing.assert_array_equal(wide.estimate, plain, err_msg=name)
        assert (wide.lower < narrow.lower).all(), name
        assert (narrow.lower < plain).all(), name
        assert (plain < narrow.upper).all(), name
        assert (narrow.upper <= wide.upper).all(), name


def test_states_have_intervals(ordered):
    X, model = ordered
    prognosis = model.prognosis(X[:3])
    found, plain = prognosis.state_probabilities([6.0, 24.0], interval=0.9), prognosis.state_probabilities([6.0, 24.0])
    assert list(found) == list(plain)
    for name, own in found.items():
        np.testing.assert_array_equal(own.estimate, plain[name])
        assert ((own.lower > 0.0) & (own.lower < own.estimate) & (own.upper < 1.0)).all()
    time = prognosis.time_in_states(until=24.0, interval=0.9)
    assert all((own.upper < 24.0).all() for own in time.values())
    quantile = prognosis.quantile("recurrence", 0.1, interval=0.9)
    assert (quantile.lower < quantile.estimate).all()
    happened = prognosis.cumulative_incidence("death", [24.0], interval=0.9)
    assert (happened.lower < happened.upper).all()


def test_where_nothing_is_uncertain_the_interval_is_a_point(model, study):
    X, y = study
    known = hm.landmark(y[:3], 4.0)
    found = model.prognosis(X[:3], given=known).survival(times=[1.0, 2.0], interval=0.95)
    alive = found.estimate == 1.0
    assert alive.any()
    np.testing.assert_array_equal(found.lower[alive], 1.0)
    np.testing.assert_array_equal(found.upper[alive], 1.0)


def test_a_quantile_that_is_not_reached_has_a_lower_bound():
    X, y = simulated(150, seed=4)
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    found = model.prognosis(X).quantile(q=0.97, interval=0.95)
    late = np.isinf(found.estimate)
    assert late.any()
    assert np.isinf(found.upper[late]).all()
    assert np.isfinite(found.lower[late]).any()


def test_the_estimator_passes_intervals_on(model, study):
    X = study[0][:2]
    curves = model.predict_survival_function(X, times=TIMES, interval=0.95)
    array = model.predict_survival_function(X, times=TIMES, interval=0.95, return_array=True)
    assert curves.lower[1](10.0) == array.lower[1, 1]
    assert model.predict(X, interval=0.9).upper.shape == (2,)
    assert model.predict_cumulative_incidence(X, times=TIMES, interval=0.9).lower.shape == (2, 3)
    assert model.predict_median(X, interval=0.9).lower.shape == (2,)
    with pytest.raises(ValueError, match="an interval or diagnostics"):
        model.predict_survival_function(X, times=TIMES, interval=0.95, return_diagnostics=True)


# --- files and other models ---


def test_a_saved_model_has_the_same_intervals_in_a_small_file(ordered, tmp_path):
    X, model = ordered
    path = tmp_path / "model.harmonium"
    model.save(path)
    assert path.stat().st_size < 1_000_000
    first, second = (own.prognosis(X[:3]).survival("death", [12.0], interval=0.95) for own in (model, hm.load(path)))
    np.testing.assert_allclose(first, second, rtol=1e-12)


def test_contrastive_training_has_no_intervals(study):
    X, y = study
    model = hm.SurvivalHarmonium(2, trainer=hm.Contrastive(n_epochs=2), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="trained without a likelihood"):
        model.prognosis(X[:1]).survival(times=TIMES, interval=0.95)


@settings(max_examples=5, deadline=None)
@given(st.floats(0.5, 20.0))
def test_a_spread_is_finite_and_ordered_whatever_the_prior(precision):
    X, y = simulated(60, seed=5)
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(l2=precision, n_starts=1), random_state=0).fit(X, y)
    spread = model.fitted_.spread
    assert spread.check(spread.directions.shape[1], spread.unit.size) is None
    assert (np.diff(spread.kept) >= -1e-12).all()
    assert spread.kept[-1] == pytest.approx(1.0)


def test_a_prior_may_be_one_number_or_one_for_each_column(study):
    X, y = study
    by_column = hm.SurvivalHarmonium(1, trainer=hm.Exact(l2=Prior(np.full(3, 4.0), 0.01), n_starts=1), random_state=0).fit(X, y)
    single = hm.SurvivalHarmonium(1, trainer=hm.Exact(l2=4.0, n_starts=1), random_state=0).fit(X, y)
    first, second = (own.prognosis(X[:5]).survival(times=TIMES, interval=0.95) for own in (by_column, single))
    np.testing.assert_allclose(first.lower, second.lower, rtol=1e-3)


def test_dependence_has_intervals_without_refits():
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    found, plain = model.dependence(X[:50], interval=0.95), model.dependence(X[:50])
    np.testing.assert_array_equal(found[["tau", "tau_given_covariates"]], plain)
    assert (found["tau_lower"] < found["tau"]).all()
    assert (found["tau"] < found["tau_upper"]).all()
    assert 0.0 < found["tau_given_covariates_lower"].iloc[0] < found["tau_given_covariates_upper"].iloc[0] < 1.0


@pytest.mark.parametrize("n_gaps", [1, 2])
def test_a_table_with_a_single_gap_has_intervals(n_gaps):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, 80), "stage": rng.choice(["I", "II", "III"], 80)})
    X.loc[: n_gaps - 1, "age"] = np.nan
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(20.0, 80) + 0.1, "e": rng.random(80) < 0.6}), os=("t", "e"))
    found = (
        hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0)
        .fit(X, y)
        .prognosis(X[:3])
        .survival("os", [12.0], interval=0.95)
    )
    assert ((found.lower < found.estimate) & (found.estimate < found.upper)).all()


def test_slopes_by_hidden_states_are_those_of_finite_differences(study):
    X, y = study
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = hm.SurvivalHarmonium(3, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    rows = encode_training_table(Recipe.of(model), X, y, model.fitted_).objective(1.0)
    likelihood, parameters = RowLikelihood(model.fitted_, rows), model.fitted_.parameters
    by_coupling, by_bias = likelihood.slopes(parameters)
    natural, base, step = parameters.natural(), likelihood.at(parameters), 1e-5
    coupled = rows.coordinates(3).coupled  # not the square of a number
    for s in np.flatnonzero(coupled[: by_coupling.shape[1]]):
        for j in range(3):
            coupling = natural.coupling.copy()
            coupling[s, j] += step
            moved = likelihood.at(Parameters.from_natural(rows.layout, replace(natural, coupling=coupling)))
            np.testing.assert_allclose((moved - base) / step, by_coupling[:, s, j], atol=2e-4)
    for j in range(3):
        bias = natural.hidden_bias.copy()
        bias[j] += step
        moved = likelihood.at(Parameters.from_natural(rows.layout, replace(natural, hidden_bias=bias)))
        np.testing.assert_allclose((moved - base) / step, by_bias[:, j], atol=2e-4)
    joint = RowLikelihood(model.fitted_, encode_training_table(Recipe.of(model), X, y, model.fitted_).objective(0.0))
    assert joint.slopes(parameters) is None


def test_one_quantity_has_one_interval():
    """A cause of death is an endpoint and a state; nobody's event is the survival of all endpoints."""
    X, _ = simulated(150, seed=2)
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"t": rng.exponential(10.0, 150), "cause": rng.choice(["censored", "death", "transplant"], 150)})
    y = hm.endpoints(table, event={"time": "t", "cause": "cause", "causes": {"death": "death", "transplant": "transplant"}})
    prognosis = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y).prognosis(X[:10])
    states = prognosis.state_probabilities(TIMES, interval=0.9)
    for name in ("death", "transplant"):
        np.testing.assert_allclose(states[name], prognosis.cumulative_incidence(name, TIMES, interval=0.9), rtol=1e-9)
    np.testing.assert_allclose(states["event-free"], prognosis.survival(("death", "transplant"), TIMES, interval=0.9), rtol=1e-9)


def test_with_nothing_known_the_interval_is_that_of_the_product_limit_estimate():
    """At most half as wide again, and around the estimate."""
    X, y = simulated(300, seed=8)
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    nothing = X[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
    found = model.prognosis(nothing).survival(times=TIMES, interval=0.95)
    time, event = y["death", "lower"].to_numpy(), np.isfinite(y["death", "upper"]).to_numpy()
    curve = KaplanMeierFitter().fit(time, event)
    limits = np.array([curve.confidence_interval_survival_function_.asof(t) for t in TIMES])
    assert (found.upper[0] - found.lower[0] < 1.5 * np.diff(limits, axis=1)[:, 0]).all()
    assert ((found.lower[0] < curve.predict(TIMES)) & (curve.predict(TIMES) < found.upper[0])).all()
