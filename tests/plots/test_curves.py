"""Survival curves."""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm


def test_lines_are_what_the_model_predicts(nvalt8):
    model, X, _ = nvalt8
    ax = hm.plots.survival_curves(model, X[:3], endpoint="rfs")
    assert len(ax.lines) == 3
    for row, line in enumerate(ax.lines):
        times, alive = line.get_data()
        np.testing.assert_allclose(alive, model.prognosis(X[row : row + 1]).survival("rfs", times)[0], rtol=1e-12)
        assert times[0] == 0.0
        assert times[-1] == model.encoding_.endpoints[1].event_times[-1]
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    assert len({(line.get_color(), line.get_marker()) for line in ax.lines}) == 3
    assert ax.get_ylabel() == "Probability of no event (rfs)"


def test_what_is_given_is_drawn_solid_and_without_it_dashed(nvalt8):
    model, X, y = nvalt8
    given = hm.landmark(y[:2], 12)
    ax = hm.plots.survival_curves(model, X[:2], given=given, until=24, labels=["a", "b"], time_label="Months")
    dashed, solid = ax.lines[0::2], ax.lines[1::2]
    assert [line.get_linestyle() for line in ax.lines] == ["--", "-"] * 2
    times = ax.lines[0].get_xdata()
    assert (times[0], times[-1]) == (0.0, 24.0)
    wanted = [model.prognosis(X[:2], given=g).survival("os", times) for g in (None, given)]
    np.testing.assert_array_equal([line.get_ydata() for line in dashed], wanted[0])
    np.testing.assert_array_equal([line.get_ydata() for line in solid], wanted[1])
    assert solid[0].get_ydata()[times == 12.0] == 1.0
    assert [text.xy[1] for text in ax.texts] == list(wanted[1][:, -1])
    assert [text.get_text() for text in ax.get_legend().texts] == ["given covariates only", "given endpoints as well"]
    assert ax.get_xlabel() == "Months"


def test_the_default_grid_has_the_landmark(nvalt8):
    model, X, y = nvalt8
    ax = hm.plots.survival_curves(model, X[:2], given=hm.landmark(y[:2], 12.345))
    assert 12.345 in ax.lines[0].get_xdata()


def test_the_cohort_is_the_kaplan_meier_curve(nvalt8):
    model, X, y = nvalt8
    ax = hm.plots.survival_curves(model, X[:1], endpoint="os", cohort=y)
    cohort = ax.lines[0]
    assert cohort.get_drawstyle() == "steps-post"
    time, alive = kaplan_meier_estimator(np.isfinite(y["os", "upper"]), y["os", "lower"])
    x, drawn = cohort.get_data()
    np.testing.assert_allclose(drawn[np.searchsorted(x, time, side="right") - 1], alive)
    assert x[-1] == ax.get_xlim()[1] == y["os", "lower"].max()
    assert ax.texts[0].get_text() == "cohort"


def test_axes_that_are_given_are_used_and_no_figure_is_opened(one_endpoint):
    model, X, y = one_endpoint
    ax = Figure().add_subplot()
    assert hm.plots.survival_curves(model, X[:2], cohort=y, ax=ax) is ax
    assert plt.get_fignums() == []


def test_many_subjects_have_labels_only_if_asked_for(one_endpoint):
    model, X, _ = one_endpoint
    assert not hm.plots.survival_curves(model, X[:30]).texts
    assert len(hm.plots.survival_curves(model, X[:30], labels=range(30)).texts) == 30


def test_polars_and_arrays_are_tables_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), hm.datasets.make_three_way(60, random_state=0)[1]
    model = hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(X, y)
    wanted = hm.plots.survival_curves(model, X[:2]).lines[1].get_ydata()
    frame = pl.DataFrame({"x0": X[:2, 0], "x1": X[:2, 1]})
    np.testing.assert_array_equal(hm.plots.survival_curves(model, frame).lines[1].get_ydata(), wanted)
    assert len(hm.plots.joint_density(model, X).above.lines) == 1
    assert len(hm.plots.joint_density(model).above.lines) == 1


def test_a_search_can_be_drawn(one_endpoint):
    _, X, y = one_endpoint
    base = hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0)
    search = hm.SurvivalHarmoniumCV(n_hidden=(0, 1), objective=("conditional",), cv=2, estimator=base).fit(X, y)
    line = hm.plots.survival_curves(search, X[:1]).lines[0]
    np.testing.assert_array_equal(line.get_ydata(), search.prognosis(X[:1]).survival("t1", line.get_xdata())[0])


def test_wrong_input_is_refused(nvalt8):
    model, X, y = nvalt8
    draw = hm.plots.survival_curves
    with pytest.raises(ValueError, match="no endpoint 'pfs'; the model has 'os', 'rfs'"):
        draw(model, X[:2], endpoint="pfs")
    with pytest.raises(ValueError, match="labels must be as many as the rows of X, 2; found 1"):
        draw(model, X[:2], labels=["a"])
    with pytest.raises(ValueError, match="labels must be as many as the rows of X, 2; found 'ab'"):
        draw(model, X[:2], labels="ab")
    with pytest.raises(ValueError, match="X has no rows"):
        draw(model, X[:0])
    with pytest.raises(ValueError, match="until must be a positive time; found -2"):
        draw(model, X[:2], until=-2)
    with pytest.raises(ValueError, match="as many rows as X"):
        draw(model, X[:2], given=hm.landmark(y[:3], 12))
    with pytest.raises(ValueError, match="endpoint must be one of 'rfs'; found 'os'"):
        draw(model, X[:2], endpoint="os", cohort=y[["rfs"]])
    with pytest.raises(ValueError, match="the model is not fitted"):
        draw(hm.SurvivalHarmonium(), X[:2])
    assert plt.get_fignums() == []


def test_incidences_are_drawn_over_aalen_and_johansens_estimate():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    X = X[["age", "stage"]]
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="prevented by a terminal event"):
        hm.plots.survival_curves(model, X[:2], endpoint="recurrence")
    ax = hm.plots.survival_curves(model, X[:2], endpoint="recurrence", measure="incidence", cohort=y, interval=0.9)
    times, drawn = ax.lines[1].get_data()
    np.testing.assert_allclose(drawn, model.prognosis(X[:1]).cumulative_incidence("recurrence", times)[0], rtol=1e-12)
    at, observed = ax.lines[0].get_data()
    np.testing.assert_allclose(observed, hm.metrics.aalen_johansen(y, at, endpoint="recurrence"))
    assert ax.get_ylabel() == "Cumulative incidence (recurrence)"
    with pytest.raises(ValueError, match="measure must be one of"):
        hm.plots.survival_curves(model, X[:2], measure="hazard")
