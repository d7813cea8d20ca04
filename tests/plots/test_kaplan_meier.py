"""Curves of what was observed, and numbers at risk."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter, KaplanMeierFitter

import harmonium as hm


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def steps(ax):
    return [line for line in ax.lines if line.get_drawstyle() == "steps-post"]


def seen(y, endpoint):
    return y[endpoint]["lower"].to_numpy(), (y[endpoint]["lower"] == y[endpoint]["upper"]).to_numpy()


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_curves_of_groups_are_those_of_lifelines():
    X, y = hm.datasets.load_nvalt8()
    ax = hm.plots.kaplan_meier(y, endpoint="os", by=X["arm"], time_label="Months")
    for line, arm in zip(steps(ax), sorted(X["arm"].unique()), strict=True):
        rows = (X["arm"] == arm).to_numpy()
        time, event = seen(y[rows], "os")
        own = KaplanMeierFitter().fit(time, event)
        times, heights = line.get_data()
        np.testing.assert_allclose(heights, own.survival_function_at_times(times).to_numpy(), atol=1e-12)


def test_numbers_at_risk_are_counted():
    X, y = hm.datasets.load_nvalt8()
    ax = hm.plots.kaplan_meier(y, endpoint="os", by=X["arm"])
    expected = [int((seen(y[X["arm"] == arm], "os")[0] >= tick).sum()) for arm in sorted(X["arm"].unique()) for tick in ax.get_xticks()]
    assert [int(text) for text in texts(ax) if text.isdigit()] == expected
    assert "Number at risk, by arm" in texts(ax)
    assert "Number at risk" not in texts(hm.plots.kaplan_meier(y, endpoint="os", at_risk=False))


def test_an_endpoint_that_is_prevented_has_incidences():
    _, y = hm.datasets.load_nvalt8(terminal=True)
    ax = hm.plots.kaplan_meier(y, endpoint="recurrence")
    (line,) = steps(ax)
    assert ax.get_ylabel() == "Cumulative incidence (recurrence)"
    (recurrence, recurred), (death, dead) = seen(y, "recurrence"), seen(y, "death")
    both = np.where(recurred, 1, np.where(dead, 2, 0))
    time = np.where(recurred, recurrence, np.minimum(recurrence, death))
    own = AalenJohansenFitter(jitter_level=1e-9, seed=0).fit(time, both, event_of_interest=1).cumulative_density_
    times, heights = line.get_data()
    reference = np.interp(times + 1e-6, own.index, own.iloc[:, 0])
    assert np.abs(heights - reference).max() < 0.006  # lifelines breaks ties by chance


def test_missing_groups_are_shown_and_too_many_refused():
    X, y = hm.datasets.load_nvalt8()
    by = X["arm"].astype(object).copy()
    by.iloc[:20] = None
    assert "missing" in texts(hm.plots.kaplan_meier(y, by=by))
    with pytest.raises(ValueError, match="at most 8 groups"):
        hm.plots.kaplan_meier(y, by=X["age"].astype(str))
    with pytest.raises(ValueError, match="a group for each of 200 rows; found 3"):
        hm.plots.kaplan_meier(y, by=pd.Series([1, 2, 3]))


def test_numbers_are_cut_at_tertiles_and_the_column_is_named():
    X, y = hm.datasets.load_nvalt8()
    ax = hm.plots.kaplan_meier(y, endpoint="os", by=X["age"])
    edges = X["age"].quantile([1 / 3, 2 / 3])
    thirds = [X["age"][X["age"] <= edges.iloc[0]], X["age"][X["age"].between(*edges, "right")], X["age"][X["age"] > edges.iloc[1]]]
    labels = [f"{own.min():.4g} to {own.max():.4g}" for own in thirds]
    assert [text for text in texts(ax) if " to " in text] == labels * 2  # beside the curves, and the numbers at risk
    assert {"age", "Number at risk, by age"} <= set(texts(ax))


def test_a_curve_ends_where_fewer_than_five_of_its_group_are_at_risk():
    time = np.r_[np.arange(1.0, 21.0), np.arange(1.0, 5.0), 100.0 + np.arange(6.0)]
    y = hm.endpoints(pd.DataFrame({"t": time, "e": 1}), death=("t", "e"))
    by = np.repeat(["long", "few", "late"], [20, 4, 6])
    ends = [line.get_xdata()[-1] for line in steps(hm.plots.kaplan_meier(y, by=by))]
    assert ends == [101.0, 16.0]  # sorted by name: few, whom nobody sees, late and long
    assert len(steps(hm.plots.kaplan_meier(y, by=by, fewest=1))) == 3
    assert [line.get_xdata()[-1] for line in steps(hm.plots.kaplan_meier(y[20:24]))] == [1.0]


def test_groups_in_another_order_are_refused():
    X, y = hm.datasets.load_nvalt8()
    with pytest.raises(hm.errors.TableError, match=r"by.loc\[y.index\]"):
        hm.plots.kaplan_meier(y[::-1], endpoint="os", by=X["stage"])
