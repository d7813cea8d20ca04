"""A fitted model's time scales are calibrated: with nothing known it says what was observed."""

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

import harmonium as hm
from harmonium.model.fitting import Encoded, Recipe, encode_training_table
from harmonium.model.scale_change import moved_cells, moved_table
from harmonium.table.endpoints import parse_endpoints


def trial(n=250, seed=0, terminal=()):
    """Two events that share a risk, with a column that tells something of it, and gaps."""
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=n)
    recurrence, death = (scale * np.exp(-0.6 * risk) * rng.weibull(shape, n) for scale, shape in ((30.0, 1.2), (60.0, 1.5)))
    until = rng.uniform(20.0, 90.0, n)
    seen = np.minimum(death, until)
    frame = pd.DataFrame({"t1": np.minimum(recurrence, seen), "e1": recurrence <= seen, "t2": seen, "e2": death <= until})
    X = pd.DataFrame({"marker": np.where(rng.random(n) < 0.2, np.nan, risk + rng.normal(size=n)), "arm": rng.choice(["a", "b"], n)})
    return X, hm.endpoints(frame, recurrence=("t1", "e1"), death=("t2", "e2"), terminal=terminal)


def nothing_of(X):
    return X[:1].mask(np.ones((1, X.shape[1]), dtype=bool))


def test_with_nothing_known_the_model_says_what_was_observed():
    X, y = trial()
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    for endpoint in model.encoding_.endpoints:
        times = np.linspace(0.02, 0.98, 40) * endpoint.scale.end
        alive = model.predict_survival_function(nothing_of(X), endpoint=endpoint.name, times=times, return_array=True)[0]
        assert np.abs(1.0 - alive - endpoint.calibration.observed.to_unit(times)).max() < 0.005


@pytest.mark.parametrize("terminal", ["death", ("recurrence", "death")])
def test_the_first_event_happens_as_often_as_was_observed(terminal):
    X, y = trial(terminal="death")
    first = np.minimum(y["recurrence", "lower"], y["death", "lower"]).to_numpy()
    recurred, died = (np.isfinite(y[name, "upper"]).to_numpy() for name in ("recurrence", "death"))
    if terminal != "death":
        frame = pd.DataFrame({"t": first, "r": recurred, "d": died & ~recurred})
        y = hm.endpoints(frame, recurrence=("t", "r"), death=("t", "d"), terminal=terminal)
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    times = np.quantile(first, np.linspace(0.05, 0.9, 20))
    free = model.prognosis(X).survival(("recurrence", "death"), times).mean(axis=0)
    observed = KaplanMeierFitter().fit(first, recurred | died).predict(times).to_numpy()
    assert np.abs(free - observed).max() < 0.03


@pytest.mark.filterwarnings("ignore::harmonium.errors.ExtrapolationWarning")  # of a few late recurrences
def test_after_an_event_rows_last_on_average_as_long_as_was_observed():
    X, y = trial(terminal="death")
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    known, at = parse_endpoints(y), np.array([2.0, 5.0, 10.0])
    place = known.names.index("recurrence")
    rows = np.flatnonzero(known.event[:, place])
    mean = np.mean([after(model, X.iloc[[row]], float(known.lower[row, place]), at) for row in rows], axis=0)
    lasted, died = known.lower[rows, 1] - known.lower[rows, place], known.event[rows, 1]
    assert np.abs(mean - KaplanMeierFitter().fit(lasted, died).predict(at).to_numpy()).max() < 0.03


def after(model, X, when, at):
    """Survival at some times after a recurrence."""
    y = pd.DataFrame({"t1": [when], "e1": [True], "t2": [when], "e2": [False]})
    given = hm.endpoints(y, recurrence=("t1", "e1"), death=("t2", "e2"), terminal="death")
    return model.predict_survival_function(X, endpoint="death", times=when + at, given=given, return_array=True)[0]


def test_rows_on_calibrated_scales_are_what_encoding_them_anew_gives():
    X, y = trial()
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    table = encode_training_table(Recipe.of(model), X, y, model.fitted_)
    rows = table.objective(1.0).recorded
    moved = moved_cells(rows, table.encoding, model.encoding_)
    anew = Encoded(model.encoding_, table.covariates, table.known).objective(1.0).recorded
    for one, other in zip(moved.bounds(), anew.bounds(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    there = moved_table(rows.bounds()[0], table.encoding, model.encoding_)
    np.testing.assert_allclose(moved_table(there, model.encoding_, table.encoding), rows.bounds()[0], atol=1e-8)


def test_training_that_goes_on_stays_where_it_is():
    X, y = trial(terminal="death")
    given = hm.Exact(l2=5.0)  # otherwise the prior is chosen anew
    model = hm.SurvivalHarmonium(trainer=given, random_state=0, warm_start=True).fit(X, y)
    before = model.predict_survival_function(X, endpoint="death", times=[10.0, 40.0], return_array=True)
    after_more = model.fit(X, y).predict_survival_function(X, endpoint="death", times=[10.0, 40.0], return_array=True)
    np.testing.assert_allclose(after_more, before, atol=2e-3)


def test_a_model_from_a_file_knows_the_scales_of_its_training(tmp_path):
    X, y = trial()
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    model.save(tmp_path / "m.harmonium")
    again = hm.load(tmp_path / "m.harmonium")
    assert again.encoding.in_training().timed == model.encoding_.in_training().timed
    assert again.encoding.in_training().timed != again.encoding.timed


def test_rows_speak_against_a_share_that_censoring_has_bent():
    """What was paid in total tells how long somebody has been observed: then the share of events, whoever was censored, is not theirs."""
    rng = np.random.default_rng(0)
    n = 2500
    event, until = rng.exponential(60.0, n), rng.uniform(1.0, 72.0, n)
    time = np.minimum(event, until)
    X = pd.DataFrame({"total": time * rng.uniform(0.9, 1.1, n), "other": rng.normal(size=n)})
    y = hm.endpoints(pd.DataFrame({"t": time, "e": event <= until}), churn=("t", "e"))
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    assert model.encoding_.endpoints == model.encoding_.in_training().endpoints
    without = X.drop(columns="total")
    free = hm.SurvivalHarmonium(random_state=0).fit(without, y)
    assert free.encoding_.endpoints != free.encoding_.in_training().endpoints
