"""Where an endpoint is terminal: densities, hazards and joint survival agree with quadrature, with incidences and with draws."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad_vec

import harmonium as hm
from harmonium.model.convolution import scale_edges
from harmonium.model.mixture import Mixture
from harmonium.model.path_tables import PathTables
from tests.models import random_parameters

TIMES = np.array([0.5, 3.0, 8.0, 14.0, 30.0, 50.0, 70.0])
EITHER = ("recurrence", "death")


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt8(terminal=True)


@pytest.fixture(scope="module")
def model(study):
    trainer = hm.Exact(n_starts=1, max_iter=25)
    fitted = hm.SurvivalHarmonium(3, trainer=trainer, n_covariate_units=2, random_state=0).fit(*study).fitted_
    return replace(fitted, transitions=None)  # the model of whole courses, of all rows


@pytest.fixture(scope="module")
def other(model):
    parameters = random_parameters(model.encoding.layout, 3, np.random.default_rng(0), 0.3)
    return type(model)(model.encoding, parameters, model.training)


@pytest.fixture(scope="module")
def two_passing():
    """Two events before death, in any order, and a model with random parameters."""
    rng = np.random.default_rng(0)
    death, end = rng.exponential(9.0, 60), rng.uniform(3.0, 12.0, 60)
    df = pd.DataFrame({"x": rng.normal(size=60), "death": np.minimum(death, end), "dead": death <= end})
    for name in ("a", "b"):
        time = rng.exponential(6.0, 60)
        df[name], df[f"{name}_seen"] = np.minimum(time, df["death"]), time < df["death"]
    y = hm.endpoints(df, a=("a", "a_seen"), b=("b", "b_seen"), death=("death", "dead"), terminal="death")
    return random_model(df[["x"]], y), df[["x"]], y


@pytest.fixture(scope="module")
def causes():
    """Two causes of death, one of which prevents the other."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"x": rng.normal(size=80), "t": rng.exponential(6.0, 80), "why": rng.integers(0, 3, 80)})
    y = hm.endpoints(df, first={"time": "t", "cause": "why", "causes": {"heart": 1, "lung": 2}})
    return random_model(df[["x"]], y), df[["x"]], y


def random_model(X, y):
    trainer = hm.Exact(n_starts=1, max_iter=5)
    fitted = hm.SurvivalHarmonium(2, trainer=trainer, n_covariate_units=0, random_state=0).fit(X, y).fitted_
    return type(fitted)(fitted.encoding, random_parameters(fitted.encoding.layout, 2, np.random.default_rng(3), 0.5), fitted.training)


def known_of(X, recurrence, death):
    """What is known of all rows: pairs of bounds, the same for all."""
    frame = pd.DataFrame({"a": recurrence[0], "b": recurrence[1], "c": death[0], "d": death[1]}, index=X.index)
    return hm.endpoints(frame, recurrence={"lower": "a", "upper": "b"}, death={"lower": "c", "upper": "d"}, terminal="death")


HISTORIES = {
    "nothing is known": ((0.0, np.inf), (0.0, np.inf)),
    "nothing has happened until 12": ((12.0, np.inf), (12.0, np.inf)),
    "recurrence at 8, alive at 12": ((8.0, 8.0), (12.0, np.inf)),
    "recurrence between 5 and 8": ((5.0, 8.0), (12.0, np.inf)),
    "recurrence between 5 and 8, death between 20 and 30": ((5.0, 8.0), (20.0, 30.0)),
    "no recurrence until 6, alive at 12": ((6.0, np.inf), (12.0, np.inf)),
    "no recurrence until 6, dead at 30": ((6.0, np.inf), (30.0, 30.0)),
    "death between 12 and 30 without recurrence": ((30.0, np.inf), (12.0, 30.0)),
}
BREAKS = (5.0, 6.0, 8.0, 12.0, 20.0, 30.0)


# --- densities ---


