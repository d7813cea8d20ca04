"""A harmonium for each endpoint of a course: laws of what they answer together, and what is left to the harmonium of whole courses."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import harmonium as hm
from harmonium.model.course_prognosis import CoursePrognosis
from harmonium.model.fitted import Fitted
from harmonium.table.endpoints import parse_endpoints

TIMES = np.array([3.0, 12.0, 24.0, 60.0])


def simulated(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
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
    return hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), random_state=0, **settings).fit(X, y).fitted_


@pytest.fixture(scope="module")
def study() -> tuple[pd.DataFrame, pd.DataFrame]:
    return simulated()


@pytest.fixture(scope="module")
def model(study: tuple[pd.DataFrame, pd.DataFrame]) -> Fitted:
    return fitted(*study)


@pytest.fixture(scope="module")
def causes() -> tuple[pd.DataFrame, Fitted]:
    """Competing risks: relapse, or death before it."""
    X, y = simulated(seed=1)
    table = pd.DataFrame({"t": y["recurrence"]["lower"].to_numpy()})
    table["why"] = np.where(np.isfinite(y["recurrence"]["upper"]), 1, np.where(np.isfinite(y["death"]["upper"]), 2, 0))
    return X, fitted(X, hm.endpoints(table, first={"time": "t", "cause": "why", "causes": {"relapse": 1, "death": 2}}))


def quiet(model: Fitted, X: pd.DataFrame, given: Any = None) -> CoursePrognosis:
    prognosis = model.prognosis(X, given=given)
    assert isinstance(prognosis, CoursePrognosis)
    prognosis.warns = False
    return prognosis


def curve(model: Fitted, X: pd.DataFrame, e: int, state: int, entered: float | None = None) -> Any:
    """Survival and density of an endpoint of one row in a state, as functions of time."""
    assert model.transitions is not None
    own = model.transitions.of(e, state)
    values = own.covariates(model.encoding, model.encoding.covariates(X), state, entered)
    curves = own.curves(values, state)
    return lambda t: float(curves.survival(np.array([t]))[0, 0]), lambda t: float(curves.density(np.array([t]))[0, 0])


def test_states_add_up_to_one(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    for given in (None, hm.landmark(y, 12.0), y):
        found = quiet(model, X, given).state_probabilities(TIMES)
        assert np.abs(sum(found.values()) - 1.0).max() < 1e-12
        assert min(own.min() for own in found.values()) >= 0.0


def test_alive_after_recurrence_is_the_integral_over_its_time(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X = study[0][:1]
    (alive_r, density_r), (alive_d, density_d) = curve(model, X, 0, 0), curve(model, X, 1, 0)
    found = quiet(model, X).state_probabilities(TIMES)
    knots = np.unique(np.concatenate([own.kinks(0) for own in model.transitions.models]))  # type: ignore[union-attr]
    for k, time in enumerate(TIMES):

        def flow(u: float, time: float = time) -> float:
            return density_r(u) * alive_d(u) * curve(model, X, 1, 1, u)[0](time - u)

        inside = knots[(knots > 0.0) & (knots < time)]
        expected = quad(flow, 0.0, time, epsabs=1e-9, epsrel=1e-9, limit=500, points=inside if inside.size else None)[0]
        assert found["recurrence"][0, k] == pytest.approx(expected, abs=3e-6)
        assert found["event-free"][0, k] == pytest.approx(alive_r(time) * alive_d(time), abs=1e-12)
        direct = quad(lambda u: density_d(u) * alive_r(u), 0.0, time, epsabs=1e-10, limit=500, points=inside if inside.size else None)[0]
        assert found["death without recurrence"][0, k] == pytest.approx(direct, abs=1e-6)


def test_incidences_of_causes_are_integrals_and_add_up(causes: tuple[pd.DataFrame, Fitted]) -> None:
    X, model = causes
    prognosis = quiet(model, X)
    relapse, death = (prognosis.cumulative_incidence(name, TIMES) for name in ("relapse", "death"))
    free = prognosis.survival(("relapse", "death"), TIMES)
    assert np.abs(relapse + death + free - 1.0).max() < 1e-12
    (alive, _), (_, density) = curve(model, X[:1], 1, 0), curve(model, X[:1], 0, 0)
    expected = quad(lambda u: density(u) * alive(u), 0.0, 12.0, epsabs=1e-10, limit=500)[0]
    assert relapse[0, 1] == pytest.approx(expected, abs=1e-6)


def test_incidence_is_monotone_and_bounded(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    prognosis, grid = quiet(model, study[0]), np.linspace(0.0, 90.0, 60)
    incidence, free = prognosis.cumulative_incidence("recurrence", grid), prognosis.survival(("recurrence", "death"), grid)
    assert np.diff(incidence, axis=1).min() > -1e-7
    assert (incidence <= 1.0 - free + 1e-9).all()


def test_tower_property_at_a_landmark(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """What is said at first is the average of what will be said at the landmark."""
    X, since = study[0][:40], 12.0
    at_first = quiet(model, X)
    now = at_first.state_probabilities([since])
    nothing = pd.DataFrame({"r": np.full(len(X), since), "e": 0, "d": np.full(len(X), since), "f": 0})
    event_free = hm.endpoints(nothing, recurrence=("r", "e"), death=("d", "f"), terminal="death")
    later = quiet(model, X, event_free)
    for name in ("event-free", "death without recurrence"):
        before = now.get("death without recurrence", 0.0) if name.startswith("death") else 0.0
        expected = now["event-free"] * later.state_probabilities(TIMES[2:])[name] + before
        assert np.abs(at_first.state_probabilities(TIMES[2:])[name] - expected).max() < 1e-7
    # those with a recurrence at the landmark had it at some time u before, each with its own survival from there on
    edges = np.linspace(0.0, since, 81)
    middle, entered = 0.5 * (edges[1:] + edges[:-1]), np.diff(at_first.cumulative_incidence("recurrence", edges), axis=1)
    total = now["event-free"] * later.survival("death", [36.0])
    for k, u in enumerate(middle):
        known = hm.endpoints(nothing.assign(r=u, e=1), recurrence=("r", "e"), death=("d", "f"), terminal="death")
        some = quiet(model, X, hm.landmark(known, since))
        assert model.transitions is not None
        own = model.transitions.of(1, 1)
        curves = own.curves(own.covariates(model.encoding, model.encoding.covariates(X), 1, u), 1)
        total += entered[:, [k]] * curves.survival(np.array([since - u])) * some.survival("death", [36.0])
    assert np.abs(total - at_first.survival("death", [36.0])).max() < 1e-3  # rectangles


def test_tower_property_where_only_survival_is_known(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X = study[0][:40]
    now = quiet(model, X).state_probabilities([12.0, 24.0, 60.0])
    alive = now["event-free"][:, :1] + now["recurrence"][:, :1]
    known = hm.endpoints(pd.DataFrame({"d": np.full(len(X), 12.0), "f": 0}), death=("d", "f"), terminal="death")
    later = quiet(model, X, known)
    then = later.state_probabilities([24.0, 60.0])
    for name, own in then.items():
        before = now[name][:, :1] if name.startswith("death") else 0.0
        assert np.abs(alive * own + before - now[name][:, 1:]).max() < 1e-4
    early = later.state_probabilities([3.0, 6.0, 12.0])
    assert np.abs(early["event-free"] + early["recurrence"] - 1.0).max() < 1e-12
    assert np.abs(early["recurrence"][:, -1:] - now["recurrence"][:, :1] / alive).max() < 2e-4
    step = 1e-4
    rate = later.density("recurrence", [24.0])
    after, before = (later.cumulative_incidence("recurrence", np.array([24.0]) + sign * step) for sign in (1.0, -1.0))
    assert np.abs(rate - (after - before) / (2.0 * step)).max() < 1e-5
    drawn = model.draw_times(X, given=known, n_draws=100, random_state=0)
    found = np.stack([(drawn[..., 0] <= t).mean(axis=0) for t in (6.0, 24.0)], axis=1)
    assert np.abs((found - later.cumulative_incidence("recurrence", [6.0, 24.0])).mean(axis=0)).max() < 4.0 * 0.5 / np.sqrt(40 * 100)


def test_draws_agree_with_answers(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    for given in (None, hm.landmark(y, 12.0)):
        alive = np.ones(len(X), dtype=bool) if given is None else (y["death"]["lower"] > 12.0).to_numpy()
        rows = X[alive][:60]
        own = None if given is None else given[alive][:60]
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


def test_rates_are_derivatives(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    step = 1e-4
    for given in (None, hm.landmark(y, 6.0)):
        prognosis = quiet(model, X, given)
        for name in ("recurrence", "death"):
            density = prognosis.density(name, TIMES[1:])
            after, before = (prognosis.cumulative_incidence(name, TIMES[1:] + sign * step) for sign in (1.0, -1.0))
            known = ~np.isnan(density)
            assert np.abs(density - (after - before) / (2.0 * step))[known].max() < 2e-5


def test_joint_survival_agrees_with_states(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    prognosis = quiet(model, study[0])
    found = prognosis.joint_survival({"recurrence": TIMES, "death": TIMES})
    free, alive = prognosis.survival(("recurrence", "death"), TIMES), prognosis.survival("death", TIMES)
    assert np.abs(np.einsum("rtt->rt", found) - free).max() < 2e-6
    assert (found <= alive[:, None, :] + 1e-6).all()


def test_a_row_with_a_missing_level_is_the_average_over_its_levels(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Weighed by how likely they are given the rest of the row and what has happened; likelihoods and draws as well as curves."""
    X, y = study[0][:20], study[1][:20]
    hidden = X.assign(arm=pd.Series([None] * 20, index=X.index, dtype=X["arm"].dtype))
    values = [X.assign(arm=level) for level in ("old", "new")]
    for given in (None, hm.landmark(y, 6.0)):
        known = None if given is None else parse_endpoints(given)
        encoded = [model.encoding.covariates(own) for own in values]
        ln = np.array([model.log_mass(model.encoding.cells(own)) for own in encoded])
        if known is not None:
            ln += [model.log_likelihood_of(own, known, "conditional") for own in encoded]
        weights = np.exp(ln - np.logaddexp(*ln))[:, :, None]
        for ask in (lambda own: own.survival("death", TIMES), lambda own: own.cumulative_incidence("recurrence", TIMES)):
            by_level = np.array([ask(quiet(model, own, given)) for own in values])
            found = ask(quiet(model, hidden, given))
            np.testing.assert_allclose(found, (weights * by_level).sum(axis=0), atol=1e-9)
            assert ((found >= by_level.min(axis=0) - 1e-12) & (found <= by_level.max(axis=0) + 1e-12)).all()
    ln = np.array([model.log_mass(model.encoding.cells(model.encoding.covariates(own))) for own in values])
    likely = np.array([model.log_likelihood_of(model.encoding.covariates(own), parse_endpoints(y), "conditional") for own in values])
    found = model.log_likelihood_of(model.encoding.covariates(hidden), parse_endpoints(y), "conditional")
    np.testing.assert_allclose(found, np.logaddexp(*(ln - np.logaddexp(*ln) + likely)), atol=1e-9)


