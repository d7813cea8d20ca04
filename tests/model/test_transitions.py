"""Where an endpoint is terminal: laws of what the harmoniums of all endpoints answer together, against quadrature, draws and each other."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import harmonium as hm
from harmonium.errors import CompetingWarning, EndpointWarning
from harmonium.model.fitted import Fitted
from harmonium.model.prognosis import Prognosis
from harmonium.model.transition_answers import TransitionAnswers
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array
from tests.models import random_parameters

TIMES = np.array([3.0, 12.0, 24.0, 60.0])
EITHER = ("recurrence", "death")
Study = tuple[pd.DataFrame, pd.DataFrame]


# --- tables and models ---


def simulated(n: int = 400, seed: int = 0) -> Study:
    """Recurrence and death, which is more likely after an early recurrence; follow-up ends."""
    rng = np.random.default_rng(seed)
    x, arm = rng.normal(size=n), rng.integers(0, 2, size=n)
    recurrence = rng.exponential(30.0 * np.exp(-0.6 * x + 0.4 * arm))
    first = rng.exponential(60.0 * np.exp(-0.3 * x))
    death = np.where(recurrence < first, recurrence + rng.exponential(6.0 + 0.4 * recurrence), first)
    end = rng.uniform(24.0, 90.0, size=n)
    last = np.minimum(death, end)
    table = pd.DataFrame({"r": np.minimum(recurrence, last), "re": recurrence < last, "d": last, "de": death <= end})
    y = hm.endpoints(table, recurrence=("r", "re"), death=("d", "de"), terminal="death")
    return pd.DataFrame({"x": x, "arm": np.where(arm == 1, "new", "old")}), y


def fitted(X: pd.DataFrame, y: pd.DataFrame, **settings: Any) -> Fitted:
    return hm.SurvivalHarmonium(2, **{"trainer": hm.Exact(n_starts=2), "random_state": 0, **settings}).fit(X, y).fitted_


def shaken(model: Fitted, seed: int, strength: float) -> Fitted:
    """With random parameters of all endpoints, so that hidden units matter more than in a fit."""
    assert model.transitions is not None
    rng, own = np.random.default_rng(seed), model.transitions
    models = [
        replace(one, parameters=random_parameters(one.encoding.layout, one.parameters.n_hidden, rng, strength), spreading=None)
        for one in own.models
    ]
    return replace(model, transitions=replace(own, models=tuple(models)))


@pytest.fixture(scope="module")
def study() -> Study:
    return simulated()


@pytest.fixture(scope="module")
def model(study: Study) -> Fitted:
    return fitted(*study)


@pytest.fixture(scope="module")
def wild(model: Fitted) -> Fitted:
    return shaken(model, 0, 0.5)


@pytest.fixture(scope="module")
def trial() -> Study:
    """Of real patients, some of whose covariates are missing."""
    return hm.datasets.load_nvalt8(terminal=True)


@pytest.fixture(scope="module")
def trial_model(trial: Study) -> Fitted:
    return hm.SurvivalHarmonium(3, trainer=hm.Exact(n_starts=1), n_covariate_units=2, random_state=0).fit(*trial).fitted_


@pytest.fixture(scope="module")
def causes() -> tuple[pd.DataFrame, pd.DataFrame, Fitted]:
    """Competing risks: relapse, or death before it."""
    X, y = simulated(seed=1)
    table = pd.DataFrame({"t": y["recurrence"]["lower"].to_numpy()})
    table["why"] = np.where(np.isfinite(y["recurrence"]["upper"]), 1, np.where(np.isfinite(y["death"]["upper"]), 2, 0))
    first = hm.endpoints(table, first={"time": "t", "cause": "why", "causes": {"relapse": 1, "death": 2}})
    return X, first, fitted(X, first)


@pytest.fixture(scope="module")
def several() -> tuple[pd.DataFrame, pd.DataFrame, Fitted]:
    """Two events before death, in any order, each of which hastens what follows."""
    rng, n = np.random.default_rng(2), 300
    x, end = rng.normal(size=n), rng.uniform(3.0, 12.0, n)
    a, b = rng.exponential(6.0 * np.exp(-0.5 * x)), rng.exponential(8.0, n)
    b = np.where(a < b, a + 0.4 * (b - a), b)
    death = rng.exponential(9.0, n)
    for earlier in np.sort(np.column_stack([a, b]), axis=1).T:
        death = np.where(earlier < death, earlier + 0.6 * (death - earlier), death)
    last = np.minimum(death, end)
    table = pd.DataFrame({"x": x, "a": np.minimum(a, last), "ae": a < last, "b": np.minimum(b, last), "be": b < last, "d": last})
    table["de"] = death <= end
    y = hm.endpoints(table, a=("a", "ae"), b=("b", "be"), death=("d", "de"), terminal="death")
    return table[["x"]], y, fitted(table[["x"]], y)


def quiet(model: Fitted, X: pd.DataFrame, given: Any = None) -> Prognosis:
    """A prognosis, which says nothing of times beyond follow-up."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="an event is given")
        prognosis = model.prognosis(X, given=given)
    assert isinstance(prognosis.answerer, TransitionAnswers)
    prognosis.warns = False
    return prognosis


