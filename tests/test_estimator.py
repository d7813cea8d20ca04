"""The estimator: what users touch."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, RandomizedSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sksurv.metrics import as_concordance_index_ipcw_scorer, as_integrated_brier_score_scorer

import harmonium as hm

# Folds of small studies may lack a rare level; that it is then treated as missing, with a warning, is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::harmonium.errors.UnseenLevelWarning", "ignore::harmonium.errors.ExtrapolationWarning")

QUICK = {"n_hidden": 2, "trainer": hm.Exact(n_starts=1, max_iter=40), "random_state": 0}


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def gbsg2():
    X, y = hm.datasets.load_gbsg2()
    structured = np.array(
        list(zip(np.isfinite(y["rfs", "upper"]), y["rfs", "lower"], strict=True)), dtype=[("event", bool), ("time", float)]
    )
    return X, structured


@pytest.fixture(scope="module")
def model(nvalt8):
    return hm.SurvivalHarmonium(**QUICK).fit(*nvalt8)


# --- answers ---


def test_survival_is_one_at_zero_falls_and_stays_where_follow_up_ends(model, nvalt8):
    X, _ = nvalt8
    times = np.concatenate([[0.0], np.linspace(0.1, 200.0, 50), [1e6]])
    for endpoint in ("os", "rfs"):
        survival = model.predict_survival_function(X, endpoint=endpoint, times=times, return_array=True)
        assert survival.shape == (len(X), len(times))
        np.testing.assert_allclose(survival[:, 0], 1.0)
        assert (np.diff(survival, axis=1) <= 1e-12).all()
        end = model.predict_survival_function(X, endpoint=endpoint, times=[model.encoding_.endpoints[0].scale.end], return_array=True)
        np.testing.assert_allclose(survival[:, -1], end[:, 0], rtol=1e-12)
        assert (survival[:, -1] > 0.0).all()


def test_step_functions_and_arrays_agree(model, nvalt8):
    X, _ = nvalt8
    times = np.array([6.0, 12.0, 36.0])
    array = model.predict_survival_function(X[:3], times=times, return_array=True)
    steps = model.predict_survival_function(X[:3], times=times)
    np.testing.assert_allclose([step(times) for step in steps], array)


@pytest.mark.slow
def test_density_in_the_users_unit_integrates_to_what_has_happened_and_survival_is_its_integral(model, nvalt8):
    """Whatever the time scale: the Jacobian is in the likelihood."""
    X, y = nvalt8
    for time_scale in ("kaplan-meier", "linear", "log"):
        fitted = hm.SurvivalHarmonium(**{**QUICK, "trainer": hm.Exact(n_starts=1, max_iter=15)}, time_scale=time_scale).fit(X, y)
        nodes, weights = np.polynomial.legendre.leggauss(400)
        end = fitted.encoding_.scales[0].end
        grid = np.geomspace(1e-3, end, 30)
        t = np.concatenate([(b - a) / 2 * nodes + (a + b) / 2 for a, b in pairwise(grid)])
        w = np.concatenate([(b - a) / 2 * weights for a, b in pairwise(grid)])
        known = pd.DataFrame({("os", "lower"): t, ("os", "upper"): t, ("rfs", "lower"): 0.0, ("rfs", "upper"): np.inf})
        rows = pd.concat([X.iloc[:1]] * len(t), ignore_index=True)
        density = np.exp(fitted.log_likelihood(rows, known))
        survival, late = fitted.predict_survival_function(X.iloc[:1], times=[24.0, end], return_array=True)[0]
        assert (late == 0.0) == (time_scale != "kaplan-meier")
        assert density @ w == pytest.approx(1.0 - late, abs=2e-3)
        assert density[t > 24.0] @ w[t > 24.0] == pytest.approx(survival - late, abs=5e-3)


def test_risk_orders_as_survival_does(model, nvalt8):
    X, _ = nvalt8
    risk = model.predict(X)
    survival = model.predict_survival_function(X, times=[24.0], return_array=True)[:, 0]
    assert np.corrcoef(risk, survival)[0, 1] < -0.8


def test_score_is_the_mean_concordance(model, nvalt8):
    assert 0.5 < model.score(*nvalt8) < 1.0


def test_an_endpoint_that_is_not_there_is_named(model, nvalt8):
    with pytest.raises(ValueError, match="there is no endpoint 'pfs'; the model has 'os', 'rfs'"):
        model.predict(nvalt8[0], endpoint="pfs")


def test_the_paper_parameters_make_the_same_model(model):
    paper = model.paper_parameters_
    assert set(paper) == {"b", "W_A", "a_A", "W_B", "V", "a_B", "c", "W_C", "a_C", "sigma"}
    assert paper["W_B"].shape == paper["V"].shape == (2, 2 + model.n_covariate_units_)


def test_gaps_are_fine_at_prediction(model, nvalt8):
    X, _ = nvalt8
    empty = X.iloc[:1].copy()
    for column in empty.columns:
        empty[column] = pd.Series([None], index=empty.index, dtype=object)
    curve = model.predict_survival_function(empty, times=[12.0, 24.0], return_array=True)
    assert (curve > 0.0).all()
    assert (curve < 1.0).all()


# --- settings ---


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hidden": -1}, 'n_hidden must be "auto" or a whole number'),
        ({"n_hidden": 2.5}, 'n_hidden must be "auto" or a whole number'),
        ({"objective": "both"}, "objective must be"),
        ({"objective": 1.5}, "a weight between 0 and 1; found 1.5"),
        ({"trainer": hm.Exact(l2="some")}, 'l2 must be "auto"'),
        ({"trainer": hm.Exact(l2=-1.0)}, "l2 must be .* of at least 0"),
        ({"trainer": hm.Exact(n_starts=0)}, 'n_starts must be "auto" or a whole number of at least 1; found 0'),
        ({"trainer": hm.Contrastive(optimizer="lbfgs")}, "optimizer must be one of 'sgd', 'adam'"),
        ({"time_scale": "sqrt"}, "time_scale must be one of kaplan-meier, linear, log; found 'sqrt'"),
        ({"trainer": "sgd"}, 'trainer must be one of "auto", "exact" and "contrastive"'),
        ({"trainer": "exact", "n_hidden": 20}, "up to 14 hidden units; with 20 .* leaves unobserved: column"),
        ({"horizon": 1.0, "time_scale": "linear"}, "must not lie before the last observed time"),
        ({"roles": {"agee": "numeric"}}, "did you mean 'age'"),
    ],
)
def test_senseless_settings_are_refused(settings, message, nvalt8):
    with pytest.raises(ValueError, match=message):
        hm.SurvivalHarmonium(**{**QUICK, **settings}).fit(*nvalt8)


def test_rows_must_match(nvalt8):
    X, y = nvalt8
    with pytest.raises(ValueError, match="as many rows; found 200 and 199"):
        hm.SurvivalHarmonium(**QUICK).fit(X, y[:-1])


@pytest.mark.parametrize("objective", ["joint", 0.9])
def test_all_objectives_fit(objective, nvalt8):
    fitted = hm.SurvivalHarmonium(**QUICK, objective=objective).fit(*nvalt8)
    assert np.isfinite(fitted.log_likelihood(*nvalt8, kind="joint")).all()


@pytest.mark.slow
def test_many_hidden_units_are_trained_by_contrastive_divergence(nvalt8):
    fitted = hm.SurvivalHarmonium(n_hidden=20, random_state=0, trainer=hm.Contrastive(n_epochs=3)).fit(*nvalt8)
    assert fitted.paper_parameters_["W_A"].shape[1] == 20
    assert list(fitted.history_["iteration"]) == [0, 1, 2]


def test_no_hidden_unit_predicts_the_same_for_all(nvalt8):
    X, y = nvalt8
    curves = hm.SurvivalHarmonium(**{**QUICK, "n_hidden": 0}).fit(X, y).predict_survival_function(X, times=[12.0, 36.0], return_array=True)
    np.testing.assert_allclose(curves, np.broadcast_to(curves[0], curves.shape))


def test_warm_start_goes_on(nvalt8):
    model = hm.SurvivalHarmonium(**{**QUICK, "trainer": hm.Exact(n_starts=1, max_iter=5, l2=5.0)}, warm_start=True).fit(*nvalt8)
    first = model.history_["objective"].iloc[-1]
    model.fit(*nvalt8)
    assert model.history_["objective"].iloc[0] >= first - 1e-9
    assert model.history_["objective"].iloc[-1] > first


def test_partial_fit_learns(nvalt8):
    X, y = nvalt8
    model = hm.SurvivalHarmonium(n_hidden=3, random_state=0, trainer=hm.Contrastive(learning_rate=0.02)).partial_fit(X, y)
    first = model.log_likelihood(X, y).mean()
    for _ in range(60):
        for start in range(0, 200, 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.log_likelihood(X, y).mean() > first


def test_validation_is_recorded_and_stops_training(nvalt8):
    X, y = nvalt8
    model = hm.SurvivalHarmonium(n_hidden=4, random_state=0, early_stopping=2, trainer=hm.Exact(n_starts=1, l2=0.0))
    model.fit(X[:120], y[:120], validation=(X[120:], y[120:]))
    checked = model.history_.dropna(subset=["validation"])
    assert {"validation", "concordance os", "concordance rfs"} <= set(checked.columns)
    before = replace(model.fitted_, encoding=model.encoding_.in_training())  # what calibrating adds comes after training
    assert before.log_likelihood(X[120:], y[120:]).mean() == pytest.approx(checked["validation"].max())
    assert len(model.history_) < 1000


def test_no_start_is_left_out_by_early_stopping(nvalt8):
    """Every start begins far below the best so far; that is no reason to stop."""
    X, y = nvalt8
    trainer = hm.Exact(l2=0.1, n_starts=4, tol=1e-12)  # too weak a prior: the longer, the worse for other rows
    model = hm.SurvivalHarmonium(n_hidden=2, random_state=0, early_stopping=1, trainer=trainer)
    model.fit(X[:100], y[:100], validation=(X[100:], y[100:]))
    n_runs = 1 + (np.diff(model.history_["objective"]) < 0.0).sum()
    assert n_runs >= 4
    assert len(model.history_) < len(hm.SurvivalHarmonium(n_hidden=2, random_state=0, trainer=trainer).fit(X[:100], y[:100]).history_)


# --- conventions ---


def test_clone_and_parameters():
    model = hm.SurvivalHarmonium(n_hidden=3, trainer=hm.Exact(l2=2.0))
    settings = [{name: value for name, value in m.get_params().items() if name != "trainer"} for m in (model, clone(model))]
    assert settings[0] == settings[1]
    assert settings[0]["trainer__l2"] == 2.0
    assert len(model.get_params(deep=False)) <= 15
    assert "SurvivalHarmonium" in repr(model)
    assert "<div" in model._repr_html_()


@pytest.mark.filterwarnings("ignore::harmonium.errors.RangeWarning")  # a body mass index of 393 is in one of the folds
def test_cross_validation_on_several_endpoints(nvalt8):
    scores = cross_validate(hm.SurvivalHarmonium(**QUICK), *nvalt8, cv=KFold(3, shuffle=True, random_state=0), error_score="raise")
    assert np.isfinite(scores["test_score"]).all()


def test_pipeline_and_search(gbsg2):
    X, y = gbsg2
    pipeline = make_pipeline(FunctionTransformer(lambda frame: frame.drop(columns="estrec")), hm.SurvivalHarmonium(**QUICK))
    assert 0.6 < pipeline.fit(X, y).score(X, y) < 0.8
    search = RandomizedSearchCV(
        hm.SurvivalHarmonium(**QUICK), {"n_hidden": [1, 2], "trainer__l2": [1.0, 10.0]}, n_iter=2, cv=2, random_state=0
    )
    assert search.fit(X, y).best_params_["n_hidden"] in (1, 2)


@pytest.mark.parametrize("scorer", [as_concordance_index_ipcw_scorer, as_integrated_brier_score_scorer])
def test_scikit_survival_scorers_work(scorer, gbsg2):
    X, y = gbsg2
    times = {"tau": 2000.0} if scorer is as_concordance_index_ipcw_scorer else {"times": np.linspace(300, 1800, 20)}
    scored = scorer(hm.SurvivalHarmonium(**QUICK), **times).fit(X, y)
    assert np.isfinite(scored.score(X, y))


def test_structured_arrays_and_endpoint_tables_give_the_same_model(gbsg2):
    X, y = gbsg2
    table = hm.endpoints(pd.DataFrame({"t": y["time"], "e": y["event"]}), time=("t", "e"))
    first, second = (hm.SurvivalHarmonium(**QUICK).fit(X, target) for target in (y, table))
    np.testing.assert_array_equal(first.parameters_.to_vector(), second.parameters_.to_vector())


def test_polars_and_pandas_give_the_same_model(nvalt8):
    polars = pytest.importorskip("polars")
    X, y = nvalt8
    as_polars = polars.DataFrame({name: X[name].astype(object).where(X[name].notna(), None).tolist() for name in X}, strict=False)
    first, second = (hm.SurvivalHarmonium(**QUICK).fit(table, y) for table in (X, as_polars))
    np.testing.assert_allclose(first.parameters_.to_vector(), second.parameters_.to_vector(), rtol=1e-9)


def test_models_survive_pickling(model, nvalt8):
    import pickle

    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(nvalt8[0]), model.predict(nvalt8[0]))


def test_prediction_before_fitting_is_refused(nvalt8):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        hm.SurvivalHarmonium().predict(nvalt8[0])


# --- choosing hyperparameters ---


def test_cross_validated_choice(nvalt8):
    X, y = nvalt8
    base = hm.SurvivalHarmonium(random_state=0, trainer=hm.Exact(n_starts=1, max_iter=25))
    search = hm.SurvivalHarmoniumCV((0, 2), objective=("conditional", 0.9), cv=3, estimator=base).fit(X, y)
    assert len(search.cv_results_) == 4
    best = search.cv_results_.loc[search.cv_results_["mean"].idxmax()]
    assert search.best_params_ == {"n_hidden": best["n_hidden"], "objective": best["objective"]}
    curves = search.predict_survival_function(X, endpoint="os", times=[12.0, 24.0], return_array=True)
    assert ((curves > 0.0) & (curves < 1.0)).all()
    assert 0.5 < search.score(X, y) < 1.0
    assert search.log_likelihood(X, y).shape == (200,)
    alone = hm.SurvivalHarmonium(**search.best_params_, random_state=0, trainer=hm.Exact(n_starts=1, max_iter=25)).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


@pytest.mark.slow
def test_choice_with_folds_that_look_at_the_endpoints(nvalt8):
    base = hm.SurvivalHarmonium(random_state=0, trainer=hm.Exact(n_starts=1, max_iter=10))
    folds = [2, hm.metrics.MultiEndpointStratifiedKFold(2), KFold(2)]
    same, also, other = (
        hm.SurvivalHarmoniumCV((0, 1), objective=("conditional",), cv=cv, estimator=base).fit(*nvalt8).cv_results_ for cv in folds
    )
    pd.testing.assert_frame_equal(same, also)
    assert (same["mean"] != other["mean"]).all()


@pytest.mark.slow
def test_parallel_choice_is_the_same(nvalt8):
    base = hm.SurvivalHarmonium(random_state=0, trainer=hm.Exact(n_starts=1, max_iter=15))
    one, two = (hm.SurvivalHarmoniumCV((1, 2), objective=("conditional",), cv=2, estimator=base, n_jobs=n).fit(*nvalt8) for n in (1, 2))
    pd.testing.assert_frame_equal(one.cv_results_, two.cv_results_)


def test_the_contrastive_trainer_says_that_it_knows_no_weights(nvalt8):
    with pytest.warns(UserWarning, match="knows no weights: objective=0.9"):
        hm.SurvivalHarmonium(n_hidden=1, objective=0.9, random_state=0, trainer=hm.Contrastive(n_epochs=1)).fit(*nvalt8)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["joint", "conditional"])
def test_both_trainers_allow_for_late_entry(objective):
    rng = np.random.default_rng(0)
    time, entry = rng.uniform(0.0, 1.0, 4000), rng.uniform(0.0, 0.8, 4000)
    seen = time > entry
    df = pd.DataFrame({"time": time, "event": 1, "entry": entry})[seen].reset_index(drop=True)
    X, y = df[[]], hm.endpoints(df, death={"time": "time", "event": "event", "entry": "entry"})
    settings = {"n_hidden": 1, "time_scale": "linear", "horizon": 1.0, "objective": objective, "random_state": 0}
    contrastive = hm.SurvivalHarmonium(**settings, trainer=hm.Contrastive(n_epochs=40, learning_rate=0.3, batch_size=200)).fit(X, y)
    for model in (hm.SurvivalHarmonium(**settings).fit(X, y), contrastive):
        alive = model.predict_survival_function(X[:1], times=[0.25, 0.5, 0.75], return_array=True)[0]
        np.testing.assert_allclose(alive, [0.75, 0.5, 0.25], atol=0.06)


def test_early_stopping_without_validation_is_refused(nvalt8):
    with pytest.raises(ValueError, match="early_stopping needs validation data"):
        hm.SurvivalHarmonium(early_stopping=3).fit(*nvalt8)
