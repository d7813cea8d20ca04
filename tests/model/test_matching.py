"""Cohorts matched to the study they were learned from."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.cells import Cells
from harmonium.model.generation import matched_numbers, matched_positions
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.product_limit import ProductLimit


def included_over_ten_years(effect, n=800):
    """Who was included later was followed for a shorter time, and lived longer if the effect is positive."""
    rng = np.random.default_rng(0)
    year = rng.uniform(0.0, 10.0, n)
    time = 6.0 * rng.weibull(1.3, n) * np.exp(effect * (year - 5.0) / 3.0)
    until = 14.0 - year + rng.uniform(0.0, 2.0, n)
    table = pd.DataFrame({"year": year, "size": rng.normal(size=n), "t": np.minimum(time, until), "died": time <= until})
    return table[["year", "size"]], hm.endpoints(table, death=("t", "died"))


@pytest.fixture(scope="module", params=[1.0, -1.0], ids=["later lives longer", "later lives shorter"])
def study(request):
    X, y = included_over_ten_years(request.param)
    return hm.SurvivalHarmonium(random_state=0).fit(X, y), y, request.param


def curve_of(y):
    known = parse_endpoints(y)
    return ProductLimit.of_events(known.lower[:, 0], known.event[:, 0])


def reference_of(model, n=20_000):
    """A cohort in the model's own terms."""
    encoding = model.fitted_.encoding
    return next(model.fitted_.draw(Cells.all_free(encoding.layout, n), 1, np.random.default_rng(1), "cohort"))


def test_censored_cohorts_have_the_studys_curve_though_follow_up_depends_on_covariates(study):
    model, y, _ = study
    _, times = model.sample(20_000, censored=True, random_state=1)
    at = np.quantile(y["death", "lower"], np.linspace(0.05, 0.95, 60))
    assert np.abs(curve_of(times).at(at) - curve_of(y).at(at)).max() < 0.03


def test_order_in_time_stays_and_so_do_curves_that_agree_already(study):
    model, _, effect = study
    reference = reference_of(model)
    drawn = np.linspace(0.001, 0.999, 500)[:, None]
    matched = matched_positions(model.fitted_.encoding, reference, drawn, 0)
    assert (np.diff(matched[:, 0]) >= 0.0).all()
    if effect > 0.0:
        assert 0.03 < np.abs(matched - drawn).max() < 0.3
    else:
        np.testing.assert_array_equal(matched, drawn)


def test_scales_that_were_not_calibrated_are_not_matched(study):
    model, _, _ = study
    drawn = np.linspace(0.001, 0.999, 50)[:, None]
    np.testing.assert_array_equal(matched_positions(model.fitted_.encoding.in_training(), reference_of(model), drawn, 0), drawn)


def test_subjects_of_whom_something_is_known_keep_the_times_that_are_drawn_for_them(study, monkeypatch):
    model, y, _ = study
    X, _ = included_over_ten_years(1.0)
    some = X.head(5).assign(size=np.nan)
    asked = [{"X": X.head(5)}, {"X": some, "given": hm.landmark(y.head(5), 0.5)}]
    before = [model.sample(20, random_state=3, **what)[1] for what in asked]
    monkeypatch.setattr("harmonium.model.generation.matched_positions", lambda *_: pytest.fail("matched"))
    for what, times in zip(asked, before, strict=True):
        pd.testing.assert_frame_equal(model.sample(20, random_state=3, **what)[1], times)


def test_numbers_that_are_known_stay(study):
    model, _, _ = study
    encoding, reference = model.fitted_.encoding, reference_of(model, 2000)
    drawn = np.random.default_rng(2).normal(size=(50, 2))
    missing = np.zeros((50, 2), dtype=bool)
    missing[:, 1] = True
    matched = matched_numbers(encoding, reference[:, :2], drawn, missing)
    np.testing.assert_array_equal(matched[:, 0], drawn[:, 0])
    assert (np.diff(matched[np.argsort(drawn[:, 1]), 1]) >= 0.0).all()
