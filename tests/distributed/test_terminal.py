"""Endpoints that know each other, on a cluster: the fit, the predictions and the evaluation of one table."""

from dataclasses import replace

import dask
import numpy as np
import pandas as pd
import pytest

import harmonium as hm
import harmonium.distributed as hd
from harmonium.distributed.objective import learn_table
from harmonium.errors import MetricWarning, TableError
from harmonium.model.endpoint_tables import EndpointSettings
from harmonium.model.fitting import Recipe, encode_training_table
from tests.distributed.tables import CAUSES, COVARIATES, OF_TRIAL, TERMINAL, both, cohort, cut, trial
from tests.models import random_parameters

SIZES = 150, 0, 50, 200  # without a recurrence, without rows, without a death, and the rest
SETTINGS = {"n_hidden": 2, "trainer": hm.Exact(l2=2.0, n_starts=1, max_iter=8), "random_state": 0}
TIMES = [6, 12.5, 24]


def collections(frame, definitions, sizes=SIZES):
    table = cut(frame, *sizes)
    return table[OF_TRIAL], hd.endpoints(table, **definitions)


def in_memory(frame, definitions):
    return frame[OF_TRIAL], hm.endpoints(frame, **definitions)


# --- the fit ---


def complete(frame):
    """Without missing covariates."""
    return frame.assign(age=frame["age"].fillna(60.0), stage=frame["stage"].fillna("I"))


def assert_same_columns(found, whole):
    for mine, theirs in zip(found, whole, strict=True):
        exact = {"mean": 0.0, "deviation": 0.0}  # sums of parts are rounded otherwise
        assert replace(mine, **exact) == replace(theirs, **exact)
        np.testing.assert_allclose([mine.mean, mine.deviation], [theirs.mean, theirs.deviation], rtol=1e-12)


@pytest.mark.parametrize("definitions", [TERMINAL, CAUSES])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("prepared", [complete, pd.DataFrame.copy])
def test_the_model_is_that_of_one_table(client, definitions, ties, prepared):
    """With missing covariates, too: after so few iterations training in memory is over before completions."""
    frame = prepared(trial(ties=ties))
    found = hd.DaskSurvivalHarmonium(client=client, **SETTINGS).fit(*collections(frame, definitions)).fitted_
    whole = hm.SurvivalHarmonium(**SETTINGS).fit(*in_memory(frame, definitions)).fitted_
    mine, theirs = found.encoding, whole.encoding
    assert mine.ordered == theirs.ordered
    assert mine.endpoints == theirs.endpoints
    assert mine.layout == theirs.layout
    assert found.training.n_rows == whole.training.n_rows == 400
    np.testing.assert_allclose(found.parameters.to_vector(), whole.parameters.to_vector(), rtol=1e-10)
    np.testing.assert_allclose(found.covariate_units.coupling, whole.covariate_units.coupling, rtol=1e-8)
    for own, other in zip(found.transitions.models, whole.transitions.models, strict=True):
        assert (own.scales, own.columns) == (other.scales, other.columns)
        assert_same_columns(own.encoding.columns, other.encoding.columns)
        assert own.encoding.in_training().endpoints == other.encoding.in_training().endpoints
        assert own.training.n_rows == other.training.n_rows
        np.testing.assert_allclose(own.parameters.to_vector(), other.parameters.to_vector(), rtol=1e-6, atol=1e-7)
    curves = [model.predict_cumulative_incidence(frame[OF_TRIAL], endpoint="recurrence", times=TIMES) for model in (found, whole)]
    np.testing.assert_allclose(*curves, atol=1e-6)


@pytest.mark.parametrize("ties", [False, True])
def test_the_likelihood_of_each_endpoint_is_that_of_one_table(client, ties):
    frame, recipe = trial(ties=ties), Recipe(2, 0.8, "kaplan-meier", None, None, "exact")
    settings = EndpointSettings(0.8, "kaplan-meier", None, "scores")
    table, whole = learn_table(client, recipe, *collections(frame, TERMINAL)), encode_training_table(recipe, *in_memory(frame, TERMINAL))
    for own, other in zip(table.endpoint_tables(settings), whole.endpoint_tables(settings), strict=True):
        assert own.objective.n_rows == other.objective.n_rows
        natural = random_parameters(own.form.encoding.layout, 2, np.random.default_rng(0), 0.3).natural()
        value, gradient = own.objective.value_and_natural_gradient(natural)
        expected, slopes = other.objective.likelihood(2).value_and_natural_gradient(natural)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient.coupling, slopes.coupling, rtol=1e-9, atol=1e-9)
        assert (own.form.tied.first.size > 0) == ties


