"""What an event does to survival: the cross ratio of an intermediate and a terminal event."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm

QUICK = {"n_hidden": 3, "trainer": hm.Exact(n_starts=2), "random_state": 0}


def history(n, effect, seed=0):
    """Recurrence multiplies the hazard of death by a factor; everything else is exponential."""
    rng = np.random.default_rng(seed)
    recurrence, without = rng.exponential(30.0, n), rng.exponential(60.0, n)
    death = np.where(recurrence < without, recurrence + rng.exponential(60.0 / effect, n), without)
    until = rng.uniform(40.0, 120.0, n)
    seen = np.minimum(death, until)
    frame = pd.DataFrame({"r": np.minimum(recurrence, seen), "re": recurrence <= seen, "d": seen, "de": death <= until})
    X = pd.DataFrame({"age": rng.normal(60.0, 8.0, n), "arm": rng.choice(["a", "b"], n)})
    return X, hm.endpoints(frame, recurrence=("r", "re"), death=("d", "de"), terminal="death")


@pytest.fixture(scope="module")
def ill():
    X, y = history(1500, 4.0)
    return X, hm.SurvivalHarmonium(**QUICK).fit(X, y)


def test_it_finds_the_factor_by_which_an_event_raises_the_hazard(ill):
    X, model = ill
    found = model.cross_ratio(X, times=[5.0, 20.0, 40.0], within=12.0)
    truth_after = np.exp(-12.0 * 4.0 / 60.0)
    hazards = 1.0 / 30.0, 1.0 / 60.0  # without an event now, one may come: then the hazard is four times as high
    total, later = sum(hazards), 4.0 / 60.0
    alive = np.exp(-total * 12.0) + hazards[0] / (later - total) * (np.exp(-total * 12.0) - np.exp(-later * 12.0))
    assert np.abs(found["survival_after"] - truth_after).max() < 0.08
    assert np.abs(found["survival_without"] - alive).max() < 0.05
    assert found["cross_ratio"].between(0.6 * np.log(truth_after) / np.log(alive), 1.6 * np.log(truth_after) / np.log(alive)).all()


def test_an_event_that_changes_nothing_has_a_ratio_of_one():
    X, y = history(1500, 1.0, seed=1)
    found = hm.SurvivalHarmonium(**QUICK).fit(X, y).cross_ratio(X, times=[10.0, 30.0], within=20.0, interval=0.99)
    assert found["cross_ratio"].between(0.7, 1.4).all()
    assert ((found["cross_ratio_lower"] < 1.0) & (found["cross_ratio_upper"] > 1.0)).all()


def test_it_is_what_the_prognosis_says_given_the_event_and_given_none(ill):
    X, model = ill
    found = model.cross_ratio(X[:50], times=10.0, within=15.0)
    for column, event in (("survival_after", True), ("survival_without", False)):
        frame = pd.DataFrame({"r": [10.0] * 50, "re": event, "d": 10.0, "de": False})
        known = hm.endpoints(frame, recurrence=("r", "re"), death=("d", "de"), terminal="death")
        expected = model.prognosis(X[:50], given=known).survival("death", [25.0]).mean()
        assert found[column].iloc[0] == pytest.approx(expected, abs=1e-12)


def test_without_times_it_asks_at_quartiles_of_the_event(ill):
    X, model = ill
    found = model.cross_ratio(X[:20])
    assert found.index.name == "time"
    assert 1 <= len(found) <= 3
    assert found.index.is_monotonic_increasing
    assert np.isfinite(found.to_numpy()).all()


def test_intervals_surround_their_estimates(ill):
    X, model = ill
    found = model.cross_ratio(X[:100], times=[10.0], within=12.0, interval=0.95)
    for name in ("survival_after", "survival_without", "cross_ratio"):
        assert (found[f"{name}_lower"] < found[name]).all()
        assert (found[name] < found[f"{name}_upper"]).all()
    assert found["survival_after_upper"].iloc[0] < 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"event": "death"}, "event must be one of 'recurrence'; found 'death'"),
        ({"endpoint": "recurrence"}, "endpoint must be one of 'death'"),
        ({"times": [0.0, 5.0]}, "times must be positive"),
        ({"within": -1.0}, "within must be a positive time"),
        ({"within": True}, "within must be a positive time"),
    ],
)
def test_wrong_questions_are_refused(ill, wrong, message):
    X, model = ill
    with pytest.raises(ValueError, match=message):
        model.cross_ratio(X[:5], **wrong)


def test_endpoints_that_are_free_of_each_other_have_a_tau_instead(study):
    X, y = study
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs a terminal endpoint"):
        model.cross_ratio(X)


def test_competing_risks_have_no_event_before_the_end():
    X, y = history(200, 2.0)
    frame = pd.DataFrame({"t": np.arange(1.0, 201.0), "c": np.arange(200) % 3})
    y = hm.endpoints(frame, first={"time": "t", "cause": "c", "causes": {"relapse": 1, "death": 2}})
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no event comes before"):
        model.cross_ratio(X)
