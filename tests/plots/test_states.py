"""Figures where an endpoint is terminal."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import harmonium as hm


@pytest.fixture(scope="module")
def study():
    return hm.datasets.load_nvalt11(terminal=True)


@pytest.fixture(scope="module")
def model(study):
    return hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=10), n_covariate_units=0, random_state=0).fit(*study)


def test_states_are_stacked_to_one(model, study):
    X, y = study
    ax = hm.plots.states(model, X, given=hm.landmark(y, 6.0), until=30.0)
    tops = [stack.get_paths()[0].vertices[:, 1].max() for stack in ax.collections]
    assert len(tops) == 4
    assert max(tops) == pytest.approx(1.0)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "event-free"
    plt.close()


def test_incidence_is_drawn_over_aalen_johansen(model, study):
    X, y = study
    ax = hm.plots.incidence(model, X, y, endpoint="metastases", n_groups=1)
    predicted, observed = ax.lines[:2]
    times = observed.get_xdata()
    np.testing.assert_allclose(observed.get_ydata(), hm.metrics.aalen_johansen(y, times, endpoint="metastases"))
    np.testing.assert_allclose(
        predicted.get_ydata(), model.predict_cumulative_incidence(X, endpoint="metastases", times=times).mean(axis=0)
    )
    plt.close()
    ax = hm.plots.incidence(model, X, y, endpoint="metastases", by="arm")
    assert len(ax.lines) >= 4
    plt.close()


def test_groups_may_be_missing_and_must_be_columns(model, study):
    X, y = study
    some = X.assign(kind=pd.array([1, 2, None] * (len(X) // 3) + [1] * (len(X) % 3), dtype="Int64"))
    assert len(hm.plots.incidence(model, some, y, endpoint="metastases", by="kind").lines) == 4
    plt.close()
    with pytest.raises(ValueError, match="knd"):
        hm.plots.incidence(model, some, y, endpoint="metastases", by="knd")
    plt.close("all")


def test_figures_that_would_mislead_are_refused(model, study):
    X, y = study
    with pytest.raises(ValueError, match="'metastases' can be prevented by a terminal event"):
        hm.plots.survival_curves(model, X[:2], endpoint="metastases")
    with pytest.raises(ValueError, match=r"plots\.incidence"):
        hm.plots.calibration(model, X, y, endpoint="metastases", time=12.0)
    hm.plots.survival_curves(model, X[:2], endpoint="death")
    plt.close()