def test_late_entries_are_those_of_one_table(client):
    frame, recipe = trial(), Recipe(2, 1.0, "kaplan-meier", None, None, "exact")
    frame["entry"] = np.where(np.arange(400) < 100, 0.3 * frame["rec_mth"], 0.0)
    late = {"recurrence": {"time": "rec_mth", "event": "recurred", "entry": "entry"}, "death": {"time": "os_mth", "event": "dead"}}
    settings = EndpointSettings(1.0, "kaplan-meier", None, "scores")
    tables = [learn_table(client, recipe, *collections(frame, late | {"terminal": "death"}))]
    tables.append(encode_training_table(recipe, *in_memory(frame, late | {"terminal": "death"})))
    for own, other in zip(*(table.endpoint_tables(settings) for table in tables), strict=True):
        natural = random_parameters(own.form.encoding.layout, 1, np.random.default_rng(0), 0.3).natural()
        expected = other.objective.likelihood(1).value_and_natural_gradient(natural)[0]
        assert own.objective.value_and_natural_gradient(natural)[0] == pytest.approx(expected, rel=1e-12)
        assert other.objective.entry.any()


def test_some_subjects_of_every_partition_come_to_the_client(client):
    frame, recipe = trial(), Recipe(2, 1.0, "kaplan-meier", None, None, "exact")
    table, whole = learn_table(client, recipe, *collections(frame, TERMINAL)), encode_training_table(recipe, *in_memory(frame, TERMINAL))
    everybody, some = table.subjects(1000), table.subjects(100)
    np.testing.assert_array_equal(everybody.covariates, whole.covariates)
    np.testing.assert_array_equal(everybody.known.upper, whole.known.upper)
    assert everybody.known.terminal == ("death",)
    place = np.searchsorted(np.sort(whole.known.lower[:, 1]), some.known.lower[:, 1])
    rows = np.argsort(whole.known.lower[:, 1])[place]  # times of death or last visit are all different
    assert [np.count_nonzero((rows >= first) & (rows < last)) for first, last in ((0, 150), (150, 200), (200, 400))] == [38, 13, 50]
    np.testing.assert_array_equal(some.covariates, whole.covariates[rows])
    np.testing.assert_array_equal(some.known.lower, whole.known.lower[rows])


def test_a_saved_model_is_the_same(client, tmp_path):
    frame = trial()
    model = hd.DaskSurvivalHarmonium(client=client, **SETTINGS).fit(*collections(frame, TERMINAL))
    model.save(tmp_path / "model")
    X = frame[OF_TRIAL]
    found, expected = (own.predict_state_probabilities(X, times=TIMES) for own in (hm.load(tmp_path / "model"), model.fitted_))
    for path in expected:
        np.testing.assert_array_equal(found[path], expected[path])


def disagreeing(frame):
    """Half of a table says that death is terminal, and half of it does not."""
    parts = [hm.endpoints(frame[:200], **TERMINAL), hm.endpoints(frame[200:], **{**TERMINAL, "terminal": ()})]
    return [frame[OF_TRIAL][:200], frame[OF_TRIAL][200:]], parts


def of_parts(parts):
    import dask.dataframe as dd

    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


def test_partitions_must_agree_on_what_is_terminal(client):
    X, y = map(of_parts, disagreeing(trial()))
    message = r"terminal in all partitions; found \('death',\) and \(\)\. Define them for the whole table: .*terminal=\('death',\)\)"
    with pytest.raises(TableError, match=message):
        hd.DaskSurvivalHarmonium(client=client, **SETTINGS).fit(X, y)
    with pytest.raises(ValueError, match=message):
        hd.evaluate(None, X, y)


def test_an_empty_partition_does_not_disagree(client):
    X, y = disagreeing(trial())
    X, y = [X[0][:0], X[1], X[1][:0]], [y[0][:0], y[1], y[0][:0]]
    model = hd.DaskSurvivalHarmonium(client=client, **SETTINGS).fit(of_parts(X), of_parts(y))
    assert model.fitted_.encoding.ordered is None
    assert model.fitted_.transitions is None


def test_what_is_refused_in_memory_is_refused_here(client):
    X, y = collections(trial(), TERMINAL)
    with pytest.raises(ValueError, match="at most 14 hidden units are possible; found 15"):
        hd.DaskSurvivalHarmonium(15, trainer=hm.Exact(), client=client).fit(X, y)
    with pytest.raises(TableError, match="the horizon must be one time for all endpoints; found a mapping"):
        hd.DaskSurvivalHarmonium(1, horizon={"death": 100.0}, client=client).fit(X, y)


# --- predictions ---


