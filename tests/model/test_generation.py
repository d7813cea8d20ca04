"""Imputed tables and synthetic cohorts."""

import numpy as np
import pandas as pd
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from harmonium.model.draws import draw_tables
from harmonium.table.endpoints import parse_endpoints


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(nvalt8):
    return hm.SurvivalHarmonium(4, objective=0.95, random_state=0).fit(*nvalt8)


def assert_plausible(values, seen):
    """Seen in training, or not far outside and, even without the study's outlier, no heap of them at the ends."""
    new = values[~values.isin(seen)]
    usual = seen[seen < 100.0]
    margin = 0.06 * (usual.max() - usual.min())
    assert new.between(usual.min() - margin, usual.max() + margin).all()
    if seen.dropna().mod(1.0).eq(0.0).all():
        assert values.mod(1.0).eq(0.0).all()


def test_imputations_keep_what_was_observed_and_stay_in_their_intervals(model, nvalt8):
    X, y = nvalt8
    known = parse_endpoints(y)
    assert X.isna().to_numpy().any()
    for completed, times in model.impute(X, y, n_draws=3, random_state=0):
        assert list(completed.columns) == list(X.columns)
        assert not completed.isna().to_numpy().any()
        for name in X.columns:
            seen = X[name].notna()
            pd.testing.assert_series_equal(completed.loc[seen, name], X.loc[seen, name], check_dtype=False)
            assert completed[name].dtype == X[name].dtype
            if pd.api.types.is_numeric_dtype(X[name]):
                assert_plausible(completed[name], X[name])
            else:
                assert set(completed[name]) <= set(X[name].dropna())
        drawn = parse_endpoints(times)
        ends = [scale.end for scale in model.encoding_.scales]
        assert (drawn.event | (drawn.lower >= ends)).all()  # an event, or none until the end of follow-up
        np.testing.assert_array_equal(drawn.lower[known.event], known.lower[known.event])
        assert (drawn.lower >= known.lower).all()
        assert (drawn.lower <= known.upper).all()
        assert (drawn.lower >= known.lower)[~known.event].all()
        assert (drawn.lower > known.lower)[~known.event & drawn.event].all()


def test_every_kind_of_column_keeps_its_type():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "number": rng.normal(50.0, 10.0, n),
            "whole": pd.array(rng.integers(0, 40, n), dtype="Int64"),
            "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "text": rng.choice(["a", "b", "c"], n),
            "stage": pd.Categorical(rng.choice(["I", "II", "III"], n), categories=["I", "II", "III", "IV"], ordered=True),
            "constant": 1.0,
        }
    )
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(5.0, n), "e": rng.random(n) < 0.7}), t=("t", "e"))
    with pytest.warns(UserWarning, match="take no part in the model: 'constant'"):
        model = hm.SurvivalHarmonium(2, objective=0.9, random_state=0, trainer=hm.Exact(n_starts=1)).fit(X, y)
    holes = X.copy()
    for k, name in enumerate(X.columns):
        holes.loc[k :: len(X.columns), name] = None
    holes["extra"] = "kept"
    holes.index = [f"patient {i}" for i in range(n)]
    completed, _ = model.impute(holes, y.set_axis(holes.index), random_state=1)[0]
    assert (completed["extra"] == "kept").all()
    assert (completed.index == holes.index).all()
    for name in X.columns:
        assert not completed[name].isna().any()
        assert completed[name].dtype == holes[name].dtype
    cohort, times = model.sample(50, random_state=2)
    assert list(cohort.columns) == list(X.columns)
    for name in X.columns:
        assert cohort[name].dtype == X[name].dtype
    assert (times["t", "lower"] > 0.0).all()