def curve(
    model: Fitted, X: pd.DataFrame, e: int, state: int, entered: float | None = None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Survival and density of an endpoint of one row in a state, as functions of time."""
    assert model.transitions is not None
    own = model.transitions.of(e, state)
    values = own.covariates(model.encoding, model.encoding.covariates(X), state, entered)
    curves = own.curves(values, state)
    return lambda t: float(curves.survival(np.array([t]))[0, 0]), lambda t: float(curves.density(np.array([t]))[0, 0])


def kinks(model: Fitted, state: int = 0) -> Array:
    """Times since a state was entered at which curves are not smooth."""
    assert model.transitions is not None
    own = [one.kinks(state) for one in model.transitions.models if one.scales[state] is not None]
    return np.unique(np.concatenate(own))


def integral(function: Callable[[float], float], lower: float, upper: float, breaks: Array) -> float:
    """By adaptive quadrature between breaks; ends are flat, so that powers of time do no harm there."""
    edges = np.unique([lower, *breaks[(breaks > lower) & (breaks < upper)], upper])
    out = 0.0
    for a, b in pairwise(edges):

        def smoothed(z: float, a: float = a, b: float = b) -> float:
            return function(a + (b - a) * z * z * (3.0 - 2.0 * z)) * (b - a) * 6.0 * z * (1.0 - z)

        out += quad(smoothed, 0.0, 1.0, epsabs=1e-9, epsrel=1e-7, limit=200)[0]
    return out


def gauss(edges: Any, n: int = 8) -> tuple[Array, Array]:
    """Nodes and weights of integrals over panels, (panels, nodes) each."""
    places, weights = np.polynomial.legendre.leggauss(n)
    half = 0.5 * np.diff(edges)[:, None]
    return np.asarray(edges)[:-1, None] + half * (places + 1.0), half * weights


def panels(model: Fitted, until: float, *more: Array) -> Array:
    """Edges of integrals over time: densities are powers of time at zero, and not smooth at kinks."""
    edges = np.concatenate([[0.0], 1.5 ** np.arange(-30.0, 0.0), kinks(model), *more, [until]])
    return np.unique(edges[edges <= until])


def differences(question: Callable[[Array], Array], at: Array, step: float = 1e-3) -> Array:
    """Derivatives by differences of the sixth order."""
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    return np.asarray(sum(w * (question(at + k * step) - question(at - k * step)) for k, w in weights.items()) / step)


def total(found: dict[str, Array]) -> Array:
    return np.asarray(np.sum(list(found.values()), axis=0))


def known_of(X: pd.DataFrame, recurrence: Sequence[Any], death: Sequence[Any]) -> pd.DataFrame:
    """What is known of all rows: pairs of bounds, each of them the same for all or one for each."""
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


# --- states ---


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=15, deadline=None)
@given(st.floats(0.0, 80.0), st.sampled_from(["both", "death"]))
def test_states_add_up_to_one_whatever_is_known(trial_model: Fitted, trial: Study, landmark: float, seen: str) -> None:
    X, y = trial[0][:40], hm.landmark(trial[1][:40], landmark)
    found = quiet(trial_model, X, y[["death"]] if seen == "death" else y).state_probabilities([0.0, 2.0, 5.0, 12.0, 24.0, 48.0, 72.0])
    np.testing.assert_allclose(total(found), 1.0, rtol=0.0, atol=1e-12)
    assert min(own.min() for own in found.values()) >= 0.0


@pytest.mark.parametrize("history", HISTORIES)
def test_states_add_up_to_one_of_every_history(wild: Fitted, study: Study, history: str) -> None:
    X = study[0][:10]
    found = quiet(wild, X, known_of(X, *HISTORIES[history])).state_probabilities([0.0, 5.5, 8.0, 12.0, 25.0, 30.0, 70.0])
    np.testing.assert_allclose(total(found), 1.0, rtol=0.0, atol=1e-12)
    assert min(own.min() for own in found.values()) >= 0.0


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=10, deadline=None)
@given(st.floats(0.0, 60.0))
def test_incidences_rise_and_stay_below_one_minus_event_free_survival(trial_model: Fitted, trial: Study, landmark: float) -> None:
    prognosis, grid = quiet(trial_model, trial[0][:40], hm.landmark(trial[1][:40], landmark)), np.linspace(0.0, 90.0, 31)
    any_event = prognosis.cumulative_incidence(EITHER, grid)
    for name in EITHER:
        own = prognosis.cumulative_incidence(name, grid)
        assert (np.diff(own, axis=1) >= -1e-7).all()
        assert (own <= any_event + 1e-12).all()


@pytest.mark.parametrize("which", ["model", "wild"])
def test_states_are_integrals_over_the_time_of_recurrence(which: str, study: Study, request: pytest.FixtureRequest) -> None:
    model, X = request.getfixturevalue(which), study[0][:1]
    (alive_r, density_r), (alive_d, density_d) = curve(model, X, 0, 0), curve(model, X, 1, 0)
    found = quiet(model, X).state_probabilities(TIMES)
    for k, time in enumerate(TIMES):

        def flow(u: float, time: float = time) -> float:
            return density_r(u) * alive_d(u) * curve(model, X, 1, 1, u)[0](time - u)

        breaks = np.concatenate([kinks(model), time - kinks(model, 1)])
        assert found["recurrence"][0, k] == pytest.approx(integral(flow, 0.0, time, breaks), abs=3e-6)
        assert found["event-free"][0, k] == pytest.approx(alive_r(time) * alive_d(time), abs=1e-12)
        direct = integral(lambda u: density_d(u) * alive_r(u), 0.0, time, kinks(model))
        assert found["death without recurrence"][0, k] == pytest.approx(direct, abs=1e-6)


def test_incidences_of_causes_are_integrals_and_add_up(causes: tuple[pd.DataFrame, pd.DataFrame, Fitted]) -> None:
    X, _, model = causes
    prognosis = quiet(model, X)
    relapse, death = (prognosis.cumulative_incidence(name, TIMES) for name in ("relapse", "death"))
    free = prognosis.survival(("relapse", "death"), TIMES)
    assert np.abs(relapse + death + free - 1.0).max() < 1e-12
    (alive, _), (_, density) = curve(model, X[:1], 1, 0), curve(model, X[:1], 0, 0)
    assert relapse[0, 1] == pytest.approx(integral(lambda u: density(u) * alive(u), 0.0, 12.0, kinks(model)), abs=1e-6)


def test_what_is_known_is_answered(trial_model: Fitted, trial: Study) -> None:
    (X, y), at = trial, np.array([0.0, 2.0, 5.0, 12.0, 24.0, 48.0, 72.0])
    found = quiet(trial_model, X, y).state_probabilities(at)
    np.testing.assert_allclose(total(found), 1.0, atol=1e-12)
    death, recurrence = y["death"], y["recurrence"]
    died = (death["lower"] == death["upper"]).to_numpy()
    dead = found["death without recurrence"] + found["death after recurrence"]
    np.testing.assert_allclose(dead[died], np.where(death["lower"].to_numpy()[died, None] <= at, 1.0, 0.0), rtol=0.0, atol=1e-12)
    recurred = (recurrence["lower"] == recurrence["upper"]).to_numpy()
    early = recurrence["lower"].to_numpy()[:, None] > at
    np.testing.assert_allclose(found["event-free"][recurred], early[recurred].astype(float), atol=1e-12)


# --- what is said now is the mean of what will be said ---


@pytest.mark.parametrize("which", ["model", "wild"])
def test_tower_property_at_a_landmark(which: str, study: Study, request: pytest.FixtureRequest) -> None:
    model, X, since = request.getfixturevalue(which), study[0][:4], 12.0
    at_first = quiet(model, X)
    now, then = at_first.state_probabilities([since]), at_first.state_probabilities(TIMES[2:])
    later = quiet(model, X, known_of(X, (since, np.inf), (since, np.inf)))
    for name in ("event-free", "death without recurrence"):
        before = now[name] if name.startswith("death") else 0.0
        assert np.abs(then[name] - now["event-free"] * later.state_probabilities(TIMES[2:])[name] - before).max() < 1e-6
    # those who are alive with a recurrence had it at some time u before, each with survival of its own from there on
    free = now["event-free"] * later.survival("death", TIMES[2:])
    nodes, weights = (own.ravel() for own in gauss(panels(model, since), 6))
    entering = at_first.density("recurrence", nodes) * weights
    for row in range(len(X)):
        many = X.iloc[np.full(nodes.size, row)].reset_index(drop=True)
        at_once, at_landmark = (quiet(model, many, known_of(many, (nodes, nodes), (at, np.inf))) for at in (nodes, since))
        still = entering[row] * at_once.survival_at("death", np.full(nodes.size, since))
        assert still.sum() == pytest.approx(now["recurrence"][row, 0], abs=1e-5)
        found = free[row] + still @ at_landmark.survival("death", TIMES[2:])
        np.testing.assert_allclose(found, at_first.survival("death", TIMES[2:])[row], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("which", ["model", "wild"])
def test_tower_property_where_only_survival_is_known(which: str, study: Study, request: pytest.FixtureRequest) -> None:
    model, X = request.getfixturevalue(which), study[0][:40]
    now = quiet(model, X).state_probabilities([12.0, 24.0, 60.0])
    alive = now["event-free"][:, :1] + now["recurrence"][:, :1]
    known = hm.endpoints(pd.DataFrame({"d": np.full(len(X), 12.0), "f": 0}, index=X.index), death=("d", "f"), terminal="death")
    later = quiet(model, X, known)
    for name, own in later.state_probabilities([24.0, 60.0]).items():
        before = now[name][:, :1] if name.startswith("death") else 0.0
        assert np.abs(alive * own + before - now[name][:, 1:]).max() < 1e-4
    early = later.state_probabilities([3.0, 6.0, 12.0])
    assert np.abs(early["event-free"] + early["recurrence"] - 1.0).max() < 1e-12
    assert np.abs(early["recurrence"][:, -1:] - now["recurrence"][:, :1] / alive).max() < 2e-4
    rate = later.density("recurrence", [24.0])
    assert np.abs(rate - differences(lambda t: later.cumulative_incidence("recurrence", t), np.array([24.0]))).max() < 1e-5


# --- histories of which a part is not known ---


def hidden_recurrence(model: Fitted, X: pd.DataFrame, since: float, until: float, dead: bool) -> tuple[float, Callable[[float], float]]:
    """Of a row without recurrence until ``since``, alive or dead at ``until``: the likelihood of no recurrence, and of one at u."""
    (alive_r, density_r), (alive_d, density_d) = curve(model, X, 0, 0), curve(model, X, 1, 0)

    def with_one(u: float) -> float:
        alive, density = curve(model, X, 1, 1, u)
        return density_r(u) * alive_d(u) * (density if dead else alive)(until - u)

    return alive_r(until) * (density_d if dead else alive_d)(until), with_one


@pytest.mark.parametrize("which", ["model", "wild"])
@pytest.mark.parametrize("dead", [False, True])
def test_a_recurrence_that_was_not_looked_for_is_an_integral(which: str, dead: bool, study: Study, request: pytest.FixtureRequest) -> None:
    model, X = request.getfixturevalue(which), study[0][:1]
    without, with_one = hidden_recurrence(model, X, 6.0, 30.0, dead)
    breaks = np.concatenate([kinks(model), 30.0 - kinks(model, 1)])
    early, late = integral(with_one, 6.0, 15.0, breaks), integral(with_one, 15.0, 30.0, breaks)
    known = known_of(X, (6.0, np.inf), (30.0, 30.0) if dead else (30.0, np.inf))
    prognosis = quiet(model, X, known)
    found = prognosis.state_probabilities([5.0, 15.0, 29.999, 30.0])
    evidence = without + early + late
    assert found["event-free"][0, 0] == pytest.approx(1.0, abs=1e-12)
    assert found["recurrence"][0, 1] == pytest.approx(early / evidence, abs=0.01)
    recurred = "death after recurrence" if dead else "recurrence"
    accuracy = 2e-3 if dead else 1e-4  # just before death, hazards after a recurrence are steep
    assert found[recurred][0, 3] == pytest.approx((early + late) / evidence, abs=accuracy)
    ends = found["death without recurrence"] + found["death after recurrence"]
    np.testing.assert_allclose(ends[0], [0.0, 0.0, 0.0, float(dead)], atol=1e-12)
    ln = model.log_likelihood_of(model.encoding.covariates(X), parse_endpoints(known), "conditional")
    assert ln[0] == pytest.approx(np.log(evidence), abs=5.0 * accuracy)


@pytest.mark.parametrize("which", ["model", "wild"])
def test_a_recurrence_between_two_visits_is_an_integral(which: str, study: Study, request: pytest.FixtureRequest) -> None:
    model, X = request.getfixturevalue(which), study[0][:1]
    _, with_one = hidden_recurrence(model, X, 5.0, 12.0, False)
    breaks = np.concatenate([kinks(model), 12.0 - kinks(model, 1)])
    early, late = integral(with_one, 5.0, 6.5, breaks), integral(with_one, 6.5, 8.0, breaks)
    known = known_of(X, (5.0, 8.0), (12.0, np.inf))
    ln = model.log_likelihood_of(model.encoding.covariates(X), parse_endpoints(known), "conditional")
    assert ln[0] == pytest.approx(np.log(early + late), abs=1e-4)
    prognosis = quiet(model, X, known)
    assert prognosis.cumulative_incidence("recurrence", [6.5])[0, 0] == pytest.approx(early / (early + late), abs=0.02)
    _, until_20 = hidden_recurrence(model, X, 5.0, 20.0, False)
    later = integral(until_20, 5.0, 8.0, np.concatenate([kinks(model), 20.0 - kinks(model, 1)]))
    assert prognosis.survival("death", [20.0])[0, 0] == pytest.approx(later / (early + late), abs=1e-4)


def test_of_one_who_is_dead_it_is_not_known_whether_there_was_a_recurrence(trial_model: Fitted, trial: Study) -> None:
    X = trial[0][:12]
    found = quiet(trial_model, X, known_of(X, *HISTORIES["no recurrence until 6, dead at 30"])).state_probabilities([5.0, 20.0, 29.9, 30.0])
    np.testing.assert_allclose(total(found), 1.0, atol=1e-12)
    np.testing.assert_allclose(found["event-free"][:, 0], 1.0, atol=1e-12)
    dead = found["death without recurrence"] + found["death after recurrence"]
    np.testing.assert_allclose(dead, np.tile([0.0, 0.0, 0.0, 1.0], (12, 1)), atol=1e-12)
    assert ((found["death after recurrence"][:, 3] > 0.0) & (found["death after recurrence"][:, 3] < 1.0)).all()


# --- draws ---


def test_draws_agree_with_answers(model: Fitted, study: Study) -> None:
    X, y = study
    for known in (None, hm.landmark(y, 12.0)):
        alive = np.ones(len(X), dtype=bool) if known is None else (y["death"]["lower"] > 12.0).to_numpy()
        rows = X[alive][:60]
        own = None if known is None else known[alive][:60]
        drawn = model.draw_times(rows, given=own, n_draws=400, random_state=0)
        first, last = drawn[..., 0], drawn[..., 1]
        assert not (np.isfinite(first) & (first > last)).any()
        prognosis = quiet(model, rows, own)
        for expected, found in (
            (prognosis.cumulative_incidence("recurrence", TIMES), [(first <= t).mean(axis=0) for t in TIMES]),
            (prognosis.survival("death", TIMES), [(last > t).mean(axis=0) for t in TIMES]),
        ):
            difference = np.array(found).T - expected
            assert np.abs(difference.mean(axis=0)).max() < 4.0 * 0.5 / np.sqrt(60 * 400)
            assert np.abs(difference).max() < 5.5 * 0.5 / np.sqrt(400)


@pytest.mark.parametrize("landmark", [None, 12.0])
def test_states_equal_draws_of_rows_with_missing_values(trial_model: Fitted, trial: Study, landmark: float | None) -> None:
    X, y = trial
    at, known = np.array([2.0, 5.0, 12.0, 24.0, 48.0, 72.0]), None if landmark is None else hm.landmark(y, landmark)
    drawn = trial_model.draw_times(X, n_draws=100, given=known, random_state=1)
    recurrence, death = drawn[..., 0], drawn[..., 1]
    assert not (np.isfinite(recurrence) & (recurrence > death)).any()
    exact = quiet(trial_model, X, known).state_probabilities(at)
    seen = {
        "event-free": (recurrence[..., None] > at) & (death[..., None] > at),
        "recurrence": (recurrence[..., None] <= at) & (death[..., None] > at),
        "death after recurrence": (death[..., None] <= at) & (recurrence < np.inf)[..., None],
    }
    for name, own in seen.items():
        assert np.abs(own.mean(axis=(0, 1)) - exact[name].mean(axis=0)).max() < 4.0 * 0.5 / np.sqrt(own[..., 0].size)


@pytest.mark.parametrize("history", HISTORIES)
def test_joint_survival_equals_draws(model: Fitted, study: Study, history: str) -> None:
    X = study[0].iloc[np.zeros(400, dtype=int)].reset_index(drop=True)
    known = known_of(X, *HISTORIES[history])
    drawn = model.draw_times(X, n_draws=100, given=known, random_state=0)
    at = np.array([4.0, 7.0, 15.0, 25.0, 45.0])
    joint = quiet(model, X[:1], known[:1]).joint_survival({"recurrence": at, "death": at})[0]
    seen = ((drawn[..., 0, None] > at)[..., :, None] & (drawn[..., 1, None] > at)[..., None, :]).mean(axis=1)
    error = seen.std(axis=0) / np.sqrt(len(seen))  # rows of one draw share the times at which an event may have been missed
    step = 0.04 if "between" in history else 0.0  # one of 32 times at which an event may have come
    assert (np.abs(seen.mean(axis=0) - joint) <= 4.5 * error + 1e-3 + step).all()


def test_draws_of_a_history_before_death_that_is_not_known_agree_with_the_states(trial_model: Fitted, trial: Study) -> None:
    """Recurrence was followed for three months, death is known."""
    X, n_draws = trial[0][:12], 600
    died = np.linspace(6.0, 60.0, len(X))
    known = known_of(X, (3.0, np.inf), (died, died))
    recurred = trial_model.draw_times(X, given=known, n_draws=n_draws, random_state=0)[:, :, 0]
    halfway = 0.5 * (3.0 + died)
    found = quiet(trial_model, X, known).state_probabilities(np.concatenate([halfway, died]))
    rows = np.arange(len(X))
    for probability, drawn in (
        (found["death after recurrence"][rows, rows + len(X)], np.isfinite(recurred)),
        (found["recurrence"][rows, rows], recurred <= halfway),
    ):
        error = np.sqrt(probability * (1.0 - probability) / n_draws)
        assert np.all(np.abs(drawn.mean(axis=0) - probability) < 4.0 * error + 1e-3)
    assert recurred[np.isfinite(recurred)].min() > 3.0
    assert np.all(~np.isfinite(recurred) | (recurred < died))


def test_with_several_causes_of_death_the_history_before_one_of_them_agrees_with_draws() -> None:
    """Relapse was followed for a month, and the cause of death is known; hidden units go with causes."""
    rng = np.random.default_rng(1)
    n, n_draws = 80, 1000
    ends = {name: rng.exponential(mean, n) for name, mean in (("cancer", 9.0), ("other", 12.0))}
    first, until = np.minimum(*ends.values()), rng.uniform(3.0, 12.0, n)
    df = pd.DataFrame({"x": rng.normal(size=n), "end": np.minimum(first, until)})
    relapse = rng.exponential(6.0, n)
    df["relapse"], df["relapsed"] = np.minimum(relapse, df["end"]), relapse < df["end"]
    for name, time in ends.items():
        df[name] = (time == first) & (first <= until)
    by_cause = {name: ("end", name) for name in ends}
    y = hm.endpoints(df, relapse=("relapse", "relapsed"), **by_cause, terminal=("cancer", "other"))
    model = shaken(fitted(df[["x"]], y, trainer=hm.Exact(n_starts=1), n_covariate_units=0), 22, 0.8)
    X = df[["x"]].head(4)
    table = pd.DataFrame({"r": 1.0, "no": 0, "d": np.linspace(3.0, 8.0, len(X)), "yes": 1}, index=X.index)
    known = hm.endpoints(table, relapse=("r", "no"), cancer=("d", "yes"), other=("d", "no"), terminal=("cancer", "other"))
    found = quiet(model, X, known).state_probabilities(table["d"].to_numpy())
    np.testing.assert_allclose(total(found), 1.0, atol=1e-12)
    probability = np.diagonal(found["cancer after relapse"])
    assert probability.max() > 0.1
    relapsed = np.isfinite(model.draw_times(X, given=known, n_draws=n_draws, random_state=0)[:, :, 0])
    assert np.all(np.abs(relapsed.mean(axis=0) - probability) < 4.0 * np.sqrt(probability * (1.0 - probability) / n_draws) + 1e-3)


def test_imputations_and_cohorts_have_a_possible_order(trial_model: Fitted, trial: Study) -> None:
    X, y = trial
    completed = trial_model.impute(X, y, random_state=0)[0][1]
    for drawn in (completed, trial_model.sample(300, random_state=0)[1], trial_model.sample(300, censored=True, random_state=0)[1]):
        again = hm.landmark(drawn, 1e6)  # reads and checks it
        assert again[("death", "terminal")].all()
    seen = (y["death"]["lower"] == y["death"]["upper"]).to_numpy()
    assert seen.any()
    np.testing.assert_array_equal(completed["death"]["lower"][seen], y["death"]["lower"][seen])


# --- several intermediate events ---


def test_states_of_several_events_agree_with_drawn_histories(several: tuple[pd.DataFrame, pd.DataFrame, Fitted]) -> None:
    X, _, fit = several
    at, rows = np.array([1.0, 4.0, 8.0]), X[:50]
    for model in (fit, shaken(fit, 3, 0.5)):
        drawn = model.draw_times(rows, n_draws=400, random_state=0)
        found = quiet(model, rows).state_probabilities(at)
        assert len(found) == 8
        np.testing.assert_allclose(total(found), 1.0, rtol=0.0, atol=1e-12)
        a, b, dead = ((drawn[..., None] <= at)[:, :, e] for e in range(3))
        seen = {"event-free": ~a & ~b & ~dead, "a": a & ~b & ~dead, "b": ~a & b & ~dead, "a and b": a & b & ~dead}
        seen |= {"death without a or b": ~a & ~b & dead, "death after a": a & ~b & dead}
        seen |= {"death after b": ~a & b & dead, "death after a and b": a & b & dead}
        assert set(seen) == set(found)
        for name, own in seen.items():
            difference = own.mean(axis=0) - found[name]
            assert np.abs(difference.mean(axis=0)).max() < 4.0 * 0.5 / np.sqrt(50 * 400)
            assert np.abs(difference).max() < 5.5 * 0.5 / np.sqrt(400)


@pytest.mark.parametrize(("landmark", "seen"), [(None, "all"), (3.0, "all"), (3.0, "death")])
def test_rates_of_several_events_are_derivatives_of_states(
    several: tuple[pd.DataFrame, pd.DataFrame, Fitted], landmark: float | None, seen: str
) -> None:
    X, y, model = several
    X, known = X[:8], None if landmark is None else hm.landmark(y[:8], landmark)
    prognosis = quiet(model, X, known[["death"]] if known is not None and seen == "death" else known)
    assert model.encoding.ordered is not None
    at, graph = np.array([0.7, 2.0, 5.0, 8.0]), model.encoding.ordered.graph
    np.testing.assert_allclose(total(prognosis.state_probabilities(at)), 1.0, atol=1e-12)
    rates = differences(lambda t: np.array(list(prognosis.state_probabilities(t).values())), at, step=0.05)  # known to 1e-4
    for names in (("a",), ("b",), ("death",), ("a", "death"), ("a", "b", "death")):
        density = prognosis.density(names, at)
        happened = [graph.has_happened(path, tuple(map(graph.names.index, names))) for path in graph.paths]
        timed = np.isnan(density).all(axis=1)
        assert timed.sum() <= (0 if landmark is None else 6)
        expected = np.maximum(rates[happened].sum(axis=0), 0.0)
        there = ~np.isnan(density)  # none where only bounds of the time of an event are known
        assert there[:, -1][~timed].all()
        np.testing.assert_allclose(density[there], expected[there], rtol=0.02, atol=1.5e-3)


def test_of_several_events_one_is_known_to_lie_in_an_interval(several: tuple[pd.DataFrame, pd.DataFrame, Fitted]) -> None:
    X, _, model = several
    frame = pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0], "zero": [0]}, index=X.index[:1])
    y = hm.endpoints(frame, a={"lower": "a", "upper": "b"}, b={"lower": "c", "upper": "c"}, death=("d", "zero"), terminal="death")
    prognosis = quiet(model, X[:1], y)
    at = np.array([0.5, 1.2, 1.8, 2.5])
    incidence = prognosis.cumulative_incidence("a", [1.0, 1.2, 1.8, 2.0])[0]
    np.testing.assert_allclose(incidence[[0, 3]], [0.0, 1.0], atol=1e-12)
    (_, density_a), (alive_b, _), (alive_d, _) = (curve(model, X[:1], e, 0) for e in range(3))

    def with_one(u: float) -> float:
        """The likelihood of a at u, b at 3 and survival until 4; what follows on b is the same for all u."""
        (_, density), (alive, _) = (curve(model, X[:1], e, 1, u) for e in (1, 2))
        return density_a(u) * alive_b(u) * alive_d(u) * density(3.0 - u) * alive(3.0 - u)

    breaks = np.concatenate([kinks(model), 3.0 - kinks(model, 1)])
    parts = np.array([integral(with_one, lower, upper, breaks) for lower, upper in ((1.0, 1.2), (1.2, 1.8), (1.8, 2.0))])
    np.testing.assert_allclose(incidence[1:3], (np.cumsum(parts) / parts.sum())[:2], atol=0.02)
    assert np.isnan(prognosis.density("a", at)).all()  # only bounds of its time are known
    assert np.isnan(prognosis.density("b", at)).all()


# --- densities and hazards ---


@pytest.mark.parametrize("which", ["model", "wild"])
def test_density_equals_quadrature(which: str, study: Study, request: pytest.FixtureRequest) -> None:
    model, X, at = request.getfixturevalue(which), study[0][:1], np.array([2.0, 11.0, 70.0])
    (alive_r, density_r), (alive_d, density_d) = curve(model, X, 0, 0), curve(model, X, 1, 0)
    prognosis = quiet(model, X)
    recurrence = np.array([density_r(t) * alive_d(t) for t in at])
    direct = np.array([density_d(t) * alive_r(t) for t in at])
    after = [
        integral(
            lambda u, t=t: density_r(u) * alive_d(u) * curve(model, X, 1, 1, u)[1](t - u),  # type: ignore[misc]
            0.0,
            t,
            np.concatenate([kinks(model), t - kinks(model, 1)]),
        )
        for t in at
    ]
    np.testing.assert_allclose(prognosis.density("recurrence", at)[0], recurrence, rtol=1e-9)
    np.testing.assert_allclose(prognosis.density(EITHER, at)[0], recurrence + direct, rtol=1e-9)
    np.testing.assert_allclose(prognosis.density("death", at)[0], direct + after, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("endpoint", ["recurrence", "death", EITHER])
def test_the_integral_of_a_density_is_the_incidence(model: Fitted, study: Study, history: str, endpoint: Any) -> None:
    X = study[0][:3]
    prognosis = quiet(model, X, known_of(X, *HISTORIES[history]))
    edges = panels(model, 60.0, np.linspace(0.0, 60.0, 61), np.array(BREAKS), 8.0 + kinks(model, 1))
    nodes, weights = gauss(edges)
    density = prognosis.density(endpoint, nodes.ravel())
    found = np.cumsum((density.reshape(3, *nodes.shape) * weights).sum(axis=2), axis=1)
    incidence = prognosis.cumulative_incidence(endpoint, edges)
    bounded = {
        "recurrence at 8, alive at 12": ("recurrence", EITHER),
        "no recurrence until 6, dead at 30": ("recurrence", "death", EITHER),
        "recurrence between 5 and 8": ("recurrence", EITHER),
        "recurrence between 5 and 8, death between 20 and 30": ("recurrence", "death", EITHER),
        "death between 12 and 30 without recurrence": ("death", EITHER),
        "no recurrence until 6, alive at 12": ("recurrence", EITHER),
    }
    if endpoint in bounded.get(history, ()):  # there is no density as long as only bounds of a time are known
        assert np.isnan(density).any()
    else:
        assert (density >= 0.0).all()
        np.testing.assert_allclose(found, incidence[:, 1:] - incidence[:, :1], rtol=0.0, atol=2e-5)


@pytest.mark.parametrize("landmark", [None, 6.0])
def test_densities_are_derivatives(trial_model: Fitted, trial: Study, landmark: float | None) -> None:
    """Also of rows with missing values."""
    X, known = trial[0], None if landmark is None else hm.landmark(trial[1], landmark)
    prognosis, at = quiet(trial_model, X, known), np.array([13.3, 25.3, 50.3])
    for name in (*EITHER, EITHER):
        density = prognosis.density(name, at)
        expected, timed = differences(lambda t, name=name: prognosis.cumulative_incidence(name, t), at), ~np.isnan(density)  # type: ignore[misc]
        assert timed.any(axis=1).sum() > 50
        np.testing.assert_allclose(density[timed], expected[timed], rtol=1e-3, atol=2e-5)


def test_where_there_is_no_density(trial_model: Fitted, trial: Study) -> None:
    X, y = trial
    known = hm.landmark(y, 12.0)
    prognosis = quiet(trial_model, X, known)
    end = trial_model.encoding.scales[1].end
    at = np.array([5.0, 11.9, 12.0, 12.1, end, end + 0.1])
    seen = {name: (known[name]["lower"] == known[name]["upper"]).to_numpy() for name in EITHER}
    for name in EITHER:
        density = prognosis.density(name, at)
        assert np.isnan(density[seen[name]]).all()
        assert np.isnan(density[:, -1]).all()
        assert not np.isnan(density[~seen[name], :-1]).any()
    free = ~seen["recurrence"] & ~seen["death"] & (known["recurrence"]["lower"] == 12.0).to_numpy()
    assert free.sum() > 20
    assert (prognosis.density(EITHER, at)[free, :3] == 0.0).all()
    assert (prognosis.density(EITHER, at)[free, 3:5] > 0.0).all()
    only_dead = seen["death"] & ~seen["recurrence"]
    assert only_dead.any()
    assert (prognosis.density("recurrence", at)[only_dead, :-1] == 0.0).all()
    hazard = prognosis.hazard("recurrence", at)[only_dead]
    dead = known["death"]["lower"].to_numpy()[only_dead, None] <= at
    np.testing.assert_array_equal(np.isnan(hazard), dead | (at > end))
    assert np.nansum(hazard) == 0.0


@pytest.mark.parametrize("landmark", [None, 12.0])
def test_hazards_are_of_those_at_risk(model: Fitted, study: Study, landmark: float | None) -> None:
    X, y = study[0][:40], study[1][:40]
    prognosis = quiet(model, X, None if landmark is None else hm.landmark(y, landmark))
    at = np.array([13.0, 25.0, 50.0])
    now = prognosis.state_probabilities(at)
    rate = dict(zip(now, differences(lambda t: np.array(list(prognosis.state_probabilities(t).values())), at), strict=True))
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
            np.testing.assert_allclose(hazard[name][answered], expected[answered], rtol=2e-3, atol=1e-5)


def test_survival_follows_from_the_hazard_of_death(model: Fitted, study: Study) -> None:
    prognosis = quiet(model, study[0][:5])
    nodes, weights = gauss(panels(model, 60.0, np.linspace(0.0, 60.0, 61)))
    cumulative = prognosis.hazard("death", nodes.ravel()) @ weights.ravel()
    np.testing.assert_allclose(np.exp(-cumulative), prognosis.survival("death", [60.0])[:, 0], rtol=1e-4)


def test_competing_causes_add_up(causes: tuple[pd.DataFrame, pd.DataFrame, Fitted]) -> None:
    X, y, model = causes
    at = np.array([0.5, 12.0, 30.0, 55.0])
    for known in (None, hm.landmark(y, 6.0)):
        prognosis = quiet(model, X, known)
        for ask in (prognosis.density, prognosis.hazard):
            both = [ask(name, at) for name in ("relapse", "death", ("relapse", "death"))]
            alive = ~np.isnan(both[2]) & ~np.isnan(both[0] + both[1])
            assert alive.any(axis=1).sum() > 100
            np.testing.assert_allclose((both[0] + both[1])[alive], both[2][alive], rtol=1e-12)
        joint = prognosis.joint_survival({"death": at, "relapse": at[:2]})
        relapse, death = (prognosis.cumulative_incidence(name, at) for name in ("relapse", "death"))
        np.testing.assert_allclose(joint, 1.0 - death[:, :, None] - relapse[:, None, :2], atol=1e-12)


# --- quantiles and means ---


@pytest.mark.parametrize("endpoint", ["death", EITHER])
def test_quantiles_invert_survival(model: Fitted, study: Study, endpoint: Any) -> None:
    X, y = study[0][:60], study[1][:60]
    for known in (None, hm.landmark(y, 6.0)):
        prognosis = quiet(model, X, known)
        for q in (0.25, 0.5):
            found = prognosis.quantile(endpoint, q)
            reached = np.isfinite(found) & (found > 6.0)
            assert reached.sum() >= 20
            at = np.where(np.isfinite(found), found, 1.0)
            np.testing.assert_allclose(prognosis.survival_at(endpoint, at)[reached], 1.0 - q, atol=1e-6)
            last = model.encoding.scales[1].end
            assert (prognosis.survival(endpoint, [last])[np.isinf(found), 0] > 1.0 - q).all()


def test_restricted_means_are_times_in_states_and_areas(trial_model: Fitted, trial: Study) -> None:
    X, y = trial[0][:20], trial[1][:20]
    for known in (None, hm.landmark(y, 6.0), hm.landmark(y, 6.0)[["death"]]):
        prognosis = quiet(trial_model, X, known)
        spent = prognosis.time_in_states(until=60.0)
        np.testing.assert_allclose(total(spent), 60.0, rtol=1e-12)
        alive = spent["event-free"] + spent["recurrence"]
        np.testing.assert_allclose(prognosis.restricted_mean("death", until=60.0), alive, rtol=1e-10)
        np.testing.assert_allclose(prognosis.restricted_mean(EITHER, until=60.0), spent["event-free"], rtol=1e-10)
        grid = np.linspace(0.0, 60.0, 2001)
        np.testing.assert_allclose(np.trapezoid(prognosis.survival("death", grid), grid, axis=1), alive, rtol=2e-3)


# --- two endpoints together ---


def test_joint_survival_agrees_with_states(model: Fitted, study: Study) -> None:
    prognosis = quiet(model, study[0])
    found = prognosis.joint_survival({"recurrence": TIMES, "death": TIMES})
    free, alive = prognosis.survival(EITHER, TIMES), prognosis.survival("death", TIMES)
    assert np.abs(np.einsum("rtt->rt", found) - free).max() < 2e-6
    assert (found <= alive[:, None, :] + 1e-6).all()


def test_joint_survival_of_one_whose_history_before_death_is_not_known(trial_model: Fitted, trial: Study) -> None:
    X = trial[0][:2]
    prognosis = quiet(trial_model, X, known_of(X, *HISTORIES["no recurrence until 6, dead at 30"]))
    at = np.array([5.0, 20.0, 29.0, 31.0])
    joint = prognosis.joint_survival({"recurrence": at, "death": at})
    np.testing.assert_allclose(joint[:, :, 0], 1.0 - prognosis.cumulative_incidence("recurrence", at), atol=1e-12)
    np.testing.assert_allclose(joint[:, :, 2], joint[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(joint[:, :, 3], 0.0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=10, deadline=None)
@given(st.floats(0.0, 60.0), st.sampled_from(["both", "death"]), st.lists(st.floats(0.0, 90.0), min_size=2, max_size=6, unique=True))
def test_joint_survival_is_a_survival(model: Fitted, study: Study, landmark: float, seen: str, times: list[float]) -> None:
    X, y = study[0][:15], hm.landmark(study[1][:15], landmark)
    prognosis, at = quiet(model, X, y[["death"]] if seen == "death" else y), np.sort([0.0, *times])
    joint = prognosis.joint_survival({"death": at, "recurrence": at})
    assert ((joint >= 0.0) & (joint <= 1.0)).all()
    within = joint[:, :-1, :-1] - joint[:, 1:, :-1] - joint[:, :-1, 1:] + joint[:, 1:, 1:]
    assert within.min() > -1e-5
    assert np.diff(joint, axis=1).max() < 1e-5
    assert np.diff(joint, axis=2).max() < 1e-5
    np.testing.assert_allclose(np.diagonal(joint, axis1=1, axis2=2), prognosis.survival(EITHER, at), atol=1e-5)
    for axis, name, other in ((2, "death", "recurrence"), (1, "recurrence", "death")):
        own = 1.0 - prognosis.cumulative_incidence(name, at)
        np.testing.assert_allclose(joint.take(0, axis), own - prognosis.cumulative_incidence(other, [0.0]), atol=1e-5)
    turned = prognosis.joint_survival({"recurrence": at, "death": at})
    np.testing.assert_allclose(turned, joint.swapaxes(1, 2), atol=1e-15)


def test_survival_without_an_event_is_joint_survival_whatever_is_given(model: Fitted, study: Study) -> None:
    X, y, at = study[0][:20], study[1][:20], np.array([0.0, 5.0, 20.0, 36.0])
    for known in (None, hm.landmark(y, 12.0)):
        prognosis = quiet(model, X, known)
        joint = prognosis.joint_survival({"recurrence": at, "death": [36.0]})[:, :, 0]
        np.testing.assert_allclose(prognosis.survival_without("recurrence", at, until=36.0), joint, atol=1e-12)


def test_survival_after_an_event_is_the_mean_over_its_times(model: Fitted, study: Study) -> None:
    X, at = study[0][:1], np.array([2.0, 10.0])
    prognosis, end = quiet(model, X), model.encoding.scales[0].end
    nodes, weights = (own.ravel() for own in gauss(panels(model, end), 6))
    entering = prognosis.density("recurrence", nodes)[0] * weights
    many = X.iloc[np.zeros(nodes.size, dtype=int)].reset_index(drop=True)
    given = quiet(model, many, known_of(many, (nodes, nodes), (nodes, np.inf)))
    expected = [entering @ given.survival_at("death", nodes + time) / entering.sum() for time in at]
    np.testing.assert_allclose(prognosis.survival_after("recurrence", at)[0], expected, atol=2e-4)


# --- missing covariates ---


def test_a_row_with_a_missing_level_is_the_average_over_its_levels(model: Fitted, study: Study) -> None:
    """Weighed by how likely they are given the rest of the row and what has happened; likelihoods and draws as well as curves."""
    X, y = study[0][:20], study[1][:20]
    hidden = X.assign(arm=pd.Series([None] * 20, index=X.index, dtype=X["arm"].dtype))
    values = [X.assign(arm=level) for level in ("old", "new")]
    for seen in (None, hm.landmark(y, 6.0)):
        known = None if seen is None else parse_endpoints(seen)
        encoded = [model.encoding.covariates(own) for own in values]
        ln = np.array([model.log_mass(model.encoding.cells(own)) for own in encoded])
        if known is not None:
            ln += [model.log_likelihood_of(own, known, "conditional") for own in encoded]
        weights = np.exp(ln - np.logaddexp(*ln))[:, :, None]
        for ask in (lambda own: own.survival("death", TIMES), lambda own: own.cumulative_incidence("recurrence", TIMES)):
            by_level = np.array([ask(quiet(model, own, seen)) for own in values])
            found = ask(quiet(model, hidden, seen))
            np.testing.assert_allclose(found, (weights * by_level).sum(axis=0), atol=1e-9)
            assert ((found >= by_level.min(axis=0) - 1e-12) & (found <= by_level.max(axis=0) + 1e-12)).all()
    ln = np.array([model.log_mass(model.encoding.cells(model.encoding.covariates(own))) for own in values])
    likely = np.array([model.log_likelihood_of(model.encoding.covariates(own), parse_endpoints(y), "conditional") for own in values])
    found = model.log_likelihood_of(model.encoding.covariates(hidden), parse_endpoints(y), "conditional")
    np.testing.assert_allclose(found, np.logaddexp(*(ln - np.logaddexp(*ln) + likely)), atol=1e-9)
    both = [model.log_likelihood_of(model.encoding.covariates(own), parse_endpoints(y), "joint") for own in (hidden, *values)]
    np.testing.assert_allclose(both[0], np.logaddexp(*both[1:]), atol=1e-9)


def test_importance_and_explanations_ask_one_model(model: Fitted, study: Study) -> None:
    """Contributions are Shapley values of averages over what is not known; they begin at the average and end at the prediction."""
    X = study[0][:1]
    found = model.explain(X, endpoint="death", measure="survival", time=24.0, interval=None)["contribution"].droplevel("row")
    alive = quiet(model, X).survival("death", [24.0])[0, 0]
    nothing = quiet(model, X.mask(np.ones(X.shape, dtype=bool))).survival("death", [24.0])[0, 0]
    assert found["prediction"] == pytest.approx(alive, abs=1e-12)
    assert found["average"] == pytest.approx(nothing, abs=1e-12)
    assert found[list(X)].sum() == pytest.approx(alive - nothing, abs=1e-12)


# --- likelihood ---


def test_likelihood_is_that_of_the_history(model: Fitted, study: Study) -> None:
    X, y = study
    found = model.log_likelihood_of(model.encoding.covariates(X), parse_endpoints(y), "conditional")
    recurred, died = (np.isfinite(y[name]["upper"].to_numpy()) for name in EITHER)
    for row in (np.flatnonzero(recurred & died)[0], np.flatnonzero(~recurred & died)[0], np.flatnonzero(recurred & ~died)[0]):
        own, r, d = X[row : row + 1], float(y["recurrence"]["lower"].iloc[row]), float(y["death"]["lower"].iloc[row])
        (alive_r, density_r), (alive_d, density_d) = curve(model, own, 0, 0), curve(model, own, 1, 0)
        if not recurred[row]:
            expected = np.log(density_d(d) * alive_r(d))
        else:
            alive, density = curve(model, own, 1, 1, r)
            expected = np.log(density_r(r) * alive_d(r)) + np.log(density(d - r) if died[row] else alive(d - r))
        assert found[row] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("which", ["model", "trial_model"])
def test_probabilities_of_all_that_may_be_seen_first_add_up_to_one(which: str, request: pytest.FixtureRequest) -> None:
    """Nothing until 24 months, or death, or recurrence at some time before; also of a row with missing values."""
    model, X = request.getfixturevalue(which), request.getfixturevalue({"model": "study", "trial_model": "trial"}[which])[0]
    row = X[X.isna().any(axis=1)][:1] if which == "trial_model" else X[:1]
    nodes, weights = (own.ravel() for own in gauss(panels(model, 24.0), 6))
    many = row.iloc[np.zeros(nodes.size, dtype=int)].reset_index(drop=True)
    died, recurred = known_of(many, (nodes, np.inf), (nodes, nodes)), known_of(many, (nodes, nodes), (nodes, np.inf))
    parts = [np.exp(model.log_likelihood(many, y)) @ weights for y in (died, recurred)]
    nothing = np.exp(model.log_likelihood(row, known_of(row, (24.0, np.inf), (24.0, np.inf))))[0]
    assert nothing + sum(parts) == pytest.approx(1.0, abs=1e-5)
    assert min(nothing, *parts) > 0.01


# --- intervals, contrasts and files ---


def test_intervals_surround_the_estimate(trial_model: Fitted, trial: Study) -> None:
    """Of complete rows and of those with missing values."""
    X, y = trial
    gaps = X.isna().any(axis=1).to_numpy()
    rows, at = np.concatenate([np.flatnonzero(gaps)[:2], np.flatnonzero(~gaps)[:2]]), np.array([8.0, 24.0])
    prognosis = quiet(trial_model, X.iloc[rows], hm.landmark(y.iloc[rows], 2.0))
    for found in (
        prognosis.survival("death", at, interval=0.95),
        prognosis.density("death", at, interval=0.95),
        prognosis.hazard(EITHER, at, interval=0.95),
        prognosis.joint_survival({"recurrence": [8.0], "death": at}, interval=0.95),
    ):
        answered = ~np.isnan(found.estimate) & (found.estimate > 0.0)
        assert answered.any(axis=1 if answered.ndim == 2 else (1, 2)).sum() >= 2
        assert (found.lower < found.estimate)[answered].all()
        assert (found.estimate < found.upper)[answered].all()
        assert (found.lower[answered] > 0.0).all()
    for name, ask, predict in (
        (EITHER, "density", trial_model.predict_density),
        ("death", "hazard", trial_model.predict_hazard),
    ):
        np.testing.assert_array_equal(predict(X[:3], endpoint=name, times=at), getattr(trial_model.prognosis(X[:3]), ask)(name, at))


def test_a_contrast_of_arms_has_the_sign_of_the_simulation(model: Fitted, study: Study) -> None:
    found = model.contrast(study[0], "arm", ("old", "new"), endpoint="recurrence", measure="incidence", times=24.0, interval=0.95)
    own = found.xs("difference", level=-1).iloc[0] if "difference" in found.index.get_level_values(-1) else found.iloc[-1]
    assert own["lower"] < own["estimate"] < own["upper"]
    assert own["estimate"] < 0.0


def test_a_file_keeps_them(trial_model: Fitted, trial: Study, tmp_path: Path) -> None:
    trial_model.save(tmp_path / "model.harmonium")
    again = hm.load(tmp_path / "model.harmonium")
    assert isinstance(again, Fitted)
    assert again.encoding == trial_model.encoding
    X, known = trial[0][:60], hm.landmark(trial[1][:60], 12.0)
    for name, own in quiet(trial_model, X, known).state_probabilities(TIMES).items():
        np.testing.assert_array_equal(own, quiet(again, X, known).state_probabilities(TIMES)[name])
    old, new = (quiet(one, X[:4]).survival("death", TIMES, interval=0.9) for one in (trial_model, again))
    np.testing.assert_allclose(old.lower, new.lower, rtol=0, atol=1e-12)
    drawn = [one.draw_times(X[:4], n_draws=5, random_state=0) for one in (trial_model, again)]
    np.testing.assert_array_equal(*drawn)


# --- what a fit is made of ---


def test_the_study_has_covariates_alone_and_each_endpoint_a_harmonium(model: Fitted, trial_model: Fitted, trial: Study) -> None:
    for own, names in ((model, ("recurrence", "death")), (trial_model, ("recurrence", "death"))):
        assert own.transitions is not None
        assert own.encoding.layout.n_columns == own.encoding.layout.outcomes.start == len(own.encoding.modelled)
        assert own.parameters.n_hidden == 0
        assert [one.encoding.endpoint_names for one in own.transitions.models] == [(name,) for name in names]
        assert own.n_hidden == max(one.parameters.n_hidden for one in own.transitions.models) > 0
    assert trial_model.n_covariate_units == 2
    assert trial_model.transform(trial[0][:5]).shape == (5, sum(one.parameters.n_hidden for one in trial_model.transitions.models))


@pytest.mark.parametrize(
    "settings", [{"objective": "joint"}, {"objective": 0.5}, {"trainer": hm.Contrastive(n_epochs=60)}], ids=["joint", "0.5", "contrastive"]
)
def test_other_objectives_and_trainers_are_those_of_each_endpoint(settings: dict[str, Any], model: Fitted, study: Study) -> None:
    X, y = study
    other = fitted(X, y, **settings)
    assert other.transitions is not None
    before = [one.parameters.to_vector() for one in model.transitions.models]  # type: ignore[union-attr]
    assert all(not np.array_equal(one.parameters.to_vector(), old) for one, old in zip(other.transitions.models, before, strict=True))
    prognosis = quiet(other, X)
    np.testing.assert_allclose(total(prognosis.state_probabilities(TIMES)), 1.0, rtol=0.0, atol=1e-12)
    observed = hm.metrics.aalen_johansen(y, [12.0, 36.0], endpoint="recurrence")
    assert np.abs(prognosis.cumulative_incidence("recurrence", [12.0, 36.0]).mean(axis=0) - observed).max() < 0.06


def test_the_contrastive_trainer_has_no_intervals(study: Study) -> None:
    other = fitted(*study, trainer=hm.Contrastive(n_epochs=2))
    with pytest.raises(ValueError, match="trained without a likelihood"):
        quiet(other, study[0][:1]).survival("death", TIMES, interval=0.95)


def test_validation_data_are_refused(study: Study) -> None:
    X, y = study
    with pytest.raises(ValueError, match=r"where an endpoint is terminal, .* validation data are of no use; leave them out"):
        hm.SurvivalHarmonium(1, random_state=0).fit(X[:200], y[:200], validation=(X[200:], y[200:]))


@pytest.mark.parametrize("n_events", [0, 1, 3])
def test_an_endpoint_that_hardly_happens_has_a_harmonium_too(n_events: int, study: Study) -> None:
    X, y = study
    happened = np.flatnonzero(np.isfinite(y["recurrence"]["upper"].to_numpy()))
    kept = np.setdiff1d(np.arange(len(X)), happened[n_events:])
    some, seen = X.iloc[kept], y.iloc[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EndpointWarning)
        own = fitted(some, seen)
    assert own.transitions is not None
    prognosis = quiet(own, some)
    found = prognosis.state_probabilities(TIMES)
    np.testing.assert_allclose(total(found), 1.0, rtol=0.0, atol=1e-12)
    observed = hm.metrics.aalen_johansen(seen, TIMES[1:], endpoint="recurrence")
    assert np.abs(prognosis.cumulative_incidence("recurrence", TIMES[1:]).mean(axis=0) - observed).max() < 0.02
    deaths = hm.metrics.aalen_johansen(seen, TIMES[1:], endpoint="death")
    assert np.abs(prognosis.cumulative_incidence("death", TIMES[1:]).mean(axis=0) - deaths).max() < 0.04


def test_effects_are_learned_in_a_simulation() -> None:
    """Both endpoints' curves are near the truth where it is known: exponential times without a recurrence."""
    X, y = simulated(1500, seed=5)
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y).fitted_
    prognosis = quiet(model, X)
    x, arm = X["x"].to_numpy(), (X["arm"] == "new").to_numpy()
    rate = np.exp(0.6 * x - 0.4 * arm) / 30.0 + np.exp(0.3 * x) / 60.0
    truth = np.exp(-np.outer(rate, TIMES))
    assert np.abs(prognosis.survival(EITHER, TIMES) - truth).mean() < 0.025


