"""Where an endpoint is terminal: states, incidences and draws agree with each other, with quadrature and with what is known."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import harmonium as hm
from harmonium.errors import CompetingWarning, EndpointWarning
from harmonium.model.convolution import Entering, graded_edges, scale_edges
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.mixture import Mixture
from harmonium.table.time_scale import fit_time_scale
from tests.models import random_parameters

TIMES = np.array([0.0, 2.0, 5.0, 12.0, 24.0, 48.0, 72.0])


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt8(terminal=True)


@pytest.fixture(scope="module")
def model(study):
    trainer = hm.Exact(n_starts=1, max_iter=25)
    fitted = hm.SurvivalHarmonium(3, trainer=trainer, n_covariate_units=2, random_state=0).fit(*study).fitted_
    return replace(fitted, transitions=None)  # the model of whole courses, of all rows


@pytest.fixture(scope="module")
def anything():
    """Three events before death, in any order, and a model with random parameters."""
    rng = np.random.default_rng(0)
    n = 60
    death, end = rng.exponential(9.0, n), rng.uniform(3.0, 12.0, n)
    df = pd.DataFrame({"x": rng.normal(size=n), "death": np.minimum(death, end), "dead": death <= end})
    for name in ("a", "b"):
        time = rng.exponential(6.0, n)
        df[name], df[f"{name}_seen"] = np.minimum(time, df["death"]), time < df["death"]
    y = hm.endpoints(df, a=("a", "a_seen"), b=("b", "b_seen"), death=("death", "dead"), terminal="death")
    trainer = hm.Exact(n_starts=1, max_iter=5)
    fitted = hm.SurvivalHarmonium(2, trainer=trainer, n_covariate_units=0, random_state=0).fit(df[["x"]], y).fitted_
    return fitted, df[["x"]], y


def total(found):
    return np.sum(list(found.values()), axis=0)


# --- laws ---


@settings(max_examples=15, deadline=None)
@given(st.floats(0.0, 80.0), st.booleans())
def test_states_add_up_to_one_whatever_is_known(model, study, landmark, only_death):
    X, y = study
    known = hm.landmark(y[:40], landmark)
    known = known[["death"]] if only_death else known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.predict_state_probabilities(X[:40], times=TIMES, given=known)
    np.testing.assert_allclose(total(found), 1.0, rtol=0.0, atol=1e-12)
    assert min(own.min() for own in found.values()) >= 0.0


@settings(max_examples=10, deadline=None)
@given(st.floats(0.0, 60.0))
def test_incidences_rise_and_stay_below_one_minus_event_free_survival(model, study, landmark):
    X, y = study
    prognosis = model.prognosis(X[:40], given=hm.landmark(y[:40], landmark))
    any_event = prognosis.cumulative_incidence(("recurrence", "death"), TIMES)
    for name in ("recurrence", "death"):
        own = prognosis.cumulative_incidence(name, TIMES)
        assert (np.diff(own, axis=1) >= -1e-10).all()
        assert (own <= any_event + 1e-12).all()


@pytest.mark.parametrize("only_death", [False, True])
def test_tower_property(model, study, only_death):
    """What is said now is the mean of what will be said at a landmark."""
    X, _ = study
    X, later = X[:1], np.array([20.0, 40.0, 70.0])
    now = model.prognosis(X).state_probabilities(np.array([12.0, *later]))
    dead_then = {name: own[0, 0] for name, own in now.items() if name.startswith("death")}
    alive = pd.DataFrame({"t": [12.0], "e": [0]}, index=X.index)
    if only_death:
        known = hm.endpoints(alive, death=("t", "e"), terminal="death")
        then = model.prognosis(X, given=known).state_probabilities(later)
        weight = 1.0 - sum(dead_then.values())
        for name, own in then.items():
            np.testing.assert_allclose(weight * own[0] + dead_then.get(name, 0.0), now[name][0, 1:], atol=1e-10)
        return
    known = hm.endpoints(alive, recurrence=("t", "e"), death=("t", "e"), terminal="death")
    free = model.prognosis(X, given=known).survival("death", later)[0] * now["event-free"][0, 0]
    # those with a recurrence at r until then, and alive
    edges = np.linspace(0.0, 12.0, 601)
    into = np.diff(model.prognosis(X).cumulative_incidence("recurrence", edges)[0])
    middle = 0.5 * (edges[1:] + edges[:-1])
    frame = pd.DataFrame({"r": middle, "one": 1, "t": 12.0, "zero": 0})
    known = hm.endpoints(frame, recurrence=("r", "one"), death=("t", "zero"), terminal="death")
    many = X.iloc[np.zeros(600, dtype=int)].reset_index(drop=True)
    at_r = hm.endpoints(frame, recurrence=("r", "one"), death=("r", "zero"), terminal="death")
    still = model.prognosis(many, given=at_r).survival_at("death", np.full(600, 12.0))
    np.testing.assert_allclose((into * still).sum(), now["recurrence"][0, 0], atol=2e-4)
    recurred = (into * still) @ model.prognosis(many, given=known).survival("death", later)
    np.testing.assert_allclose(free + recurred, model.prognosis(X).survival("death", later)[0], atol=2e-4)


@pytest.mark.parametrize("landmark", [None, 12.0])
def test_exact_answers_equal_draws(model, study, landmark):
    X, y = study
    known = None if landmark is None else hm.landmark(y, landmark)
    drawn = model.draw_times(X, n_draws=100, given=known, random_state=1)
    recurrence, death = drawn[..., 0], drawn[..., 1]
    assert not (np.isfinite(recurrence) & (recurrence > death)).any()
    prognosis = model.prognosis(X, given=known)
    with np.errstate(invalid="ignore"):
        seen = {
            "event-free": (recurrence[..., None] > TIMES) & (death[..., None] > TIMES),
            "recurrence": (recurrence[..., None] <= TIMES) & (death[..., None] > TIMES),
            "death after recurrence": (death[..., None] <= TIMES) & (recurrence < np.inf)[..., None],
        }
    for name, exact in prognosis.state_probabilities(TIMES).items():
        if name in seen:
            assert np.abs(seen[name].mean(axis=(0, 1)) - exact.mean(axis=0)).max() < 0.012


# --- the integral ---


def brute_force(first, second, scales, time):
    """P(F + G <= time) by adaptive quadrature between the knots of both scales."""

    def integrand(u):
        at = np.array([u])
        density = np.exp(first.log_density(scales[0].to_unit(at))[0] + scales[0].log_slope(at))
        return float((density * (1.0 - second.survival(scales[1].to_unit(time - at))[0]))[0])

    knots = {*(scale_edges(scales[0])), *(time - scale_edges(scales[1])), 0.0, time}
    edges = sorted(knot for knot in knots if 0.0 <= knot <= min(time, scales[0].end))
    out = 0.0
    for a, b in pairwise(edges):

        def smoothed(z, a=a, b=b):  # ends flat, so that singularities there do no harm
            place = z**4 * (35.0 - 84.0 * z + 70.0 * z**2 - 20.0 * z**3)
            return integrand(a + (b - a) * place) * (b - a) * 140.0 * (z * (1.0 - z)) ** 3

        out += quad(smoothed, 0.0, 1.0, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
    return out


@settings(max_examples=12, deadline=None)
@given(st.floats(1.0, 12.0), st.floats(-10.0, 30.0), st.floats(1.0, 12.0), st.floats(-10.0, 30.0), st.floats(0.5, 9.9))
def test_two_episodes_equal_quadrature(k1, r1, k2, r2, time):
    rng = np.random.default_rng(1)
    scales = []
    for _ in range(2):
        t, c = rng.exponential(4.0, 80), rng.uniform(1.0, 10.0, 80)
        scales.append(fit_time_scale("kaplan-meier", np.minimum(t, c), np.where(t <= c, t, np.inf)))
    first, second = (EndpointStates(np.array([k]), np.array([r])) for k, r in ((k1, r1), (k2, r2)))
    kinks = scale_edges(scales[0])
    edges = graded_edges(0.0, 10.0, kinks, abs(k1 - 1.0 - r1))
    entering = Entering(edges, 1.0 - first.survival(scales[0].to_unit(Entering.nodes(edges))), kinks)
    found = entering.left(second, scales[1], np.array([time]))[0, 0]
    assert abs(found - brute_force(first, second, scales, time)) < 1e-9


# --- several events, several models ---


def test_several_passing_events_equal_draws(anything):
    fitted, X, _ = anything
    parameters = random_parameters(fitted.encoding.layout, 2, np.random.default_rng(3), strength=0.5)
    model = type(fitted)(fitted.encoding, parameters, fitted.training)
    at = np.array([1.0, 4.0, 8.0])
    exact = {name: own.mean(axis=0) for name, own in model.predict_state_probabilities(X, times=at).items()}
    assert len(exact) == 8
    np.testing.assert_allclose(sum(exact.values()), 1.0, atol=1e-12)
    drawn = model.draw_times(X, n_draws=400, random_state=0)[..., None] <= at
    a, b, death = drawn[:, :, 0], drawn[:, :, 1], drawn[:, :, 2]
    for name, seen in {"a": a & ~b & ~death, "a and b": a & b & ~death, "death after a and b": a & b & death}.items():
        assert np.abs(seen.mean(axis=(0, 1)) - exact[name]).max() < 0.015


def test_a_mixture_answers_as_the_mean_of_its_models(model, study):
    X, _ = study
    other = type(model)(model.encoding, random_parameters(model.encoding.layout, 3, np.random.default_rng(0), 0.3), model.training)
    mixture = Mixture((model, other), (0.25, 0.75))
    both = [own.predict_state_probabilities(X[:5], times=TIMES) for own in (model, other)]
    for name, found in mixture.predict_state_probabilities(X[:5], times=TIMES).items():
        np.testing.assert_allclose(found, 0.25 * both[0][name] + 0.75 * both[1][name], atol=1e-12)
    assert mixture.prognosis(X[:5]).median("death").shape == (5,)


# --- questions ---


def test_first_of_several_quantiles_and_means(model, study):
    X, y = study
    prognosis = model.prognosis(X[:20], given=hm.landmark(y[:20], 6.0))
    median = prognosis.quantile(("recurrence", "death"), 0.5)
    reached = np.isfinite(median)
    np.testing.assert_allclose(
        prognosis.survival_at(("recurrence", "death"), np.where(reached, median, 1.0))[reached & (median > 6.0)], 0.5
    )
    spent = prognosis.time_in_states(until=60.0)
    np.testing.assert_allclose(total(spent), 60.0, rtol=1e-10)
    alive = spent["event-free"] + spent["recurrence"]
    np.testing.assert_allclose(prognosis.restricted_mean("death", until=60.0), alive, rtol=1e-10)
    grid = np.linspace(0.0, 60.0, 4001)
    curve = prognosis.survival("death", grid)
    np.testing.assert_allclose(np.trapezoid(curve, grid, axis=1), alive, rtol=2e-3)


def test_survival_of_what_death_prevents_warns(model, study):
    X, _ = study
    with pytest.warns(CompetingWarning, match=r"'recurrence' can be prevented by 'death': what is answered is the probability of no"):
        alive = model.predict_survival_function(X[:3], endpoint="recurrence", times=TIMES, return_array=True)
    np.testing.assert_allclose(alive, 1.0 - model.predict_cumulative_incidence(X[:3], endpoint="recurrence", times=TIMES))


def test_what_is_known_is_answered(model, study):
    X, y = study
    found = model.predict_state_probabilities(X, times=TIMES, given=y)
    death, recurrence = y["death"], y["recurrence"]
    died = (death["lower"] == death["upper"]).to_numpy()
    dead = found["death without recurrence"] + found["death after recurrence"]
    np.testing.assert_array_equal(dead[died], np.where(death["lower"].to_numpy()[died, None] <= TIMES, 1.0, 0.0))
    recurred = (recurrence["lower"] == recurrence["upper"]).to_numpy()
    early = recurrence["lower"].to_numpy()[:, None] > TIMES
    np.testing.assert_allclose(found["event-free"][recurred], early[recurred].astype(float), atol=1e-15)


def test_dead_of_whom_it_is_not_known_whether_they_recurred(model, study):
    X, _ = study
    frame = pd.DataFrame({"r": [6.0], "zero": [0], "d": [30.0], "one": [1]}, index=X.index[:1])
    known = hm.endpoints(frame, recurrence=("r", "zero"), death=("d", "one"), terminal="death")
    found = model.predict_state_probabilities(X[:1], times=[5.0, 20.0, 29.9, 30.0], given=known)
    np.testing.assert_allclose(total(found), 1.0, atol=1e-12)
    assert found["event-free"][0, 0] == pytest.approx(1.0, abs=1e-12)
    dead = found["death without recurrence"] + found["death after recurrence"]
    np.testing.assert_allclose(dead[0], [0.0, 0.0, 0.0, 1.0], atol=1e-12)
    assert 0.0 < found["death after recurrence"][0, 3] < 1.0


def test_what_is_not_available_is_refused(model, study):
    X, y = study
    prognosis = model.prognosis(X[:2])
    with pytest.raises(ValueError, match="Ask for joint_survival, or for the density of one endpoint"):
        prognosis.joint_density({"death": TIMES})
    with pytest.raises(ValueError, match="Kendall's tau is not identified"):
        model.dependence(X)
    with pytest.raises(ValueError, match="at most 14 hidden units"):
        hm.SurvivalHarmonium(15).fit(X, y)
    with pytest.raises(ValueError, match="the horizon must be one time for all endpoints"):
        hm.SurvivalHarmonium(1, horizon={"death": 100.0}).fit(X, y)
    plain = hm.SurvivalHarmonium(0, trainer=hm.Exact(max_iter=2)).fit(*hm.datasets.load_nvalt8())
    with pytest.raises(ValueError, match="the model knows of no terminal endpoint"):
        plain.predict_state_probabilities(X[:2], times=TIMES)


# --- draws and files ---


def test_imputations_and_cohorts_have_a_possible_order(model, study):
    X, y = study
    for completed in (model.impute(X, y, random_state=0)[0][1], model.sample(300, random_state=0)[1], model.sample(300, censored=True)[1]):
        again = hm.landmark(completed, 1e6)  # reads and checks it
        assert again[("death", "terminal")].all()
    completed = model.impute(X, y, random_state=0)[0][1]
    seen = (y["death"]["lower"] == y["death"]["upper"]).to_numpy()
    np.testing.assert_array_equal(completed["death"]["lower"][seen], y["death"]["lower"][seen])


def test_a_file_keeps_it(model, study, tmp_path):
    X, y = study
    model.save(tmp_path / "m")
    loaded = hm.load(tmp_path / "m")
    assert loaded.encoding == model.encoding
    known = hm.landmark(y, 12.0)
    for name, own in model.predict_state_probabilities(X, times=TIMES, given=known).items():
        np.testing.assert_array_equal(own, loaded.predict_state_probabilities(X, times=TIMES, given=known)[name])


def test_likelihood_of_a_row_equals_quadrature_over_its_paths(model, study):
    """Probabilities of what may be seen until 24 months add up to one."""
    X, _ = study
    row = X[:1]
    free = pd.DataFrame({"t": [24.0], "zero": [0]}, index=row.index)
    nothing = hm.endpoints(free, recurrence=("t", "zero"), death=("t", "zero"), terminal="death")
    edges = np.linspace(0.0, 24.0, 201)
    middle = 0.5 * (edges[1:] + edges[:-1])
    many = row.iloc[np.zeros(200, dtype=int)].reset_index(drop=True)
    frame = pd.DataFrame({"t": middle, "one": 1, "zero": 0})
    died = hm.endpoints(frame, recurrence=("t", "zero"), death=("t", "one"), terminal="death")
    recurred = hm.endpoints(frame, recurrence=("t", "one"), death=("t", "zero"), terminal="death")
    width = edges[1] - edges[0]
    parts = [np.exp(model.log_likelihood(many, y)).sum() * width for y in (died, recurred)]
    assert abs(float(np.exp(model.log_likelihood(row, nothing))[0]) + sum(parts) - 1.0) < 1e-4


def test_where_nobody_was_observed_after_an_event_a_warning_says_so_and_incidence_is_right(study):
    X, y = study
    first = y["recurrence"]["lower"] == y["recurrence"]["upper"]
    death = (y["death"]["lower"] == y["death"]["upper"]) & ~first
    frame = pd.DataFrame({"t": y["recurrence"]["lower"].where(first, y["death"]["lower"]), "recurred": first, "died": death})
    ended = hm.endpoints(frame, recurrence=("t", "recurred"), death=("t", "died"), terminal="death")
    model = hm.SurvivalHarmonium(2, random_state=0)
    with pytest.warns(EndpointWarning, match=r"nobody was observed after 'recurrence'.*terminal=\('recurrence', 'death'\)"):
        model.fit(X, ended)
    incidence = model.predict_cumulative_incidence(X, times=TIMES[1:], endpoint="recurrence")
    observed = hm.metrics.aalen_johansen(ended, TIMES[1:], endpoint="recurrence")
    np.testing.assert_allclose(incidence.mean(axis=0), observed, atol=0.02)
    interval = model.prognosis(X[:3]).cumulative_incidence("recurrence", TIMES[3:], interval=0.95)
    assert (interval.lower < interval.estimate).all()
    assert (interval.estimate < interval.upper).all()


def test_draws_of_a_course_before_death_that_is_not_known_agree_with_the_states(model, study):
    """Recurrence was followed for three months, death is known."""
    X, _ = study
    X, n_draws = X[:12], 2000
    died = np.linspace(6.0, 60.0, len(X))
    table = pd.DataFrame({"r": 3.0, "no": 0, "d": died, "yes": 1}, index=X.index)
    known = hm.endpoints(table, recurrence=("r", "no"), death=("d", "yes"), terminal="death")
    recurred = model.draw_times(X, given=known, n_draws=n_draws, random_state=0)[:, :, 0]
    halfway = 0.5 * (3.0 + died)
    found = model.predict_state_probabilities(X, times=np.concatenate([halfway, died]), given=known)
    rows = np.arange(len(X))
    for probability, drawn in (
        (found["death after recurrence"][rows, rows + len(X)], np.isfinite(recurred)),
        (found["recurrence"][rows, rows], recurred <= halfway),
    ):
        error = np.sqrt(probability * (1.0 - probability) / n_draws)
        assert np.all(np.abs(drawn.mean(axis=0) - probability) < 4.0 * error + 1e-3)
    assert recurred[np.isfinite(recurred)].min() > 3.0
    assert np.all(~np.isfinite(recurred) | (recurred < died))


def test_with_several_causes_of_death_the_course_before_one_of_them_agrees_with_draws():
    """Relapse was followed for a month, and the cause of death is known; hidden units go with causes."""
    rng = np.random.default_rng(1)
    n, n_draws = 80, 400
    ends = {name: rng.exponential(mean, n) for name, mean in (("cancer", 9.0), ("other", 12.0))}
    first, until = np.minimum(*ends.values()), rng.uniform(3.0, 12.0, n)
    df = pd.DataFrame({"x": rng.normal(size=n), "end": np.minimum(first, until)})
    relapse = rng.exponential(6.0, n)
    df["relapse"], df["relapsed"] = np.minimum(relapse, df["end"]), relapse < df["end"]
    for name, time in ends.items():
        df[name] = (time == first) & (first <= until)
    causes = {name: ("end", name) for name in ends}
    y = hm.endpoints(df, relapse=("relapse", "relapsed"), **causes, terminal=("cancer", "other"))
    fitted = (
        hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=5), n_covariate_units=0, random_state=0).fit(df[["x"]], y).fitted_
    )
    parameters = random_parameters(fitted.encoding.layout, 2, np.random.default_rng(22), strength=1.5)
    model = type(fitted)(fitted.encoding, parameters, fitted.training)
    X = df[["x"]].head(4)
    table = pd.DataFrame({"r": 1.0, "no": 0, "d": np.linspace(3.0, 10.0, len(X)), "yes": 1}, index=X.index)
    known = hm.endpoints(table, relapse=("r", "no"), cancer=("d", "yes"), other=("d", "no"), terminal=("cancer", "other"))
    found = model.predict_state_probabilities(X, times=table["d"].to_numpy(), given=known)
    probability = np.diagonal(found["cancer after relapse"])
    relapsed = np.isfinite(model.draw_times(X, given=known, n_draws=n_draws, random_state=0)[:, :, 0])
    assert np.all(np.abs(relapsed.mean(axis=0) - probability) < 4.0 * np.sqrt(probability * (1.0 - probability) / n_draws) + 1e-3)