def test_columns_of_other_types_than_in_training_are_filled():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(50.0, 10.0, 80), "flat": 1.0})
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(5.0, 80), "e": 1}), t=("t", "e"))
    with pytest.warns(UserWarning, match="take no part"):
        model = hm.SurvivalHarmonium(1, objective=0.9, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=20)).fit(X, y)
    whole = pd.DataFrame({"size": pd.array([50, None, 40], dtype="Int64")})  # and without the column that takes no part
    completed, _ = model.impute(whole, random_state=0)[0]
    assert completed["size"].notna().all()
    assert completed["size"].tolist()[::2] == [50, 40]


@pytest.mark.slow
def test_drawing_covariates_then_predicting_averages_to_predicting_with_gaps(nvalt8):
    """The law of total probability: with covariates drawn from both kinds of units, the mean of S(t | completed) is S(t | with gaps)."""
    X, y = nvalt8
    fitted = hm.SurvivalHarmonium(3, random_state=0, trainer=hm.Exact(n_starts=1)).fit(X, y).fitted_
    assert fitted.n_covariate_units > 0
    gappy = X[X.isna().any(axis=1)][:6]
    times = [6.0, 12.0, 24.0]
    with_gaps = fitted.predict_survival_function(gappy, endpoint="os", times=times, return_array=True)
    covariates = fitted.encoding.covariates(pd.concat([gappy] * 30))
    tables = draw_tables(fitted.whole_parameters, fitted.encoding.cells(covariates), 10, np.random.default_rng(0))
    completed = np.concatenate([table[:, : covariates.shape[1]] for table in tables])
    draws = fitted.ask(completed, None).survival("os", times).reshape(300, *with_gaps.shape)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - with_gaps) <= 4.5 * error + 1e-9).all()
    assert error.max() > 0.0


@pytest.mark.parametrize("seed", range(2))
def test_a_cohort_looks_like_the_study_it_was_learned_from(nvalt8, seed):
    X, y = nvalt8
    model = hm.SurvivalHarmonium(2, objective="joint", random_state=seed).fit(X, y)
    cohort, times = model.sample(10_000, random_state=seed)
    for name in X.columns:
        assert not cohort[name].isna().any()
        if pd.api.types.is_numeric_dtype(X[name]):
            assert_plausible(cohort[name], X[name])
        else:
            assert set(cohort[name]) <= set(X[name].dropna())
    real, synthetic = parse_endpoints(y), parse_endpoints(times)
    assert (synthetic.lower > 0.0).all()
    for e in range(2):
        at, observed = kaplan_meier_estimator(real.event[:, e], real.lower[:, e])
        drawn = np.mean((synthetic.lower[:, e, None] > at) | ~synthetic.event[:, e, None], axis=0)
        assert np.abs(drawn - observed).max() < 0.06  # two units


def test_censored_cohorts_are_censored_as_the_study_was(model, nvalt8):
    _, y = nvalt8
    _, times = model.sample(5000, censored=True, random_state=1)
    real, synthetic = parse_endpoints(y), parse_endpoints(times)
    assert np.isinf(synthetic.upper[~synthetic.event]).all()
    np.testing.assert_allclose(synthetic.event.mean(axis=0), real.event.mean(axis=0), atol=0.06)
    for e in range(2):
        follow_up = [kaplan_meier_estimator(~table.event[:, e], table.lower[:, e]) for table in (real, synthetic)]
        at = np.quantile(real.lower[:, e], np.linspace(0.1, 0.9, 9))
        shares = [surviving[np.maximum(np.searchsorted(t, at, side="right") - 1, 0)] for t, surviving in follow_up]
        np.testing.assert_allclose(shares[1], shares[0], atol=0.08)


def test_numbers_are_distributed_as_in_training(model, nvalt8):
    """Also where a Gaussian unit cannot follow: as the largest distance of distribution functions, the steps of the study's included."""
    X, _ = nvalt8
    cohort, _ = model.sample(20_000, random_state=3)
    for name in X.select_dtypes("number"):
        if X[name].nunique() > 2:
            observed = X[name].dropna()
            at = np.unique(observed)
            share = [np.searchsorted(np.sort(values), at, side="right") / values.size for values in (observed.to_numpy(), cohort[name])]
            assert np.abs(share[0] - share[1]).max() < 0.05


