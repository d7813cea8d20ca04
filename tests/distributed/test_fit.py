"""A fit over partitions is the fit of the whole table."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
import harmonium.distributed as hd
from harmonium.distributed import clusters, partitions
from harmonium.distributed.objective import learn_table
from harmonium.errors import EndpointWarning, IgnoredColumnWarning, IndexWarning, LeakageWarning, TableError
from harmonium.model.fitting import Recipe, encode_training_table
from harmonium.training.objective import Objective
from tests.distributed.tables import COVARIATES, DEFINITIONS, both, cohort, cut
from tests.models import EVERY_UNIT, random_cells, random_parameters

QUICK = hm.Exact(l2=2.0, n_starts=1, max_iter=15)  # so short that rounding is not amplified by choices of the line search


def fitted(client, frame, *sizes, **settings):
    table = cut(frame, *sizes)
    settings = {"n_hidden": 2, "trainer": QUICK, "random_state": 0, **settings}
    return hd.DaskSurvivalHarmonium(client=client, **settings).fit(table[COVARIATES], hd.endpoints(table, **DEFINITIONS))


def assert_same_model(found, whole):
    assert [column.levels for column in found.encoding.columns] == [column.levels for column in whole.encoding.columns]
    assert found.encoding.in_training().endpoints == whole.encoding.in_training().endpoints
    np.testing.assert_allclose(found.parameters.to_vector(), whole.parameters.to_vector(), rtol=1e-8, atol=1e-8)
    assert found.training.n_rows == whole.training.n_rows
    assert found.training.n_evaluations == whole.training.n_evaluations


@pytest.mark.parametrize("settings", [{"objective": "conditional"}, {"objective": 0.8, "time_scale": "log"}])
@pytest.mark.parametrize("ties", [False, True])
def test_the_model_is_that_of_one_table(client, settings, ties):
    frame = cohort(ties=ties)
    found = fitted(client, frame, 250, 0, 100, 250, **settings)
    whole = hm.SurvivalHarmonium(2, trainer=QUICK, random_state=0, **settings).fit(*both(frame))
    assert_same_model(found.fitted_, whole.fitted_)
    assert len(found.history_) == len(whole.history_)


def test_it_is_saved_and_asked_as_any_other(client, tmp_path):
    frame = cohort()
    model = fitted(client, frame, 300, 300)
    model.save(tmp_path / "model")
    X, _ = both(frame)
    np.testing.assert_array_equal(hm.load(tmp_path / "model").predict(X), model.fitted_.predict(X))


def test_late_entry_in_one_partition_only(client):
    frame = cohort(200)
    frame["entry"] = np.where(np.arange(200) < 80, 0.5 * frame["os_mth"], 0.0)
    definition = {"os": {"time": "os_mth", "event": "os_event", "entry": "entry"}}
    table = cut(frame, 100, 100)
    settings = {"n_hidden": 1, "objective": 0.5, "trainer": QUICK, "random_state": 0}
    found = hd.DaskSurvivalHarmonium(client=client, **settings).fit(table[["age"]], hd.endpoints(table, **definition))
    whole = hm.SurvivalHarmonium(**settings).fit(frame[["age"]], hm.endpoints(frame, **definition))
    assert_same_model(found.fitted_, whole.fitted_)


def test_a_level_and_all_events_in_one_partition_only(client):
    frame = cohort().sort_values(["stage", "os_event"], ignore_index=True)
    frame["os_event"] = np.where(np.arange(600) < 300, False, frame["os_event"])
    frame["outcome"] = np.where(frame["os_event"], "dead", np.where(np.arange(600) % 2, "alive", "lost"))
    table = cut(frame, 200, 200, 200)
    definition = {"os": {"time": "os_mth", "event": "outcome", "event_value": "dead"}}
    model = hd.DaskSurvivalHarmonium(1, client=client, trainer=QUICK, random_state=0)
    model.fit(table[COVARIATES], hd.endpoints(table, **definition))
    with pytest.warns(EndpointWarning, match="'lost', 'alive' count as no event"):
        y = hm.endpoints(frame, **definition)
    whole = hm.SurvivalHarmonium(1, trainer=QUICK, random_state=0).fit(frame[COVARIATES], y)
    assert_same_model(model.fitted_, whole.fitted_)


def test_types_may_differ_between_partitions(client):
    frame = cohort(200)
    frame.loc[:99, "stage"] = None
    frame.loc[:99, "age"] = np.nan
    table = cut(frame, 100, 100).map_partitions(with_other_types, meta=frame.iloc[:0])
    model = hd.DaskSurvivalHarmonium(1, client=client, trainer=QUICK, random_state=0)
    model.fit(table[COVARIATES], hd.endpoints(table, **DEFINITIONS))
    whole = hm.SurvivalHarmonium(1, trainer=QUICK, random_state=0).fit(*both(frame))
    assert_same_model(model.fitted_, whole.fitted_)


def with_other_types(part):
    if not part["age"].isna().all():
        return part
    return part.assign(age=pd.Series([None] * len(part), dtype=object, index=part.index), stage=np.nan)


def test_a_sample_has_the_rows_that_one_of_the_whole_table_has(client):
    frame = cohort(ties=True)
    table, recipe = cut(frame, 250, 0, 100, 250), Recipe(2, 0.8, "kaplan-meier", None, None, "exact")
    learned = learn_table(client, recipe, table[COVARIATES], hd.endpoints(table, **DEFINITIONS))
    found = learned.objective(0.8).sample(150, seed=3)
    whole = encode_training_table(recipe, *both(frame)).objective(0.8).sample(150, seed=3)
    np.testing.assert_allclose(found.recorded.bounds(), whole.recorded.bounds(), rtol=1e-12)
    np.testing.assert_array_equal(found.weights, whole.weights)
    assert 150 < found.n_rows < 300


def test_gradients_at_several_points_together_are_those_at_each(client):
    frame, recipe = cohort(), Recipe(2, 0.8, "kaplan-meier", None, None, "exact")
    table = cut(frame, 200, 100, 300)
    objective = learn_table(client, recipe, table[COVARIATES], hd.endpoints(table, **DEFINITIONS)).objective(0.8)
    points = [random_parameters(objective.layout, 2, np.random.default_rng(seed)).natural() for seed in range(3)]
    for (value, gradient), point in zip(objective.values_and_natural_gradients(points), points, strict=True):
        alone, slopes = objective.value_and_natural_gradient(point)
        assert value == alone
        np.testing.assert_array_equal(gradient.coupling, slopes.coupling)


def test_a_fit_that_begins_on_a_sample_is_that_of_one_table(client):
    frame = cohort()
    trainer = hm.Exact(l2=2.0, n_starts=1, sample_rows=300)
    found = fitted(client, frame, 250, 0, 350, trainer=trainer, n_hidden=1)
    whole = hm.SurvivalHarmonium(1, trainer=trainer, random_state=0).fit(*both(frame))
    assert found.history_["stage"].unique().tolist() == ["a sample", "all rows"]
    assert found.fitted_.training.converged
    assert found.fitted_.training.n_passes <= 60
    assert found.history_["objective"].iloc[-1] == pytest.approx(whole.history_["objective"].iloc[-1], abs=1e-8)


# --- what is refused, and what is doubted ---


def test_all_problems_are_named_with_their_partition(client):
    frame = cohort(200)
    frame.loc[150, "age"] = np.inf
    frame["visits"] = frame["visits"].astype(object)
    frame.loc[30, "visits"] = "many"
    table = cut(frame, 100, 100)
    with pytest.raises(TableError) as caught:
        hd.DaskSurvivalHarmonium(client=client).fit(table[COVARIATES], hd.endpoints(table, **DEFINITIONS))
    assert "partition 1: column 'age' must hold finite numbers; found inf in row 50" in str(caught.value)
    assert "partition 0: column 'visits' mixes numbers and text; found 'many' in row 30" in str(caught.value)


def test_one_mistake_in_many_partitions_is_not_said_a_hundred_times(client):
    frame = cohort(60)
    frame["age"] = np.inf
    with pytest.raises(TableError) as caught:
        fitted(client, frame, *[2] * 30)
    assert len(caught.value.problems) == 21
    assert str(caught.value).endswith("and 10 more problems in other partitions")


def test_with_more_times_than_are_kept_the_model_is_nearly_the_same(client, monkeypatch):
    frame = cohort()
    exact = fitted(client, frame, 300, 300)
    monkeypatch.setattr("harmonium.table.endpoint_summary.MOST_TIMES", 450)
    cut_short = fitted(client, frame, 300, 300)
    X, _ = both(frame)
    mine, theirs = (model.fitted_.predict_survival_function(X, times=[12, 24], return_array=True) for model in (cut_short, exact))
    assert not np.array_equal(mine, theirs)
    np.testing.assert_allclose(mine, theirs, atol=0.02)  # times are cut to a few per cent


def test_parts_do_not_show_whether_the_day_comes_first():
    dates = pd.DataFrame({"start": "2019-01-01", "seen": ["13/04/2019", "03/25/2019"], "dead": [1, 0]})
    os = {"from": "start", "to": "seen", "event": "dead", "unit": "days"}
    with pytest.raises(TableError, match=r"partition \d: column 'seen' holds '\d\d/\d\d/2019' in row 0, and a part of a table"):
        hd.endpoints(cut(dates, 1, 1), os=os).compute(scheduler="synchronous")


def test_bad_times_are_named_with_their_partition(client):
    frame = cohort(200)
    frame.loc[150, "os_mth"] = -1.0
    table = cut(frame, 100, 100)
    with pytest.raises(TableError, match="partition 1: column 'os_mth' must not hold negative times; found -1 in row 50"):
        hd.DaskSurvivalHarmonium(client=client).fit(table[COVARIATES], hd.endpoints(table, **DEFINITIONS))


def test_partitions_must_belong_together(client):
    frame = cohort(200)
    X, y = both(frame)
    model = hd.DaskSurvivalHarmonium(client=client)
    with pytest.raises(ValueError, match="as many partitions; found 2 and 3"):
        model.fit(cut(X, 100, 100), cut(y, 100, 50, 50))
    with pytest.raises(TableError, match="partition 0: X and y must have as many rows; found 100 and 90"):
        model.fit(cut(X, 100, 100), cut(y, 90, 110))
    with pytest.raises(ValueError, match="divided alike; the first difference is at division 1: 100 and 90"):
        model.fit(with_divisions(X, 100), with_divisions(y, 90))
    with pytest.raises(TypeError, match="X must be a Dask DataFrame; found DataFrame"):
        model.fit(X, y)
    with pytest.raises(TableError, match="partition 1: the rows of y are in another order"):
        model.fit(cut(X, 100, 100), cut(y.iloc[[*range(100), *range(199, 99, -1)]], 100, 100))


def with_divisions(frame, edge):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=1).repartition(divisions=(0, edge, 199))


def test_an_identifier_and_an_empty_table_are_refused(client, monkeypatch):
    frame = cohort(200).assign(stage=[f"patient {i}" for i in range(200)])
    with pytest.raises(TableError, match="'stage' has 200 levels in 200 rows and looks like an identifier"):
        fitted(client, frame, 100, 100)
    monkeypatch.setattr(partitions, "MOST_LEVELS", 150)
    with pytest.raises(TableError, match="'stage' has more than 150 levels"):
        fitted(client, frame, 100, 100)
    with pytest.raises(TableError, match="the table has no rows"):
        fitted(client, frame.iloc[:0], 0, 0)


def test_settings_that_cannot_be_used_are_refused(client):
    frame = cohort(100)
    with pytest.raises(ValueError, match="need the exact trainer"):
        fitted(client, frame, 100, trainer="contrastive")
    with pytest.raises(TableError, match="the role of column 'age' must be one of"):
        fitted(client, frame, 100, roles={"age": "number"})
    with pytest.raises(TableError, match="column 'agee' is missing; did you mean 'age'"):
        fitted(client, frame, 100, roles={"agee": "numeric"})


def test_what_is_doubtful_is_said_once(client):
    frame = cohort(200).assign(visits=7)
    frame["smokes"], frame["rfs_event"] = frame["os_mth"], frame["rfs_event"].replace(True, False)
    table = cut(frame, 100, 100)
    y = cut(hm.endpoints(frame, **DEFINITIONS).set_axis(np.arange(200) + 1000), 100, 100)
    model = hd.DaskSurvivalHarmonium(1, client=client, trainer=hm.Exact(n_starts=1, max_iter=2))
    with (
        pytest.warns(IgnoredColumnWarning, match="'visits'"),
        pytest.warns(LeakageWarning, match="'smokes' equals the observed time of endpoint 'os' in 200 of 200"),
        pytest.warns(EndpointWarning, match="'rfs' has no event"),
        pytest.warns(IndexWarning),
    ):
        model.fit(table[COVARIATES], y)


def test_without_a_client_or_without_workers_there_is_an_error(monkeypatch):
    from dask.distributed import Client, LocalCluster

    frame, table = cohort(100), cut(cohort(100), 100)
    monkeypatch.setattr("distributed.default_client", no_client)
    with pytest.raises(RuntimeError, match="there is no Dask client; open one"):
        hd.DaskSurvivalHarmonium().fit(table[COVARIATES], hd.endpoints(table, **DEFINITIONS))
    monkeypatch.setattr(clusters, "_PATIENCE", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(RuntimeError, match=r"has had no worker for 0\.2 seconds"),
    ):
        fitted(client, frame, 100)


def no_client():
    raise ValueError("No clients found")


# --- what makes it independent of workers ---


def test_an_evaluation_depends_on_cells_and_parameters_alone():
    rng = np.random.default_rng(0)
    objective = Objective(random_cells(EVERY_UNIT, 60, rng), np.zeros((60, 2)), 0.5)
    at = [random_parameters(EVERY_UNIT, 2, rng, size).natural() for size in (0.3, 3.0, 0.3, 8.0)]
    used = partitions.EncodedPartition(objective)
    for natural in [*at, *at[::-1]]:
        value, gradient = used.value_and_natural_gradient(natural)
        again, same = partitions.EncodedPartition(objective).value_and_natural_gradient(natural)
        assert value == again
        np.testing.assert_array_equal(gradient.coupling, same.coupling)


def test_what_is_prepared_does_not_travel_but_is_counted():
    rng = np.random.default_rng(0)
    objective = Objective(random_cells(EVERY_UNIT, 60, rng), np.zeros((60, 2)), 1.0)
    natural = random_parameters(EVERY_UNIT, 2, rng, 0.3).natural()
    used = partitions.EncodedPartition(objective)
    size = len(pickle.dumps(used))
    value, _ = used.value_and_natural_gradient(natural)
    assert len(pickle.dumps(used)) == size
    assert pickle.loads(pickle.dumps(used)).value_and_natural_gradient(natural)[0] == value
    assert size < sys.getsizeof(used) < 10 * size


def test_weights_are_refused(client):
    with pytest.raises(ValueError, match="rows of a Dask DataFrame cannot have weights"):
        hd.DaskSurvivalHarmonium(1, client=client).fit(None, None, sample_weight=[1.0])


def test_the_unit_of_time_is_kept(client):
    frame = cohort(300)
    y = hd.endpoints(cut(frame, 100, 200), unit="months", terminal=(), **DEFINITIONS)
    model = hd.DaskSurvivalHarmonium(1, trainer=QUICK, random_state=0, client=client).fit(cut(frame, 100, 200)[COVARIATES], y)
    assert model.fitted_.encoding.unit == "months"
    days = cut(frame.assign(os_mth=frame["os_mth"] * 365.25 / 12.0, rfs_mth=frame["rfs_mth"] * 365.25 / 12.0), 100, 200)
    found = [
        hd.evaluate(model, cut(frame, 100, 200)[COVARIATES], observed, likelihood=False)
        for observed in (y, hd.endpoints(days, unit="days", **DEFINITIONS))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_partitions_in_different_units_are_refused():
    frame = cohort(60)
    parts = [hm.endpoints(frame[:30], unit="months", **DEFINITIONS), hm.endpoints(frame[30:], unit="days", **DEFINITIONS)]
    found = partitions.merge_summaries(
        [
            partitions.summarise(frame[COVARIATES][rows], y, {}, k)
            for k, (rows, y) in enumerate(zip((slice(30), slice(30, None)), parts, strict=True))
        ]
    )
    assert "found months and days" in found.problems[0].message