@pytest.fixture(scope="module", params=[TERMINAL, CAUSES], ids=["terminal", "causes"])
def definitions(request):
    return request.param


@pytest.fixture(scope="module")
def model(definitions):
    return hm.SurvivalHarmonium(**SETTINGS).fit(*in_memory(trial(), definitions)).fitted_


def test_incidences_and_states_are_those_of_the_whole_table(model, definitions):
    frame = trial(seed=1)
    X, y = collections(frame, definitions)
    given, whole = hm.landmark(hm.endpoints(frame, **definitions), 6.0), frame[OF_TRIAL]
    for known, there in ((None, None), (given, y.map_partitions(hm.landmark, 6.0, meta=y._meta))):
        curves = hd.predict_cumulative_incidence(model, X, times=TIMES, endpoint="recurrence", given=there)
        assert list(curves.columns) == ["6", "12.5", "24"]
        expected = model.predict_cumulative_incidence(whole, times=TIMES, endpoint="recurrence", given=known)
        np.testing.assert_allclose(curves.compute(), expected, rtol=1e-10, atol=1e-12)
        lazy = hd.predict_state_probabilities(model, X, times=TIMES, given=there)
        found, by_path = lazy.compute(), model.predict_state_probabilities(whole, times=TIMES, given=known)
        assert found.columns.equals(lazy.columns)
        assert found.columns.tolist() == [(path, time) for path in by_path for time in ("6", "12.5", "24")]
        assert found.index.equals(whole.index)
        np.testing.assert_allclose(found.T.groupby(level="time").sum(), 1.0, rtol=1e-12)
        for path, own in by_path.items():
            np.testing.assert_allclose(found[path], own, rtol=1e-10, atol=1e-12)
        spent = hd.predict_time_in_states(model, X, until=24.0, given=there)
        assert spent.columns.tolist() == list(by_path)
        whole_spent = model.predict_time_in_states(whole, until=24.0, given=known)
        np.testing.assert_allclose(spent.compute(), np.column_stack(list(whole_spent.values())), rtol=1e-10, atol=1e-12)
    assert (found["event-free", "6"] < 1.0).any()


def test_several_endpoints_are_the_first_of_them(model, definitions):
    frame, first = trial(seed=1)[140:180], ("recurrence", "death")
    X, _ = collections(frame, definitions, (10, 0, 30))
    whole = frame[OF_TRIAL]
    for name, arguments in {"predict": {}, "predict_quantile": {"q": 0.3}, "predict_restricted_mean": {"until": 10.0}}.items():
        lazy = getattr(hd, name)(model, X, endpoint=first, **arguments)
        assert lazy.name.startswith("recurrence or death ")
        np.testing.assert_allclose(lazy.compute(), getattr(model, name)(whole, endpoint=first, **arguments), rtol=1e-8)
    curves = hd.predict_survival_function(model, X, endpoint=first, times=TIMES).compute()
    np.testing.assert_allclose(curves, hd.predict_state_probabilities(model, X, times=TIMES)["event-free"].compute(), rtol=1e-12)


def test_a_model_without_terminal_endpoints_knows_no_states():
    plain = hm.SurvivalHarmonium(**SETTINGS).fit(*both(cohort())).fitted_
    X = cut(cohort(100), 60, 40)[COVARIATES]
    with pytest.raises(ValueError, match="the model knows of no terminal endpoint, and so of no states"):
        hd.predict_state_probabilities(plain, X, times=TIMES)
    with pytest.raises(ValueError, match="endpoint must be one of 'os', 'rfs'"):
        hd.predict(plain, X, endpoint=("os", "rfs"))
    incidence = hd.predict_cumulative_incidence(plain, X, times=TIMES).compute()
    np.testing.assert_allclose(1.0 - incidence, hd.predict_survival_function(plain, X, times=TIMES).compute(), rtol=1e-12)


def test_an_estimator_asks_its_model(client):
    frame = trial(seed=1)
    X, y = collections(frame, TERMINAL)
    model = hd.DaskSurvivalHarmonium(client=client, **SETTINGS).fit(X, y)
    assert model.predict_cumulative_incidence(X, endpoint=("recurrence", "death"), times=TIMES).compute().shape == (400, 3)
    assert model.predict_state_probabilities(X, times=TIMES, given=y).compute().shape == (400, 12)
    assert model.predict_time_in_states(X, until=12.0).compute().shape == (400, 4)
    assert model.evaluate(X, y).index.tolist() == ["recurrence", "death"]


