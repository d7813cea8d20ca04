"""What scikit-learn offers for estimators works with ours; and what a notebook shows of a model."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

import harmonium as hm
from harmonium.metrics import concordance_index_scorer, neg_integrated_brier_score_scorer

SMALL = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=30), random_state=0, n_covariate_units=0)
IGNORE = pytest.mark.filterwarnings("ignore::harmonium.errors.HarmoniumWarning")


@pytest.fixture(scope="module")
def study():
    X, y = hm.datasets.load_nvalt8()
    return X[["arm", "stage", "age", "bmi"]], y


@pytest.fixture(scope="module")
def model(study):
    return SMALL.fit(*study)


def pipeline():
    """Leaves one column out."""
    chosen = ColumnTransformer([("keep", "passthrough", ["arm", "stage", "age"])], verbose_feature_names_out=False)
    return Pipeline([("columns", chosen.set_output(transform="pandas")), ("model", hm.SurvivalHarmonium(**SMALL.get_params(deep=False)))])


def test_partial_dependence_is_that_of_the_risk(model, study):
    X, _ = study
    found = partial_dependence(model, X, ["age"], kind="average", grid_resolution=4)
    own = [model.predict(X.assign(age=age)).mean() for age in found["grid_values"][0]]
    np.testing.assert_allclose(found["average"][0], own, rtol=1e-9)


def test_permutation_importance_is_that_of_the_scorer(model, study):
    X, y = study
    for scoring in (None, concordance_index_scorer, neg_integrated_brier_score_scorer):
        found = permutation_importance(model, X, y, n_repeats=2, random_state=0, scoring=scoring)
        assert found.importances_mean.shape == (4,)
        assert np.isfinite(found.importances_mean).all()
        assert found.importances_mean.max() > 0.0


@IGNORE
@pytest.mark.slow
def test_pipelines_are_searched_and_scored(study):
    X, y = study
    folds = hm.metrics.MultiEndpointStratifiedKFold(2)
    scoring = {"order": concordance_index_scorer, "error": neg_integrated_brier_score_scorer}
    search = GridSearchCV(pipeline(), {"model__n_hidden": [0, 1]}, scoring=scoring, refit="error", cv=folds).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_order"]).all()
    assert search.best_estimator_.predict(X).shape == (len(X),)
    assert np.isfinite(cross_val_score(pipeline(), X, y, scoring=concordance_index_scorer, cv=folds)).all()
    importance = permutation_importance(search.best_estimator_, X, y, n_repeats=1, random_state=0, scoring=concordance_index_scorer)
    assert importance.importances_mean[list(X).index("bmi")] == 0.0, "the pipeline does not use it"


# --- notebooks ---


def test_a_notebook_shows_endpoints_covariates_fit_and_metrics(model):
    scores = hm.evaluate(model, *hm.datasets.load_nvalt8()).to_dict("index")
    fitted = model.fitted_.with_evaluation("5-fold cross-validation", scores)
    html = fitted._repr_html_()
    for text in ("<td>os</td><td>200</td><td>84</td>", "<td>stage</td><td>categorical</td>", "hidden units", "C-index", "5-fold"):
        assert text in html
    assert "<script" not in html


def test_a_console_shows_a_few_lines(model):
    first, *others = repr(model.fitted_).splitlines()
    training = model.fitted_.training
    assert first == f"Fitted: {model.fitted_.n_hidden} hidden units and {model.fitted_.n_covariate_units} of covariates"
    assert others[0] == f"  200 rows, {len(model.encoding_.modelled)} covariates"
    assert others[1] == "  os: 84 events in 200 rows, observed until 96.13"
    assert others[-1].endswith(f"after {training.n_iter} iterations")
    assert len(others) == 4


def test_text_of_the_user_is_escaped(study):
    X, y = study
    named = X.rename(columns={"age": "<b>age</b>"}).assign(stage="<i>" + X["stage"].astype(str))
    html = SMALL.__sklearn_clone__().fit(named, y).fitted_._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;b&gt;age" in html


def test_an_estimator_shows_the_diagram_first_and_the_model_once_it_is_fitted(model):
    before = hm.SurvivalHarmonium()._repr_mimebundle_()
    assert "sk-" in before["text/html"]
    assert "<td>os</td>" in model._repr_mimebundle_()["text/html"]