@pytest.mark.parametrize("time_scale", ["linear", "log"])
def test_other_time_scales(time_scale: str, study: Study) -> None:
    X, y = study
    found = quiet(fitted(X, y, time_scale=time_scale, horizon=120.0), X)
    aalen = hm.metrics.aalen_johansen(y, [12.0, 36.0], endpoint="recurrence")
    assert np.abs(found.cumulative_incidence("recurrence", [12.0, 36.0]).mean(axis=0) - aalen).max() < 0.06


def test_where_nobody_was_observed_after_an_event_a_warning_says_so_and_incidence_is_right(trial: Study) -> None:
    X, y = trial
    at = np.array([2.0, 5.0, 12.0, 24.0, 48.0, 72.0])
    first = y["recurrence"]["lower"] == y["recurrence"]["upper"]
    death = (y["death"]["lower"] == y["death"]["upper"]) & ~first
    frame = pd.DataFrame({"t": y["recurrence"]["lower"].where(first, y["death"]["lower"]), "recurred": first, "died": death})
    ended = hm.endpoints(frame, recurrence=("t", "recurred"), death=("t", "died"), terminal="death")
    with pytest.warns(EndpointWarning, match=r"nobody was observed after 'recurrence'.*terminal=\('recurrence', 'death'\)"):
        own = fitted(X, ended)
    incidence = quiet(own, X).cumulative_incidence("recurrence", at)
    observed = hm.metrics.aalen_johansen(ended, at, endpoint="recurrence")
    np.testing.assert_allclose(incidence.mean(axis=0), observed, atol=0.02)
    interval = quiet(own, X[:3]).cumulative_incidence("recurrence", at[2:], interval=0.95)
    assert (interval.lower < interval.estimate).all()
    assert (interval.estimate < interval.upper).all()