def convolved(tables, time):
    """The density of the sum of both durations, in every hidden state, by adaptive quadrature between the knots of their scales."""
    scales = tables.scale(0), tables.scale(1)

    def density(state, at):
        states, scale = tables.duration(state), scales[state]
        x = float(scale.to_unit(np.array(at)))
        log_density = (states.shape - 1.0) * np.log(x) - states.rate * x - states.log_total()
        return np.exp(log_density + float(scale.log_slope(np.array(at))))

    knots = {0.0, time, *scale_edges(scales[0]), *(time - scale_edges(scales[1]))}
    edges = [time - scales[1].end, *sorted(knots)]
    out = 0.0
    for a, b in pairwise(sorted(edge for edge in edges if max(0.0, time - scales[1].end) <= edge <= time)):

        def integrand(z, a=a, b=b):  # ends flat, so that powers of time do no harm there
            u = a + (b - a) * z * z * (3.0 - 2.0 * z)
            return density(0, u) * density(1, time - u) * (b - a) * 6.0 * z * (1.0 - z)

        out = out + quad_vec(integrand, 1e-9, 1.0 - 1e-9, epsabs=1e-12, epsrel=1e-9)[0]
    return out


@pytest.mark.parametrize("which", ["model", "other"])
def test_density_equals_quadrature(which, study, request):
    fitted = request.getfixturevalue(which)
    prognosis = fitted.prognosis(study[0][:4])
    (part,) = prognosis._parts()
    tables = PathTables(fitted.encoding.episodes, part.rows.natural, fitted.encoding.layout, part.rows.hidden.states)
    at = np.array([2.0, 11.0, 70.0])
    first = tables.duration(0).density(tables.scale(0).to_unit(at)) * np.exp(tables.scale(0).log_slope(at))
    after = np.stack([convolved(tables, time) for time in at], axis=1)
    for name, by_state in {
        "recurrence": tables.kind(0, 0)[:, None] * first,
        "death": tables.kind(0, 1)[:, None] * first + tables.kind(0, 0)[:, None] * after,
        EITHER: first,
    }.items():
        np.testing.assert_allclose(prognosis.density(name, at), part.rows.hidden.weights @ by_state, rtol=1e-6)


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("endpoint", ["recurrence", "death", EITHER])
def test_the_integral_of_a_density_is_the_incidence(model, study, history, endpoint):
    X = study[0][:3]
    prognosis = model.prognosis(X, given=known_of(X, *HISTORIES[history]))
    edges = np.unique([*np.linspace(0.0, 60.0, 121), *BREAKS, *scale_edges(model.encoding.episodes.durations[0].scale)])
    edges = edges[edges <= 60.0]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(edges)
    density = prognosis.density(endpoint, (edges[:-1, None] + half[:, None] * (nodes + 1.0)).ravel())
    found = np.cumsum(((density.reshape(3, -1, 8) * weights).sum(axis=2) * half), axis=1)
    incidence = prognosis.cumulative_incidence(endpoint, edges)
    steps = {"recurrence at 8, alive at 12": ("recurrence", EITHER), "no recurrence until 6, dead at 30": ("death", EITHER)}
    if endpoint in steps.get(history, ()):
        assert np.isnan(density).all()
    else:
        assert (density >= 0.0).all()
        np.testing.assert_allclose(found, incidence[:, 1:] - incidence[:, :1], rtol=0.0, atol=1e-7)


def differences(question, at, step=1e-3):
    """Derivatives by differences of the sixth order."""
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    return sum(w * (question(at + k * step) - question(at - k * step)) for k, w in weights.items()) / step


@pytest.mark.filterwarnings("ignore:an event is given")
@pytest.mark.parametrize(("landmark", "only_death"), [(None, False), (3.0, False), (3.0, True)])
def test_several_passing_events(two_passing, landmark, only_death):
    model, X, y = two_passing
    known = None if landmark is None else hm.landmark(y[:8], landmark)
    prognosis = model.prognosis(X[:8], given=known[["death"]] if only_death else known)
    at, graph = np.array([0.7, 2.0, 5.0, 8.0]), prognosis.graph
    rates = differences(lambda t: np.array(list(prognosis.state_probabilities(t).values())), at)
    for names in (("a",), ("b",), ("death",), ("a", "death"), ("a", "b", "death")):
        density = prognosis.density(names, at)
        happened = [graph.has_happened(path, tuple(map(graph.names.index, names))) for path in graph.paths]
        timed = np.isnan(density).all(axis=1)
        assert timed.sum() <= (0 if landmark is None else 6)
        expected = np.maximum(rates[happened].sum(axis=0), 0.0)
        np.testing.assert_allclose(density[~timed], expected[~timed], rtol=1e-6, atol=1e-8)