def test_imputations_and_cohorts_need_no_cluster():
    """What they are drawn from is made when the cluster has gone."""
    from dask.distributed import Client, LocalCluster

    frame = complete(trial())  # in memory, missing covariates are completed in training
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as own,
    ):
        model = hd.DaskSurvivalHarmonium(client=own, **SETTINGS).fit(*collections(frame, TERMINAL)).fitted_
    X, y = in_memory(frame, TERMINAL)
    completed, times = model.impute(X, y, random_state=3)[0]
    assert not completed.isna().any().any()
    assert not impossible(times, both_terminal=False).any()
    whole = hm.SurvivalHarmonium(**SETTINGS).fit(X, y).fitted_
    for mine, theirs in zip((model, *model.transitions.models), (whole, *whole.transitions.models), strict=True):
        found, expected = (own.generator.parameters.to_vector() for own in (mine, theirs))
        np.testing.assert_allclose(found, expected, atol=0.15)  # a start that is off by a billionth moves one of them by 0.05
    drawn, _ = model.sample(500, random_state=0)
    assert abs(drawn["age"].mean() - frame["age"].mean()) < 2.0


def test_completed_tables_have_a_possible_order(model, definitions):
    frame = trial(seed=1)
    X, y = collections(frame, definitions)
    completed, times = (part.compute() for part in hd.impute(model, X, y, n_draws=2, random_state=3)[1])
    assert not completed.isna().any().any()
    assert times["death", "terminal"].all()
    assert not impossible(times, both_terminal=definitions is CAUSES).any()
    first, known = times["recurrence"], hm.endpoints(frame, **definitions)["recurrence"]
    assert np.isfinite(first["upper"]).sum() > frame["recurred"].sum()  # some were drawn
    np.testing.assert_array_equal(first[frame["recurred"]], known[frame["recurred"]])


def impossible(times, both_terminal):
    """Recurrences after death or, if one of them prevents the other, at all."""
    first, last = times["recurrence", "upper"], times["death", "upper"]
    return np.isfinite(first) & np.isfinite(last) & (both_terminal | (first > last))


def test_endpoints_that_do_not_know_each_other_have_impossible_orders():
    """So the test above can fail."""
    frame, plain = trial(seed=1), {**TERMINAL, "terminal": ()}
    model = hm.SurvivalHarmonium(**SETTINGS).fit(*in_memory(trial(), plain)).fitted_
    _, times = hd.impute(model, *collections(frame, plain), random_state=3)[0]
    assert impossible(times.compute(), both_terminal=False).any()


# --- evaluation ---


@pytest.mark.parametrize("ties", [False, True])
def test_evaluation_is_that_of_the_whole_table(model, definitions, ties):
    frame = trial(seed=1, ties=ties).astype({"recurred": "boolean", "dead": "boolean"})
    frame.loc[[7, 270], ["rec_mth", "os_mth", "recurred", "dead", "why"]] = [np.nan, np.nan, pd.NA, pd.NA, None]
    found = hd.evaluate(model, *collections(frame, definitions))
    expected = hm.evaluate(model, *in_memory(frame, definitions))
    close = ["d_calibration", "d_calibration_p"]  # survival at times of rows' own is found to 1e-6, whichever rows are asked together
    pd.testing.assert_frame_equal(found.drop(columns=close), expected.drop(columns=close), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[close], expected[close], rtol=1e-5)
    assert np.isfinite(found["integrated_brier_score"]).all()
    assert found.loc["recurrence", "integrated_brier_score"] != found.loc["recurrence", "kaplan_meier_ibs"]


def test_evaluation_of_one_endpoint_at_some_times(model, definitions):
    frame, settings = trial(seed=1), {"endpoints": "recurrence", "times": [1e-6, 6.0, 12.0, 24.0]}
    with pytest.warns(MetricWarning, match="leaves out 1 of 4 times"):
        found = hd.evaluate(model, *collections(frame, definitions), **settings)
    with pytest.warns(MetricWarning, match="leaves out 1 of 4 times"):
        expected = hm.evaluate(model, *in_memory(frame, definitions), **settings)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, atol=1e-12)


def test_late_entry_of_a_preventable_endpoint_is_refused(model):
    frame = trial(seed=1)
    frame["entry"] = np.where(np.arange(400) < 100, 0.3 * frame["rec_mth"], 0.0)
    late = {
        "recurrence": {"time": "rec_mth", "event": "recurred", "entry": "entry"},
        "death": {"time": "os_mth", "event": "dead", "entry": "entry"},
        "terminal": "death",
    }
    message = "'recurrence' cannot be scored where subjects entered late and a terminal event may prevent it; name other endpoints"
    for evaluate, tables in ((hd.evaluate, collections(frame, late)), (hm.evaluate, in_memory(frame, late))):
        with pytest.raises(ValueError, match=message):
            evaluate(model, *tables)
