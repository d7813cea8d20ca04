"""Predicted against observed probabilities."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from harmonium.errors import MetricWarning
from harmonium.plots.estimate import KaplanMeier


def drawn(ax):
    """Points, and the ends of the bars, of a calibration plot."""
    (bars,) = ax.containers
    line, _, (segments,) = bars.lines
    return line.get_xdata(), line.get_ydata(), np.array([segment[:, 1] for segment in segments.get_segments()])


def test_points_are_means_of_predictions_and_kaplan_meier_estimates(nvalt8):
    model, X, y = nvalt8
    x, observed, bars = drawn(hm.plots.calibration(model, X, y, endpoint="os", time=36, n_bins=4))
    predicted = 1.0 - model.prognosis(X).survival("os", [36])[:, 0]
    for k, group in enumerate(np.array_split(np.argsort(predicted), 4)):
        assert x[k] == pytest.approx(predicted[group].mean())
        part = y["os"].iloc[group]
        event, time = np.isfinite(part["upper"]).to_numpy(), part["lower"].to_numpy()
        steps, alive = kaplan_meier_estimator(event, time)
        assert observed[k] == pytest.approx(1.0 - alive[steps <= 36][-1])
        np.testing.assert_allclose(1.0 - bars[k][::-1], KaplanMeier.fit(time, event, np.zeros(len(time))).interval(36))
    assert np.isfinite(bars).all()


def test_groups_and_time_are_named(one_endpoint):
    model, X, y = one_endpoint
    ax = Figure().add_subplot()
    assert hm.plots.calibration(model, X, y, time=0.5, time_label="year", confidence=0.8, ax=ax) is ax
    assert ax.get_xlabel().splitlines()[0] == "Predicted probability of an event by year 0.5"
    assert "80 %" in ax.get_ylabel()
    assert len(drawn(ax)[0]) == 2  # subjects of one colour have the same prediction and are one group
    assert sum(X["colour"].value_counts()) == 200
    assert f"2 groups of {X['colour'].value_counts().min()} to" in ax.get_xlabel()
    assert plt.get_fignums() == []


def test_one_group(one_endpoint):
    model, X, y = one_endpoint
    x, observed, _ = drawn(hm.plots.calibration(model, X, y, time=0.5, n_bins=1))
    assert x.size == observed.size == 1


def test_a_group_without_observation_at_the_time_is_left_out(one_endpoint):
    model, X, _ = one_endpoint
    blue = (X["colour"] == "blue").to_numpy()
    y = np.array([(True, 1.0 if b else 0.2) for b in blue], dtype=[("event", bool), ("t1", float)])
    y["event"] = blue | (np.arange(200) % 2 == 0)
    with pytest.warns(MetricWarning, match="all observed times of their group end before 0.5, at 0.2"):
        assert drawn(hm.plots.calibration(model, X, y, time=0.5))[0].size == 1


def test_wrong_input_is_refused(nvalt8):
    model, X, y = nvalt8
    draw = hm.plots.calibration
    with pytest.raises(ValueError, match=r"the last observed time of 'os' is 96\.1314; nothing was observed at 200"):
        draw(model, X, y, time=200)
    with pytest.raises(ValueError, match="time must be a positive number; found -1"):
        draw(model, X, y, time=-1)
    with pytest.raises(ValueError, match="n_bins must be a positive whole number; found 0"):
        draw(model, X, y, time=12, n_bins=0)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1; found 95"):
        draw(model, X, y, time=12, confidence=95)
    with pytest.raises(ValueError, match="X and y must have as many rows; found 10 and 200"):
        draw(model, X[:10], y, time=12)
    assert plt.get_fignums() == []
