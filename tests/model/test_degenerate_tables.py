"""Tables with next to nothing in them: no informative column, one row, no row, no event, no time of an event, one history for all."""

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter, KaplanMeierFitter

import harmonium as hm

QUICK = {"n_hidden": 2, "trainer": hm.Exact(n_starts=1), "random_state": 0}
TIMES = np.array([2.0, 5.0, 10.0])


def subjects(n=150):
    rng = np.random.default_rng(0)
    relapse, death, end = (rng.exponential(mean, n) + 0.1 for mean in (12.0, 15.0, 30.0))
    last = np.minimum(death, end)
    table = {"d": last, "de": death <= end, "r": np.minimum(relapse, last), "re": relapse < last, "one": 1, "age": rng.normal(60.0, 9.0, n)}
    return pd.DataFrame({**table, "unknown": np.nan})


ENDPOINTS = {
    "one": {"death": ("d", "de")},
    "two": {"death": ("d", "de"), "relapse": ("r", "re"), "terminal": ()},
    "terminal": {"relapse": ("r", "re"), "death": ("d", "de"), "terminal": "death"},
}


@pytest.mark.filterwarnings("ignore::harmonium.errors.IgnoredColumnWarning")
@pytest.mark.parametrize("columns", [[], ["one"], ["unknown"]], ids=["no column", "a constant", "all missing"])
@pytest.mark.parametrize("endpoints", ENDPOINTS)
def test_without_an_informative_column_the_curve_of_the_study_comes_out(columns, endpoints, tmp_path):
    table = subjects()
    X, y = table[columns], hm.endpoints(table, **ENDPOINTS[endpoints])
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    happened = model.predict_cumulative_incidence(X[:3], endpoint="death", times=TIMES, interval=0.95)
    expected = 1.0 - KaplanMeierFitter().fit(table["d"], table["de"]).predict(TIMES)
    np.testing.assert_allclose(happened.estimate, np.tile(expected, (3, 1)), atol=0.04)
    assert (happened.lower < happened.estimate).all()
    assert (happened.estimate < happened.upper).all()
    assert not len(model.summary(X, y))
    assert model.explain(X[:1]).index.get_level_values("column").tolist() == ["average", "prediction"]
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(hm.load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore::harmonium.errors.IgnoredColumnWarning")
def test_without_an_informative_column_incidences_are_those_of_the_study():
    table = subjects()
    model = hm.SurvivalHarmonium(**QUICK).fit(table[["one"]], hm.endpoints(table, **ENDPOINTS["terminal"]))
    kind = np.where(table["re"], 1, np.where(table["de"], 2, 0))
    oracle = AalenJohansenFitter(calculate_variance=False).fit(table["r"], kind, event_of_interest=1).cumulative_density_.iloc[:, 0]
    expected = [oracle[oracle.index <= time].iloc[-1] for time in TIMES]
    np.testing.assert_allclose(model.predict_cumulative_incidence(table[["one"]][:1], times=TIMES)[0], expected, atol=0.04)


@pytest.mark.filterwarnings("ignore::harmonium.errors.HarmoniumWarning")
@pytest.mark.parametrize("endpoints", ENDPOINTS)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_model_of_hardly_any_rows_can_be_saved(endpoints, rows, tmp_path):
    table = subjects()[:rows]
    X = table[["age"]]
    model = hm.SurvivalHarmonium(**QUICK).fit(X, hm.endpoints(table, **ENDPOINTS[endpoints]))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(hm.load(tmp_path / "m").predict(X), model.predict(X))


# --- no rows ---


@pytest.fixture(scope="module")
def free():
    """A model of two endpoints, and a table for it."""
    table = subjects()
    return hm.SurvivalHarmonium(**QUICK).fit(table[["age"]], hm.endpoints(table, **ENDPOINTS["two"])), table[["age"]]


QUESTIONS = {
    "survival": ({"times": TIMES}, (3,)),
    "cumulative_incidence": ({"times": TIMES}, (3,)),
    "cumulative_hazard": ({"times": TIMES}, (3,)),
    "density": ({"times": TIMES}, (3,)),
    "hazard": ({"times": TIMES}, (3,)),
    "survival_at": ({"endpoint": "death", "times": np.empty(0)}, ()),
    "quantile": ({"q": 0.3}, ()),
    "median": ({}, ()),
    "restricted_mean": ({"until": 5.0}, ()),
    "risk": ({}, ()),
    "joint_survival": ({"times": {"death": TIMES, "relapse": TIMES[:2]}}, (3, 2)),
    "joint_density": ({"times": {"death": TIMES, "relapse": TIMES[:2]}}, (3, 2)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_table_without_rows_has_answers_without_rows(free, question):
    model, X = free
    settings, shape = QUESTIONS[question]
    assert getattr(model.prognosis(X[:0]), question)(**settings).shape == (0, *shape)
    assert all(part.shape == (0, *shape) for part in getattr(model.prognosis(X[:0]), question)(**settings, interval=0.9))


@pytest.mark.filterwarnings("ignore::harmonium.errors.CompetingWarning")
def test_a_table_without_rows_has_answers_where_death_is_terminal():
    table = subjects()
    model = hm.SurvivalHarmonium(**QUICK).fit(table[["age"]], hm.endpoints(table, **ENDPOINTS["terminal"]))
    prognosis = model.prognosis(table[["age"]][:0])
    for question, (settings, shape) in QUESTIONS.items():
        if question != "joint_density":
            assert getattr(prognosis, question)(**settings).shape == (0, *shape), question
            assert getattr(prognosis, question)(**settings, interval=0.9).upper.shape == (0, *shape), question
    assert all(own.shape == (0, 3) for own in prognosis.state_probabilities(TIMES).values())
    assert all(own.lower.shape == (0,) for own in prognosis.time_in_states(until=5.0, interval=0.9).values())
    with pytest.raises(ValueError, match="no density where an endpoint is terminal"):
        model.predict_joint_density(table[["age"]], times={"death": TIMES, "relapse": TIMES})


def test_a_table_without_rows_is_predicted_explained_and_completed(free):
    model, X = free
    y = hm.endpoints(subjects()[:0], death=("d", "de"), relapse=("r", "re"), terminal=())
    none = X[:0]
    assert model.predict(none).shape == (0,)
    assert model.predict(none, given=y).shape == (0,)
    assert model.predict_survival_function(none, return_array=True).shape == (0, model.event_times_["death"].size)
    assert len(model.predict_survival_function(none)) == 0
    assert model.transform(none).shape == (0, 2)
    assert model.log_likelihood(none, y).shape == (0,)
    assert not len(model.explain(none))
    assert not len(model.impute(none, y)[0][0])


def test_a_sampled_model_answers_no_rows(free):
    _, X = free
    sampled = hm.SurvivalHarmonium(16, trainer=hm.Contrastive(n_epochs=1), random_state=0)
    sampled.fit(X, hm.endpoints(subjects(), **ENDPOINTS["two"]))
    assert sampled.predict(X[:0]).shape == (0,)
    assert sampled.prognosis(X[:0]).survival(times=TIMES).shape == (0, 3)


# --- no event, or no time of one ---


def visits(n=150):
    """Events that are found at visits, every two years."""
    table = subjects(n)
    table["from"] = np.floor(table["d"] / 2.0) * 2.0
    table["to"] = np.where(table["de"], table["from"] + 2.0, np.inf)
    return table


def test_events_within_intervals_have_default_times_at_their_ends():
    table = visits()
    X = table[["age"]]
    model = hm.SurvivalHarmonium(**QUICK).fit(X, hm.endpoints(table, leak={"lower": "from", "upper": "to"}))
    ends = np.unique(table["to"][table["de"]])
    np.testing.assert_array_equal(model.event_times_["leak"], ends)
    assert model.prognosis(X).survival().shape == (len(X), ends.size)
    assert model.predict_survival_function(X[:2])[0](4.0) > 0.0
    assert model.summary(X, interval=None)["time"].eq(np.median(ends)).all()
    assert len(model.explain(X[:1])) == 3
    assert "events in 142 rows, all within intervals, observed until 72" in repr(model.fitted_)
    assert model.encoding_.endpoints[0].follow_up.last == max(ends.max(), table["from"].max())


@pytest.mark.filterwarnings("ignore::harmonium.errors.HarmoniumWarning")
@pytest.mark.parametrize("terminal", [False, True])
def test_without_an_event_the_default_time_is_the_last_one(terminal):
    table = subjects().assign(re=False)
    settings = ENDPOINTS["terminal"] if terminal else {"relapse": ("r", "re")}
    X = table[["age"]]
    model = hm.SurvivalHarmonium(**QUICK).fit(X, hm.endpoints(table, **settings))
    assert model.event_times_["relapse"].tolist() == [table["r"].max()]
    assert model.predict_survival_function(X[:2], endpoint="relapse")[1].x.size == 1
    assert len(model.summary(X, interval=None))


def test_counts_and_curves_have_the_events_within_intervals():
    """A curve without them would say that hardly anything happened."""
    table = visits()
    y = hm.endpoints(table, leak={"lower": "from", "upper": "to"})
    model = hm.SurvivalHarmonium(**QUICK).fit(table[["age"]], y)
    with pytest.warns(hm.errors.MetricWarning, match="left out|undefined"):
        found = hm.evaluate(model, table[["age"]], y)
    assert found.loc["leak", "events"] == table["de"].sum()
    assert np.isnan(found.loc["leak", "d_calibration_p"])
    ax = hm.plots.kaplan_meier(y)
    steps = ax.lines[0]
    at_four = steps.get_ydata()[np.searchsorted(steps.get_xdata(), 4.0, side="right") - 1]
    assert at_four == pytest.approx(KaplanMeierFitter().fit(table["d"], table["de"]).predict(4.0), abs=0.02)


# --- one history for all ---


@pytest.mark.parametrize("interval", [False, True])
def test_one_history_for_all_does_not_make_hazards_without_bounds(interval, tmp_path):
    """Any density within the only interval explains the data: none may be chosen whose integrals take forever."""
    table = pd.DataFrame({"r": 5.0, "d": 10.0, "yes": 1, "zero": 0.0, "age": np.random.default_rng(0).normal(60.0, 9.0, 60)})
    relapse = {"lower": "zero", "upper": "r"} if interval else ("r", "yes")
    y = hm.endpoints(table, relapse=relapse, death=("d", "yes"), terminal="death")
    model = hm.SurvivalHarmonium(**QUICK).fit(table[["age"]], y)
    assert all(np.abs(own.parameters.paper_parameters()["a_B"]).max() < 1000.0 for own in model.fitted_.transitions.models)
    assert np.isfinite(model.predict_cumulative_incidence(table[["age"]][:2], endpoint="death", times=[3.0, 9.0])).all()
    assert np.isfinite(model.predict(table[["age"]][:2], interval=0.9).upper).all()
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(hm.load(tmp_path / "m").predict(table[["age"]]), model.predict(table[["age"]]))
