"""Averages of a fitted model are those that were observed."""

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

import harmonium as hm
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


def test_with_nothing_known_the_model_is_near_the_product_limit_estimate():
    X, y = trial()
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    for endpoint in model.encoding_.endpoints:
        seen, event = y[endpoint.name, "lower"], np.isfinite(y[endpoint.name, "upper"])
        curve = KaplanMeierFitter().fit(seen, event)
        times = np.quantile(seen, np.linspace(0.05, 0.9, 20))
        alive = model.predict_survival_function(nothing_of(X), endpoint=endpoint.name, times=times, return_array=True)[0]
        assert np.abs(alive - curve.predict(times).to_numpy()).max() < 0.03


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


def test_training_that_goes_on_stays_where_it_is():
    X, y = trial(terminal="death")
    given = hm.Exact(l2=5.0)  # otherwise the prior is chosen anew
    model = hm.SurvivalHarmonium(trainer=given, random_state=0, warm_start=True).fit(X, y)
    before = model.predict_survival_function(X, endpoint="death", times=[10.0, 40.0], return_array=True)
    after_more = model.fit(X, y).predict_survival_function(X, endpoint="death", times=[10.0, 40.0], return_array=True)
    np.testing.assert_allclose(after_more, before, atol=2e-3)
