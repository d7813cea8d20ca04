"""What imputations and cohorts are drawn from: the model's joint continuation."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import ModelFileError
from harmonium.model import generator as generator_module
from harmonium.model.fitted import Fitted
from harmonium.model.generating import Generator
from harmonium.model.generator import N_DRAWS
from harmonium.model.on_demand import OnDemand
from tests.model.model_files import loaded, opened, sealed

QUICK = hm.Exact(n_starts=1)


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(study):
    return hm.SurvivalHarmonium(2, trainer=QUICK, random_state=0).fit(*study)


def all_vectors(fitted):
    generator = fitted.generator
    return np.stack([part.to_vector() for part in (generator.parameters, *generator.draws)])


def test_it_is_made_once_when_first_needed_and_never_by_predictions(study, monkeypatch):
    X, y = study
    made = []
    make = generator_module.continued_jointly
    monkeypatch.setattr("harmonium.model.fitting.continued_jointly", lambda *a: made.append(1) or make(*a))
    model = hm.SurvivalHarmonium(1, trainer=QUICK, random_state=0).fit(X, y)
    model.predict(X)
    model.draw_times(X[:2], n_draws=2, random_state=0)
    model.sample(2, X=X.dropna()[:2], random_state=0)
    assert made == []
    model.sample(2, random_state=0)
    model.impute(X, y, random_state=0)
    model.fitted_.with_jobs(1).sample(2, random_state=0)
    assert made == [1]


def test_all_units_of_the_model_go_on_and_gain_joint_likelihood(model, study):
    fitted = model.fitted_
    parameters = fitted.generator.parameters
    assert parameters.n_hidden == fitted.n_hidden + fitted.n_covariate_units == 6
    continued = Fitted(fitted.encoding, parameters, fitted.training)
    gain = continued.log_likelihood(*study, kind="joint") - fitted.log_likelihood(*study, kind="joint")
    assert gain.mean() > 0.1
    outcome = parameters.natural().coupling[fitted.encoding.layout.outcome_statistics, fitted.n_hidden :]
    assert np.abs(outcome).max() > 0.1  # units that were about covariates alone now couple to outcomes too


def test_parameters_are_drawn_around_the_most_likely_ones(model):
    vectors = all_vectors(model.fitted_)
    assert len(vectors) == N_DRAWS + 1
    spread = vectors[1:].std(axis=0)
    assert (spread[np.abs(vectors[0]) > 1e-6] > 0.0).mean() > 0.9
    distance = np.abs(vectors[1:].mean(axis=0) - vectors[0])
    assert np.median(distance / np.maximum(spread, 1e-12)) < 1.0


def test_each_imputation_has_parameters_of_its_own(model, study):
    """With the same random numbers, two imputations differ by their parameters; without draws of parameters they do not."""
    X, y = study
    fitted = model.fitted_
    cells = fitted.encoding.cells(fitted.encoding.covariates(X))
    first, second = (next(fitted.draw(cells, 1, np.random.default_rng(0), "imputation")) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    certain = replace(fitted, generating=OnDemand(made=Generator(fitted.generator.parameters, ())))
    fixed = next(certain.draw(cells, 1, np.random.default_rng(0), "imputation"))
    assert not np.array_equal(first, fixed)
    assert fitted.generator.of_imputation(0) is fitted.generator.of_imputation(N_DRAWS)
    assert len(fitted.impute(X, y, n_draws=N_DRAWS + 2, random_state=0)) == N_DRAWS + 2


def test_the_same_whenever_and_wherever_it_is_made(model, study, tmp_path):
    again = hm.SurvivalHarmonium(2, trainer=QUICK, random_state=0, n_jobs=1).fit(*study)
    again.predict(study[0])
    np.testing.assert_array_equal(all_vectors(again.fitted_), all_vectors(model.fitted_))
    np.testing.assert_array_equal(all_vectors(pickle.loads(pickle.dumps(model.fitted_))), all_vectors(model.fitted_))
    model.save(tmp_path / "m.harmonium")
    found = hm.load(tmp_path / "m.harmonium")
    np.testing.assert_array_equal(all_vectors(found), all_vectors(model.fitted_))
    for one, other in zip(model.impute(*study, n_draws=2, random_state=1), found.impute(*study, n_draws=2, random_state=1), strict=True):
        pd.testing.assert_frame_equal(one[0], other[0])
        pd.testing.assert_frame_equal(one[1], other[1])


def test_pickles_hold_no_training_rows(study):
    """Values that occur in one row only are in the pickle of neither the model nor its generator, but for the quantiles of a scale."""
    X, y = study
    marked = X.assign(age=X["age"] + np.linspace(0.0, 1e-3, len(X)))
    fitted = hm.SurvivalHarmonium(1, trainer=QUICK, random_state=0).fit(marked, y).fitted_
    place = [column.name for column in fitted.encoding.modelled].index("age")
    encoded = fitted.encoding.covariates(marked)[:, place]
    content = pickle.dumps(fitted)
    assert np.unique(encoded).size == len(X)
    assert sum(value.tobytes() in content for value in encoded) < 0.1 * len(X)


def test_a_joint_model_is_its_own_continuation(study):
    fitted = hm.SurvivalHarmonium(2, objective="joint", trainer=QUICK, random_state=0).fit(*study).fitted_
    assert fitted.generator.parameters is fitted.parameters
    assert len(fitted.generator.draws) == N_DRAWS
    assert fitted.covariate_units is None


@pytest.mark.parametrize(("n_hidden", "objective"), [(2, "conditional"), (20, "conditional"), (2, "joint")])
def test_the_contrastive_trainer_goes_on_by_itself(study, n_hidden, objective):
    trainer = hm.Contrastive(n_epochs=5)
    fitted = hm.SurvivalHarmonium(n_hidden, objective=objective, trainer=trainer, random_state=0).fit(*study).fitted_
    generator = fitted.generator
    assert generator.draws == ()
    assert generator.parameters.n_hidden == n_hidden
    assert (generator.parameters is fitted.parameters) == (objective == "joint")
    completed, _ = fitted.impute(*study, random_state=0)[0]
    assert not completed.isna().to_numpy().any()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("covariate_units.bias", lambda a: a[:-1], "'covariate_units.bias' must have the shape"),
        ("covariate_units.coupling", lambda a: a[:, :-1], "'covariate_units.coupling' must have the shape"),
        ("covariate_units.hidden_bias", lambda a: a * np.nan, "'covariate_units.hidden_bias' must be finite"),
        ("covariate_units.bias", lambda a: None, "'covariate_units.bias' is missing"),
        ("generator.draws", lambda a: a[:, 1:], "'generator.draws' must have"),
        ("generator.b", lambda a: a[1:], "must have the shape"),
        ("generator.b", lambda a: None, "'generator.b' is missing"),
        ("generator.strange", lambda a: np.zeros(2), "tensors of no use: 'generator.strange'"),
        ("covariate_units.strange", lambda a: np.zeros(2), "tensors of no use: 'covariate_units.strange'"),
    ],
)
def test_damaged_parts_of_a_file_are_refused(model, tmp_path, name, change, message):
    model.save(tmp_path / "m.harmonium")
    document, tensors = opened((tmp_path / "m.harmonium").read_bytes())
    changed = change(tensors.get(name))
    tensors.pop(name, None)
    if changed is not None:
        tensors[name] = np.ascontiguousarray(changed)
    with pytest.raises(ModelFileError, match=message):
        loaded(tmp_path / "m", sealed(document, tensors))
