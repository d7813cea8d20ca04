"""Questions about Dask DataFrames are answered partition by partition, as those about the whole table."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
import harmonium.distributed as hd
from harmonium.errors import MetricWarning
from tests.distributed.tables import COVARIATES, DEFINITIONS, both, cohort, cut

TIMES = [6, 12.5, 24]


@pytest.fixture(scope="module")
def model():
    settings = {"objective": 0.9, "trainer": hm.Exact(n_starts=1, max_iter=60), "random_state": 0}
    return hm.SurvivalHarmonium(2, **settings).fit(*both(cohort())).fitted_


@pytest.fixture(scope="module")
def frame():
    return cohort(120, seed=1)


def collections(frame):
    table = cut(frame, 50, 0, 70)
    return table[COVARIATES], hd.endpoints(table, **DEFINITIONS)


def test_predictions_are_those_of_the_whole_table(model, frame):
    X, _ = collections(frame)
    whole = frame[COVARIATES]
    curves = hd.predict_survival_function(model, X, times=TIMES, endpoint="rfs")
    assert list(curves.columns) == ["6", "12.5", "24"]
    expected = model.predict_survival_function(whole, endpoint="rfs", times=TIMES, return_array=True)
    np.testing.assert_allclose(curves.compute().to_numpy(), expected, rtol=1e-12)
    for name, arguments in {
        "predict": {},
        "predict_median": {"endpoint": "rfs"},
        "predict_quantile": {"q": 0.2},
        "predict_restricted_mean": {"until": 24.0},
    }.items():
        lazy = getattr(hd, name)(model, X, **arguments)
        found = lazy.compute()
        assert (lazy.dtype, found.index.tolist(), found.name) == (np.float64, whole.index.tolist(), lazy.name)
        np.testing.assert_allclose(found, getattr(model, name)(whole, **arguments), rtol=1e-12)
    hazard = hd.predict_cumulative_hazard_function(model, X, times=TIMES).compute()
    np.testing.assert_allclose(hazard, model.predict_cumulative_hazard_function(whole, times=TIMES, return_array=True), rtol=1e-10)


def test_what_is_given_is_used(model, frame):
    X, y = collections(frame)
    known = y.map_partitions(hm.landmark, 6.0, meta=y._meta)
    found = hd.predict_survival_function(model, X, times=TIMES, given=known).compute()
    given = hm.landmark(hm.endpoints(frame, **DEFINITIONS), 6.0)
    expected = model.predict_survival_function(frame[COVARIATES], times=TIMES, given=given, return_array=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="X and given must have as many partitions"):
        hd.predict(model, X, given=y.partitions[:2])


def test_nothing_is_computed_before_it_is_asked_for(model, frame):
    computed = []

    def note(part):
        computed.append(len(part))
        return part

    X, _ = collections(frame)
    lazy = hd.predict(model, X.map_partitions(note, meta=X._meta))
    assert not computed
    lazy.partitions[2].compute(scheduler="sync")
    assert computed == [70]


def test_predictions_go_to_parquet(model, frame, tmp_path):
    X, _ = collections(frame)
    hd.predict_survival_function(model, X, times=TIMES).to_parquet(tmp_path / "curves")
    assert pd.read_parquet(tmp_path / "curves").shape == (120, 3)


def test_completed_tables_keep_what_was_observed(model, frame):
    X, y = collections(frame)
    tables = hd.impute(model, X, y, n_draws=2, random_state=3)
    assert len(tables) == 2
    completed, times = tables[1][0].compute(), tables[1][1].compute()
    whole = frame[COVARIATES]
    assert not completed.isna().any().any()
    assert completed.dtypes.equals(tables[1][0].dtypes)
    known = whole.notna()
    assert (completed.astype(object)[known] == whole.astype(object)[known]).to_numpy()[known].all()
    assert np.isfinite(times.xs("lower", axis=1, level=1).to_numpy()).all()  # who has no event until follow-up ends has no upper bound
    pd.testing.assert_frame_equal(completed, hd.impute(model, X, y, n_draws=2, random_state=3)[1][0].compute())
    assert not completed["age"].equals(tables[0][0].compute()["age"])
    ages = completed["age"][whole["age"].isna()]
    assert ages.is_unique  # partitions have random numbers of their own


def test_completed_tables_have_no_late_entry(model, frame):
    table = cut(frame.assign(entry=np.where(np.arange(120) < 50, 0.3 * frame["os_mth"], 0.0)), 50, 70)
    y = hd.endpoints(table, **{**DEFINITIONS, "os": {"time": "os_mth", "event": "os_event", "entry": "entry"}})
    times = hd.impute(model, table[COVARIATES], y)[0][1].compute()
    assert times.columns.tolist() == [(name, bound) for name in ("os", "rfs") for bound in ("lower", "upper")]


def test_categories_that_dask_does_not_know_are_kept(model, frame):
    X, y = collections(frame)
    X["stage"] = X["stage"].astype("category")
    assert not X["stage"].cat.known
    completed = hd.impute(model, X, y)[0][0].compute()
    assert not completed.isna().any().any()
    known = frame["stage"].notna()
    assert (completed["stage"].astype(object)[known] == frame["stage"][known]).all()


def test_without_endpoints_they_are_drawn(model, frame):
    X, _ = collections(frame)
    _, times = hd.impute(model, X)[0]
    assert times.compute().shape == (120, 4)


@pytest.mark.parametrize("entry", [False, True])
def test_evaluation_is_that_of_the_whole_table(model, frame, entry):
    frame = frame.assign(entry=np.where(np.arange(120) % 5 == 0, 0.3 * frame["os_mth"], 0.0) if entry else 0.0)
    definitions = {**DEFINITIONS, "os": {"time": "os_mth", "event": "os_event", "entry": "entry"}}
    table = cut(frame, 50, 0, 70)
    found = hd.evaluate(model, table[COVARIATES], hd.endpoints(table, **definitions))
    expected = hm.evaluate(model, frame[COVARIATES], hm.endpoints(frame, **definitions))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10)


def test_evaluation_of_one_endpoint_without_likelihood(model, frame):
    X, y = collections(frame)
    found = hd.evaluate(model, X, y, endpoints="rfs", likelihood=False, times=[6, 12, 24])
    expected = hm.evaluate(
        model, frame[COVARIATES], hm.endpoints(frame, **DEFINITIONS), endpoints="rfs", likelihood=False, times=[6, 12, 24]
    )
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10)


def test_what_cannot_be_evaluated_is_said(model, frame):
    X, y = collections(frame.assign(os_event=False))
    with pytest.warns(MetricWarning, match="no events"):
        assert np.isnan(hd.evaluate(model, X, y, endpoints="os")["integrated_brier_score"].item())


def test_a_dask_estimator_asks_its_model(client, frame):
    X, y = collections(frame)
    model = hd.DaskSurvivalHarmonium(1, client=client, objective=0.9, trainer=hm.Exact(n_starts=1, max_iter=20), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X).compute(), model.fitted_.predict(frame[COVARIATES]), rtol=1e-12)
    for lazy in (
        model.predict_survival_function(X, times=TIMES),
        model.predict_cumulative_hazard_function(X, times=TIMES),
        model.predict_median(X),
        model.predict_quantile(X, q=0.3),
        model.predict_restricted_mean(X, until=12.0),
        model.impute(X, y)[0][0],
    ):
        assert len(lazy.compute()) == 120
    assert model.evaluate(X, y, endpoints="os").shape[0] == 1
