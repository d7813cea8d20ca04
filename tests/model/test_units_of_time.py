"""A model knows the unit of its times: it is kept in the file, given things are converted, and axes show it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import harmonium as hm
from harmonium.table.endpoints import parse_endpoints


@pytest.fixture(scope="module")
def study():
    """NVALT-8 in months, and the same in days."""
    X, y = hm.datasets.load_nvalt8()
    known = parse_endpoints(y)
    months = parse_endpoints(y).to_frame(y.index)
    for name in known.names:
        months[name, "unit"] = "months"
    months = months[[(name, kind) for name in known.names for kind in ("lower", "upper", "unit")]]
    return X, months, parse_endpoints(months).in_unit("days").to_frame(y.index)


@pytest.fixture(scope="module")
def model(study):
    X, months, _ = study
    return hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=20), random_state=0).fit(X, months).fitted_


def test_the_file_keeps_the_unit(model, tmp_path):
    model.save(tmp_path / "m.harmonium")
    assert hm.load(tmp_path / "m.harmonium").encoding.unit == model.encoding.unit == "months"


def test_what_is_given_in_another_unit_is_converted(model, study):
    X, months, days = study
    given = [hm.landmark(months, 12.0), hm.landmark(days, 365.25)]
    alive = [model.predict_survival_function(X, times=[24.0, 36.0], given=own, return_array=True) for own in given]
    np.testing.assert_allclose(*alive, rtol=1e-9)
    np.testing.assert_allclose(model.log_likelihood(X, months), model.log_likelihood(X, days), rtol=1e-9)


def test_an_evaluation_in_another_unit_is_the_same(model, study):
    X, months, days = study
    np.testing.assert_allclose(hm.evaluate(model, X, months), hm.evaluate(model, X, days), rtol=1e-6)


def test_a_table_that_says_nothing_of_units_is_taken_as_it_is(model, study):
    X, months, _ = study
    silent = months.drop(columns=[column for column in months.columns if column[1] == "unit"])
    np.testing.assert_array_equal(model.log_likelihood(X, months), model.log_likelihood(X, silent))


def test_draws_have_the_unit(model):
    assert parse_endpoints(model.sample(3, random_state=0)[1]).unit == "months"


def test_axes_show_the_unit(model, study):
    X, months, _ = study
    for ax in (hm.plots.survival_curves(model, X[:1]), hm.plots.kaplan_meier(months, endpoint="os")):
        assert ax.get_xlabel() == "Time (months)"
    assert "by 24 months" in hm.plots.calibration(model, X, months, endpoint="os", time=24).get_xlabel()
    assert hm.plots.joint_density(model, X[:1]).joint.get_xlabel() == "os (months)"
    assert hm.plots.survival_curves(model, X[:1], time_label="Months").get_xlabel() == "Months"
    plt.close("all")