# --- what is asked of it ---


def test_survival_of_what_death_prevents_warns(model: Fitted, study: Study) -> None:
    X = study[0][:3]
    with pytest.warns(CompetingWarning, match=r"'recurrence' can be prevented by 'death': what is answered is the probability of no"):
        alive = model.predict_survival_function(X, endpoint="recurrence", times=TIMES, return_array=True)
    np.testing.assert_allclose(alive, 1.0 - model.predict_cumulative_incidence(X, endpoint="recurrence", times=TIMES))


def test_without_times_they_are_at_event_times(model: Fitted, study: Study) -> None:
    prognosis = quiet(model, study[0][:2])
    first = np.unique(np.concatenate([own.event_times for own in model.encoding.endpoints]))
    for ask in (prognosis.density, prognosis.hazard):
        np.testing.assert_array_equal(ask(EITHER), ask(EITHER, first))


def test_what_is_not_available_is_refused(
    model: Fitted, study: Study, several: tuple[pd.DataFrame, pd.DataFrame, Fitted], trial: Study
) -> None:
    X, y = study
    prognosis = quiet(model, X[:2])
    with pytest.raises(
        ValueError, match=r"have no density where an endpoint is terminal.*Ask for joint_survival, or for the density of one"
    ):
        prognosis.joint_density({"recurrence": TIMES, "death": TIMES})
    with pytest.raises(ValueError, match="Kendall's tau is not identified"):
        model.dependence(X)
    with pytest.raises(ValueError, match="at most 14 hidden units"):
        hm.SurvivalHarmonium(15).fit(X, y)
    with pytest.raises(ValueError, match="the horizon must be one time for all endpoints"):
        hm.SurvivalHarmonium(1, horizon={"death": 100.0}).fit(X, y)
    with pytest.raises(ValueError, match="survival after an event is known where it is the only one that is not terminal; found 'death'"):
        prognosis.survival_after("death", [1.0])
    some, _, of_several = several
    prognosis = quiet(of_several, some[:2])
    with pytest.raises(ValueError, match=r"here 'a' and 'b'; ask for state_probabilities"):
        prognosis.joint_survival({"a": [1.0], "death": [2.0]})
    np.testing.assert_allclose(prognosis.joint_survival({"a": [1.0, 2.0]}), 1.0 - prognosis.cumulative_incidence("a", [1.0, 2.0]))
    with pytest.raises(ValueError, match="the only event that is not terminal"):
        prognosis.survival_without("a", [1.0], until=2.0)
    plain = hm.SurvivalHarmonium(0, trainer=hm.Exact(max_iter=2)).fit(*hm.datasets.load_nvalt8())
    with pytest.raises(ValueError, match="the model knows of no terminal endpoint"):
        plain.predict_state_probabilities(trial[0][:2], times=TIMES)