def test_several_passing_events_of_which_one_is_known_to_lie_in_an_interval(two_passing):
    model, X, _ = two_passing
    frame = pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0], "zero": [0]})
    y = hm.endpoints(frame, a={"lower": "a", "upper": "b"}, b={"lower": "c", "upper": "c"}, death=("d", "zero"), terminal="death")
    prognosis = model.prognosis(X[:1], given=y)
    at = np.array([0.5, 1.2, 1.8, 2.5])
    expected = differences(lambda t: prognosis.cumulative_incidence("a", t), at)
    np.testing.assert_allclose(prognosis.density("a", at), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(prognosis.density(("a", "b"), at), expected, rtol=1e-6, atol=1e-9)
    assert expected[0, 1] > 0.1
    assert np.isnan(prognosis.density("b", at)).all()


def test_where_there_is_no_density(model, study):
    X, y = study
    known = hm.landmark(y, 12.0)
    prognosis = model.prognosis(X, given=known)
    prognosis.warns = False
    end = model.encoding.scales[1].end
    at = np.array([5.0, 11.9, 12.0, 12.1, end, end + 0.1])
    seen = {name: (known[name]["lower"] == known[name]["upper"]).to_numpy() for name in EITHER}
    for name in EITHER:
        density = prognosis.density(name, at)
        assert np.isnan(density[seen[name]]).all()
        assert np.isnan(density[:, -1]).all()
        assert not np.isnan(density[~seen[name], :-1]).any()
    free = ~seen["recurrence"] & ~seen["death"] & (known["recurrence"]["lower"] == 12.0).to_numpy()
    assert (prognosis.density(EITHER, at)[free, :3] == 0.0).all()
    assert (prognosis.density(EITHER, at)[free, 3:5] > 0.0).all()
    only_dead = seen["death"] & ~seen["recurrence"]
    assert only_dead.any()
    assert (prognosis.density("recurrence", at)[only_dead, :-1] == 0.0).all()
    hazard = prognosis.hazard("recurrence", at)[only_dead]
    dead = known["death"]["lower"].to_numpy()[only_dead, None] <= at
    np.testing.assert_array_equal(np.isnan(hazard), dead | (at > end))
    assert np.nansum(hazard) == 0.0


# --- hazards ---


@pytest.mark.parametrize("landmark", [None, 12.0])
def test_hazards_are_of_those_at_risk(model, study, landmark):
    X, y = study
    known = None if landmark is None else hm.landmark(y[:40], landmark)
    prognosis = model.prognosis(X[:40], given=known)
    at = np.array([13.0, 25.0, 50.0])
    now = prognosis.state_probabilities(at)
    rate = {name: differences(lambda t, name=name: prognosis.state_probabilities(t)[name], at) for name in now}
    alive = now["event-free"] + now["recurrence"]
    hazard = {name: prognosis.hazard(name, at) for name in ("recurrence", "death", EITHER)}
    died = rate["death without recurrence"] + rate["death after recurrence"]
    recurred = rate["recurrence"] + rate["death after recurrence"]
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, expected in {
            "recurrence": recurred / now["event-free"],
            "death": died / alive,
            EITHER: hazard["recurrence"] + rate["death without recurrence"] / now["event-free"],
        }.items():
            answered = ~np.isnan(hazard[name])
            assert answered.any(axis=1).sum() >= 20
            np.testing.assert_allclose(hazard[name][answered], expected[answered], rtol=1e-6)


def test_survival_follows_from_the_hazard_of_death(model, study):
    prognosis = model.prognosis(study[0][:5])
    edges = np.unique([*np.linspace(0.0, 60.0, 61), *scale_edges(model.encoding.episodes.durations[1].scale)])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(edges[edges <= 60.0])
    at = (edges[: half.size, None] + half[:, None] * (nodes + 1.0)).ravel()
    cumulative = prognosis.hazard("death", at) @ (half[:, None] * weights).ravel()
    np.testing.assert_allclose(np.exp(-cumulative), prognosis.survival("death", [60.0])[:, 0], rtol=1e-7)


def test_competing_causes_add_up(causes):
    model, X, y = causes
    at = np.array([0.5, 2.0, 5.0, 9.0])
    for known in (None, hm.landmark(y, 1.0)):
        prognosis = model.prognosis(X, given=known)
        for ask in (prognosis.density, prognosis.hazard):
            both = [ask(name, at) for name in ("heart", "lung", ("heart", "lung"))]
            alive = ~np.isnan(both[2]).any(axis=1) & ~np.isnan(both[0] + both[1]).any(axis=1)
            assert alive.sum() > 30
            np.testing.assert_allclose((both[0] + both[1])[alive], both[2][alive], rtol=1e-12)
        joint = prognosis.joint_survival({"lung": at, "heart": at[:2]})
        heart, lung = (prognosis.cumulative_incidence(name, at) for name in ("heart", "lung"))
        np.testing.assert_allclose(joint, 1.0 - lung[:, :, None] - heart[:, None, :2], atol=1e-12)


# --- mixtures and intervals ---


@pytest.mark.parametrize("landmark", [None, 12.0])
def test_a_mixture_answers_by_the_weights_of_its_models(model, other, study, landmark):
    X, y = study
    known = None if landmark is None else hm.landmark(y[:6], landmark)
    mixture = Mixture((model, other), (0.25, 0.75)).prognosis(X[:6], given=known)
    parts = [own.prognosis(X[:6], given=known) for own in (model, other)]
    weights = mixture.weights[:, :, None]
    if landmark is None:
        np.testing.assert_allclose(weights[:, :, 0], [[0.25] * 6, [0.75] * 6])
    for name in ("recurrence", "death"):
        density = sum(w * own.density(name, TIMES) for w, own in zip(weights, parts, strict=True))
        np.testing.assert_allclose(mixture.density(name, TIMES), density, rtol=1e-10)
        free = [own.state_probabilities(TIMES) for own in parts]
        alive = ("event-free",) if name == "recurrence" else ("event-free", "recurrence")
        at_risk = sum(w * sum(own[state] for state in alive) for w, own in zip(weights, free, strict=True))
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(mixture.hazard(name, TIMES), density / np.where(at_risk > 0.0, at_risk, np.nan), rtol=1e-9)
    grid = {"recurrence": TIMES[:3], "death": TIMES[2:]}
    joint = sum(w[:, :, None] * own.joint_survival(grid) for w, own in zip(weights, parts, strict=True))
    np.testing.assert_allclose(mixture.joint_survival(grid), joint, atol=1e-12)


def test_intervals_surround_the_estimate(model, study):
    X, y = study
    at = np.array([8.0, 24.0])
    prognosis = model.prognosis(X[:3], given=hm.landmark(y[:3], 6.0))
    for found in (
        prognosis.density("death", at, interval=0.95),
        prognosis.hazard(EITHER, at, interval=0.95),
        prognosis.joint_survival({"recurrence": [8.0], "death": at}, interval=0.95),
    ):
        answered = ~np.isnan(found.estimate)
        assert answered.any()
        assert (found.lower < found.estimate)[answered].all()
        assert (found.estimate < found.upper)[answered].all()
        assert (found.lower[answered] > 0.0).all()
    np.testing.assert_array_equal(model.predict_density(X[:3], endpoint=EITHER, times=at), model.prognosis(X[:3]).density(EITHER, at))
    np.testing.assert_array_equal(model.predict_hazard(X[:3], endpoint="death", times=at), model.prognosis(X[:3]).hazard("death", at))


# --- two endpoints together ---


DRAWN = [history for history in HISTORIES if history != "no recurrence until 6, dead at 30"]  # of these, draws do not know the course


@pytest.mark.parametrize("history", DRAWN)
def test_joint_survival_equals_draws(model, study, history):
    X = study[0].iloc[np.zeros(4000, dtype=int)].reset_index(drop=True)
    known = known_of(X, *HISTORIES[history])
    drawn = model.draw_times(X, n_draws=50 if history == "nothing is known" else 10, given=known, random_state=0).reshape(-1, 2)
    at = np.array([4.0, 7.0, 15.0, 25.0, 45.0])
    joint = model.prognosis(X[:1], given=known[:1]).joint_survival({"recurrence": at, "death": at})[0]
    seen = ((drawn[:, 0, None] > at)[:, :, None] & (drawn[:, 1, None] > at)[:, None, :]).mean(axis=0)
    error = np.sqrt(joint * (1.0 - joint) / len(drawn))
    assert (np.abs(seen - joint) <= 4.5 * error + 1e-9).all()


def test_one_whose_course_before_death_is_not_known(model, study):
    X = study[0][:2]
    prognosis = model.prognosis(X, given=known_of(X, *HISTORIES["no recurrence until 6, dead at 30"]))
    at = np.array([5.0, 20.0, 29.0, 31.0])
    joint = prognosis.joint_survival({"recurrence": at, "death": at})
    np.testing.assert_allclose(joint[:, :, 0], 1.0 - prognosis.cumulative_incidence("recurrence", at), atol=1e-12)
    np.testing.assert_allclose(joint[:, :, 2], joint[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(joint[:, :, 3], 0.0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:an event is given")
@settings(max_examples=10, deadline=None)
@given(st.floats(0.0, 60.0), st.sampled_from(["both", "death"]), st.lists(st.floats(0.0, 90.0), min_size=2, max_size=6, unique=True))
def test_joint_survival_is_a_survival(model, study, landmark, seen, times):
    X, y = study
    known = hm.landmark(y[:30], landmark)
    prognosis = model.prognosis(X[:30], given=known[["death"]] if seen == "death" else known)
    prognosis.warns = False
    at = np.sort([0.0, *times])
    joint = prognosis.joint_survival({"death": at, "recurrence": at})
    assert ((joint >= 0.0) & (joint <= 1.0)).all()
    within = joint[:, :-1, :-1] - joint[:, 1:, :-1] - joint[:, :-1, 1:] + joint[:, 1:, 1:]
    assert within.min() > -1e-9
    assert np.diff(joint, axis=1).max() < 1e-9
    assert np.diff(joint, axis=2).max() < 1e-9
    np.testing.assert_allclose(np.diagonal(joint, axis1=1, axis2=2), prognosis.survival(EITHER, at), atol=1e-9)
    for axis, name in ((2, "death"), (1, "recurrence")):
        own = 1.0 - prognosis.cumulative_incidence(name, at)
        np.testing.assert_allclose(joint.take(0, axis), own - prognosis.cumulative_incidence(other_of(name), [0.0]), atol=1e-9)
    turned = prognosis.joint_survival({"recurrence": at, "death": at})
    np.testing.assert_allclose(turned, joint.swapaxes(1, 2), atol=1e-15)


def other_of(name):
    return EITHER[1 - EITHER.index(name)]


def test_survival_without_an_event_is_joint_survival_whatever_is_given(model, study):
    X, y = study
    at = np.array([0.0, 5.0, 20.0, 36.0])
    for known in (None, hm.landmark(y[:20], 12.0)):
        prognosis = model.prognosis(X[:20], given=known)
        joint = prognosis.joint_survival({"recurrence": at, "death": [36.0]})[:, :, 0]
        np.testing.assert_allclose(prognosis.survival_without("recurrence", at, until=36.0), joint, atol=1e-12)


def test_what_is_not_known_is_refused(model, study, two_passing):
    prognosis = model.prognosis(study[0][:2])
    with pytest.raises(ValueError, match=r"have no density where an endpoint is terminal.*Ask for joint_survival"):
        prognosis.joint_density({"recurrence": TIMES, "death": TIMES})
    fitted, X, _ = two_passing
    prognosis = fitted.prognosis(X[:2])
    with pytest.raises(ValueError, match=r"here 'a' and 'b'; ask for state_probabilities"):
        prognosis.joint_survival({"a": [1.0], "death": [2.0]})
    np.testing.assert_allclose(prognosis.joint_survival({"a": [1.0, 2.0]}), 1.0 - prognosis.cumulative_incidence("a", [1.0, 2.0]))
    with pytest.raises(ValueError, match="the only event that is not terminal"):
        prognosis.survival_without("a", [1.0], until=2.0)


def test_without_times_they_are_at_event_times(model, study):
    prognosis = model.prognosis(study[0][:2])
    first = np.unique(np.concatenate([own.event_times for own in model.encoding.endpoints]))
    for ask in (prognosis.density, prognosis.hazard):
        np.testing.assert_array_equal(ask(EITHER), ask(EITHER, first))