def test_what_if_cohorts_have_the_covariates_they_were_given(model, nvalt8):
    X, _ = nvalt8
    complete = X.dropna()[:2]
    cohort, times = model.sample(2000, X=complete, random_state=0)
    assert len(cohort) == len(times) == 4000
    pd.testing.assert_frame_equal(cohort[:1].reset_index(drop=True), complete[:1].reset_index(drop=True), check_dtype=False)
    alive = model.predict_survival_function(complete, endpoint="os", times=[12.0], return_array=True)[:, 0]
    drawn = (times["os", "lower"].to_numpy().reshape(2, 2000) > 12.0).mean(axis=1)
    np.testing.assert_allclose(drawn, alive, atol=0.05)
    given = pd.DataFrame({("os", "lower"): [20.0, 20.0], ("os", "upper"): [np.inf, np.inf]})
    _, later = model.sample(100, X=complete, given=given, random_state=0)
    assert (later["os", "lower"] > 20.0).all()


@pytest.mark.slow
def test_drawn_times_follow_the_predicted_survival(model, nvalt8):
    X, y = nvalt8
    draws = model.draw_times(pd.concat([X[:3]] * 100), n_draws=20, random_state=0)
    assert draws.shape == (20, 300, 2)
    draws = draws.reshape(2000, 3, 2)
    alive = model.predict_survival_function(X[:3], endpoint="rfs", times=[12.0], return_array=True)[:, 0]
    np.testing.assert_allclose((draws[:, :, 1] > 12.0).mean(axis=0), alive, atol=0.05)
    given = hm.landmark(y[:3], 6.0)
    later = model.draw_times(X[:3], n_draws=50, given=given, random_state=0)
    open_ended = ~np.isfinite(given["os", "upper"].to_numpy())
    assert (later[:, open_ended, 0] > given["os", "lower"].to_numpy()[open_ended]).all()


def test_same_seed_same_draws(model, nvalt8):
    X, y = nvalt8
    first, second = (model.impute(X, y, random_state=3)[0] for _ in range(2))
    pd.testing.assert_frame_equal(first[0], second[0])
    pd.testing.assert_frame_equal(first[1], second[1])
    pd.testing.assert_frame_equal(model.sample(5, random_state=1)[0], model.sample(5, random_state=1)[0])


def test_models_trained_in_parts_do_not_know_covariates_and_say_so(nvalt8):
    X, y = nvalt8
    model = hm.SurvivalHarmonium(1, random_state=0, trainer=hm.Contrastive(n_epochs=1)).partial_fit(X, y)
    with pytest.warns(UserWarning, match='or in parts with objective="joint"'):
        model.sample(3)
    with pytest.warns(UserWarning, match="to impute covariates"):
        model.impute(X, y)
    model.sample(3, X=X.dropna()[:1])  # nothing to draw but times: no warning
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(0)
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        model.impute(X, y, n_draws=0)
    with pytest.raises(ValueError, match="found no X"):
        model.sample(1, given=y[:1])


def test_saved_models_generate_the_same_cohort(model, tmp_path):
    model.save(tmp_path / "model.harmonium")
    again = hm.load(tmp_path / "model.harmonium")
    for one, other in zip(model.sample(20, censored=True, random_state=0), again.sample(20, censored=True, random_state=0), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_a_level_that_was_not_in_training_stays_in_a_completed_table(nvalt8, model):
    X = nvalt8[0][:4].copy()
    X["stage"] = ["X", None, *X["stage"][2:]]
    with pytest.warns(UserWarning, match="'X'.*was not seen in training"):
        completed, _ = model.impute(X, random_state=0)[0]
    assert completed["stage"].iloc[0] == "X"
    assert completed["stage"].notna().all()