def test_intervals_of_rows_with_missing_values_hold_their_estimates(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X = study[0][:20].copy()
    X.loc[X.index[:5], "x"] = np.nan
    found = quiet(model, X).survival("death", TIMES, interval=0.95)
    assert ((found.lower < found.estimate) & (found.estimate < found.upper)).all()


def test_importance_and_explanations_ask_one_model(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Contributions are Shapley values of averages over what is not known; they begin at the average and end at the prediction."""
    X = study[0][:1]
    found = model.explain(X, endpoint="death", measure="survival", time=24.0, interval=None)["contribution"].droplevel("row")
    alive = quiet(model, X).survival("death", [24.0])[0, 0]
    nothing = quiet(model, X.mask(np.ones(X.shape, dtype=bool))).survival("death", [24.0])[0, 0]
    assert found["prediction"] == pytest.approx(alive, abs=1e-12)
    assert found["average"] == pytest.approx(nothing, abs=1e-12)
    assert found[list(X)].sum() == pytest.approx(alive - nothing, abs=1e-12)


def test_likelihood_is_that_of_the_course(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    found = model.log_likelihood_of(model.encoding.covariates(X), parse_endpoints(y), "conditional")
    recurred, died = (np.isfinite(y[name]["upper"].to_numpy()) for name in ("recurrence", "death"))
    for row in (np.flatnonzero(recurred & died)[0], np.flatnonzero(~recurred & died)[0], np.flatnonzero(recurred & ~died)[0]):
        own, r, d = X[row : row + 1], float(y["recurrence"]["lower"].iloc[row]), float(y["death"]["lower"].iloc[row])
        (alive_r, density_r), (alive_d, density_d) = curve(model, own, 0, 0), curve(model, own, 1, 0)
        if not recurred[row]:
            expected = np.log(density_d(d) * alive_r(d))
        else:
            alive, density = curve(model, own, 1, 1, r)
            expected = np.log(density_r(r) * alive_d(r)) + np.log(density(d - r) if died[row] else alive(d - r))
        assert found[row] == pytest.approx(expected, abs=1e-8)


def test_a_file_keeps_them(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    model.save(tmp_path / "model.harmonium")
    again = hm.load(tmp_path / "model.harmonium")
    assert isinstance(again, Fitted)
    X, y = study[0][:30], hm.landmark(study[1][:30], 12.0)
    assert np.array_equal(quiet(again, X, y).survival("death", TIMES), quiet(model, X, y).survival("death", TIMES))
    old, new = (quiet(one, X).survival("death", TIMES, interval=0.9) for one in (model, again))
    assert np.allclose(old.lower, new.lower, rtol=0, atol=1e-12)


def test_a_contrast_of_arms_has_the_sign_of_the_simulation(model: Fitted, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = model.contrast(study[0], "arm", ("old", "new"), endpoint="recurrence", measure="incidence", times=24.0, interval=0.95)
    own = found.xs("difference", level=-1).iloc[0] if "difference" in found.index.get_level_values(-1) else found.iloc[-1]
    assert own["lower"] < own["estimate"] < own["upper"]
    assert own["estimate"] < 0.0


def test_effects_are_learned_in_a_simulation() -> None:
    """Both endpoints' curves are near the truth where it is known: exponential times without a recurrence."""
    X, y = simulated(1500, seed=5)
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y).fitted_
    prognosis = quiet(model, X)
    x, arm = X["x"].to_numpy(), (X["arm"] == "new").to_numpy()
    rate = np.exp(0.6 * x - 0.4 * arm) / 30.0 + np.exp(0.3 * x) / 60.0
    truth = np.exp(-np.outer(rate, TIMES))
    assert np.abs(prognosis.survival(("recurrence", "death"), TIMES) - truth).mean() < 0.025


def test_states_of_several_events_add_up_and_agree_with_drawn_histories() -> None:
    X, y = simulated(200, seed=2)
    recurrence, death = (y[name]["lower"].to_numpy() for name in ("recurrence", "death"))
    table = pd.DataFrame({"r": recurrence, "re": np.isfinite(y["recurrence"]["upper"]), "d": death, "de": np.isfinite(y["death"]["upper"])})
    table["se"] = np.arange(len(X)) % 2
    table["s"] = np.where(table["se"] == 1, np.where(np.arange(len(X)) % 3, 0.5 * recurrence, 0.5 * (recurrence + death)), death)
    several = hm.endpoints(table, response=("s", "se"), recurrence=("r", "re"), death=("d", "de"), terminal="death")
    model = fitted(X, several)
    rows, drawn = X[:50], model.draw_times(X[:50], n_draws=400, random_state=0)
    found = quiet(model, rows).state_probabilities(TIMES)
    assert np.abs(sum(found.values()) - 1.0).max() < 1e-12
    happened = [(drawn[..., None] <= TIMES)[:, :, e] for e in range(3)]
    for name, expected in found.items():
        others = [happened[k] if event in name.partition("after")[2] or event in name.partition("death")[0] else ~happened[k]
                  for k, event in enumerate(("response", "recurrence"))]  # fmt: skip
        if " without " in name:
            others = [~happened[0], ~happened[1]]
        dead = happened[2] if name.startswith("death") else ~happened[2]
        difference = (dead & others[0] & others[1]).mean(axis=0) - expected
        assert np.abs(difference.mean(axis=0)).max() < 4.0 * 0.5 / np.sqrt(50 * 400)
        assert np.abs(difference).max() < 5.5 * 0.5 / np.sqrt(400)
    for given in (None, hm.landmark(several, 6.0)):
        prognosis = quiet(model, X, given)
        assert np.abs(sum(prognosis.state_probabilities(TIMES).values()) - 1.0).max() < 1e-12
        for name in ("response", "recurrence", "death"):
            density = prognosis.density(name, TIMES[1:])
            after, before = (prognosis.cumulative_incidence(name, TIMES[1:] + sign * 0.1) for sign in (1.0, -1.0))
            known = ~np.isnan(density)
            assert np.abs(density - (after - before) / 0.2)[known].max() < 2e-3


@pytest.mark.parametrize("settings", [{"objective": "joint"}, {"objective": 0.5}])
def test_other_objectives_have_one_model_of_whole_courses(settings: dict[str, Any], study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    assert fitted(study[0][:150], study[1][:150], **settings).transitions is None


def test_an_endpoint_that_hardly_happens_has_no_model_of_its_own(study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    happened = np.flatnonzero(np.isfinite(y["recurrence"]["upper"].to_numpy()))
    without = np.setdiff1d(np.arange(len(X)), happened[3:])
    assert fitted(X.iloc[without], y.iloc[without]).transitions is None


@pytest.mark.parametrize("time_scale", ["linear", "log"])
def test_other_time_scales(time_scale: str, study: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, y = study
    found = quiet(fitted(X, y, time_scale=time_scale, horizon=120.0), X)
    aalen = hm.metrics.aalen_johansen(y, [12.0, 36.0], endpoint="recurrence")
    assert np.abs(found.cumulative_incidence("recurrence", [12.0, 36.0]).mean(axis=0) - aalen).max() < 0.06
